#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace plait {

/// Every rule a user can break, listed once in rules.def; the enumerators are the rule names in snake case.
enum class Rule {
#define PLAIT_RULE(id, name, summary, fix) id,
#include "support/rules.def"
#undef PLAIT_RULE
};

/// Kebab-case name shown in brackets behind a message, e.g. `gemm-shape`.
std::string_view rule_name(Rule rule);
/// One sentence that states the rule.
std::string_view rule_summary(Rule rule);
/// What to do when no more particular advice is given.
std::string_view rule_fix(Rule rule);
/// All rules in the order of rules.def, for the page that lists them.
const std::vector<Rule>& all_rules();

enum class Severity { error, warning };

struct Note {
  Loc loc;
  std::string message;
};

/// One broken rule at one place.
struct Diagnostic {
  Rule rule;
  Loc loc;
  std::string message;
  /// Advice for this very case; empty means rule_fix(rule).
  std::string fix;
  std::vector<Note> notes;
  Severity severity = Severity::error;
};

/// Collects diagnostics in the order they were found; the same rule at the same place is kept once.
class Diagnostics {
 public:
  /// Reports an error and returns it, so that notes can be added; the calls that `loc` came through are its first ones.
  Diagnostic& error(Rule rule, Loc loc, std::string message, std::string fix = {});
  void add(Diagnostic diagnostic);
  void append(const Diagnostics& other);

  bool has_errors() const;
  bool empty() const { return list_.empty(); }
  const std::vector<Diagnostic>& list() const { return list_; }

  /// All diagnostics as text for people: `file:line:col: error: message [rule]`, the line, a caret, the fix, the notes.
  std::string render() const;
  /// The same as a JSON array of {file, line, column, severity, rule, message, fix, notes}.
  std::string to_json() const;

 private:
  std::vector<Diagnostic> list_;
};

/// A fault of plait itself (a broken invariant), never of the input. Thrown only where continuing would be wrong; the
/// CLI and the C ABI catch it and ask for a report.
class InternalError : public std::exception {
 public:
  explicit InternalError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

/// Throws InternalError with the place in plait's source when `condition` is false.
#define PLAIT_ASSERT(condition, message)                                                                       \
  do {                                                                                                         \
    if (!(condition))                                                                                          \
      throw ::plait::InternalError(std::string(__FILE__) + ":" + std::to_string(__LINE__) + ": " + (message)); \
  } while (false)

}  // namespace plait
