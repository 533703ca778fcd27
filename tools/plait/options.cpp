#include "options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

namespace plait::cli {

Option Option::required(bool yes) const { return Option(option_->required(yes)); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }
Option Option::check(const TextCheck& check) const { return Option(option_->check(check)); }
Option Option::repeated() const {
  return Option(option_->expected(1)->allow_extra_args(false)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}
Option Option::each(const std::function<void(const std::string&)>& fn) const { return Option(option_->each(fn)); }

Option Options::flag(const std::string& names, bool& into, const std::string& help) const {
  return Option(command_->add_flag(names, into, help));
}
Option Options::add(const std::string& names, std::string& into, const std::string& help) const {
  return Option(command_->add_option(names, into, help));
}
Option Options::add(const std::string& names, int& into, const std::string& help) const {
  return Option(command_->add_option(names, into, help));
}
Option Options::add(const std::string& names, std::uint64_t& into, const std::string& help) const {
  return Option(command_->add_option(names, into, help));
}
Option Options::add(const std::string& names, double& into, const std::string& help) const {
  return Option(command_->add_option(names, into, help));
}
Option Options::add(const std::string& names, std::vector<std::string>& into, const std::string& help) const {
  return Option(command_->add_option(names, into, help));
}
void Options::chosen(const std::function<void()>& fn) const { command_->callback(fn); }

CommandLine::CommandLine(const std::string& program, const std::string& summary, const std::string& version,
                         const std::string& footer)
    : app_(std::make_unique<CLI::App>(summary, program)) {
  app_->set_version_flag("--version", version);
  app_->require_subcommand(1);
  app_->footer(footer);
}
CommandLine::~CommandLine() = default;

Options CommandGroup::command(const std::string& name, const std::string& summary, const std::string& footer) const {
  CLI::App* command = group_->add_subcommand(name, summary);
  command->footer(footer);
  return Options(command);
}

Options CommandLine::command(const std::string& name, const std::string& summary, const std::string& footer) {
  return CommandGroup(app_.get()).command(name, summary, footer);
}

CommandGroup CommandLine::group(const std::string& name, const std::string& summary, const std::string& footer) {
  CLI::App* group = app_->add_subcommand(name, summary);
  group->require_subcommand(1);
  group->footer(footer);
  return CommandGroup(group);
}

std::optional<CommandLine::Answer> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, err;
    if (app_->exit(e, out, err) == 0) return Answer{true, out.str()};
    // CLI11 misses the command before it looks at what stands in its place.
    if (e.get_name() == "RequiredError" && app_->get_subcommands().empty() && argc > 1 && argv[1][0] != '-')
      return Answer{false, fmt::format("there is no command '{}'; see {} --help\n", argv[1], app_->get_name())};
    return Answer{false, err.str()};
  }
}

}  // namespace plait::cli
