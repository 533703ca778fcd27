#include "support/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>

#include "support/json.h"

namespace plait {
namespace {

struct RuleInfo {
  std::string_view name, summary, fix;
};

constexpr RuleInfo kRules[] = {
#define PLAIT_RULE(id, name, summary, fix) {name, summary, fix},
#include "support/rules.def"
#undef PLAIT_RULE
};

const RuleInfo& info(Rule rule) { return kRules[static_cast<std::size_t>(rule)]; }

/// Longest part of a source line that a message shows, in bytes.
constexpr std::size_t kMaxExcerpt = 160;

/// Tabs and bytes a terminal would act on become spaces or '?', so that the caret stands under its column.
std::string printable(std::string_view text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    out += c == '\t' ? ' ' : (byte < 0x20 || byte == 0x7f ? '?' : c);
  }
  return out;
}

/// Characters of UTF-8 text, so that the caret stands where a terminal shows its column.
std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// The source line with a caret below it; empty where the text is not known.
std::string excerpt(const Loc& loc) {
  if (!loc.known()) return {};
  std::string_view line = loc.source->line(loc.line);
  auto column = static_cast<std::size_t>(std::max(loc.column, 1)) - 1;
  if (line.empty() || column > line.size()) return {};
  std::size_t begin = column > kMaxExcerpt / 2 && line.size() > kMaxExcerpt ? column - kMaxExcerpt / 2 : 0;
  std::string_view shown = line.substr(begin, kMaxExcerpt);
  std::size_t room = std::max<std::size_t>(shown.size() - (column - begin), 1);
  std::size_t length = std::clamp<std::size_t>(static_cast<std::size_t>(std::max(loc.length, 1)), 1, room);
  std::size_t width = std::max<std::size_t>(characters(line.substr(column, length)), 1);
  std::string number = fmt::format("{:5}", loc.line);
  return fmt::format("{} | {}\n{} | {}^{}\n", number, printable(shown), std::string(number.size(), ' '),
                     std::string(characters(line.substr(begin, column - begin)), ' '), std::string(width - 1, '~'));
}

bool same_place(const Loc& a, const Loc& b) { return a.source == b.source && a.line == b.line && a.column == b.column; }

}  // namespace

std::string_view rule_name(Rule rule) { return info(rule).name; }
std::string_view rule_summary(Rule rule) { return info(rule).summary; }
std::string_view rule_fix(Rule rule) { return info(rule).fix; }

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> rules = {
#define PLAIT_RULE(id, name, summary, fix) Rule::id,
#include "support/rules.def"
#undef PLAIT_RULE
  };
  return rules;
}

Diagnostic& Diagnostics::error(Rule rule, Loc loc, std::string message, std::string fix) {
  std::vector<Note> notes;
  for (const CallSite* call = loc.call.get(); call != nullptr; call = call->loc.call.get()) {
    notes.push_back({call->loc, fmt::format("in the call of `{}` here", call->function)});
  }
  add({rule, std::move(loc), std::move(message), std::move(fix), std::move(notes), Severity::error});
  return list_.back();
}

void Diagnostics::add(Diagnostic diagnostic) {
  for (std::size_t i = 0; i < list_.size(); ++i) {
    if (list_[i].rule == diagnostic.rule && diagnostic.loc.known() && same_place(list_[i].loc, diagnostic.loc)) {
      // error() hands out the last element, so the kept finding moves there.
      std::rotate(list_.begin() + static_cast<std::ptrdiff_t>(i), list_.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                  list_.end());
      return;
    }
  }
  list_.push_back(std::move(diagnostic));
}

void Diagnostics::append(const Diagnostics& other) {
  for (const Diagnostic& d : other.list_) add(d);
}

bool Diagnostics::has_errors() const {
  return std::any_of(list_.begin(), list_.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

namespace {

/// `file:line:column: `, or nothing where no place is known.
std::string place_of(const Loc& loc) { return loc.source == nullptr ? std::string() : loc.str() + ": "; }

/// Of both a diagnostic and a note, whose fields stand in the order of their names.
Json json_of(const Loc& loc) {
  Json j;
  j["column"] = loc.column;
  j["file"] = loc.source != nullptr ? std::string_view(loc.source->name()) : std::string_view();
  return j;
}

}  // namespace

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic& d : list_) {
    std::string_view fix = d.fix.empty() ? rule_fix(d.rule) : std::string_view(d.fix);
    out += fmt::format("{}{}: {} [{}]\n{}", place_of(d.loc), d.severity == Severity::error ? "error" : "warning",
                       printable(d.message), rule_name(d.rule), excerpt(d.loc));
    if (!fix.empty()) out += fmt::format("  fix: {}\n", printable(fix));
    for (const Note& note : d.notes) {
      out += fmt::format("{}note: {}\n{}", place_of(note.loc), printable(note.message), excerpt(note.loc));
    }
  }
  return out;
}

std::string Diagnostics::to_json() const {
  Json::List all;
  for (const Diagnostic& d : list_) {
    Json::List notes;
    for (const Note& note : d.notes) {
      Json n = json_of(note.loc);
      n["line"] = note.loc.line;
      n["message"] = note.message;
      notes.push_back(std::move(n));
    }
    Json j = json_of(d.loc);
    j["fix"] = d.fix.empty() ? rule_fix(d.rule) : std::string_view(d.fix);
    j["line"] = d.loc.line;
    j["message"] = d.message;
    j["notes"] = std::move(notes);
    j["rule"] = rule_name(d.rule);
    j["severity"] = d.severity == Severity::error ? "error" : "warning";
    all.push_back(std::move(j));
  }
  return Json(std::move(all)).dump(2);
}

}  // namespace plait
