#include <fmt/format.h>

#include "roles/parser.h"

namespace plait::roles {
namespace {

constexpr std::size_t kMaxErrors = 50;

/// Whether the author asks for a variable of a type, `i32(0)`, and not for a name of the literal.
bool is_cast(const syntax::ExprRef& e) {
  const auto* call = e == nullptr ? nullptr : std::get_if<syntax::Call>(&e->node);
  return call != nullptr && ir::dtype_from_name(call->callee).has_value();
}

}  // namespace

bool RoleParser::accept_word(std::string_view word) {
  if (!at_name(word)) return false;
  advance();
  return true;
}

bool RoleParser::expect_word(std::string_view word, std::string_view behind) {
  if (accept_word(word)) return true;
  expected(fmt::format("'{}' behind {}", word, behind));
  return false;
}

RoleParser::Source RoleParser::operand(std::string_view what) {
  if (!at(Tok::name)) {
    expected(what);
    return nullptr;
  }
  return named().expr;
}

void RoleParser::end_of_line() {
  if (!panic_ && !at(Tok::newline)) expected("end of line");
  if (panic_) return sync_line();
  advance();
}

void RoleParser::block(std::string_view header, const std::function<void()>& line) {
  if (!at(Tok::colon))
    expected(fmt::format("':' behind {}", header), at(Tok::newline) ? "end the header with ':'" : "");
  accept(Tok::colon);
  if (!panic_ && !at(Tok::newline)) {
    fail(Rule::syntax, cur(), fmt::format("expected end of line behind ':', found {}", found()),
         "write the body on the lines below, indented");
  }
  bool understood = !panic_;
  end_of_line();
  block_read_ = true;
  if (at(Tok::indent)) {
    indented_block(line);
  } else if (understood) {
    report(Rule::indentation, cur(), fmt::format("expected an indented block behind {}, found {}", header, found()),
           "indent its statements by two more spaces; write pass for an empty block");
  }
  block_read_ = true;
}

void RoleParser::indented_block(const std::function<void()>& line) {
  if (block_depth_ >= syntax::kMaxBlockDepth) {
    report(Rule::nesting_limit, cur(), fmt::format("blocks are nested more than {} deep", syntax::kMaxBlockDepth));
    return skip_block();
  }
  syntax::Deeper deeper(block_depth_);
  advance();
  while (!at(Tok::dedent) && !at(Tok::end_of_file) && !full()) {
    if (!at(Tok::indent)) {
      line();
      continue;
    }
    if (!tab_before(cur()))
      report(Rule::indentation, cur(), "this line is indented deeper than the one above it, which opens no block",
             "begin it in the column of the statements around it");
    indented_block(line);
  }
  accept(Tok::dedent);
}

Body RoleParser::body(std::string_view header) {
  Body out;
  Body* outer = std::exchange(body_, &out);
  bind_.names().push();
  block(header, [&] { statement(); });
  bind_.names().pop();
  body_ = outer;
  return out;
}

bool RoleParser::full() const { return errors_.full() || (dead_ == 0 && bind_.diags().list().size() >= kMaxErrors); }

void RoleParser::dead(const std::function<void()>& read) {
  Diagnostics unused;
  Diagnostics& outer_diags = bind_.report_to(unused);
  Body dropped;
  Body* outer = std::exchange(body_, &dropped);
  bind_.names().push();
  ++dead_;
  read();
  --dead_;
  bind_.names().pop();
  body_ = outer;
  bind_.report_to(outer_diags);
}

void RoleParser::statement() {
  Loc loc = errors_.loc(cur());
  if (dead_ > 0 && bind_.diags().list().size() >= kMaxErrors) bind_.diags() = Diagnostics();
  block_read_ = false;
  if (at(Tok::kw_for)) {
    for_loop(loc);
  } else if (at(Tok::kw_while)) {
    while_loop(loc);
  } else if (at(Tok::kw_if)) {
    if_chain(loc);
  } else if (at(Tok::kw_fragment)) {
    fragment(loc);
  } else if (at(Tok::name) && peek(1) == Tok::assign) {
    definition(loc);
  } else if (at(Tok::name) && peek(1) != Tok::lbracket) {
    word_statement(loc);
  } else if (!accept(Tok::kw_pass)) {
    unknown_statement();
  }
  if (panic_ || !block_read_) {
    bool misread = panic_;
    end_of_line();
    // It may have been meant as a header.
    if (misread && at(Tok::indent)) indented_block([&] { statement(); });
  }
}

void RoleParser::unknown_statement() {
  Token first = cur();
  if (at(Tok::name)) {
    return fail(
        Rule::syntax, first, "an element is stored by put, or within each if it is a fragment's",
        fmt::format("write put {}[...] = e, or each r, c in {}: with the store below", text(first), text(first)));
  }
  if (at(Tok::kw_elif) || at(Tok::kw_else)) {
    return fail(Rule::syntax, first, fmt::format("'{}' without an if before it", text(first)),
                "put it in the column of its if, behind the block");
  }
  expected("a statement");
}

void RoleParser::word_statement(const Loc& loc) {
  using Member = void (RoleParser::*)(const Loc&);
  static const std::map<std::string_view, Member> words = {
      {"var", &RoleParser::var},
      {"set", &RoleParser::set},
      {"elect", &RoleParser::elect},
      {"warp", &RoleParser::one_warp},
      {"mbar_init", &RoleParser::mbar_init},
      {"wait", &RoleParser::wait},
      {"arrive", &RoleParser::arrive},
      {"expect", &RoleParser::expect_bytes},
      {"fence", &RoleParser::fence},
      {"acquire", &RoleParser::acquire},
      {"publish", &RoleParser::publish},
      {"receive", &RoleParser::receive},
      {"release", &RoleParser::release},
      {"issue", &RoleParser::issue},
      {"tma_load", &RoleParser::tma_load},
      {"tma_store", &RoleParser::tma_store},
      {"bulk_load", &RoleParser::bulk_load},
      {"bulk_store", &RoleParser::bulk_store},
      {"bulk_wait", &RoleParser::bulk_wait},
      {"prefetch", &RoleParser::prefetch},
      {"cp_async", &RoleParser::cp_async},
      {"wgmma", &RoleParser::wgmma},
      {"mma", &RoleParser::mma},
      {"ldmatrix", &RoleParser::ldmatrix},
      {"stmatrix", &RoleParser::stmatrix},
      {"each", &RoleParser::each},
      {"row_reduce", &RoleParser::row_reduce},
      {"lane_reduce", &RoleParser::lane_reduce},
      {"keep", &RoleParser::keep},
      {"load", &RoleParser::load},
      {"store", &RoleParser::store},
      {"put", &RoleParser::put},
      {"barrier_sync", &RoleParser::barrier_sync},
      {"barrier_arrive", &RoleParser::barrier_arrive},
      {"cp_wait", &RoleParser::cp_wait},
      {"wgmma_await", &RoleParser::wgmma_await},
      {"sync_threads", &RoleParser::plain<SyncThreads>},
      {"sync_warp", &RoleParser::plain<SyncWarp>},
      {"cluster_arrive", &RoleParser::plain<ClusterArrive>},
      {"cluster_wait", &RoleParser::plain<ClusterWait>},
      {"bulk_commit", &RoleParser::plain<BulkCommit>},
      {"cp_commit", &RoleParser::plain<CpCommit>},
      {"wgmma_commit", &RoleParser::plain<WgmmaCommit>},
  };
  Token word = cur();
  auto it = words.find(text(word));
  if (it != words.end()) {
    advance();
    return (this->*it->second)(loc);
  }
  if (auto form = defining_forms().find(std::string(text(word))); form != defining_forms().end())
    return fail(Rule::syntax, word, fmt::format("expected a statement, found {}", found()), "write " + form->second);
  std::vector<std::string_view> all = {"for", "while", "if", "fragment"};
  for (const auto& [name, member] : words) all.push_back(name);
  std::string_view near = syntax::closest(text(word), all);
  fail(Rule::syntax, word, fmt::format("expected a statement, found {}", found()),
       near.empty() ? "a value is defined by x = e; docs/roles.md lists the statements"
                    : fmt::format("did you mean '{}'?", near));
}

void RoleParser::definition(const Loc& loc) {
  std::string name = new_name("the name to define");
  advance();
  Source value = expression();
  const auto* call = value == nullptr ? nullptr : std::get_if<syntax::Call>(&value->node);
  if (call == nullptr || !special(name, *call, loc)) let(name, value, loc);
}

namespace {

std::optional<ir::AtomicOp> atomic_of(std::string_view word) {
  for (ir::AtomicOp op : {ir::AtomicOp::add, ir::AtomicOp::max, ir::AtomicOp::min}) {
    if (word == atomic_word(op)) return op;
  }
  return {};
}

}  // namespace

/// The statements that are written as `x = f(…)`.
bool RoleParser::special(const std::string& name, const syntax::Call& call, const Loc& loc) {
  std::optional<ir::AtomicOp> atomic = atomic_of(call.callee);
  std::size_t wanted = call.callee == "broadcast" ? 1 : atomic || call.callee == "shuffle" ? 2 : 0;
  if (wanted == 0 && call.callee != "clock" && call.callee != "globaltimer") return false;
  bool fits = call.args.size() == wanted &&
              std::all_of(call.args.begin(), call.args.end(), [](const syntax::Arg& arg) { return arg.name.empty(); });
  if (!fits) {
    bind_.diags().error(Rule::call_form, loc, fmt::format("`{}` takes {} arguments", call.callee, wanted),
                        "write " + defining_forms().at(call.callee));
  } else if (call.callee == "shuffle") {
    ExprRef value = bind_.value(call.args[0].value), lane = bind_.value(call.args[1].value);
    DType type = value == nullptr ? DType::i32 : value->type;
    emit(loc, Shuffle{bind_.declare(name, type, ir::VarKind::let, loc), std::move(value), std::move(lane)});
  } else if (atomic && bind_.smem_of(call.args[0].value) != nullptr) {
    SmemRef dst = bind_.smem(call.args[0].value);
    DType type = dst.smem->buffer->type;
    ExprRef value = bind_.stored(type, call.args[1].value);
    emit(loc,
         AtomicShared{bind_.declare(name, type, ir::VarKind::let, loc), std::move(dst), std::move(value), *atomic});
  } else if (wanted == 2) {
    TensorRef dst = bind_.tensor(call.args[0].value);
    DType type = dst.tensor == nullptr ? DType::i32 : dst.tensor->type;
    ExprRef value = bind_.stored(type, call.args[1].value);
    emit(loc, Atomic{bind_.declare(name, type, ir::VarKind::let, loc), std::move(dst), std::move(value), *atomic});
  } else if (wanted == 1) {
    ExprRef value = bind_.value(call.args[0].value);
    DType type = value == nullptr ? DType::i32 : value->type;
    emit(loc, Broadcast{bind_.declare(name, type, ir::VarKind::let, loc), std::move(value)});
  } else {
    bool global = call.callee == "globaltimer";
    emit(loc, Clock{bind_.declare(name, global ? DType::u64 : DType::u32, ir::VarKind::let, loc), global});
  }
  return true;
}

/// A name of a literal needs no variable: it stands for the literal, as a compile-time parameter does.
void RoleParser::let(const std::string& name, const Source& value, const Loc& loc) {
  ExprRef raw = bind_.raw(value);
  if (raw != nullptr && ir::is_literal(raw) && !is_cast(value)) {
    bind_.names().define(name, lang::Scalar{raw, {}}, loc);
    return;
  }
  ExprRef made = raw == nullptr ? nullptr : bind_.settle(raw, loc);
  if (made == nullptr) {
    if (bind_.names().find(name) == nullptr) bind_.names().define(name, lang::Poison{}, loc);
    return;
  }
  Var var = bind_.declare(name, made->type, ir::VarKind::let, loc);
  emit(loc, Let{std::move(var), std::move(made)});
}

/// `NAME: TYPE = e`
void RoleParser::var(const Loc& loc) {
  std::string name = new_name("the name of the variable");
  expect(Tok::colon, "':' behind the name of the variable", "write var n: u32 = 0");
  std::string type = element_type("the name of the variable");
  expect(Tok::assign, "'=' and the first value", "write var n: u32 = 0");
  Source init = expression();
  if (panic_) return;
  DType known = bind_.names().dtype(type, loc).value_or(DType::i32);
  ExprRef value = bind_.stored(known, init);
  emit(loc, VarDef{bind_.declare(name, known, ir::VarKind::let, loc, true), std::move(value)});
}

void RoleParser::set(const Loc& loc) {
  Token name = cur();
  if (!expect(Tok::name, "the name of a variable behind 'set'")) return;
  expect(Tok::assign, "'='", "write set n = n + 1");
  Source source = expression();
  Var var = bind_.variable(std::string(text(name)), errors_.loc(name));
  ExprRef value = var == nullptr ? bind_.value(source) : bind_.stored(var->type, source);
  if (var != nullptr) emit(loc, Set{std::move(var), std::move(value)});
}

/// `fragment NAME: TYPE[extents] KIND`
void RoleParser::fragment(const Loc& loc) {
  advance();
  FragmentDecl decl;
  Token first = cur();
  decl.loc = errors_.loc(first);
  std::string name = new_name("the name of the fragment");
  expect(Tok::colon, "':' behind the name of the fragment", "write fragment acc: f32[64, 128] wgmma_acc");
  std::string type = element_type("the name of the fragment");
  if (!panic_ && !at(Tok::lbracket)) expected("'[' and the extents of the fragment");
  std::vector<Source> extents = shape();
  fragment_kind(decl);
  if (panic_) return;
  DType element = bind_.names().dtype(type, decl.loc).value_or(DType::f32);
  decl.buffer = bind_.buffer(name, element, ir::Scope::fragment, extents, 0, decl.loc);
  auto made = std::make_shared<const FragmentDecl>(std::move(decl));
  bind_.declare(made);
  emit(loc, DefFragment{made});
}

void RoleParser::fragment_kind(FragmentDecl& decl) {
  constexpr std::int64_t kMaxVec = 128, kMaxLanes = 1024;
  static const std::map<std::string_view, FragmentKind> kinds = {
      {"wgmma_acc", FragmentKind::wgmma_acc}, {"wgmma_a", FragmentKind::wgmma_a}, {"mma_acc", FragmentKind::mma_acc},
      {"mma_a", FragmentKind::mma_a},         {"mma_b", FragmentKind::mma_b},     {"vector", FragmentKind::vector},
      {"rows", FragmentKind::rows},           {"columns", FragmentKind::columns},
  };
  auto it = kinds.find(text(cur()));
  if (!at(Tok::name) || it == kinds.end())
    return expected("the kind of the fragment",
                    "it is wgmma_acc, wgmma_a, mma_acc, mma_a, mma_b, vector, rows of F or columns of F");
  advance();
  decl.kind = it->second;
  if (is_side(decl.kind)) {
    if (expect_word("of", fmt::format("'{}'", it->first)))
      decl.of = bind_.fragment_name(operand("a fragment behind 'of'"));
  } else if (decl.kind == FragmentKind::vector) {
    if (expect_word("vec", "'vector'")) decl.vec = static_cast<int>(count("the elements of a vector", 1, kMaxVec));
    if (expect_word("lanes", "the elements of a vector"))
      decl.lanes = static_cast<int>(count("the lanes along a row", 1, kMaxLanes));
  }
}

}  // namespace plait::roles
