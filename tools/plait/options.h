#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The command line over CLI11, whose headers only options.cpp includes: they take seconds to compile.
namespace plait::cli {

/// What is wrong with the text of an option; empty where it is good.
using TextCheck = std::function<std::string(const std::string&)>;

/// An option of a command, to say more about it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required(bool yes = true) const;
  Option type_name(const std::string& name) const;
  Option excludes(Option other) const;
  Option check(const TextCheck& check) const;
  /// May be given several times, each time with one value.
  Option repeated() const;
  /// Called with each value while the command line is read.
  Option each(const std::function<void(const std::string&)>& fn) const;

 private:
  CLI::Option* option_;
};

/// The options of a command. What they are read into outlives the parsing.
class Options {
 public:
  explicit Options(CLI::App* command) : command_(command) {}

  Option flag(const std::string& names, bool& into, const std::string& help) const;
  Option add(const std::string& names, std::string& into, const std::string& help) const;
  Option add(const std::string& names, int& into, const std::string& help) const;
  Option add(const std::string& names, std::uint64_t& into, const std::string& help) const;
  Option add(const std::string& names, double& into, const std::string& help) const;
  Option add(const std::string& names, std::vector<std::string>& into, const std::string& help) const;
  /// Called when the command was chosen and its options have been read.
  void chosen(const std::function<void()>& fn) const;

 private:
  CLI::App* command_;
};

/// A command that consists of commands, as `plait model pipeline`.
class CommandGroup {
 public:
  explicit CommandGroup(CLI::App* group) : group_(group) {}

  Options command(const std::string& name, const std::string& summary, const std::string& footer) const;

 private:
  CLI::App* group_;
};

/// The command line of a program that does one of several commands.
class CommandLine {
 public:
  CommandLine(const std::string& program, const std::string& summary, const std::string& version,
              const std::string& footer);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  Options command(const std::string& name, const std::string& summary, const std::string& footer);
  CommandGroup group(const std::string& name, const std::string& summary, const std::string& footer);

  /// In place of a command: what was asked for (help, the version), or what is wrong with the command line.
  struct Answer {
    bool ok = true;
    std::string text;
  };
  std::optional<Answer> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace plait::cli
