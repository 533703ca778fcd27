#include "analysis/solver.h"

namespace plait::analysis {

using namespace ir;

namespace {

std::optional<std::int64_t> telling(Wide bound) {
  if (bound <= -telling_bound || bound >= telling_bound) return std::nullopt;
  return static_cast<std::int64_t>(bound);
}

}  // namespace

std::optional<std::int64_t> isl_number(isl_val* taken) {
  IslVal val(taken);
  if (!val || isl_val_is_int(val.get()) != isl_bool_true) return std::nullopt;
  if (isl_val_n_abs_num_chunks(val.get(), sizeof(long)) > 1) return std::nullopt;
  std::uint64_t magnitude = 0;
  if (isl_val_get_abs_num_chunks(val.get(), sizeof(long), &magnitude) < 0) return std::nullopt;
  if (magnitude > INT64_MAX) return std::nullopt;
  auto value = static_cast<std::int64_t>(magnitude);
  return isl_val_is_neg(val.get()) == isl_bool_true ? -value : value;
}

Solver::Solver(const Domain& domain, unsigned long max_operations)
    : domain_(domain), ranges_(domain), ctx_(max_operations), translator_(ctx_.get(), ranges_) {
  levels_.push_back({});
}

Translator& Solver::begin_question() {
  ctx_.renew();
  translator_.next_time();
  return translator_;
}

/// A failed computation leaves the points as they are, which is a superset.
void Solver::meet(IslSet& points, IslSet with) {
  IslSet next(isl_set_intersect(points.copy(), with.take()));
  if (next) {
    points = std::move(next);
  } else {
    incomplete_ = true;
  }
}

void Solver::meet_var(IslSet& points, const DomainVar& v) {
  if (!v.begin || !v.end) return;
  IslPwAff var = translator_.var(v.var), begin = translator_.value(v.begin);
  meet(points, IslSet(isl_pw_aff_ge_set(var.copy(), begin.copy())));
  meet(points, IslSet(isl_pw_aff_lt_set(var.copy(), translator_.value(v.end).take())));
  auto step = v.step ? small_literal(v.step) : 1;
  if (!step) incomplete_ = true;
  if (!step || *step <= 1) return;
  IslPwAff offset(isl_pw_aff_sub(var.take(), begin.take()));
  offset = IslPwAff(isl_pw_aff_mod_val(offset.take(), isl_val_int_from_si(ctx_.get(), static_cast<long>(*step))));
  meet(points, IslSet(isl_pw_aff_zero_set(offset.take())));
}

void Solver::meet_domain(IslSet& points) {
  for (const auto& v : domain_.vars) meet_var(points, v);
  // Of many conditions those of the call, which come first, and the nearest ones tell most.
  constexpr std::size_t outermost = 8, innermost = 16;
  const std::size_t count = domain_.conditions.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (i == outermost && count > outermost + innermost) {
      incomplete_ = true;
      i = count - innermost;
    }
    translator_.next_time();
    meet(points, translator_.holds(domain_.conditions[i]));
  }
  translator_.next_time();
}

IslSet Solver::condition_points() {
  std::size_t next = levels_.size();
  while (next > 0 && !levels_[next - 1].points) --next;
  IslSet result = next > 0 ? levels_[next - 1].points : translator_.universe();
  for (; next < levels_.size(); ++next) {
    if (next == 0) {
      meet_domain(result);
      continue;
    }
    translator_.next_time();
    meet(result, translator_.holds(levels_[next].cond));
    translator_.next_time();
  }
  levels_.back().points = result;
  return result;
}

IslSet Solver::points() {
  IslSet conditions = condition_points();
  return IslSet(isl_set_intersect(conditions.take(), translator_.facts().take()));
}

void Solver::push(const ExprRef& cond) {
  levels_.push_back({cond, ranges_.save(), IslSet()});
  ranges_.assume(cond);
  translator_.forget();
}

void Solver::pop() {
  ranges_.restore(std::move(levels_.back().before));
  levels_.pop_back();
  translator_.forget();
}

Truth Solver::decide_set(const IslSet& set) {
  IslSet all = points();
  if (!all || !set) return Truth::unknown;
  if (isl_set_is_subset(all.get(), set.get()) == isl_bool_true) return Truth::always;
  if (isl_set_is_disjoint(all.get(), set.get()) == isl_bool_true) return Truth::never;
  return Truth::unknown;
}

bool Solver::impossible(const IslSet& set) {
  IslSet all = points();
  return all && set && isl_set_is_disjoint(all.get(), set.get()) == isl_bool_true;
}

Truth Solver::decide(const ExprRef& cond) {
  if (ranges_.of(cond).range.lo == 1) return Truth::always;
  points();
  IslSet set = begin_question().holds(cond);
  return decide_set(set);
}

Bounds Solver::bounds_of(const IslPwAff& value) {
  IslSet all = points();
  IslSet values(isl_set_intersect_params(isl_set_from_pw_aff(value.copy()), all.take()));
  if (!values || isl_set_is_empty(values.get()) != isl_bool_false) return {};
  values = IslSet(isl_set_project_out_all_params(values.take()));
  Bounds result;
  result.min = isl_number(isl_set_dim_min_val(values.copy(), 0));
  result.max = isl_number(isl_set_dim_max_val(values.copy(), 0));
  return result;
}

Bounds Solver::bounds(const ExprRef& expr) {
  Interval range = ranges_.of(expr).range;
  points();
  Translator& t = begin_question();
  IslPwAff value = t.value(expr);
  IslSet all = points();
  bool empty = all && isl_set_is_empty(all.get()) == isl_bool_true;
  Bounds result = bounds_of(value);
  if (empty) return {};
  if (!result.min) result.min = telling(range.lo);
  if (!result.max) result.max = telling(range.hi);
  return result;
}

/// Whether the value follows from dims and scalars alone.
bool Solver::is_argument(const ExprRef& expr, int levels) {
  constexpr int max_levels = 16;
  return ranges_.stable(expr) && !any_of_tree(expr, [&](const Expr& e) {
           const auto* ref = std::get_if<VarRef>(&e.node);
           if (ref == nullptr || ref->var->kind == VarKind::dim || ref->var->kind == VarKind::scalar) return false;
           ExprRef value = ranges_.definition(ref->var.get());
           return !value || levels == max_levels || !is_argument(value, levels + 1);
         });
}

bool Solver::is_argument(const Symbol& symbol) {
  if (symbol.var) return symbol.var->kind == VarKind::dim || symbol.var->kind == VarKind::scalar;
  return symbol.opaque && is_argument(symbol.opaque);
}

IslSet Solver::arguments_of(IslSet set) {
  for (const Symbol& symbol : translator_.symbols()) {
    if (!is_argument(symbol)) set = IslSet(isl_set_project_out_param_id(set.take(), symbol.id.copy()));
  }
  return set;
}

bool Solver::sure_witness(const IslSet& given, const IslSet& bad) {
  IslSet all(isl_set_intersect(points().take(), given.copy()));
  IslSet said(isl_set_intersect(isl_set_intersect(condition_points().take(), given.copy()), bad.copy()));
  if (incomplete_ || !all || !said || isl_set_is_empty(all.get()) != isl_bool_false) return false;
  for (const Symbol& symbol : translator_.symbols()) {
    bool loop = symbol.var && (symbol.var->kind == VarKind::loop || symbol.var->kind == VarKind::grid);
    if (!loop && !is_argument(symbol) && involves(said, symbol.id)) return false;
  }
  IslSet executed = arguments_of(all);
  IslSet wrong = arguments_of(IslSet(isl_set_intersect(all.take(), bad.copy())));
  return isl_set_is_subset(executed.get(), wrong.get()) == isl_bool_true;
}

bool involves(const IslSet& set, const IslId& parameter) {
  int position = isl_set_find_dim_by_id(set.get(), isl_dim_param, parameter.get());
  if (position < 0) return false;
  auto number = static_cast<unsigned>(position);
  return isl_set_involves_dims(set.get(), isl_dim_param, number, 1) != isl_bool_false;
}

}  // namespace plait::analysis
