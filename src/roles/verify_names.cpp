#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/print.h"
#include "roles/verify_parts.h"
#include "support/result.h"
#include "syntax/literal.h"
#include "syntax/token.h"

namespace plait::roles {
namespace {

bool is_word(const std::string& name) {
  bool letters = !name.empty() && std::all_of(name.begin(), name.end(), syntax::is_word_char) &&
                 std::isdigit(static_cast<unsigned char>(name.front())) == 0;
  return letters && syntax::keyword_or_name(name) == syntax::Tok::name && !syntax::is_type_name(name);
}

/// Walks a program in the order of its text and keeps what is visible.
class Names {
 public:
  explicit Names(const Check& check) : check_(check), program_(check.program) {}

  void program();

 private:
  // What is visible
  void define(const std::string& name, const void* identity, const Loc& loc);
  void define(const Var& var, const Loc& loc) { define(var->name, var.get(), loc); }
  bool sees(const void* identity) const { return visible_.contains(identity); }
  template <typename Fn>
  void scope(const Fn& fn);
  void body(const Body& body) {
    scope([&] { statements(body); });
  }
  void statements(const Body& body) {
    for (const StmtRef& stmt : body) statement(*stmt);
  }

  // Operands
  void error(Rule rule, const Loc& part, std::string message, std::string fix = {}) {
    check_.diags.error(rule, part.known() ? part : stmt_->loc, std::move(message), std::move(fix));
  }
  void expr(const ExprRef& e);
  void load(const ir::Load& load, const Loc& loc);
  void integer(const ExprRef& e, std::string_view what);
  void typed(const ExprRef& e, DType type, std::string_view what);
  void condition(const ExprRef& e, std::string_view what) { typed(e, DType::bool_, what); }
  void indices(const std::string& name, const std::vector<ExprRef>& index, const ir::BufferDecl& buffer, bool literal,
               const Loc& loc);
  void smem(const SmemRef& ref);
  bool array(const Mbar& mbar, const Loc& loc);
  void mbar(const MbarRef& ref);
  void channel(const ChannelRef& ref);
  void tensor(const TensorRef& ref);
  void fragment(const Fragment& fragment, const Loc& loc);
  void fragment_at(const FragmentRef& ref);
  void map_at(const Map& map, const std::vector<ExprRef>& at);

  // Statements
  void statement(const Stmt& stmt);
  void operands(const Stmt& stmt);
  void check(const Let& s);
  void check(const VarDef& s);
  void check(const Set& s);
  void check(const For& s);
  void check(const While& s);
  void check(const If& s);
  void check(const Elect& s) { body(s.body); }
  void check(const OneWarp& s) { body(s.body); }
  void check(const DefFragment& s);
  void check(const Each& s);
  void check(const MbarInit& s) { array(s.mbar, {}); }
  void check(const Wait& s) { integer(s.parity, "a parity"); }
  void check(const Arrive& s) {
    if (s.rank != nullptr) integer(s.rank, "the block of a cluster");
  }
  void check(const Expect& s) { integer(s.bytes, "a number of bytes"); }
  void check(const Acquire& s) {
    if (s.bytes != nullptr) integer(s.bytes, "a number of bytes");
  }
  void check(const Issue& s) {
    for (const ExprRef& e : {s.latency, s.ii}) {
      if (e != nullptr) integer(e, "a number of cycles");
    }
    body(s.body);
  }
  void check(const BarrierSync& s) { integer(s.id, "a named barrier"); }
  void check(const BarrierArrive& s) { integer(s.id, "a named barrier"); }
  void check(const TmaLoad& s) {
    map_at(s.map, s.at);
    if (s.multicast != nullptr) integer(s.multicast, "a mask of blocks");
  }
  void check(const TmaStore& s) { map_at(s.map, s.at); }
  void check(const BulkLoad& s) { integer(s.bytes, "a number of bytes"); }
  void check(const BulkStore& s) { integer(s.bytes, "a number of bytes"); }
  void check(const Wgmma& s) {
    if (s.clear != nullptr) condition(s.clear, "the condition of clear");
  }
  void check(const CpAsync& s) {
    if (s.where != nullptr) condition(s.where, "the condition of a copy");
  }
  void check(const PutTensor& s) { typed(s.value, s.dst.tensor->type, "the value that is stored"); }
  void check(const PutShared& s) { typed(s.value, s.dst.smem->buffer->type, "the value that is stored"); }
  void check(const Atomic& s) {
    typed(s.value, s.dst.tensor->type, fmt::format("the value of {}", atomic_word(s.op)));
    typed_var(s.result, s.dst.tensor->type);
  }
  void check(const AtomicShared& s) {
    typed(s.value, s.dst.smem->buffer->type, fmt::format("the value of {}", atomic_word(s.op)));
    typed_var(s.result, s.dst.smem->buffer->type);
  }
  void check(const Shuffle& s) {
    integer(s.lane, "the number of a lane");
    typed_var(s.result, s.value->type);
  }
  void check(const Broadcast& s) { typed_var(s.result, s.value->type); }
  void check(const Clock& s) { typed_var(s.result, s.global ? DType::u64 : DType::u32); }
  template <typename Other>
  void check(const Other&) {}
  void typed_var(const Var& var, DType type);

  const Check& check_;
  const Program& program_;
  const Stmt* stmt_ = nullptr;
  std::unordered_set<const void*> visible_;
  std::unordered_map<std::string, Loc> names_;
  struct Entry {
    std::string name;
    const void* identity;
  };
  std::vector<Entry> entries_;
  std::unordered_set<const void*> variables_;
  const Each* each_ = nullptr;
};

void Names::define(const std::string& name, const void* identity, const Loc& loc) {
  if (!is_word(name)) {
    check_.diags.error(Rule::roles_name, loc, fmt::format("`{}` cannot be a name in a role program", name),
                       "use letters, digits and underscores, and no reserved word or type");
  }
  auto [it, fresh] = names_.try_emplace(name, loc);
  if (!fresh) {
    check_.diags.error(Rule::roles_name, loc, fmt::format("`{}` is already defined", name))
        .notes.push_back({it->second, fmt::format("`{}` is defined here", name)});
  }
  entries_.push_back({fresh ? name : std::string(), identity});
  visible_.insert(identity);
}

template <typename Fn>
void Names::scope(const Fn& fn) {
  std::size_t outer = entries_.size();
  fn();
  for (; entries_.size() > outer; entries_.pop_back()) {
    visible_.erase(entries_.back().identity);
    if (!entries_.back().name.empty()) names_.erase(entries_.back().name);
  }
}

void Names::program() {
  Stmt head{program_.loc, {}, SyncWarp{}};
  stmt_ = &head;
  for (const Var& dim : program_.dims) define(dim, dim->loc);
  for (const ir::Param& param : program_.params) {
    if (param.kind == ir::ParamKind::scalar) {
      define(param.scalar, param.scalar->loc);
    } else {
      define(param.buffer->name, param.buffer.get(), param.buffer->loc);
    }
  }
  const Builtins& b = program_.builtins;
  define(b.sms, program_.loc);
  for (const ir::Require& require : program_.requires_) condition(require.cond, "the condition of require");
  for (const Let& let : program_.lets) {
    expr(let.value);
    check(let);
  }
  for (const ExprRef& extent : program_.launch) {
    integer(extent, "an extent of launch");
    expr(extent);
  }
  for (const Workspace& workspace : program_.workspaces) {
    for (const ExprRef& extent : workspace->buffer->shape) expr(extent);
    define(workspace->buffer->name, workspace->buffer.get(), workspace->loc);
  }
  for (const Map& map : program_.maps) define(map->name, map.get(), map->loc);
  for (const Smem& smem : program_.smem) define(smem->buffer->name, smem->buffer.get(), smem->loc);
  for (const Channel& channel : program_.channels) {
    define(channel->name, channel.get(), channel->loc);
    // Its mbarriers.
    define(channel->name + "_full", &channel->depth, channel->loc);
    define(channel->name + "_empty", &channel->tiles, channel->loc);
  }
  for (const Mbar& mbar : program_.mbars) define(mbar->name, mbar.get(), mbar->loc);
  for (const Var& var : {b.block, b.blocks, b.block_x, b.block_y, b.block_z, b.cluster_rank, b.lane})
    define(var, program_.loc);
  visible_.erase(b.sms.get());
  body(program_.prologue);
  for (const Var& var : {b.replica, b.warp, b.thread}) define(var, program_.loc);
  for (const Role& role : program_.roles) body(role.body);
}

// ---- Operands ------------------------------------------------------------------------------------------------------

void Names::expr(const ExprRef& e) {
  ir::walk(e, [&](const ir::Expr& x) {
    if (const auto* ref = std::get_if<ir::VarRef>(&x.node)) {
      if (sees(ref->var.get())) return;
      if (ref->var == program_.builtins.sms)
        return error(Rule::host_value, x.loc, "`sms` is known to the host alone",
                     "define a let in the head and use it here");
      error(Rule::roles_scope, x.loc, fmt::format("`{}` is not defined here", ref->var->name));
    }
    if (const auto* read = std::get_if<ir::Load>(&x.node)) load(*read, x.loc);
  });
}

void Names::load(const ir::Load& load, const Loc& loc) {
  const ir::BufferDecl& buffer = *load.buffer;
  if (!sees(&buffer)) return error(Rule::roles_scope, loc, fmt::format("`{}` is not defined here", buffer.name));
  if (buffer.scope == ir::Scope::fragment && each_ == nullptr) {
    return error(Rule::fragment_element, loc, fmt::format("an element of the fragment `{}` is read here", buffer.name));
  }
  if (buffer.scope != ir::Scope::fragment)
    indices(buffer.name, load.index, buffer, buffer.scope == ir::Scope::shared, loc);
}

void Names::integer(const ExprRef& e, std::string_view what) {
  if (ir::is_integer(e->type)) return;
  error(Rule::role_value, e->loc, fmt::format("{} is an integer, and this is {}", what, ir::dtype_name(e->type)));
}

void Names::typed(const ExprRef& e, DType type, std::string_view what) {
  if (e->type == type) return;
  error(Rule::role_value, e->loc,
        fmt::format("{} is {}, and this is {}", what, ir::dtype_name(type), ir::dtype_name(e->type)),
        ir::is_bool(type) ? "write a comparison such as x != 0" : "");
}

void Names::typed_var(const Var& var, DType type) {
  if (var->type == type) return;
  error(Rule::role_value, var->loc,
        fmt::format("`{}` is of type {} and gets a value of type {}", var->name, ir::dtype_name(var->type),
                    ir::dtype_name(type)));
}

void Names::indices(const std::string& name, const std::vector<ExprRef>& index, const ir::BufferDecl& buffer,
                    bool literal, const Loc& loc) {
  if (index.size() != buffer.shape.size()) {
    return error(Rule::role_index, loc,
                 fmt::format("`{}` has {} dimension{}, and here are {} indices", name, buffer.shape.size(),
                             buffer.shape.size() == 1 ? "" : "s", index.size()));
  }
  for (std::size_t d = 0; d < index.size(); ++d) {
    integer(index[d], "an index");
    auto value = ir::is_integer(index[d]->type) ? ir::as_int(index[d]) : std::nullopt;
    auto extent = literal ? ir::as_int(buffer.shape[d]) : std::nullopt;
    if (!value || !extent || (*value >= 0 && *value < *extent)) continue;
    error(Rule::role_index, index[d]->loc,
          fmt::format("index {} of `{}` is {}, and its extent {}", d, name, *value, *extent));
  }
}

void Names::smem(const SmemRef& ref) {
  const ir::BufferDecl& buffer = *ref.smem->buffer;
  if (std::find(program_.smem.begin(), program_.smem.end(), ref.smem) == program_.smem.end())
    return error(Rule::role_operand, ref.loc, fmt::format("`{}` is no tile of this program", buffer.name));
  indices(buffer.name, ref.index, buffer, true, ref.loc);
}

bool Names::array(const Mbar& mbar, const Loc& loc) {
  if (std::find(program_.mbars.begin(), program_.mbars.end(), mbar) != program_.mbars.end()) return true;
  error(Rule::role_operand, loc, fmt::format("`{}` is no mbar of this program", mbar->name));
  return false;
}

void Names::mbar(const MbarRef& ref) {
  if (!array(ref.mbar, ref.loc)) return;
  integer(ref.index, "an index");
  auto value = ir::as_int(ref.index);
  if (!value || (*value >= 0 && *value < ref.mbar->size)) return;
  error(Rule::role_index, ref.loc,
        fmt::format("the index of `{}` is {}, and it has {} barriers", ref.mbar->name, *value, ref.mbar->size));
}

void Names::channel(const ChannelRef& ref) {
  if (std::find(program_.channels.begin(), program_.channels.end(), ref.channel) == program_.channels.end())
    return error(Rule::role_operand, ref.loc, fmt::format("`{}` is no channel of this program", ref.channel->name));
  integer(ref.index, "an index");
  auto value = ir::as_int(ref.index);
  if (value && *value < 0)
    error(Rule::role_index, ref.loc, fmt::format("item {} of `{}`", *value, ref.channel->name),
          "items are counted from 0");
}

void Names::tensor(const TensorRef& ref) {
  bool known = std::any_of(program_.params.begin(), program_.params.end(),
                           [&](const ir::Param& param) { return param.buffer == ref.tensor; }) ||
               std::any_of(program_.workspaces.begin(), program_.workspaces.end(),
                           [&](const Workspace& workspace) { return workspace->buffer == ref.tensor; });
  if (!known) return error(Rule::role_operand, ref.loc, fmt::format("`{}` is no tensor parameter", ref.tensor->name));
  indices(ref.tensor->name, ref.index, *ref.tensor, false, ref.loc);
}

void Names::fragment(const Fragment& fragment, const Loc& loc) {
  if (sees(fragment->buffer.get())) return;
  error(Rule::roles_scope, loc, fmt::format("the fragment `{}` is not defined here", fragment->buffer->name));
}

void Names::fragment_at(const FragmentRef& ref) {
  fragment(ref.fragment, ref.loc);
  indices(ref.fragment->buffer->name, ref.begin, *ref.fragment->buffer, true, ref.loc);
}

void Names::map_at(const Map& map, const std::vector<ExprRef>& at) {
  if (at.size() != map->tensor->shape.size()) {
    return error(Rule::role_index, {},
                 fmt::format("`{}` is a map of a tensor of {} dimensions, and here are {} indices", map->name,
                             map->tensor->shape.size(), at.size()));
  }
  for (const ExprRef& e : at) integer(e, "an index");
}

// ---- Statements ----------------------------------------------------------------------------------------------------

void Names::statement(const Stmt& stmt) {
  const Stmt* outer = std::exchange(stmt_, &stmt);
  operands(stmt);
  std::visit([&](const auto& s) { check(s); }, stmt.node);
  stmt_ = outer;
}

/// What every statement has alike: its expressions and the things it names.
void Names::operands(const Stmt& stmt) {
  // The stores of an each are looked at with its coordinates visible.
  if (std::holds_alternative<Each>(stmt.node)) return;
  Visitor look;
  look.expr = [&](const ExprRef& e) { expr(e); };
  look.smem = [&](const SmemRef& ref) { smem(ref); };
  look.mbar = [&](const MbarRef& ref) { mbar(ref); };
  look.channel = [&](const ChannelRef& ref) { channel(ref); };
  look.tensor = [&](const TensorRef& ref) { tensor(ref); };
  look.fragment_at = [&](const FragmentRef& ref) { fragment_at(ref); };
  look.fragment = [&](const Fragment& x) {
    if (!std::holds_alternative<DefFragment>(stmt.node)) fragment(x, stmt.loc);
  };
  look.map = [&](const Map& map) {
    if (std::find(program_.maps.begin(), program_.maps.end(), map) == program_.maps.end())
      error(Rule::role_operand, {}, fmt::format("`{}` is no map of this program", map->name));
  };
  visit(stmt, look);
  // Loops define their variable inside.
  if (std::holds_alternative<For>(stmt.node) || std::holds_alternative<Set>(stmt.node)) return;
  Visitor make;
  make.define = [&](const Var& var) { define(var, stmt.loc); };
  visit(stmt, make);
}

void Names::check(const Let& s) {
  if (stmt_ != nullptr && !sees(s.var.get())) define(s.var, s.var->loc.known() ? s.var->loc : stmt_->loc);
  typed_var(s.var, s.value->type);
}

void Names::check(const VarDef& s) {
  variables_.insert(s.var.get());
  typed(s.init, s.var->type, fmt::format("`{}`", s.var->name));
}

void Names::check(const Set& s) {
  if (!sees(s.var.get()) || !variables_.contains(s.var.get())) {
    return error(Rule::role_set, {}, fmt::format("`{}` is no variable that is visible here", s.var->name));
  }
  typed(s.value, s.var->type, fmt::format("`{}`", s.var->name));
}

void Names::check(const For& s) {
  for (const ExprRef& e : {s.begin, s.end, s.step}) {
    integer(e, "a bound of a loop");
    if (ir::is_integer(e->type)) typed(e, s.var->type, fmt::format("a bound of the loop over `{}`", s.var->name));
    bool literal = std::holds_alternative<ir::IntLit>(e->node);
    if (s.unroll == Unroll::full && !literal)
      error(Rule::role_loop, e->loc, fmt::format("the bound {} of an unrolled loop is no literal", value_text(e)),
            "use literals and compile-time parameters, or write range in place of unrolled");
  }
  if (auto step = ir::as_int(s.step); step && *step < 1)
    error(Rule::role_loop, s.step->loc, fmt::format("the step of the loop is {}", *step), "make it at least 1");
  if (s.unroll == Unroll::by && s.factor < 1)
    error(Rule::role_loop, {}, fmt::format("a loop is unrolled by {}", s.factor), "unroll by at least 1");
  scope([&] {
    define(s.var, s.var->loc.known() ? s.var->loc : stmt_->loc);
    body(s.body);
  });
}

void Names::check(const While& s) {
  condition(s.cond, "the condition of while");
  body(s.body);
}

void Names::check(const If& s) {
  condition(s.cond, "the condition of if");
  body(s.then_body);
  body(s.else_body);
}

void Names::check(const DefFragment& s) {
  define(s.fragment->buffer->name, s.fragment->buffer.get(), s.fragment->loc);
  if (s.fragment->of != nullptr) fragment(s.fragment->of, s.fragment->loc);
}

void Names::check(const Each& s) {
  fragment(s.domain, {});
  std::size_t rank = s.domain->buffer->shape.size();
  if (s.vars.size() != rank) {
    error(Rule::fragment_element, {},
          fmt::format("`{}` has {} dimension{}, and each names {}", s.domain->buffer->name, rank, rank == 1 ? "" : "s",
                      s.vars.size()),
          "name one coordinate for each dimension");
  }
  each_ = &s;
  scope([&] {
    for (const Var& var : s.vars) {
      define(var, var->loc.known() ? var->loc : stmt_->loc);
      if (!ir::is_integer(var->type)) typed_var(var, DType::i32);
    }
    for (const ElementStore& store : s.stores) {
      fragment(store.fragment, {});
      for (const ExprRef& e : store.index) expr(e);
      expr(store.value);
      typed(store.value, store.fragment->buffer->type, fmt::format("an element of `{}`", store.fragment->buffer->name));
    }
  });
  each_ = nullptr;
}

}  // namespace

void check_names(const Check& check) { Names(check).program(); }

}  // namespace plait::roles
