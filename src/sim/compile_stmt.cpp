#include "ir/build.h"
#include "sim/compiler.h"
#include "support/result.h"

namespace plait::sim {

Compiler::Compiler(Shared& shared, const roles::Role& role, int first_thread)
    : shared_(shared), role_(role), literals_(shared.launch.values) {
  out_.name = role.name;
  out_.replicas = role.replicas;
  out_.warps = role.warps;
  out_.first_thread = first_thread;
  varying_ = varying_variables(shared.program.builtins, {&shared.program.prologue, &role.body});
}

void Compiler::builtin(const ir::Var& var, Reg& reg, bool per_lane) {
  reg = allocate(per_lane);
  if (var) vars_[var.get()] = reg;
}

RoleCode Compiler::build() {
  const roles::Builtins& names = shared_.program.builtins;
  BuiltinRegs& regs = out_.builtins;
  builtin(names.block, regs.block, false);
  builtin(names.blocks, regs.blocks, false);
  builtin(names.block_x, regs.block_x, false);
  builtin(names.block_y, regs.block_y, false);
  builtin(names.block_z, regs.block_z, false);
  builtin(names.cluster_rank, regs.cluster_rank, false);
  builtin(names.replica, regs.replica, false);
  builtin(names.warp, regs.warp, false);
  builtin(names.lane, regs.lane, true);
  builtin(names.thread, regs.thread, true);
  in_prologue_ = true;
  body(shared_.program.prologue);
  in_prologue_ = false;
  find_tasks();
  body(role_.body);
  push(act::Finish{});
  out_.instrs.back().touched.all = has_tasks_;
  return std::move(out_);
}

std::int32_t Compiler::site(const roles::Stmt& stmt) {
  auto [entry, added] = shared_.sites.try_emplace(&stmt, 0);
  if (added) {
    entry->second = static_cast<std::int32_t>(shared_.code.sites.size());
    shared_.code.sites.push_back({stmt.loc, stmt.origin, statement_word(stmt)});
  }
  return entry->second;
}

/// Adds an instruction with the operand code written since the last one.
std::int32_t Compiler::push(Action action) {
  auto end = static_cast<std::int32_t>(out_.exprs.size());
  out_.instrs.push_back({{expr_begin_, end}, site_, std::move(action)});
  expr_begin_ = end;
  return here() - 1;
}

void Compiler::body(const roles::Body& body) {
  for (const roles::StmtRef& stmt : body) statement(*stmt);
}

void Compiler::statement(const roles::Stmt& stmt) {
  std::int32_t outer = site_;
  site_ = site(stmt);
  std::visit(Overload{
                 [&](const roles::For& n) { n.unroll == roles::Unroll::full ? unrolled(n) : loop(n); },
                 [&](const roles::While& n) { repeat(n); },
                 [&](const roles::If& n) { branch(n); },
                 [&](const roles::Elect& n) { only(act::OnlyThread{in_prologue_}, n.body); },
                 [&](const roles::OneWarp& n) { only(act::OnlyWarp{n.warp}, n.body); },
                 [&](const roles::Let& n) { assign(stmt, n.var, n.value); },
                 [&](const roles::VarDef& n) { assign(stmt, n.var, n.init); },
                 [&](const roles::Set& n) { assign(stmt, n.var, n.value); },
                 [&](const roles::Issue& n) { task(stmt, n); },
                 [](const roles::Acquire&) {},  // simulate() has made mbarriers of channels
                 [](const roles::Publish&) {},
                 [](const roles::Receive&) {},
                 [](const roles::Release&) {},
                 [&](const auto& n) {
                   push(action(n));
                   touch(stmt);
                 },
             },
             stmt.node);
  free_temporaries();
  site_ = outer;
}

void Compiler::assign(const roles::Stmt& stmt, const ir::Var& var, const ir::ExprRef& expr) {
  Reg from = value(expr);
  push(act::Assign{variable(var), from, var->type});
  touch(stmt);
}

void Compiler::only(Action action, const roles::Body& inner) {
  std::int32_t at = push(std::move(action));
  body(inner);
  std::int32_t end = push(act::End{});
  Action& patched = out_.instrs[static_cast<std::size_t>(at)].action;
  if (auto* thread = std::get_if<act::OnlyThread>(&patched)) thread->end = end;
  if (auto* warp = std::get_if<act::OnlyWarp>(&patched)) warp->end = end;
}

void Compiler::branch(const roles::If& node) {
  std::int32_t at = push(act::If{value(node.cond)});
  free_temporaries();
  body(node.then_body);
  std::int32_t otherwise = push(act::Else{});
  body(node.else_body);
  std::int32_t end = push(act::End{});
  std::get<act::If>(out_.instrs[static_cast<std::size_t>(at)].action).otherwise = otherwise;
  std::get<act::Else>(out_.instrs[static_cast<std::size_t>(otherwise)].action).end = end;
}

void Compiler::loop(const roles::For& node) {
  Reg bounds[3];
  const ir::ExprRef* const exprs[3] = {&node.begin, &node.end, &node.step};
  for (int i = 0; i < 3; ++i) {
    Reg from = value(*exprs[i]);
    bounds[i] = allocate(from.per_lane);  // outlives the statement that computes it
    push(act::Assign{bounds[i], from, (*exprs[i])->type});
    free_temporaries();
  }
  Reg var = variable(node.var);
  push(act::LoopEnter{var, bounds[0]});
  std::int32_t test = push(act::LoopTest{var, bounds[1], bounds[2], node.var->type});
  body(node.body);
  push(act::LoopNext{var, bounds[2], node.var->type, test});
  std::get<act::LoopTest>(out_.instrs[static_cast<std::size_t>(test)].action).exit = here();
}

void Compiler::unrolled(const roles::For& node) {
  auto literal = [&](const ir::ExprRef& expr) {
    runtime::Evaluated result = runtime::evaluate(*expr, literals_);
    PLAIT_ASSERT(result.value, "bounds of an unrolled loop are literals");
    return result.value->i;
  };
  std::int64_t begin = literal(node.begin), end = literal(node.end), step = literal(node.step);
  for (std::int64_t i = begin; i < end; i += step) {
    literals_[node.var.get()] = {node.var->type, i, 0};
    body(node.body);
  }
  literals_.erase(node.var.get());
}

void Compiler::repeat(const roles::While& node) {
  push(act::WhileEnter{});
  std::int32_t test = push(act::WhileTest{value(node.cond)});
  free_temporaries();
  body(node.body);
  push(act::Jump{test});
  std::get<act::WhileTest>(out_.instrs[static_cast<std::size_t>(test)].action).exit = here();
}

// ---- Operands ------------------------------------------------------------------------------------------------------

SmemPlace Compiler::place(const roles::SmemRef& ref) {
  return {smem_number(ref.smem->buffer.get()), values(ref.index)};
}
TensorPlace Compiler::place(const roles::TensorRef& ref) {
  return {tensor_number(ref.tensor.get()), values(ref.index)};
}
MbarPlace Compiler::place(const roles::MbarRef& ref) {
  return {mbar_number(ref.mbar), ref.index ? value(ref.index) : constant(interp::int_value(0))};
}

FragmentPlace Compiler::place(const roles::FragmentRef& ref) {
  FragmentPlace at{fragment(ref.fragment)};
  std::int64_t* const to[] = {&at.row, &at.column};
  std::size_t skip = ref.begin.size() == 1 ? 1 : 0;  // one dim: columns
  for (std::size_t i = 0; i < ref.begin.size(); ++i) {
    runtime::Evaluated begin = runtime::evaluate(*ref.begin[i], literals_);
    PLAIT_ASSERT(begin.value, "indices of fragments are literals");
    *to[i + skip] = begin.value->i;
  }
  return at;
}

namespace {

template <typename List, typename Is>
int number_of(const List& list, Is is, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (is(list[i])) return static_cast<int>(i);
  }
  throw InternalError(name + " is not declared by the program");
}

}  // namespace

int Compiler::map_number(const roles::Map& map) const {
  return number_of(shared_.code.maps, [&](const MapCode& m) { return m.decl == map; }, map->name);
}
int Compiler::tensor_number(const ir::BufferDecl* buffer) const {
  return number_of(shared_.code.tensors, [&](const TensorCode& t) { return t.decl.get() == buffer; }, buffer->name);
}
int Compiler::smem_number(const ir::BufferDecl* buffer) const {
  return number_of(shared_.code.smem, [&](const SmemCode& s) { return s.decl->buffer.get() == buffer; }, buffer->name);
}
int Compiler::mbar_number(const roles::Mbar& mbar) const {
  return number_of(shared_.code.mbars, [&](const MbarCode& m) { return m.decl == mbar; }, mbar->name);
}

}  // namespace plait::sim
