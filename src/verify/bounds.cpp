#include <fmt/format.h>

#include "analysis/access.h"
#include "verify/context.h"

namespace plait::verify {
namespace {

using namespace ir;

/// Buffer, index text and place of the access that a fact speaks of.
struct Access {
  Buffer buffer;
  std::string index;
  Loc loc;
};

Access describe(const analysis::AccessFact& fact) {
  const Loc& at = fact.stmt->loc;
  if (fact.region != nullptr) {
    const Range& range = fact.region->ranges[fact.dim];
    return {fact.region->buffer, fmt::format("{} .. + {}", print(*range.begin), print(*range.extent)),
            fact.region->loc.known() ? fact.region->loc : at};
  }
  if (fact.load != nullptr) {
    const auto& load = std::get<Load>(fact.load->node);
    return {load.buffer, print(*load.index[fact.dim]), fact.load->loc.known() ? fact.load->loc : at};
  }
  if (const auto* store = std::get_if<Store>(&fact.stmt->node))
    return {store->buffer, print(*store->index[fact.dim]), at};
  const auto& atomic = std::get<AtomicElement>(fact.stmt->node);
  return {atomic.buffer, print(*atomic.index[fact.dim]), at};
}

void check_accesses(const Kernel& kernel, Diagnostics& diags) {
  for (const analysis::AccessFact& fact : analysis::check_accesses(kernel)) {
    if (!fact.refuted) continue;
    Access access = describe(fact);
    diags.error(Rule::access_bounds, access.loc,
                fmt::format("index {} of dimension {} leaves '{}', whose extent there is {}", access.index, fact.dim,
                            access.buffer->name, print(*access.buffer->shape[fact.dim])));
  }
}

void check_conflict(const For& loop, const Loc& loc, const analysis::Domain& domain, Diagnostics& diags) {
  analysis::ParallelConflict found = analysis::parallel_conflicts(loop, domain);
  if (found.conflict != analysis::Truth::always) return;
  Diagnostic& d = diags.error(
      Rule::parallel_conflict, found.first->loc.known() ? found.first->loc : loc,
      fmt::format("iterations of this parallel loop touch the same element of '{}', and one of them writes it",
                  found.buffer->name));
  if (found.second != found.first) d.notes.push_back({found.second->loc, "the other access"});
  d.notes.push_back({loc, "the parallel loop"});
}

}  // namespace

void check_bounds(const Kernel& kernel, Diagnostics& diags) {
  check_accesses(kernel, diags);
  analysis::for_each_loop(kernel, [&](const StmtRef& stmt, const For& loop, const analysis::Domain& domain) {
    if (loop.kind == LoopKind::parallel) check_conflict(loop, stmt->loc, domain, diags);
  });
}

}  // namespace plait::verify
