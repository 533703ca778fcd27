#include <algorithm>

#include "analysis/access.h"
#include "analysis/accesses.h"
#include "analysis/radix.h"
#include "analysis/solver.h"
#include "ir/visit.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// More pairs of accesses than this are not examined one by one.
constexpr int max_pairs = 300;

/// An access with what holds at it beyond the surrounding domain.
struct Site {
  Access access;
  Domain inner;
};

std::vector<Site> collect(const For& loop, const Domain& outer) {
  std::vector<Site> sites;
  const AccessWalker* at = nullptr;
  AccessWalker walker(outer, [&](const Access& access) {
    // What an iteration allocates is its own.
    if (at->allocated(access.buffer)) return;
    const Domain& d = at->domain();
    Site site{access, {}};
    site.inner.vars.assign(d.vars.begin() + static_cast<std::ptrdiff_t>(outer.vars.size()), d.vars.end());
    site.inner.conditions.assign(d.conditions.begin() + static_cast<std::ptrdiff_t>(outer.conditions.size()),
                                 d.conditions.end());
    site.inner.lets.assign(d.lets.begin() + static_cast<std::ptrdiff_t>(outer.lets.size()), d.lets.end());
    sites.push_back(std::move(site));
  });
  at = &walker;
  walker.walk_loop(loop);
  return sites;
}

/// The site as another iteration sees it: its own variables replaced by new ones.
class Renamer {
 public:
  Site rename(const Site& site) {
    for (const auto& v : site.inner.vars) map_[v.var.get()] = var_expr(copy(v.var));
    for (const auto& [var, value] : site.inner.lets) map_[var.get()] = var_expr(copy(var));
    Site result{site.access, {}};
    for (const auto& v : site.inner.vars) {
      result.inner.vars.push_back({of(v.var), apply(v.begin), apply(v.end), apply(v.step)});
    }
    for (const auto& cond : site.inner.conditions) result.inner.conditions.push_back(apply(cond));
    for (const auto& [var, value] : site.inner.lets) result.inner.lets.emplace_back(of(var), apply(value));
    for (Range& range : result.access.ranges) range = {apply(range.begin), apply(range.extent)};
    return result;
  }
  ir::Var of(const ir::Var& var) const {
    auto it = map_.find(var.get());
    return it == map_.end() ? var : std::get<VarRef>(it->second->node).var;
  }

 private:
  static ir::Var copy(const ir::Var& var) { return std::make_shared<const VarDecl>(*var); }
  ExprRef apply(const ExprRef& expr) const { return expr ? substitute(expr, map_) : nullptr; }

  VarMap map_;
};

void append(Domain& to, const Domain& from) {
  to.vars.insert(to.vars.end(), from.vars.begin(), from.vars.end());
  to.conditions.insert(to.conditions.end(), from.conditions.begin(), from.conditions.end());
  to.lets.insert(to.lets.end(), from.lets.begin(), from.lets.end());
}

/// Where both accesses touch the same element, which lies inside the buffer.
IslSet same_element(Solver& solver, const Access& a, const Access& b) {
  Translator& t = solver.translator();
  IslSet same = t.universe();
  auto meet = [&](isl_set* with) { same = IslSet(isl_set_intersect(same.take(), with)); };
  std::vector<ExprPair> equal;
  for (std::size_t d = 0; d < a.ranges.size() && d < b.ranges.size(); ++d) {
    if (a.ranges[d].extent || b.ranges[d].extent) continue;
    equal.emplace_back(a.ranges[d].begin, b.ranges[d].begin);
    IslPwAff x = t.index(a.ranges[d]).first;
    meet(isl_pw_aff_nonneg_set(x.copy()));
    meet(isl_pw_aff_lt_set(x.copy(), t.value(a.buffer->shape[d]).take()));
    t.next_time();
    meet(isl_pw_aff_eq_set(x.take(), t.index(b.ranges[d]).first.take()));
  }
  for (const auto& [x, y] : implied_equalities(equal, solver.ranges())) {
    meet(isl_pw_aff_eq_set(t.value(x).take(), t.value(y).take()));
  }
  return same;
}

IslSet different_iterations(Translator& t, const For& loop, const Renamer& second) {
  IslSet different = t.nowhere();
  for (const LoopAxis& axis : loop.axes) {
    IslPwAff x = t.var(axis.var), y = t.var(second.of(axis.var));
    different = IslSet(isl_set_union(different.take(), isl_pw_aff_ne_set(x.take(), y.take())));
  }
  return different;
}

Truth conflict(const For& loop, const Domain& outer, const Site& first, const Site& other) {
  Renamer renamer;
  Site second = renamer.rename(other);
  Domain domain = outer;
  append(domain, first.inner);
  append(domain, second.inner);
  Solver solver(domain);
  solver.points();
  Translator& t = solver.begin_question();
  IslSet different = different_iterations(t, loop, renamer);
  IslSet same = same_element(solver, first.access, second.access);
  IslSet both(isl_set_intersect(same.copy(), different.copy()));
  if (solver.impossible(both)) return Truth::never;
  bool elements = !first.access.region && !second.access.region;
  bool sure = elements && first.access.certain && second.access.certain;
  return sure && solver.sure_witness(different, same) ? Truth::always : Truth::unknown;
}

bool may_interfere(const Access& a, const Access& b) {
  bool reads = a.touch == Touch::read && b.touch == Touch::read;
  bool atomics = a.touch == Touch::atomic && b.touch == Touch::atomic;
  return a.buffer == b.buffer && !reads && !atomics;
}

}  // namespace

ParallelConflict parallel_conflicts(const For& parallel, const Domain& outer) {
  ParallelConflict worst{Truth::never, nullptr, nullptr, nullptr};
  std::vector<Site> sites = collect(parallel, outer);
  int pairs = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (std::size_t j = i; j < sites.size(); ++j) {
      const Access &a = sites[i].access, &b = sites[j].access;
      if (!may_interfere(a, b)) continue;
      Truth truth = ++pairs > max_pairs ? Truth::unknown : conflict(parallel, outer, sites[i], sites[j]);
      ParallelConflict found{truth, a.stmt, b.stmt, a.buffer};
      if (truth == Truth::always) return found;
      if (truth == Truth::unknown && worst.conflict == Truth::never) worst = found;
    }
  }
  return worst;
}

}  // namespace plait::analysis
