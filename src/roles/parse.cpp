#include "roles/parse.h"

#include <fmt/format.h>

#include <cctype>
#include <set>

#include "lang/header.h"
#include "lang/operations.h"
#include "lang/suggest.h"
#include "roles/builtin_names.h"
#include "roles/parser.h"
#include "syntax/literal.h"

namespace plait::roles {
namespace {

constexpr std::size_t kMaxSource = std::size_t{16} << 20;

/// Errors of form that say no more than where the form is told, told of this form.
Diagnostics advised(const Diagnostics& found) {
  Diagnostics out;
  for (Diagnostic d : found.list()) {
    if (d.rule == Rule::syntax && d.fix.empty()) d.fix = "see docs/roles.md for the form of this line";
    out.add(std::move(d));
  }
  return out;
}

}  // namespace

bool is_role_file(std::string_view path) { return path.ends_with(".roles"); }

bool is_role_text(std::string_view text) {
  constexpr std::string_view kWord = "roles";
  std::size_t at = text.find_first_not_of(" \t\r\n");
  while (at != std::string_view::npos && text[at] == '#') {
    at = text.find('\n', at);
    if (at != std::string_view::npos) at = text.find_first_not_of(" \t\r\n", at);
  }
  if (at == std::string_view::npos || !text.substr(at).starts_with(kWord)) return false;
  std::string_view rest = text.substr(at + kWord.size());
  bool goes_on = !rest.empty() && (std::isalnum(static_cast<unsigned char>(rest[0])) != 0 || rest[0] == '_');
  return !goes_on;
}

Program RoleParser::program(const lang::Bindings& bindings) {
  if (!at_name("roles")) {
    fail(Rule::roles_file, cur(), fmt::format("expected 'roles' at the start of the program, found {}", found()));
    return {};
  }
  header(bindings);
  block("the head of the program", [&] { head_line(); });
  if (!panic_ && !at(Tok::end_of_file) && !full()) {
    report(Rule::roles_file, cur(), fmt::format("expected the end of the file, found {}", found()),
           at_name("roles") ? "put the second program in a file of its own" : "indent what belongs to the program");
  }
  if (reached_ < Part::roles && errors_.empty()) {
    bind_.diags().error(Rule::roles_head, program_.loc, "the program has no role",
                        "write role NAME warps 4: with its statements below");
  }
  if (program_.launch.empty() && errors_.empty()) {
    bind_.diags().error(Rule::roles_head, program_.loc, "the program has no launch",
                        "write launch ceildiv(i32(M), 128) behind the lets of the head");
  }
  return std::move(program_);
}

Program RoleParser::head() {
  if (!at_name("roles")) {
    fail(Rule::roles_file, cur(), fmt::format("expected 'roles' at the start of the head, found {}", found()));
    return {};
  }
  header({});
  block("the head of the program", [&] { head_line(); });
  if (program_.launch.empty() && errors_.empty())
    bind_.diags().error(Rule::roles_head, program_.loc, "the head has no launch");
  return std::move(program_);
}

/// `roles NAME(parameters; compile-time parameters) device MODEL [with BUILTIN as NAME, …]`
void RoleParser::header(const lang::Bindings& bindings) {
  advance();
  program_.loc = errors_.loc(cur());
  syntax::Item item;
  syntax::Kernel kernel;
  kernel.name = new_name("the name of the program");
  program_.name = kernel.name;
  params(item, kernel);
  if (expect_word("device", "the parameters")) {
    program_.device = text(cur());
    expect(Tok::name, "the name of a machine model such as h200");
  }
  builtins();
  if (panic_) return;
  auto head = bind_.names().header(kernel, program_.loc, bindings);
  program_.params = std::move(head.params);
  program_.dims = std::move(head.dims);
}

/// `sms` alone is visible in the head; the roles see all of them. Where a parameter has the name of one, `with` gives
/// it another.
void RoleParser::builtins() {
  program_.builtins = make_builtins(program_.loc);
  if (accept_word("with")) {
    do {
      Token word = cur();
      std::string usual(text(word));
      expect(Tok::name, "the usual name of a builtin");
      if (!expect_word("as", "the builtin")) return;
      std::string other = new_name("the other name of the builtin");
      if (panic_) return;
      if (!rename_builtin(program_.builtins, usual, other))
        report(Rule::roles_head, word, fmt::format("there is no builtin '{}'", usual), "see docs/roles.md for them");
    } while (accept(Tok::comma));
  }
  bind_.show(program_.builtins.sms);
}

void RoleParser::part(Part part, const Token& word) {
  bool repeated = part == reached_ &&
                  (part == Part::launch || part == Part::cluster || part == Part::occupancy || part == Part::prologue);
  if (repeated) report(Rule::roles_head, word, fmt::format("a second '{}'", text(word)), "remove one of the two");
  if (part < reached_) {
    report(Rule::roles_head, word, fmt::format("'{}' stands too far down in the head", text(word)),
           "the order is: require and lets, launch, cluster, occupancy, workspace, map, smem, channel, mbar, prologue, "
           "roles");
  }
  reached_ = std::max(reached_, part);
}

void RoleParser::head_line() {
  Token word = cur();
  block_read_ = false;
  static const std::map<std::string_view, std::pair<Part, void (RoleParser::*)()>> lines = {
      {"launch", {Part::launch, &RoleParser::launch}},
      {"cluster", {Part::cluster, &RoleParser::cluster}},
      {"occupancy", {Part::occupancy, &RoleParser::occupancy}},
      {"workspace", {Part::declarations, &RoleParser::workspace}},
      {"map", {Part::declarations, &RoleParser::map}},
      {"smem", {Part::declarations, &RoleParser::smem}},
      {"mbar", {Part::declarations, &RoleParser::mbar}},
      {"channel", {Part::declarations, &RoleParser::channel}},
      {"prologue", {Part::prologue, &RoleParser::prologue}},
      {"role", {Part::roles, &RoleParser::role}},
  };
  auto it = lines.find(text(word));
  if (at(Tok::kw_require)) {
    part(Part::values, word);
    advance();
    require();
  } else if (at(Tok::name) && peek(1) == Tok::assign) {
    part(Part::values, word);
    host_let();
  } else if (at(Tok::name) && it != lines.end()) {
    part(it->second.first, word);
    advance();
    (this->*it->second.second)();
  } else if (at(Tok::name)) {
    std::vector<std::string_view> words = {"require"};
    for (const auto& [name, line] : lines) words.push_back(name);
    std::string_view near = syntax::closest(text(word), words);
    expected(
        "a line of the head: require, a let, launch, cluster, occupancy, workspace, map, smem, channel, mbar, "
        "prologue or role",
        near.empty() ? "statements stand in the prologue and in roles" : fmt::format("did you mean '{}'?", near));
  } else {
    expected("a line of the head", "statements stand in the prologue and in roles");
  }
  if (panic_ || !block_read_) end_of_line();
  if (at(Tok::indent)) indented_block([&] { sync_line(); });
}

void RoleParser::host_let() {
  Loc loc = errors_.loc(cur());
  std::string name = new_name("the name to define");
  advance();
  Body lets;
  Body* outer = std::exchange(body_, &lets);
  let(name, expression(), loc);
  body_ = outer;
  if (lets.empty()) return;
  program_.lets.push_back(std::get<Let>(lets.front()->node));
}

void RoleParser::require() {
  Loc loc = errors_.loc(cur());
  ExprRef cond = lang::make_condition(bind_.value(expression()), "require", loc, bind_.diags());
  std::string message = optional_message();
  program_.requires_.push_back({cond, message, loc});
}

void RoleParser::launch() {
  constexpr std::size_t kMaxExtents = 3;
  do {
    ExprRef extent = bind_.value(expression());
    if (program_.launch.size() == kMaxExtents)
      return fail(Rule::roles_head, cur(), "launch has more than 3 extents", "fold two of them into one");
    program_.launch.push_back(std::move(extent));
  } while (accept(Tok::comma));
}

void RoleParser::cluster() { program_.cluster = static_cast<int>(count("the blocks of a cluster", 1, kMaxCount)); }

void RoleParser::occupancy() {
  constexpr std::int64_t kMost = 32;
  program_.occupancy = static_cast<int>(count("the blocks of a multiprocessor", 1, kMost));
}

Body RoleParser::thread_body(std::string_view header) {
  bind_.names().push();
  const Builtins& b = program_.builtins;
  for (const Var& var :
       {b.block, b.blocks, b.block_x, b.block_y, b.block_z, b.cluster_rank, b.replica, b.warp, b.lane, b.thread})
    bind_.show(var);
  Body out = body(header);
  bind_.names().pop();
  return out;
}

void RoleParser::prologue() { program_.prologue = thread_body("'prologue'"); }

/// `NAME [replicas N] warps N [regs N]:`
void RoleParser::role() {
  Role role;
  role.loc = errors_.loc(cur());
  role.name = new_name("the name of the role");
  std::set<std::string> seen;
  while (at(Tok::name)) role_clause(role, seen);
  if (!panic_ && !seen.contains("warps"))
    fail(Rule::syntax, cur(), fmt::format("the role '{}' does not say how many warps it has", role.name),
         fmt::format("write role {} warps 4:", role.name));
  role.body = thread_body("the role");
  program_.roles.push_back(std::move(role));
}

void RoleParser::role_clause(Role& role, std::set<std::string>& seen) {
  constexpr std::int64_t kMost = 1024;
  Token word = cur();
  std::string name(text(word));
  if (name != "replicas" && name != "warps" && name != "regs")
    return expected("replicas, warps, regs or ':' behind the name of the role");
  if (!seen.insert(name).second) return fail(Rule::syntax, word, fmt::format("'{}' is given twice", name));
  advance();
  auto value = static_cast<int>(count(fmt::format("the number of {}", name), 1, kMost));
  if (name == "replicas") role.replicas = value;
  if (name == "warps") role.warps = value;
  if (name == "regs") role.regs = value;
}

Result<Program> parse(const SourceRef& source, const lang::Bindings& bindings) {
  PLAIT_ASSERT(source != nullptr, "parse() without a source");
  syntax::Errors lexical(source), grammatical(source);
  if (source->text().size() > kMaxSource) {
    lexical.add(Rule::source_text, lexical.loc(1, 1, 1),
                fmt::format("the text has {} bytes, more than {}", source->text().size(), kMaxSource));
    return syntax::Errors::merge(lexical, grammatical);
  }
  syntax::Lexed lexed = syntax::lex(source->text(), lexical);
  Diagnostics diags;
  Program program = RoleParser(source, lexed, grammatical, diags).program(bindings);
  if (!lexical.empty() || !grammatical.empty()) return advised(syntax::Errors::merge(lexical, grammatical));
  if (diags.has_errors()) return diags;
  return program;
}

}  // namespace plait::roles
