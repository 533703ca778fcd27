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

namespace {

/// The command that was named, or a group of commands, or the program itself.
const CLI::App* chosen(const CLI::App* app) {
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

std::string full_name(const CLI::App* app) {
  return app->get_parent() == nullptr ? app->get_name() : full_name(app->get_parent()) + " " + app->get_name();
}

int depth(const CLI::App* app) { return app->get_parent() == nullptr ? 0 : depth(app->get_parent()) + 1; }

/// CLI11 misses the command before it looks at what stands in its place.
std::string missing_command(const CLI::App* group, int argc, char** argv) {
  int place = depth(group) + 1;
  if (argc > place && argv[place][0] != '-') return fmt::format("there is no command '{}'", argv[place]);
  std::string names;
  for (const CLI::App* command : group->get_subcommands([](const CLI::App*) { return true; }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return fmt::format("a command is required: {}", names);
}

/// What is wrong, in our words.
std::string complaint(const CLI::App* command, const CLI::ParseError& e, int argc, char** argv) {
  std::string what = e.what(), kind = e.get_name();
  const std::string option = what.substr(0, what.find(':'));
  if (kind == "ArgumentMismatch") return option + " needs a value";
  if (kind == "ConversionError") {
    // "Could not convert: NAME = VALUE"
    std::size_t colon = what.find(": "), equals = what.find(" = ");
    if (colon == std::string::npos || equals == std::string::npos) return what;
    std::string name = what.substr(colon + 2, equals - colon - 2), value = what.substr(equals + 3);
    const CLI::Option* known = command->get_option_no_throw(name);
    bool flag = known != nullptr && known->get_items_expected_max() == 0;
    return flag ? fmt::format("{} takes no value", name) : fmt::format("{} does not take '{}'", name, value);
  }
  // Its name is that of the command.
  if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    // "The following arguments were not expected: FIRST SECOND"
    std::size_t colon = what.find(": ");
    if (colon == std::string::npos) return what;
    std::string first = what.substr(colon + 2, what.find(' ', colon + 2) - colon - 2);
    return first[0] == '-' ? fmt::format("there is no option '{}'", first)
                           : fmt::format("'{}' is an argument too many", first);
  }
  bool group = !command->get_subcommands([](const CLI::App*) { return true; }).empty();
  return kind == "RequiredError" && group ? missing_command(command, argc, argv) : what;
}

}  // namespace

std::optional<CommandLine::Answer> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    std::ostringstream out, err;
    if (app_->exit(e, out, err) == 0) return Answer{true, out.str()};
    const CLI::App* command = chosen(app_.get());
    return Answer{false, fmt::format("{}; see {} --help\n", complaint(command, e, argc, argv), full_name(command))};
  }
}

}  // namespace plait::cli
