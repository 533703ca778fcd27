#include "ir/build.h"
#include "ir/visit.h"
#include "sim/compiler.h"
#include "support/result.h"

namespace plait::sim {
namespace {

bool may_fail(const ir::Binary& e) {
  if (ir::is_float(e.a->type)) return false;
  auto by = ir::as_int(e.b);
  bool shifts = e.op == ir::BinaryOp::shl || e.op == ir::BinaryOp::shr;
  bool divides = e.op == ir::BinaryOp::div || e.op == ir::BinaryOp::mod || e.op == ir::BinaryOp::ceil_div;
  if (divides) return !by || *by == 0 || *by == -1;
  if (shifts) return !by || *by < 0 || *by >= ir::dtype_bits(e.a->type);
  bool sums = e.op == ir::BinaryOp::add || e.op == ir::BinaryOp::sub || e.op == ir::BinaryOp::mul;
  return sums && ir::is_signed_integer(e.a->type);
}

/// Whether computing it reads memory, divides or may overflow, which it must not in lanes that do not want it.
bool may_fail(const ir::ExprRef& expr) {
  bool found = false;
  ir::walk(expr, [&](const ir::Expr& e) {
    const auto* binary = std::get_if<ir::Binary>(&e.node);
    bool negates = std::holds_alternative<ir::Unary>(e.node) || std::holds_alternative<ir::Call>(e.node);  // or abs
    found |= std::holds_alternative<ir::Load>(e.node) || (binary != nullptr && may_fail(*binary)) ||
             (negates && ir::is_signed_integer(e.type));
  });
  return found;
}

/// Whether an operation within the expression has an undefined result for these values. Such a one is left to the run,
/// which reports it where it is reached.
bool has_undefined(const ir::ExprRef& expr, const runtime::Env& values) {
  bool found = false;
  auto value = [&](const ir::ExprRef& e) { return runtime::evaluate(*e, values).value; };
  ir::walk(expr, [&](const ir::Expr& e) {
    if (const auto* binary = std::get_if<ir::Binary>(&e.node); binary != nullptr && may_fail(*binary)) {
      auto a = value(binary->a), b = value(binary->b);
      found |= a && b && is_undefined(binary->op, binary->a->type, a->i, b->i);
    }
    if (!ir::is_signed_integer(e.type)) return;
    const auto* unary = std::get_if<ir::Unary>(&e.node);
    const auto* call = std::get_if<ir::Call>(&e.node);  // abs
    bool negates = unary != nullptr && unary->op == ir::UnaryOp::neg;
    auto a = negates ? value(unary->a) : call != nullptr ? value(call->args[0]) : std::nullopt;
    found |= a && is_undefined(ir::BinaryOp::sub, e.type, 0, a->i);
  });
  return found;
}

}  // namespace

bool uses_special_unit(ir::Intrinsic fn) {
  switch (fn) {
    case ir::Intrinsic::exp:
    case ir::Intrinsic::exp2:
    case ir::Intrinsic::log:
    case ir::Intrinsic::log2:
    case ir::Intrinsic::sqrt:
    case ir::Intrinsic::rsqrt:
    case ir::Intrinsic::sin:
    case ir::Intrinsic::cos:
    case ir::Intrinsic::tanh:
    case ir::Intrinsic::erf:
    case ir::Intrinsic::sigmoid:
    case ir::Intrinsic::pow:
      return true;
    case ir::Intrinsic::floor:
    case ir::Intrinsic::ceil:
    case ir::Intrinsic::round:
    case ir::Intrinsic::trunc:
    case ir::Intrinsic::abs:
    case ir::Intrinsic::fma:
    case ir::Intrinsic::isnan:
    case ir::Intrinsic::isinf:
      return false;
  }
  return false;
}

ThreadWork thread_work(const ir::ExprRef& value) {
  ThreadWork out;
  ir::walk(value, [&](const ir::Expr& e) {
    bool operand = std::holds_alternative<ir::IntLit>(e.node) || std::holds_alternative<ir::FloatLit>(e.node) ||
                   std::holds_alternative<ir::VarRef>(e.node) || std::holds_alternative<ir::Load>(e.node);
    const auto* call = std::get_if<ir::Call>(&e.node);
    out.operations += operand ? 0 : 1;
    out.special += call != nullptr && uses_special_unit(call->fn) ? 1 : 0;
  });
  return out;
}

Reg Compiler::allocate(bool per_lane) {
  Reg reg{static_cast<std::int32_t>(out_.file.size()), per_lane};
  out_.file.resize(out_.file.size() + (per_lane ? kLanes : 1), interp::int_value(0));
  return reg;
}

Reg Compiler::temporary(bool per_lane) {
  std::vector<Reg>& free = free_[per_lane ? 1 : 0];
  Reg reg;
  if (free.empty()) {
    reg = allocate(per_lane);
  } else {
    reg = free.back();
    free.pop_back();
  }
  used_.push_back(reg);
  return reg;
}

void Compiler::free_temporaries() {
  for (Reg reg : used_) free_[reg.per_lane ? 1 : 0].push_back(reg);
  used_.clear();
}

Reg Compiler::constant(Value value) {
  auto [entry, added] = constants_.try_emplace(value.i);
  if (added) {
    entry->second = allocate(false);
    out_.file[static_cast<std::size_t>(entry->second.at)] = value;
  }
  return entry->second;
}

Reg Compiler::variable(const ir::Var& var) {
  auto [entry, added] = vars_.try_emplace(var.get());
  if (added) entry->second = allocate(varying_.count(var.get()) > 0);
  return entry->second;
}

Reg Compiler::value(const ir::ExprRef& expr) {
  if (!ir::is_float(expr->type)) {
    runtime::Evaluated known = runtime::evaluate(*expr, literals_);
    if (known.value && !has_undefined(expr, literals_)) return constant(interp::int_value(known.value->i));
  }
  return lower(*expr);
}

std::vector<Reg> Compiler::values(const std::vector<ir::ExprRef>& exprs) {
  std::vector<Reg> regs;
  regs.reserve(exprs.size());
  for (const ir::ExprRef& expr : exprs) regs.push_back(value(expr));
  return regs;
}

Reg Compiler::lower(const ir::Expr& expr) {
  return std::visit([&](const auto& node) { return lower(expr, node); }, expr.node);
}

Reg Compiler::emit(ExprHandler run, ir::DType type, std::initializer_list<Reg> operands, std::int32_t extra) {
  ExprInstr instr;
  instr.run = run;
  instr.type = type;
  instr.extra = extra;
  bool per_lane = false;
  for (Reg reg : operands) per_lane |= reg.per_lane;
  std::int32_t* const at[] = {&instr.a, &instr.b, &instr.c};
  std::uint8_t* const step[] = {&instr.step_a, &instr.step_b, &instr.step_c};
  std::size_t i = 0;
  for (Reg reg : operands) {
    *at[i] = reg.at;
    *step[i++] = reg.per_lane ? 1 : 0;
  }
  Reg dst = temporary(per_lane);
  instr.dst = dst.at;
  instr.lanes = static_cast<std::int16_t>(per_lane ? kLanes : 1);
  out_.exprs.push_back(instr);
  ++operations_;
  return dst;
}

Reg Compiler::lower(const ir::Expr&, const ir::IntLit& node) { return constant(interp::int_value(node.value)); }
Reg Compiler::lower(const ir::Expr&, const ir::FloatLit& node) { return constant(interp::float_value(node.value)); }

Reg Compiler::lower(const ir::Expr& expr, const ir::VarRef& node) {
  auto known = literals_.find(node.var.get());
  if (known == literals_.end()) return variable(node.var);
  return constant(ir::is_float(expr.type) ? interp::float_value(known->second.f) : interp::int_value(known->second.i));
}

Reg Compiler::fragment_load(const ir::Load& node) {
  PLAIT_ASSERT(domain_ >= 0, "fragments are read within each");
  ExprInstr instr;
  instr.run = run_load_fragment;
  instr.extra = fragment_use(domain_, fragment_number(node.buffer.get()));
  instr.lanes = kLanes;
  Reg dst = temporary(true);
  instr.dst = dst.at;
  out_.exprs.push_back(instr);
  return dst;
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Load& node) {
  if (node.buffer->scope == ir::Scope::fragment) return fragment_load(node);
  bool shared = node.buffer->scope == ir::Scope::shared;
  ElementCode element{shared ? smem_number(node.buffer.get()) : tensor_number(node.buffer.get()), values(node.index)};
  bool per_lane = false;
  for (Reg reg : element.index) per_lane |= reg.per_lane;
  ExprInstr instr;
  instr.run = shared ? run_load_shared : run_load_tensor;
  instr.type = expr.type;
  instr.extra = static_cast<std::int32_t>(shared_.code.elements.size());
  shared_.code.elements.push_back(std::move(element));
  Reg dst = temporary(per_lane);
  instr.dst = dst.at;
  instr.lanes = static_cast<std::int16_t>(per_lane ? kLanes : 1);
  out_.exprs.push_back(instr);
  return dst;
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Unary& node) {
  return emit(unary_handler(node.op, node.a->type), expr.type, {value(node.a)}, static_cast<std::int32_t>(node.op));
}

Reg Compiler::guarded(const ir::ExprRef& expr, Reg cond, bool holds) {
  if (!may_fail(expr)) return value(expr);
  std::size_t narrow = out_.exprs.size();
  ExprInstr instr;
  instr.run = run_narrow;
  instr.a = cond.at;
  instr.step_a = cond.per_lane ? 1 : 0;
  instr.extra = holds ? 0 : 1;
  out_.exprs.push_back(instr);
  Reg result = value(expr);
  ExprInstr widen;
  widen.run = run_widen;
  out_.exprs.push_back(widen);
  out_.exprs[narrow].skip = static_cast<std::int32_t>(out_.exprs.size() - 2 - narrow);
  return result;
}

/// `a and b` as `b if a else false`, `a or b` as `true if a else b`.
Reg Compiler::logical(const ir::Expr& expr, const ir::Binary& node) {
  Reg a = value(node.a);
  bool is_and = node.op == ir::BinaryOp::logical_and;
  Reg b = guarded(node.b, a, is_and);
  return is_and ? emit(run_select, expr.type, {a, b, constant(interp::int_value(0))})
                : emit(run_select, expr.type, {a, constant(interp::int_value(1)), b});
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Binary& node) {
  if (node.op == ir::BinaryOp::logical_and || node.op == ir::BinaryOp::logical_or) return logical(expr, node);
  Reg a = value(node.a), b = value(node.b);
  return emit(binary_handler(node.op, node.a->type), node.a->type, {a, b}, static_cast<std::int32_t>(node.op));
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Select& node) {
  Reg cond = value(node.cond);
  Reg a = guarded(node.if_true, cond, true), b = guarded(node.if_false, cond, false);
  return emit(run_select, expr.type, {cond, a, b});
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Cast& node) {
  shared_.code.casts.push_back({node.a->type, expr.type, node.rounding, node.saturate});
  auto number = static_cast<std::int32_t>(shared_.code.casts.size() - 1);
  return emit(run_cast, expr.type, {value(node.a)}, number);
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Bitcast& node) {
  shared_.code.casts.push_back({node.a->type, expr.type});
  auto number = static_cast<std::int32_t>(shared_.code.casts.size() - 1);
  return emit(run_bitcast, expr.type, {value(node.a)}, number);
}

/// fn(a * before) * behind in f32.
Reg Compiler::scaled(ir::Intrinsic fn, Reg a, double before, double behind) {
  using ir::DType;
  auto times = [&](Reg x, double factor) {
    Reg y = constant(interp::float_value(ir::round_to(DType::f32, factor)));
    return emit(binary_handler(ir::BinaryOp::mul, DType::f32), DType::f32, {x, y},
                static_cast<std::int32_t>(ir::BinaryOp::mul));
  };
  Reg x = before == 1 ? a : times(a, before);
  Reg y = emit(call_handler(fn, DType::f32), DType::f32, {x}, static_cast<std::int32_t>(fn));
  return behind == 1 ? y : times(y, behind);
}

Reg Compiler::lower(const ir::Expr& expr, const ir::Call& node) {
  std::vector<Reg> args = values(node.args);
  special_ += uses_special_unit(node.fn) ? 1 : 0;
  if (expr.type == ir::DType::f32 && node.fn == ir::Intrinsic::exp)
    return scaled(ir::Intrinsic::exp2, args[0], 1.4426950408889634, 1);
  if (expr.type == ir::DType::f32 && node.fn == ir::Intrinsic::log)
    return scaled(ir::Intrinsic::log2, args[0], 1, 0.6931471805599453);
  ExprHandler handler = call_handler(node.fn, node.args[0]->type);
  auto number = static_cast<std::int32_t>(node.fn);
  if (args.size() == 1) return emit(handler, node.args[0]->type, {args[0]}, number);
  if (args.size() == 2) return emit(handler, node.args[0]->type, {args[0], args[1]}, number);
  return emit(handler, node.args[0]->type, {args[0], args[1], args[2]}, number);
}

}  // namespace plait::sim
