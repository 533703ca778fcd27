#include <map>
#include <tuple>

#include "analysis/access.h"
#include "analysis/accesses.h"
#include "analysis/solver.h"

namespace plait::analysis {

using namespace ir;

namespace {

class Checker {
 public:
  std::vector<AccessFact> check(const Kernel& kernel) {
    AccessWalker walker(kernel_domain(kernel), [&](const Access& access) { add(access, walker_->domain()); });
    walker_ = &walker;
    walker.walk(kernel.body);
    return std::move(facts_);
  }

 private:
  void add(const Access& access, const Domain& domain) {
    // Tile operations clip what lies outside a tensor in global memory.
    if (access.region && access.buffer->scope == Scope::global) return;
    Solver& solver = solver_for(domain);
    for (std::size_t d = 0; d < access.ranges.size() && d < access.buffer->shape.size(); ++d) {
      if (access.ranges[d].begin) add(access, d, solver);
    }
  }

  /// One solver serves the accesses that follow one another in one domain, until it knows many symbols.
  Solver& solver_for(const Domain& domain) {
    constexpr std::size_t max_symbols = 24;
    if (solver_ && solver_->translator().symbols().size() <= max_symbols && same_domain(domain)) return *solver_;
    solver_.reset();
    known_ = domain;
    return solver_.emplace(known_);
  }

  /// Lets and variables come and go at the end of their lists, each from one place of the program.
  bool same_domain(const Domain& domain) const {
    auto same_end = [](const auto& a, const auto& b, const auto& of) {
      return a.size() == b.size() && (a.empty() || of(a.back()) == of(b.back()));
    };
    return domain.conditions == known_.conditions &&
           same_end(domain.lets, known_.lets, [](const auto& let) { return let.first; }) &&
           same_end(domain.vars, known_.vars, [](const DomainVar& v) { return v.var; });
  }

  void add(const Access& access, std::size_t dim, Solver& solver) {
    AccessFact fact{access.stmt, access.load, access.region, dim, Truth::always, false};
    const bool inside_by_range = in_bounds_by_range(access.ranges[dim], access.buffer->shape[dim], solver.ranges());
    if (!inside_by_range && ++questions_ > max_questions) {
      fact.in_bounds = Truth::unknown;
    } else if (!inside_by_range) {
      IslSet inside = inside_set(access.ranges[dim], access.buffer->shape[dim], solver);
      fact.in_bounds = solver.decide_set(inside);
      if (fact.in_bounds != Truth::always && access.certain) {
        IslSet outside(isl_set_complement(inside.take()));
        fact.refuted = solver.sure_witness(solver.begin_question().universe(), outside);
      }
    }
    merge(std::move(fact));
  }

  static bool in_bounds_by_range(const Range& range, const ExprRef& shape, Ranges& ranges) {
    Interval begin = ranges.of(range.begin).range;
    Wide extent = range.extent ? ranges.of(range.extent).range.hi : 1;
    return begin.lo >= 0 && begin.hi + extent <= ranges.of(shape).range.lo;
  }

  static IslSet inside_set(const Range& range, const ExprRef& shape, Solver& solver) {
    solver.points();
    Translator& t = solver.begin_question();
    auto [begin, extent] = t.index(range);
    IslSet set(isl_pw_aff_nonneg_set(begin.copy()));
    IslPwAff end(isl_pw_aff_add(begin.take(), extent.take()));
    return IslSet(isl_set_intersect(set.take(), isl_pw_aff_le_set(end.take(), t.value(shape).take())));
  }

  /// A shared load may occur several times in its statement, under different conditions: the worst counts.
  void merge(AccessFact fact) {
    auto key = std::tuple{static_cast<const void*>(fact.stmt.get()), static_cast<const void*>(fact.load),
                          static_cast<const void*>(fact.region), fact.dim};
    auto [it, added] = index_.emplace(key, facts_.size());
    if (added) {
      facts_.push_back(std::move(fact));
      return;
    }
    AccessFact& old = facts_[it->second];
    if (old.in_bounds != fact.in_bounds) old.in_bounds = Truth::unknown;
    old.refuted = old.refuted || fact.refuted;
  }

  /// A program with more accesses than anyone writes leaves the rest of them unknown, rather than taking minutes.
  static constexpr int max_questions = 10'000;

  const AccessWalker* walker_ = nullptr;
  int questions_ = 0;
  Domain known_;  ///< of the solver
  std::optional<Solver> solver_;
  std::vector<AccessFact> facts_;
  std::map<std::tuple<const void*, const void*, const void*, std::size_t>, std::size_t> index_;
};

}  // namespace

std::vector<AccessFact> check_accesses(const Kernel& kernel) { return Checker().check(kernel); }

}  // namespace plait::analysis
