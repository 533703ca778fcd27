#include "runtime/eval.h"

#include <limits>

#include "ir/evaluate.h"
#include "support/result.h"

namespace plait::runtime {
namespace {

using ir::BinaryOp;
using ir::DType;
using ir::ScalarValue;
using ir::UnaryOp;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

bool is_true(const ScalarValue& v) { return ir::is_float(v.type) ? v.f != 0 : v.i != 0; }
ScalarValue boolean(bool b) { return {DType::bool_, b ? 1 : 0, 0}; }

/// Whether the value is none of the signed type's.
bool leaves(DType type, std::int64_t value) {
  if (!ir::is_signed_integer(type) || ir::dtype_bits(type) >= 64) return false;
  std::int64_t half = std::int64_t{1} << (ir::dtype_bits(type) - 1);
  return value < -half || value >= half;
}

bool overflows(BinaryOp op, DType type, std::int64_t a, std::int64_t b) {
  if (!ir::is_signed_integer(type)) return false;
  std::int64_t value = 0;
  bool too_large = false;
  if (op == BinaryOp::add) too_large = __builtin_add_overflow(a, b, &value);
  if (op == BinaryOp::sub) too_large = __builtin_sub_overflow(a, b, &value);
  if (op == BinaryOp::mul) too_large = __builtin_mul_overflow(a, b, &value);
  if (op == BinaryOp::div || op == BinaryOp::ceil_div) {
    too_large = a == kLeast && b == -1;
    if (b == -1 && !too_large) value = -a;
  }
  return too_large || leaves(type, value);
}

class Evaluator {
 public:
  explicit Evaluator(const Env& env) : env_(env) {}

  std::optional<ScalarValue> eval(const ir::Expr& e);
  EvalFailure failure() const { return failure_; }

 private:
  std::optional<ScalarValue> fail(EvalFailure failure) {
    failure_ = failure;
    return std::nullopt;
  }
  std::optional<ScalarValue> unary(const ir::Expr& e, const ir::Unary& u);
  std::optional<ScalarValue> binary(const ir::Expr& e, const ir::Binary& b);
  std::optional<ScalarValue> cast(const ir::Expr& e, const ir::Cast& c);
  std::optional<ScalarValue> bitcast(const ir::Expr& e, const ir::Bitcast& c);
  std::optional<ScalarValue> call(const ir::Expr& e, const ir::Call& c);

  const Env& env_;
  EvalFailure failure_ = EvalFailure::unbound;
};

std::optional<ScalarValue> Evaluator::eval(const ir::Expr& e) {
  using Value = std::optional<ScalarValue>;
  return std::visit(Overload{
                        [&](const ir::IntLit& n) -> Value { return ScalarValue{e.type, n.value, 0}; },
                        [&](const ir::FloatLit& n) -> Value { return ScalarValue{e.type, 0, n.value}; },
                        [&](const ir::VarRef& n) -> Value {
                          auto found = env_.find(n.var.get());
                          return found == env_.end() ? fail(EvalFailure::unbound) : found->second;
                        },
                        [&](const ir::Load&) -> Value { return fail(EvalFailure::not_a_call_value); },
                        [&](const ir::Unary& n) { return unary(e, n); },
                        [&](const ir::Binary& n) { return binary(e, n); },
                        [&](const ir::Select& n) -> Value {
                          auto cond = eval(*n.cond);
                          if (!cond) return cond;
                          return eval(is_true(*cond) ? *n.if_true : *n.if_false);
                        },
                        [&](const ir::Cast& n) { return cast(e, n); },
                        [&](const ir::Bitcast& n) { return bitcast(e, n); },
                        [&](const ir::Call& n) { return call(e, n); },
                    },
                    e.node);
}

std::optional<ScalarValue> Evaluator::unary(const ir::Expr& e, const ir::Unary& u) {
  auto a = eval(*u.a);
  if (!a) return a;
  if (u.op == UnaryOp::logical_not) return boolean(!is_true(*a));
  if (ir::is_float(e.type)) return ScalarValue{e.type, 0, -a->f};
  if (u.op == UnaryOp::neg && overflows(BinaryOp::sub, e.type, 0, a->i)) return fail(EvalFailure::overflow);
  return ScalarValue{e.type, ir::evaluate_int(u.op, e.type, a->i), 0};
}

std::optional<ScalarValue> Evaluator::binary(const ir::Expr& e, const ir::Binary& b) {
  auto left = eval(*b.a);
  if (!left) return left;
  if (b.op == BinaryOp::logical_and && !is_true(*left)) return boolean(false);
  if (b.op == BinaryOp::logical_or && is_true(*left)) return boolean(true);
  auto right = eval(*b.b);
  if (!right) return right;
  if (ir::is_float(left->type)) {
    if (ir::is_comparison(b.op)) return boolean(ir::compare_float(b.op, left->f, right->f));
    return ScalarValue{e.type, 0, ir::evaluate_float(b.op, e.type, left->f, right->f)};
  }
  if (overflows(b.op, left->type, left->i, right->i)) return fail(EvalFailure::overflow);
  auto value = ir::evaluate_int(b.op, left->type, left->i, right->i);
  return value ? std::optional(ScalarValue{e.type, *value, 0}) : fail(EvalFailure::division_by_zero);
}

std::optional<ScalarValue> Evaluator::cast(const ir::Expr& e, const ir::Cast& c) {
  auto a = eval(*c.a);
  if (!a) return a;
  bool of_integer = ir::is_integer(a->type) && ir::is_integer(e.type) && !c.saturate;
  if (of_integer && leaves(e.type, a->i)) return fail(EvalFailure::overflow);
  return ir::evaluate_cast(e.type, *a, c.rounding, c.saturate);
}

std::optional<ScalarValue> Evaluator::bitcast(const ir::Expr& e, const ir::Bitcast& c) {
  auto a = eval(*c.a);
  if (!a) return a;
  return ir::evaluate_bitcast(e.type, *a);
}

std::optional<ScalarValue> Evaluator::call(const ir::Expr& e, const ir::Call& c) {
  std::vector<ScalarValue> args;
  for (const ir::ExprRef& arg : c.args) {
    auto value = eval(*arg);
    if (!value) return value;
    args.push_back(*value);
  }
  DType type = args.at(0).type;
  args.resize(3);
  if (!ir::is_float(type)) {
    // `abs` is the one function of integers.
    if (overflows(BinaryOp::sub, type, 0, args[0].i)) return fail(EvalFailure::overflow);
    return ScalarValue{e.type, ir::evaluate_abs(type, args[0].i), 0};
  }
  double result = ir::evaluate_call(c.fn, type, args[0].f, args[1].f, args[2].f);
  return ir::is_bool(e.type) ? boolean(result != 0) : ScalarValue{e.type, 0, result};
}

}  // namespace

std::string_view eval_failure_text(EvalFailure failure) {
  switch (failure) {
    case EvalFailure::unbound:
      return "uses a dim that no argument gives";
    case EvalFailure::overflow:
      return "overflows the type of its values";
    case EvalFailure::division_by_zero:
      return "divides by zero";
    case EvalFailure::not_a_call_value:
      return "reads a tensor, which a condition of the call cannot";
  }
  return "";
}

Evaluated evaluate(const ir::Expr& expr, const Env& env) {
  Evaluator evaluator(env);
  std::optional<ScalarValue> value = evaluator.eval(expr);
  return {value, evaluator.failure()};
}

}  // namespace plait::runtime
