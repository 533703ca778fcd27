#include <fmt/format.h>

#include <array>
#include <cmath>

#include "ir/evaluate.h"
#include "ir/expr_util.h"

namespace plait::ir {
namespace {

/// What an operator or function is defined on.
enum class Domain { number, integer, floating, boolean, any };

std::string_view domain_name(Domain domain) {
  switch (domain) {
    case Domain::number:
      return "integers and floats";
    case Domain::integer:
      return "integers";
    case Domain::floating:
      return "floats";
    case Domain::boolean:
      return "bool";
    case Domain::any:
      return "all types";
  }
  return "";
}

bool contains(Domain domain, DType type) {
  switch (domain) {
    case Domain::number:
      return !is_bool(type);
    case Domain::integer:
      return is_integer(type);
    case Domain::floating:
      return is_float(type);
    case Domain::boolean:
      return is_bool(type);
    case Domain::any:
      return true;
  }
  return false;
}

Domain domain_of(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return Domain::number;
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
      return Domain::integer;
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return Domain::boolean;
    case BinaryOp::eq:
    case BinaryOp::ne:
      return Domain::any;
  }
  return Domain::any;
}

Domain domain_of(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg:
      return Domain::number;
    case UnaryOp::bit_not:
      return Domain::integer;
    case UnaryOp::logical_not:
      return Domain::boolean;
  }
  return Domain::any;
}

/// Columns of intrinsics.def.
enum class CallKind { fmath, fpred, any };
CallKind call_kind(Intrinsic fn) {
  constexpr std::array kinds = {
#define PLAIT_INTRINSIC(id, name, arity, kind) CallKind::kind,
#include "ir/intrinsics.def"
#undef PLAIT_INTRINSIC
  };
  return kinds[static_cast<std::size_t>(fn)];
}

std::string advice(Domain domain, DType type) {
  if (domain == Domain::boolean) return "compare the value, e.g. x != 0";
  if (is_bool(type)) return "use and, or, not on bool, or select(x, 1, 0) for a number";
  return domain == Domain::integer ? "convert it, e.g. i32(x)" : "convert it, e.g. f32(x)";
}

bool check_domain(Domain domain, std::string_view what, const ExprRef& e, const Loc& loc, Diagnostics& diags) {
  if (contains(domain, e->type)) return true;
  diags.error(Rule::operand_type, place_of(e, loc),
              fmt::format("`{}` is defined on {}, not on {}", what, domain_name(domain), dtype_name(e->type)),
              advice(domain, e->type));
  return false;
}

/// Weak literals are kept in f64 until they have a type.
DType arithmetic_type(const Expr& e) { return e.weak && is_float(e.type) ? DType::f64 : e.type; }

double real(const ExprRef& e) { return std::get<FloatLit>(e->node).value; }

ExprRef fold_float(BinaryOp op, const ExprRef& a, const ExprRef& b, const Loc& loc) {
  if (is_comparison(op)) return bool_literal(compare_float(op, real(a), real(b)), loc);
  return float_of(a->type, evaluate_float(op, arithmetic_type(*a), real(a), real(b)), loc, a->weak);
}

/// `a op b` of literals of one type; null for a division by zero.
ExprRef fold_binary(BinaryOp op, const ExprRef& a, const ExprRef& b, const Loc& loc) {
  if (is_float(a->type)) return fold_float(op, a, b, loc);
  auto value = evaluate_int(op, a->type, *as_int(a), *as_int(b));
  if (!value) return nullptr;
  if (is_comparison(op)) return bool_literal(*value != 0, loc);
  return make_expr(a->type, loc, IntLit{*value}, a->weak);
}

bool divides_by_zero(BinaryOp op, const ExprRef& b) {
  bool divides = op == BinaryOp::div || op == BinaryOp::mod || op == BinaryOp::ceil_div;
  return divides && is_integer(b->type) && as_int(b) == 0;
}

/// `and` and `or` whose left operand decides, or whose right one does not matter; null otherwise.
ExprRef fold_logical(BinaryOp op, const ExprRef& a, const ExprRef& b) {
  bool neutral = op == BinaryOp::logical_and;
  if (auto left = as_int(a)) return (*left != 0) == neutral ? b : a;
  if (auto right = as_int(b); right && (*right != 0) == neutral) return a;
  return nullptr;
}

DType result_type(BinaryOp op, DType operands) { return is_comparison(op) ? DType::bool_ : operands; }

ExprRef fold_call(Intrinsic fn, const std::vector<ExprRef>& args, const Loc& loc) {
  const ExprRef& a = args[0];
  if (!is_float(a->type)) {
    return make_expr(a->type, loc, IntLit{evaluate_abs(a->type, *as_int(a))}, a->weak);
  }
  if (fn == Intrinsic::isnan) return bool_literal(std::isnan(real(a)), loc);
  if (fn == Intrinsic::isinf) return bool_literal(std::isinf(real(a)), loc);
  double b = args.size() > 1 ? real(args[1]) : 0, c = args.size() > 2 ? real(args[2]) : 0;
  return float_of(a->type, evaluate_call(fn, arithmetic_type(*a), real(a), b, c), loc, a->weak);
}

bool check_arity(Intrinsic fn, std::size_t count, const Loc& loc, Diagnostics& diags) {
  auto arity = static_cast<std::size_t>(intrinsic_arity(fn));
  if (count == arity) return true;
  diags.error(Rule::call_form, loc,
              fmt::format("{} takes {} argument{}, got {}", intrinsic_name(fn), arity, arity == 1 ? "" : "s", count));
  return false;
}

}  // namespace

ExprRef make_unary(UnaryOp op, ExprRef a, Loc loc, Diagnostics& diags) {
  if (a == nullptr || !check_domain(domain_of(op), unary_op_token(op), a, loc, diags)) return nullptr;
  if (!is_literal(a)) a = settle(a, loc, diags);
  if (a == nullptr) return nullptr;
  DType type = a->type;
  if (!is_literal(a)) return make_expr(type, std::move(loc), Unary{op, std::move(a)});
  if (is_float(type)) return float_of(type, -real(a), std::move(loc), a->weak);
  return make_expr(type, std::move(loc), IntLit{evaluate_int(op, type, *as_int(a))}, a->weak);
}

ExprRef make_binary(BinaryOp op, ExprRef a, ExprRef b, Loc loc, Diagnostics& diags) {
  if (a == nullptr || b == nullptr) return nullptr;
  std::string_view token = binary_op_token(op);
  std::array operands = {std::move(a), std::move(b)};
  for (const ExprRef& e : operands) {
    if (!check_domain(domain_of(op), token, e, loc, diags)) return nullptr;
  }
  if (!unify(operands, token, loc, diags)) return nullptr;
  auto& [left, right] = operands;
  if (divides_by_zero(op, right)) {
    diags.error(Rule::division_by_zero, loc, fmt::format("`{}` divides by the literal zero", token));
    return nullptr;
  }
  if (domain_of(op) == Domain::boolean) {
    if (ExprRef folded = fold_logical(op, left, right)) return folded;
  } else if (is_literal(left) && is_literal(right)) {
    return fold_binary(op, left, right, loc);
  }
  if (!settle_all(operands, loc, diags)) return nullptr;
  DType type = result_type(op, left->type);
  return make_expr(type, std::move(loc), Binary{op, std::move(left), std::move(right)});
}

ExprRef make_select(ExprRef cond, ExprRef if_true, ExprRef if_false, Loc loc, Diagnostics& diags) {
  if (cond == nullptr || if_true == nullptr || if_false == nullptr) return nullptr;
  if (!check_domain(Domain::boolean, "select", cond, loc, diags)) return nullptr;
  std::array operands = {std::move(if_true), std::move(if_false)};
  if (!unify(operands, "select", loc, diags)) return nullptr;
  if (auto chosen = as_int(cond)) return operands[*chosen != 0 ? 0 : 1];
  DType type = operands[0]->type;
  bool weak = operands[0]->weak;
  return make_expr(type, std::move(loc), Select{std::move(cond), std::move(operands[0]), std::move(operands[1])}, weak);
}

ExprRef make_call(Intrinsic fn, std::vector<ExprRef> args, Loc loc, Diagnostics& diags) {
  for (const ExprRef& arg : args) {
    if (arg == nullptr) return nullptr;
  }
  if (!check_arity(fn, args.size(), loc, diags)) return nullptr;
  bool floats = call_kind(fn) != CallKind::any;
  bool all_literal = true;
  for (ExprRef& arg : args) {
    // An integer literal becomes the float that the function wants.
    if (floats && arg->weak) arg = weak_float(arg);
    if (!check_domain(floats ? Domain::floating : Domain::number, intrinsic_name(fn), arg, loc, diags)) return nullptr;
    all_literal = all_literal && is_literal(arg);
  }
  if (!unify(args, intrinsic_name(fn), loc, diags)) return nullptr;
  if (all_literal) return fold_call(fn, args, loc);
  if (!settle_all(args, loc, diags)) return nullptr;
  DType type = call_kind(fn) == CallKind::fpred ? DType::bool_ : args[0]->type;
  return make_expr(type, std::move(loc), Call{fn, std::move(args)});
}

ExprRef make_load(Buffer buffer, std::vector<ExprRef> index, Loc loc, Diagnostics& diags) {
  if (index.size() != buffer->shape.size()) {
    diags.error(Rule::index_rank, loc,
                fmt::format("{} has {} dimension{}, but is indexed with {}", buffer->name, buffer->shape.size(),
                            buffer->shape.size() == 1 ? "" : "s", index.size()));
    return nullptr;
  }
  for (ExprRef& e : index) {
    if (e == nullptr || !check_domain(Domain::integer, "[]", e, loc, diags)) return nullptr;
    e = settle(e, loc, diags);
  }
  DType type = buffer->type;
  return make_expr(type, std::move(loc), Load{std::move(buffer), std::move(index)});
}

StmtRef make_stmt(StmtNode node, Loc loc) {
  return std::make_shared<const Stmt>(Stmt{std::move(loc), std::move(node)});
}

}  // namespace plait::ir
