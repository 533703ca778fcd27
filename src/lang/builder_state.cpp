// Statements of the C++ form: places, blocks, branches and names.
#include "lang/builder_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/visit.h"
#include "lang/extent.h"
#include "syntax/token.h"

namespace plait::detail {
namespace {

using ir::ExprRef;

bool is_identifier(const std::string& name) {
  auto letter = [](unsigned char c) { return c == '_' || (c < 0x80 && std::isalpha(c) != 0); };
  if (name.empty() || !letter(static_cast<unsigned char>(name.front()))) return false;
  bool word =
      std::all_of(name.begin(), name.end(), [&](unsigned char c) { return letter(c) || (c >= '0' && c <= '9'); });
  return word && syntax::keyword_or_name(name) == syntax::Tok::name && !ir::dtype_from_name(name);
}

/// The expression with `loc` wherever it has no place of its own.
ExprRef placed(const ExprRef& expr, const Loc& loc) {
  return ir::rewrite(expr, [&](const ExprRef& e) -> ExprRef {
    if (e->loc.known()) return nullptr;
    return std::make_shared<const ir::Expr>(ir::Expr{e->type, loc, e->node, e->weak});
  });
}

}  // namespace

BuilderState::BuilderState(std::string name, const std::source_location& at) {
  blocks_.emplace_back();
  kernel.name = std::move(name);
  kernel.loc = loc(at);
  if (!is_identifier(kernel.name)) {
    diags.error(Rule::identifier, kernel.loc, fmt::format("`{}` cannot be the name of a kernel", kernel.name));
  }
}

// ---- Places
// --------------------------------------------------------------------------------------------------------------

Loc BuilderState::loc(const std::source_location& at) {
  SourceRef& source = sources_[at.file_name()];
  if (source == nullptr) source = std::make_shared<const SourceFile>(at.file_name(), std::string());
  return {source, static_cast<int>(at.line()), std::max(1, static_cast<int>(at.column())), 1};
}

Loc BuilderState::begin(const std::source_location& at) {
  Loc here = loc(at);
  if (built_) {
    Diagnostics late;
    late.error(Rule::builder_use, here, "the kernel is built already", "make every call before build()");
    throw_error(late);
  }
  const Diagnostics pending = std::exchange(pending_, {});
  for (Diagnostic found : pending.list()) {
    if (!found.loc.known()) found.loc = here;
    diags.add(std::move(found));
  }
  return here;
}

// ---- Operands
// ------------------------------------------------------------------------------------------------------------

bool BuilderState::visible(const ExprRef& expr, const Loc& at) {
  std::string hidden;
  ir::walk(expr, [&](const ir::Expr& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e.node);
    const auto* load = std::get_if<ir::Load>(&e.node);
    if (ref != nullptr && !visible_.contains(ref->var.get())) hidden = ref->var->name;
    if (load != nullptr && !visible_.contains(load->buffer.get())) hidden = load->buffer->name;
  });
  if (hidden.empty()) return true;
  diags.error(Rule::builder_use, at, fmt::format("`{}` is used outside of the block that defines it", hidden));
  return false;
}

ExprRef BuilderState::use(const Value& value, const Loc& at) {
  if (value.expr_ == nullptr) return nullptr;
  if (value.state_ != nullptr && value.state_.get() != this) {
    diags.error(Rule::builder_use, at, "a value of another builder is used");
    return nullptr;
  }
  return visible(value.expr_, at) ? placed(value.expr_, at) : nullptr;
}

std::vector<ExprRef> BuilderState::use_all(const std::vector<Value>& values, const Loc& at) {
  std::vector<ExprRef> out;
  for (const Value& value : values) out.push_back(use(value, at));
  return out;
}

std::optional<ir::RegionSpec::Dim> BuilderState::dim_of(const Index& index, const ExprRef& whole, const Loc& at) {
  ir::RegionSpec::Dim dim;
  if (index.begin_) {
    dim.begin = lang::to_i64(use(*index.begin_, at), diags);
    if (dim.begin == nullptr) return std::nullopt;
  }
  if (!index.range_ || (!index.begin_ && !index.end_)) return dim;
  ExprRef end = index.end_ ? lang::to_i64(use(*index.end_, at), diags) : whole;
  if (end == nullptr) return std::nullopt;
  dim.extent = lang::range_extent(dim.begin, end, at, diags);
  return dim;
}

std::optional<ir::RegionSpec> BuilderState::use(const Tile& tile, const Loc& at) {
  if (tile.buffer_ == nullptr) return std::nullopt;
  if (!visible_.contains(tile.buffer_.get())) {
    bool foreign = tile.state_.get() != this;
    diags.error(Rule::builder_use, at,
                foreign ? fmt::format("`{}` is a buffer of another builder", tile.buffer_->name)
                        : fmt::format("`{}` is used outside of the block that defines it", tile.buffer_->name));
    return std::nullopt;
  }
  ir::RegionSpec spec{tile.buffer_, {}, tile.index_.empty() ? at : loc(tile.at_)};
  bool ok = true;
  for (std::size_t d = 0; d < tile.index_.size(); ++d) {
    auto dim = dim_of(tile.index_[d], d < tile.buffer_->shape.size() ? tile.buffer_->shape[d] : nullptr, spec.loc);
    ok = ok && dim.has_value();
    if (dim) spec.dims.push_back(std::move(*dim));
  }
  return ok ? std::optional(std::move(spec)) : std::nullopt;
}

std::optional<std::vector<ir::RegionSpec>> BuilderState::use_tiles(const std::vector<const Tile*>& tiles,
                                                                   const Loc& at) {
  std::vector<ir::RegionSpec> out;
  for (const Tile* tile : tiles) {
    if (auto spec = use(*tile, at)) out.push_back(std::move(*spec));
  }
  return out.size() == tiles.size() ? std::optional(std::move(out)) : std::nullopt;
}

BuilderState::LoopBounds BuilderState::use(const Bounds& bounds, const Loc& at) {
  return {lang::to_i64(use(bounds.begin_, at), diags), lang::to_i64(use(bounds.end_, at), diags),
          lang::to_i64(use(bounds.step_, at), diags)};
}

void BuilderState::store(const Ref& target, std::optional<ir::BinaryOp> op, const Value& value) {
  Loc at = begin(target.at_);
  auto spec = use(Tile(target), at);
  ExprRef e = use(value, at);
  if (!spec || e == nullptr) return;
  std::vector<ExprRef> index;
  for (std::size_t d = 0; d < spec->dims.size(); ++d) {
    if (target.index_[d].range_) {
      diags.error(Rule::store_target, at, "a tile cannot be assigned",
                  "use copy or fill for a tile, or a parallel loop over its elements");
      return;
    }
    index.push_back(spec->dims[d].begin);
  }
  emit(lang::make_store(spec->buffer, index, op, e, at, diags));
}

bool BuilderState::is_element(const Tile& tile) {
  return !tile.index_.empty() &&
         std::none_of(tile.index_.begin(), tile.index_.end(), [](const Index& index) { return index.range_; });
}

void BuilderState::atomic(ir::OpKind kind, const Tile& dst, const Source& src, const std::source_location& where) {
  Loc at = begin(where);
  auto to = use(dst, at);
  bool tile = src.tile_ && !is_element(*src.tile_);
  if (!is_element(dst) || tile) {
    if (!src.tile_) {
      diags.error(Rule::not_a_buffer, at, fmt::format("{} of a tile needs a tile to add", ir::op_info(kind).name),
                  "give a tile, or one element and a value");
      return;
    }
    auto from = use(*src.tile_, at);
    if (to && from) emit(lang::make_atomic(kind, *to, *from, at, diags));
    return;
  }
  ExprRef value;
  if (src.value_) value = use(*src.value_, at);
  if (src.tile_) {
    auto from = use(*src.tile_, at);
    std::vector<ExprRef> index;
    for (std::size_t d = 0; from && d < from->dims.size(); ++d) index.push_back(from->dims[d].begin);
    if (from) value = ir::make_load(from->buffer, std::move(index), from->loc, diags);
  }
  if (!to || value == nullptr) return;
  std::vector<ExprRef> index;
  for (const auto& dim : to->dims) index.push_back(dim.begin);
  emit(lang::make_atomic_element(kind, to->buffer, index, value, at, diags));
}

// ---- Blocks and branches
// -------------------------------------------------------------------------------------------------

void BuilderState::emit(ir::StmtRef stmt) {
  close_chain();
  if (stmt != nullptr) blocks_.back().body.push_back(std::move(stmt));
}

ir::Body BuilderState::block(const std::function<void()>& body) {
  struct Leave {
    BuilderState& state;
    ~Leave() {
      for (const auto& [declaration, name] : state.blocks_.back().shown) {
        state.visible_.erase(declaration);
        state.names_.release(name);
      }
      state.blocks_.pop_back();
    }
  };
  constexpr std::size_t kMaxBlocks = 99;
  if (blocks_.size() > kMaxBlocks) {
    diags.error(Rule::expansion_limit, kernel.loc, fmt::format("blocks nest deeper than {} levels", kMaxBlocks));
    return {};
  }
  blocks_.emplace_back();
  Leave leave{*this};
  body();
  close_chain();
  return std::move(blocks_.back().body);
}

void BuilderState::close_chain() {
  if (!blocks_.back().chain) return;
  Chain chain = std::move(*blocks_.back().chain);
  blocks_.back().chain.reset();
  ir::Body rest;
  for (auto it = chain.branches.rbegin(); it != chain.branches.rend(); ++it) {
    if (it->cond == nullptr) {
      rest = std::move(it->body);
      continue;
    }
    ir::Body whole = {ir::make_stmt(ir::If{it->cond, std::move(it->body), std::move(rest)}, it->loc)};
    rest = std::move(whole);
  }
  if (chain.wrong) return;
  blocks_.back().body.insert(blocks_.back().body.end(), rest.begin(), rest.end());
}

void BuilderState::branch(Chain& chain, const Value& cond, const std::function<void()>& body, const Loc& at) {
  if (chain.decided) return;
  ExprRef e = lang::make_condition(use(cond, at), "if", at, diags);
  chain.wrong = chain.wrong || e == nullptr;
  if (auto known = ir::as_int(e)) {
    if (*known == 0) return;
    chain.decided = true;
    // A condition that is true when the program is built leaves no if behind.
    if (chain.branches.empty()) return body();
    e = nullptr;
  }
  // Each further branch stands in the else of the one before it.
  constexpr std::size_t kMaxNesting = 600;
  const std::size_t inside = 1 + chain.branches.size();
  if (nesting_ + inside > kMaxNesting) {
    diags.error(Rule::expansion_limit, at, fmt::format("branches nest deeper than {} levels", kMaxNesting));
    chain.wrong = true;
    return;
  }
  ir::Body statements = block([&] {
    struct Inside {
      std::size_t& nesting;
      std::size_t by;
      ~Inside() { nesting -= by; }
    } in_branch{nesting_, inside};
    nesting_ += inside;
    body();
  });
  chain.branches.push_back({std::move(e), std::move(statements), at});
}

void BuilderState::if_branch(const Value& cond, const std::function<void()>& body, const std::source_location& where) {
  Loc at = begin(where);
  close_chain();
  Chain chain;
  branch(chain, cond, body, at);
  if (chain.decided) close_chain();
  blocks_.back().chain = std::move(chain);
}

void BuilderState::elif_branch(const Value& cond, const std::function<void()>& body,
                               const std::source_location& where) {
  Loc at = begin(where);
  std::optional<Chain> chain = std::exchange(blocks_.back().chain, std::nullopt);
  if (!chain) {
    diags.error(Rule::builder_use, at, "elif_ or else_ does not follow an if_", "call it directly behind if_ or elif_");
    return;
  }
  branch(*chain, cond, body, at);
  if (chain->decided && chain->branches.empty()) close_chain();
  blocks_.back().chain = std::move(chain);
}

void BuilderState::else_branch(const std::function<void()>& body, const std::source_location& where) {
  elif_branch(Value(true), body, where);
  std::optional<Chain>& chain = blocks_.back().chain;
  if (chain) close_chain();
}

void BuilderState::loop(ir::LoopKind kind, const std::vector<LoopBounds>& axes, const std::vector<std::string>& names,
                        ir::PipelineAttrs attrs, const LoopBody& body, std::size_t arity, const Loc& at) {
  if (arity != axes.size() || names.size() > axes.size()) {
    diags.error(Rule::loop_form, at,
                fmt::format("a {} loop over {} axes has a body with {} variables and {} names",
                            ir::loop_kind_name(kind), axes.size(), arity, names.size()),
                "give the lambda one Var for each axis");
    return;
  }
  ir::For node{kind, {}, std::move(attrs), {}};
  bool ok = true;
  for (const LoopBounds& axis : axes) {
    ok = ok && axis.begin != nullptr && axis.end != nullptr && axis.step != nullptr;
    node.axes.push_back({nullptr, axis.begin, axis.end, axis.step});
  }
  node.body = block([&] {
    std::vector<Var> vars;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::string name = i < names.size() ? local_name(names[i], at) : loop_name();
      ir::Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, ir::DType::i64, ir::VarKind::loop, at});
      show(var.get(), name);
      vars.push_back(variable(var));
      node.axes[i].var = var;
    }
    body(vars);
  });
  if (ok) emit(std::move(node), at);
}

bool BuilderState::top_level(std::string_view what, const Loc& at) {
  if (blocks_.size() == 1) return true;
  diags.error(Rule::kernel_statement, at, fmt::format("{} does not stand inside a loop or branch", what));
  return false;
}

// ---- Names
// ---------------------------------------------------------------------------------------------------------------

void BuilderState::show(const void* declaration, const std::string& name) {
  visible_.insert(declaration);
  blocks_.back().shown.emplace_back(declaration, name);
}

std::string BuilderState::local_name(const std::string& wanted, const Loc& at) {
  if (!is_identifier(wanted)) diags.error(Rule::identifier, at, fmt::format("`{}` cannot be a name", wanted));
  return names_.fresh(wanted);
}

std::string BuilderState::loop_name() {
  for (const char* name : {"i", "j", "k", "l", "m", "n"}) {
    if (names_.take(name)) return name;
  }
  return names_.fresh("i");
}

bool BuilderState::header_name(const std::string& name, const Loc& at) {
  if (!is_identifier(name)) {
    diags.error(Rule::identifier, at, fmt::format("`{}` cannot be the name of a parameter or dim", name));
    return false;
  }
  if (names_.take(name)) return true;
  diags.error(Rule::duplicate_name, at, fmt::format("`{}` is already defined", name));
  return false;
}

}  // namespace plait::detail
