#include "analysis/solver.h"

namespace plait::analysis {

using namespace ir;

Truth decide(const ExprRef& cond, const Domain& domain) { return Solver(domain).decide(cond); }
Bounds bounds(const ExprRef& expr, const Domain& domain) { return Solver(domain).bounds(expr); }

namespace {

struct Span {
  IslPwAff begin, end;
};
Span span(Translator& t, const Range& range) {
  IslPwAff begin = t.value(range.begin);
  IslPwAff end(isl_pw_aff_add(begin.copy(), t.value(range.extent).take()));
  return {begin, end};
}

void require_less(IslSet& set, const IslPwAff& a, const IslPwAff& b) {
  set = IslSet(isl_set_intersect(set.take(), isl_pw_aff_lt_set(a.copy(), b.copy())));
}

}  // namespace

Truth overlap(const Region& a, const Region& b, const Domain& domain) {
  if (a.buffer != b.buffer) return Truth::never;
  Solver solver(domain);
  Translator& t = solver.begin_question();
  IslSet shared = t.universe();
  for (std::size_t d = 0; d < a.ranges.size() && d < b.ranges.size(); ++d) {
    Span x = span(t, a.ranges[d]);
    // The regions may belong to different statements.
    t.next_time();
    Span y = span(t, b.ranges[d]);
    Span whole{t.constant(0), t.value(a.buffer->shape[d])};
    // Intervals have a common element exactly when each begins before each ends.
    for (const Span* begins : {&x, &y, &whole}) {
      for (const Span* ends : {&x, &y, &whole}) require_less(shared, begins->begin, ends->end);
    }
  }
  return solver.decide_set(shared);
}

}  // namespace plait::analysis
