#include "analysis/translate.h"

#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// A function of more pieces than this is not looked into.
constexpr int max_pieces = 48;

}  // namespace

Translator::Translator(isl_ctx* ctx, Ranges& ranges) : ctx_(ctx), ranges_(ranges) {}

IslSet Translator::universe() { return IslSet(isl_set_universe(isl_space_params_alloc(ctx_, 0))); }
IslSet Translator::nowhere() { return IslSet(isl_set_empty(isl_space_params_alloc(ctx_, 0))); }

IslPwAff Translator::constant(Wide value) {
  isl_val* v = value >= 0 ? isl_val_int_from_ui(ctx_, static_cast<unsigned long>(value))
                          : isl_val_int_from_si(ctx_, static_cast<long>(value));
  return IslPwAff(isl_pw_aff_from_aff(isl_aff_val_on_domain_space(isl_space_params_alloc(ctx_, 0), v)));
}

IslPwAff Translator::of_id(const IslId& id) {
  isl_space* space = isl_space_add_param_id(isl_space_params_alloc(ctx_, 0), id.copy());
  return IslPwAff(isl_pw_aff_from_aff(isl_aff_param_on_domain_space_id(space, id.copy())));
}

IslPwAff Translator::add_symbol(Symbol symbol) {
  symbol.id = IslId(isl_id_alloc(ctx_, ("p" + std::to_string(symbols_.size())).c_str(), nullptr));
  symbols_.push_back(std::move(symbol));
  return of_id(symbols_.back().id);
}

IslPwAff Translator::fresh() { return add_symbol(Symbol{}); }

IslPwAff Translator::var(const Var& var) {
  auto [it, added] = vars_.emplace(var.get(), symbols_.size());
  return added ? add_symbol(Symbol{{}, var, nullptr, true}) : of_id(symbols_[it->second].id);
}

IslId Translator::id(const Var& var) {
  this->var(var);
  return symbols_[vars_[var.get()]].id;
}

void Translator::forget() {
  values_.clear();
  known_facts_.reset();
}

IslSet Translator::facts(const std::function<bool(const Symbol&)>& which) {
  if (!which && known_facts_ && known_facts_->first == symbols_.size()) return known_facts_->second;
  IslSet result = universe();
  auto meet = [&](IslSet with) {
    IslSet next(isl_set_intersect(result.copy(), with.take()));
    if (next) result = std::move(next);
  };
  // By number and by value: facts of a remainder may bring new symbols.
  for (std::size_t i = 0; i < symbols_.size(); ++i) {
    Symbol symbol = symbols_[i];
    if ((!symbol.var && !symbol.opaque) || (which && !which(symbol))) continue;
    meet(symbol_facts(symbol));
    if (!symbol.opaque) continue;
    meet(remainder_facts(symbol));
    for (std::size_t k = 0; k < symbols_.size(); ++k) {
      if (symbols_[k].opaque) meet(quotient_facts(symbol, Symbol(symbols_[k])));
    }
  }
  if (!which) known_facts_ = {symbols_.size(), result};
  return result;
}

/// Conditions say the rest of variables.
IslSet Translator::symbol_facts(const Symbol& symbol) {
  Interval range;
  if (symbol.var) {
    range = type_interval(symbol.var->type);
    if (symbol.var->kind == VarKind::dim || symbol.var->kind == VarKind::grid) range.lo = 0;
  } else {
    range = ranges_.of(symbol.opaque).range;
  }
  IslSet result = universe();
  if (range.lo > -telling_bound) {
    IslSet above(isl_pw_aff_ge_set(of_id(symbol.id).take(), constant(range.lo).take()));
    result = IslSet(isl_set_intersect(result.take(), above.take()));
  }
  if (range.hi < telling_bound) {
    IslSet below(isl_pw_aff_le_set(of_id(symbol.id).take(), constant(range.hi).take()));
    result = IslSet(isl_set_intersect(result.take(), below.take()));
  }
  return result;
}

/// a % b lies below b even where b is not a literal: true of a remainder of non-negative numbers where it is evaluated
/// (b > 0); elsewhere its value means nothing and may be taken as 0.
IslSet Translator::remainder_facts(const Symbol& symbol) {
  const auto* e = std::get_if<Binary>(&symbol.opaque->node);
  if (e == nullptr || e->op != BinaryOp::mod || !is_integer(e->a->type)) return universe();
  Interval divisor = ranges_.of(e->b).range;
  if (ranges_.of(e->a).range.lo < 0 || divisor.lo < 0 || !ranges_.stable(e->b)) return universe();
  IslPwAff limit = value(e->b);
  if (divisor.lo == 0) limit = IslPwAff(isl_pw_aff_max(limit.take(), constant(1).take()));
  return IslSet(isl_pw_aff_lt_set(of_id(symbol.id).take(), limit.take()));
}

void Translator::next_time() {
  ++time_;
  values_.clear();
}

IslPwAff Translator::opaque(const ExprRef& expr) {
  bool stable = ranges_.stable(expr);
  int time = stable ? 0 : time_;
  std::size_t hash = hash_expr(expr);
  auto [begin, end] = opaques_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const auto& [when, number] = it->second;
    if (when == time && same_expr(symbols_[number].opaque, expr)) return of_id(symbols_[number].id);
  }
  opaques_.emplace(hash, std::pair{time, symbols_.size()});
  return add_symbol(Symbol{{}, nullptr, expr, stable});
}

/// Of q = x / c and a product m = c · r without wrapping, x and c not negative: x < m implies q < r. (Where c is 0, so
/// is m.)
IslSet Translator::quotient_facts(const Symbol& quotient, const Symbol& product) {
  const auto* e = std::get_if<Binary>(&quotient.opaque->node);
  const auto* m = std::get_if<Binary>(&product.opaque->node);
  if (e == nullptr || e->op != BinaryOp::div || m == nullptr || m->op != BinaryOp::mul) return universe();
  if (!is_integer(e->a->type) || !ranges_.stable(quotient.opaque) || !ranges_.stable(product.opaque)) return universe();
  auto rest = without(factors(product.opaque), factors(e->b));
  if (!rest || rest->size() != 1 || ranges_.of(product.opaque).opaque || ranges_.of(e->b).opaque) return universe();
  if (ranges_.of(e->a).range.lo < 0 || ranges_.of(e->b).range.lo < 0) return universe();
  IslPwAff dividend = value(e->a), limit = value((*rest)[0]);
  IslSet beyond(isl_pw_aff_ge_set(dividend.take(), of_id(product.id).take()));
  IslSet below(isl_pw_aff_lt_set(of_id(quotient.id).take(), limit.take()));
  return IslSet(isl_set_union(beyond.take(), below.take()));
}

IslPwAff Translator::value(const ExprRef& expr) {
  if (auto it = values_.find(expr.get()); it != values_.end()) return it->second.second;
  IslPwAff result;
  // Ranges only say what does not wrap: a value they know may be known by a condition that is just being translated.
  if (!ranges_.of(expr).opaque && depth_ < max_depth) {
    ++depth_;
    result = build(expr);
    --depth_;
  }
  if (!result || isl_pw_aff_n_piece(result.get()) > max_pieces) result = opaque(expr);
  values_[expr.get()] = {expr, result};
  return result;
}

namespace {

bool is_sum(const ExprRef& expr) {
  const auto* e = std::get_if<Binary>(&expr->node);
  return expr->type == DType::i64 && e != nullptr && (e->op == BinaryOp::add || e->op == BinaryOp::sub);
}

/// Values of a sum over the integers.
Interval sum_interval(const ExprRef& expr, Ranges& ranges, int levels) {
  Ranges::Entry entry = ranges.of(expr);
  if (!entry.opaque || !is_sum(expr) || levels == 0) return entry.range;
  const auto& e = std::get<Binary>(expr->node);
  Interval a = sum_interval(e.a, ranges, levels - 1), b = sum_interval(e.b, ranges, levels - 1);
  return *apply(e.op, a, b, expr->type);
}

constexpr int max_summands = 16;
/// Extents are far below 2^62. A sum beyond 64 bits by less than that wraps to a negative number or to one above 2^62.
constexpr Interval harmless_sums{-(Wide(1) << 63) - (Wide(1) << 62), (Wide(1) << 63) + (Wide(1) << 62)};

}  // namespace

std::pair<IslPwAff, IslPwAff> Translator::index(const Range& range) {
  IslPwAff extent = range.extent ? value(range.extent) : constant(1);
  bool small = !range.extent || ranges_.of(range.extent).range.hi < (Wide(1) << 61);
  bool wraps_outside = small && sum_interval(range.begin, ranges_, max_summands).within(harmless_sums);
  return {wraps_outside ? index_sum(range.begin) : value(range.begin), std::move(extent)};
}

IslPwAff Translator::index_sum(const ExprRef& expr) {
  if (!ranges_.of(expr).opaque || !is_sum(expr)) return value(expr);
  const auto& e = std::get<Binary>(expr->node);
  IslPwAff a = index_sum(e.a), b = index_sum(e.b);
  return IslPwAff(e.op == BinaryOp::add ? isl_pw_aff_add(a.take(), b.take()) : isl_pw_aff_sub(a.take(), b.take()));
}

IslPwAff Translator::build(const ExprRef& expr) {
  return std::visit(Overload{[&](const IntLit&) { return constant(*literal_value(*expr)); },
                             [&](const VarRef& e) {
                               ExprRef definition = ranges_.definition(e.var.get());
                               return definition ? value(definition) : var(e.var);
                             },
                             [&](const Unary& e) { return build_unary(expr, e); },
                             [&](const Binary& e) { return build_binary(expr, e); },
                             [&](const Select& e) {
                               IslPwAff yes = value(e.if_true), no = value(e.if_false);
                               return choose(holds(e.cond), std::move(yes), std::move(no));
                             },
                             [&](const Cast& e) { return build_cast(expr, e); },
                             [&](const Call& e) {
                               if (e.fn != Intrinsic::abs) return IslPwAff();
                               IslPwAff a = value(e.args[0]);
                               return IslPwAff(isl_pw_aff_max(a.copy(), isl_pw_aff_neg(a.copy())));
                             },
                             [](const auto&) { return IslPwAff(); }},
                    expr->node);
}

IslPwAff Translator::build_unary(const ExprRef& expr, const Unary& e) {
  switch (e.op) {
    case UnaryOp::neg:
      return IslPwAff(isl_pw_aff_neg(value(e.a).take()));
    case UnaryOp::bit_not:
      if (!is_signed_integer(expr->type)) return IslPwAff();
      return IslPwAff(isl_pw_aff_sub(constant(-1).take(), value(e.a).take()));
    case UnaryOp::logical_not:
      return indicator(holds(expr));
  }
  return IslPwAff();
}

IslPwAff Translator::build_binary(const ExprRef& expr, const Binary& e) {
  if (is_bool(expr->type)) return indicator(holds(expr));
  switch (e.op) {
    case BinaryOp::add:
      return IslPwAff(isl_pw_aff_add(value(e.a).take(), value(e.b).take()));
    case BinaryOp::sub:
      return IslPwAff(isl_pw_aff_sub(value(e.a).take(), value(e.b).take()));
    case BinaryOp::min:
      return IslPwAff(isl_pw_aff_min(value(e.a).take(), value(e.b).take()));
    case BinaryOp::max:
      return IslPwAff(isl_pw_aff_max(value(e.a).take(), value(e.b).take()));
    case BinaryOp::mul:
      return build_product(e);
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
      return build_quotient(e.op, e.a, e.b);
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::shl:
    case BinaryOp::shr:
      return build_bitwise(e, expr->type);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      break;
  }
  return IslPwAff();
}

IslPwAff Translator::build_product(const Binary& e) {
  Interval a = ranges_.of(e.a).range, b = ranges_.of(e.b).range;
  if (b.single()) return IslPwAff(isl_pw_aff_mul(value(e.a).take(), constant(b.lo).take()));
  if (a.single()) return IslPwAff(isl_pw_aff_mul(constant(a.lo).take(), value(e.b).take()));
  return IslPwAff();
}

/// Truncation is flooring only of a non-negative quotient; elsewhere isl's own truncating forms split the domain.
IslPwAff Translator::build_quotient(BinaryOp op, const ExprRef& dividend, const ExprRef& divisor) {
  Interval by = ranges_.of(divisor).range;
  if (!by.single() || by.lo == 0) return IslPwAff();
  IslPwAff a = value(dividend);
  bool floors = ranges_.of(dividend).range.lo >= 0;
  IslPwAff c = constant(by.lo);
  if (op == BinaryOp::mod) {
    Wide size = by.lo < 0 ? -by.lo : by.lo;
    if (size > INT64_MAX) return IslPwAff();
    if (!floors) return IslPwAff(isl_pw_aff_tdiv_r(a.take(), constant(size).take()));
    return IslPwAff(isl_pw_aff_mod_val(a.take(), isl_val_int_from_si(ctx_, static_cast<long>(size))));
  }
  if (op == BinaryOp::div && !(floors && by.lo > 0)) return IslPwAff(isl_pw_aff_tdiv_q(a.take(), c.take()));
  IslPwAff quotient(isl_pw_aff_div(a.take(), c.take()));
  return IslPwAff(op == BinaryOp::div ? isl_pw_aff_floor(quotient.take()) : isl_pw_aff_ceil(quotient.take()));
}

/// Shifts by a known count scale; masks of low bits are remainders, of negative numbers too.
IslPwAff Translator::build_bitwise(const Binary& e, DType type) {
  Interval a = ranges_.of(e.a).range, b = ranges_.of(e.b).range;
  if (e.op == BinaryOp::bit_and) {
    const ExprRef& other = b.single() ? e.a : e.b;
    Wide mask = b.single() ? b.lo : a.lo;
    bool low_bits = (a.single() || b.single()) && mask >= 0 && mask < telling_bound && (mask & (mask + 1)) == 0;
    if (!low_bits) return IslPwAff();
    return IslPwAff(isl_pw_aff_mod_val(value(other).take(), isl_val_int_from_si(ctx_, static_cast<long>(mask) + 1)));
  }
  bool shifts = e.op == BinaryOp::shl || e.op == BinaryOp::shr;
  if (!shifts || !b.single() || b.lo < 0 || b.lo >= dtype_bits(type)) return IslPwAff();
  IslPwAff factor = constant(Wide(1) << static_cast<int>(b.lo));
  if (e.op == BinaryOp::shl) return IslPwAff(isl_pw_aff_mul(value(e.a).take(), factor.take()));
  return IslPwAff(isl_pw_aff_floor(isl_pw_aff_div(value(e.a).take(), factor.take())));
}

IslPwAff Translator::build_cast(const ExprRef& expr, const Cast& e) {
  if (!is_int_or_bool(e.a->type)) return IslPwAff();
  if (is_bool(expr->type)) return indicator(holds(expr));
  IslPwAff a = value(e.a);
  Interval limits = type_interval(expr->type);
  if (!e.saturate || ranges_.of(e.a).range.within(limits)) return a;
  a = IslPwAff(isl_pw_aff_max(a.take(), constant(limits.lo).take()));
  return IslPwAff(isl_pw_aff_min(a.take(), constant(limits.hi).take()));
}

IslPwAff Translator::indicator(IslSet set) { return IslPwAff(isl_set_indicator_function(set.take())); }

IslPwAff Translator::choose(IslSet cond, IslPwAff yes, IslPwAff no) {
  IslSet otherwise(isl_set_complement(cond.copy()));
  yes = IslPwAff(isl_pw_aff_intersect_params(yes.take(), cond.take()));
  no = IslPwAff(isl_pw_aff_intersect_params(no.take(), otherwise.take()));
  return IslPwAff(isl_pw_aff_union_add(yes.take(), no.take()));
}

IslSet Translator::holds(const ExprRef& cond) {
  if (auto known = literal_value(*cond)) return *known != 0 ? universe() : nowhere();
  IslSet result;
  if (depth_ < max_depth) {
    ++depth_;
    result = build_condition(cond);
    --depth_;
  }
  if (result && isl_set_n_basic_set(result.get()) <= max_pieces) return result;
  return IslSet(isl_pw_aff_eq_set(opaque(cond).take(), constant(1).take()));
}

IslSet Translator::build_condition(const ExprRef& cond) {
  if (const auto* e = std::get_if<Unary>(&cond->node); e && e->op == UnaryOp::logical_not) {
    return IslSet(isl_set_complement(holds(e->a).take()));
  }
  if (const auto* e = std::get_if<Cast>(&cond->node); e && is_int_or_bool(e->a->type)) {
    return IslSet(isl_pw_aff_ne_set(value(e->a).take(), constant(0).take()));
  }
  if (std::holds_alternative<VarRef>(cond->node) || std::holds_alternative<Select>(cond->node)) {
    return IslSet(isl_pw_aff_eq_set(value(cond).take(), constant(1).take()));
  }
  const auto* e = std::get_if<Binary>(&cond->node);
  if (e == nullptr) return IslSet();
  switch (e->op) {
    case BinaryOp::bit_and:
    case BinaryOp::logical_and:
      return IslSet(isl_set_intersect(holds(e->a).take(), holds(e->b).take()));
    case BinaryOp::bit_or:
    case BinaryOp::logical_or:
      return IslSet(isl_set_union(holds(e->a).take(), holds(e->b).take()));
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return is_int_or_bool(e->a->type) ? build_comparison(e->op, e->a, e->b) : IslSet();
    case BinaryOp::bit_xor:
      return build_comparison(BinaryOp::ne, e->a, e->b);
    case BinaryOp::add:
    case BinaryOp::sub:
    case BinaryOp::mul:
    case BinaryOp::div:
    case BinaryOp::mod:
    case BinaryOp::ceil_div:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::shl:
    case BinaryOp::shr:
      break;
  }
  return IslSet();
}

IslSet Translator::build_comparison(BinaryOp op, const ExprRef& a, const ExprRef& b) {
  IslPwAff x = value(a), y = value(b);
  if (op == BinaryOp::eq) return IslSet(isl_pw_aff_eq_set(x.take(), y.take()));
  if (op == BinaryOp::lt) return IslSet(isl_pw_aff_lt_set(x.take(), y.take()));
  if (op == BinaryOp::le) return IslSet(isl_pw_aff_le_set(x.take(), y.take()));
  if (op == BinaryOp::gt) return IslSet(isl_pw_aff_gt_set(x.take(), y.take()));
  if (op == BinaryOp::ge) return IslSet(isl_pw_aff_ge_set(x.take(), y.take()));
  return IslSet(isl_pw_aff_ne_set(x.take(), y.take()));
}

}  // namespace plait::analysis
