#include "roles/linear.h"

#include "ir/build.h"
#include "support/result.h"

namespace plait::roles {
namespace {

using ir::BinaryOp;

// Sums of a hostile text wrap.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::optional<Linear> of_binary(const ir::Binary& x, const LinearValues& values) {
  auto a = linear(x.a, values), b = linear(x.b, values);
  if (!a || !b) return std::nullopt;
  bool numbers = a->is_constant() && b->is_constant() && a->constant >= 0 && b->constant > 0;
  if (x.op == BinaryOp::add) return *a + *b;
  if (x.op == BinaryOp::sub) return *a - *b;
  if (x.op == BinaryOp::mul && b->is_constant()) return *a * b->constant;
  if (x.op == BinaryOp::mul && a->is_constant()) return *b * a->constant;
  if (x.op == BinaryOp::div && numbers) return Linear::of(a->constant / b->constant);
  if (x.op == BinaryOp::mod && numbers) return Linear::of(a->constant % b->constant);
  return std::nullopt;
}

std::optional<bool> compare(const ir::Binary& x, const LinearValues& values) {
  auto a = linear(x.a, values), b = linear(x.b, values);
  if (!a || !b) return std::nullopt;
  Linear difference = *a - *b;
  if (!difference.is_constant()) return std::nullopt;
  std::int64_t d = difference.constant;
  switch (x.op) {
    case BinaryOp::lt:
      return d < 0;
    case BinaryOp::le:
      return d <= 0;
    case BinaryOp::gt:
      return d > 0;
    case BinaryOp::ge:
      return d >= 0;
    case BinaryOp::eq:
      return d == 0;
    case BinaryOp::ne:
      return d != 0;
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return std::nullopt;
  }
  return std::nullopt;
}

/// `deciding`: the value of one side that is the value of both.
std::optional<bool> of_logical(const ir::Binary& x, const LinearValues& values, bool deciding) {
  auto a = holds(x.a, values), b = holds(x.b, values);
  if (a == deciding || b == deciding) return deciding;
  return a && b ? std::optional(!deciding) : std::nullopt;
}

}  // namespace

Linear operator+(const Linear& a, const Linear& b) {
  Linear out = a;
  out.constant = plus(a.constant, b.constant);
  for (const auto& [symbol, factor] : b.terms) {
    std::int64_t& own = out.terms[symbol];
    own = plus(own, factor);
    if (own == 0) out.terms.erase(symbol);
  }
  return out;
}

Linear operator*(const Linear& a, std::int64_t factor) {
  Linear out = Linear::of(times(a.constant, factor));
  for (const auto& [symbol, own] : a.terms) {
    if (times(own, factor) != 0) out.terms[symbol] = times(own, factor);
  }
  return out;
}

Linear operator-(const Linear& a, const Linear& b) { return a + b * -1; }

std::optional<Linear> linear(const ExprRef& e, const LinearValues& values) {
  using Result = std::optional<Linear>;
  return std::visit(Overload{[](const ir::IntLit& x) -> Result { return Linear::of(x.value); },
                             [&](const ir::VarRef& x) -> Result { return values(*x.var); },
                             [&](const ir::Binary& x) -> Result { return of_binary(x, values); },
                             [&](const ir::Cast& x) -> Result {
                               return ir::is_integer(x.a->type) ? linear(x.a, values) : std::nullopt;
                             },
                             [](const auto&) -> Result { return std::nullopt; }},
                    e->node);
}

std::optional<bool> holds(const ExprRef& e, const LinearValues& values) {
  if (auto literal = ir::as_int(e)) return *literal != 0;
  if (const auto* unary = std::get_if<ir::Unary>(&e->node)) {
    auto inner = unary->op == ir::UnaryOp::logical_not ? holds(unary->a, values) : std::nullopt;
    return inner ? std::optional(!*inner) : std::nullopt;
  }
  const auto* binary = std::get_if<ir::Binary>(&e->node);
  if (binary == nullptr) return std::nullopt;
  if (binary->op == BinaryOp::logical_and) return of_logical(*binary, values, false);
  if (binary->op == BinaryOp::logical_or) return of_logical(*binary, values, true);
  return ir::is_integer(binary->a->type) ? compare(*binary, values) : std::nullopt;
}

}  // namespace plait::roles
