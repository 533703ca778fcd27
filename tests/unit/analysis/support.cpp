#include "support.h"

#include <cstdlib>

#include "support/result.h"

namespace plait::analysis::test {

namespace {

std::int64_t wrap(DType type, Wide value) {
  if (is_bool(type)) return value != 0 ? 1 : 0;
  auto low = static_cast<std::uint64_t>(value);
  int bits = dtype_bits(type);
  if (bits == 64) return static_cast<std::int64_t>(low);
  low &= (std::uint64_t{1} << bits) - 1;
  if (is_signed_integer(type) && (low >> (bits - 1)) != 0) low |= ~((std::uint64_t{1} << bits) - 1);
  return static_cast<std::int64_t>(low);
}

std::optional<Wide> arithmetic(BinaryOp o, Wide a, Wide b, int bits) {
  switch (o) {
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return b == 0 ? std::nullopt : std::optional<Wide>(a / b);
    case BinaryOp::mod:
      return b == 0 ? std::nullopt : std::optional<Wide>(a % b);
    case BinaryOp::ceil_div:
      if (b == 0) return std::nullopt;
      return a / b + (a % b != 0 && (a % b > 0) == (b > 0) ? 1 : 0);
    case BinaryOp::min:
      return a < b ? a : b;
    case BinaryOp::max:
      return a < b ? b : a;
    case BinaryOp::bit_and:
      return a & b;
    case BinaryOp::bit_or:
      return a | b;
    case BinaryOp::bit_xor:
      return a ^ b;
    case BinaryOp::shl:
      return b < 0 || b >= bits ? 0 : a * (Wide(1) << static_cast<int>(b));
    case BinaryOp::shr:
      return b < 0 || b >= bits ? (a < 0 ? -1 : 0) : a >> static_cast<int>(b);
    case BinaryOp::eq:
      return a == b;
    case BinaryOp::ne:
      return a != b;
    case BinaryOp::lt:
      return a < b;
    case BinaryOp::le:
      return a <= b;
    case BinaryOp::gt:
      return a > b;
    case BinaryOp::ge:
      return a >= b;
    case BinaryOp::logical_and:
      return a != 0 && b != 0;
    case BinaryOp::logical_or:
      return a != 0 || b != 0;
  }
  return std::nullopt;
}

Value binary_value(const Expr& expr, const Binary& e, const State& state) {
  Value a = evaluate(e.a, state);
  if (!a) return std::nullopt;
  if (e.op == BinaryOp::logical_and && *a == 0) return 0;
  if (e.op == BinaryOp::logical_or && *a != 0) return 1;
  Value b = evaluate(e.b, state);
  if (!b) return std::nullopt;
  auto result = arithmetic(e.op, *a, *b, dtype_bits(e.a->type));
  return result ? Value(wrap(expr.type, *result)) : std::nullopt;
}

}  // namespace

Value evaluate(const ExprRef& expr, const State& state) {
  return std::visit(Overload{[](const IntLit& e) -> Value { return e.value; },
                             [&](const VarRef& e) -> Value { return state.vars.at(e.var.get()); },
                             [&](const Load& e) -> Value {
                               Value index = evaluate(e.index[0], state);
                               const auto& array = state.contents.at(e.buffer.get());
                               if (!index) return std::nullopt;
                               if (*index < 0 || *index >= static_cast<std::int64_t>(array.size())) {
                                 return state.zero_outside ? Value(0) : std::nullopt;
                               }
                               return array[static_cast<std::size_t>(*index)];
                             },
                             [&](const Unary& e) -> Value {
                               Value a = evaluate(e.a, state);
                               if (!a) return std::nullopt;
                               if (e.op == UnaryOp::logical_not) return *a == 0 ? 1 : 0;
                               return wrap(expr->type, e.op == UnaryOp::neg ? -Wide(*a) : ~Wide(*a));
                             },
                             [&](const Binary& e) -> Value { return binary_value(*expr, e, state); },
                             [&](const Select& e) -> Value {
                               Value cond = evaluate(e.cond, state);
                               if (!cond) return std::nullopt;
                               return evaluate(*cond != 0 ? e.if_true : e.if_false, state);
                             },
                             [&](const Cast& e) -> Value {
                               Value a = evaluate(e.a, state);
                               return a ? Value(wrap(expr->type, *a)) : std::nullopt;
                             },
                             [](const auto&) -> Value { return std::nullopt; }},
                    expr->node);
}

namespace {

void enumerate(const Domain& domain, std::size_t number, State& state, const std::vector<std::int64_t>& free_values,
               const std::function<void(const State&)>& fn) {
  if (number == domain.vars.size()) {
    for (const auto& [var, value] : domain.lets) {
      Value v = evaluate(value, state);
      if (!v) return;
      state.vars[var.get()] = *v;
    }
    for (const ExprRef& cond : domain.conditions) {
      if (evaluate(cond, state).value_or(0) == 0) return;
    }
    return fn(state);
  }
  const DomainVar& v = domain.vars[number];
  if (!v.begin) {
    for (std::int64_t value : free_values) {
      state.vars[v.var.get()] = value;
      enumerate(domain, number + 1, state, free_values, fn);
    }
    return;
  }
  Value begin = evaluate(v.begin, state), end = evaluate(v.end, state), step = v.step ? evaluate(v.step, state) : 1;
  if (!begin || !end || !step || *step <= 0) return;
  for (std::int64_t value = *begin; value < *end; value += *step) {
    state.vars[v.var.get()] = value;
    enumerate(domain, number + 1, state, free_values, fn);
  }
}

}  // namespace

void for_each_point(const Domain& domain, const State& state, const std::vector<std::int64_t>& free_values,
                    const std::function<void(const State&)>& fn) {
  State copy = state;
  enumerate(domain, 0, copy, free_values, fn);
}

E Generator::leaf() {
  if (vars_.empty() || chance(30)) return number(-3, 9);
  return vars_[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(vars_.size()) - 1))];
}

E Generator::integer(Shape shape, int depth) {
  if (depth == 0 || chance(15)) return leaf();
  auto sub = [&] { return integer(shape, depth - 1); };
  std::int64_t kinds = shape == affine ? 3 : shape == quasi_affine ? 10 : 15;
  switch (number(0, kinds)) {
    case 0:
      return sub() + sub();
    case 1:
      return sub() - sub();
    case 2:
      return sub() * number(-3, 8);
    case 3:
      return minus(sub());
    case 4:
      return sub() / (chance(85) ? number(1, 8) : -number(1, 4));
    case 5:
      return sub() % (chance(85) ? number(1, 8) : -number(1, 4));
    case 6:
      return ceildiv(sub(), number(1, 8));
    case 7:
      return min(sub(), sub());
    case 8:
      return max(sub(), sub());
    case 9:
      return select(boolean(shape, depth - 1), sub(), sub());
    case 10:
      return sub() + sub() * number(2, 8);
    case 11:
      return sub() * sub();
    case 12:
      return chance(50) ? sub() / sub() : sub() % sub();
    case 13:
      return op(chance(50) ? BinaryOp::bit_and : BinaryOp::bit_xor, sub(), chance(50) ? E(7) : sub());
    case 14:
      return op(chance(50) ? BinaryOp::shl : BinaryOp::shr, sub(), number(0, 3));
    default:
      if (arrays_.empty()) return cast(DType::i64, cast(DType::i8, sub()));
      return load(arrays_[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(arrays_.size()) - 1))], {sub()});
  }
}

E Generator::boolean(Shape shape, int depth) {
  auto sub = [&] { return integer(shape, depth > 0 ? depth - 1 : 0); };
  if (depth > 0 && chance(30)) {
    switch (number(0, 3)) {
      case 0:
        return both(boolean(shape, depth - 1), boolean(shape, depth - 1));
      case 1:
        return either(boolean(shape, depth - 1), boolean(shape, depth - 1));
      case 2:
        return negate(boolean(shape, depth - 1));
      default:
        return select(boolean(shape, depth - 1), boolean(shape, depth - 1), boolean(shape, depth - 1));
    }
  }
  static constexpr BinaryOp comparisons[] = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt,
                                             BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
  return op(comparisons[number(0, 5)], sub(), sub());
}

RandomDomain random_domain(std::uint64_t seed, Generator::Shape shape) {
  RandomDomain result;
  Var m = make_var("M", VarKind::dim), i = make_var("i"), j = make_var("j");
  result.domain.vars.push_back({m, nullptr, nullptr, nullptr});
  result.domain.conditions.push_back((E(m) <= 4).ref);
  result.vars = {m};
  for (const Var& var : {i, j}) {
    Generator g(seed++, result.vars);
    E begin = g.chance(70) ? E(g.number(-2, 2)) : g.integer(Generator::affine, 1);
    E end = g.chance(70) ? E(g.number(1, 6)) : g.integer(Generator::affine, 1);
    result.domain.vars.push_back(in(var, begin, end, g.chance(80) ? 1 : g.number(2, 3)));
    result.vars.push_back(var);
  }
  Generator g(seed, result.vars);
  if (g.chance(40)) result.domain.conditions.push_back(g.boolean(shape, 2).ref);
  return result;
}

std::uint64_t seeds(std::uint64_t count) {
  const char* soak = std::getenv("PLAIT_SOAK");
  return soak != nullptr ? count * std::strtoull(soak, nullptr, 10) : count;
}

std::string text(const ExprRef& expr) { return print(*expr); }
std::string text(const Domain& domain) {
  std::string result;
  for (const auto& v : domain.vars) {
    if (v.begin) {
      result += fmt::format("{} in [{}, {}) step {}; ", v.var->name, text(v.begin), text(v.end), text(v.step));
    }
  }
  for (const auto& c : domain.conditions) result += text(c) + "; ";
  return result;
}

}  // namespace plait::analysis::test
