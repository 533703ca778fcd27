#include "plan/position.h"

#include <algorithm>

#include "analysis/expr_util.h"

namespace plait::plan {

Positions::Positions(const graph::TaskGraph& graph, const std::vector<Slot>& slots) : graph_(graph) {
  for (const graph::Node& node : graph.nodes) {
    auto it = std::find_if(slots.begin(), slots.end(), [&](const Slot& slot) { return slot.stmt == node.name; });
    PLAIT_ASSERT(it != slots.end(), "a statement of the loop has no slot");
    slots_.push_back(&*it);
  }
}

std::vector<std::size_t> Positions::issuer(std::size_t node) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (graph_.nodes[i].async && slot(i).unit == slot(node).unit && same_role(i, node)) found.push_back(i);
  }
  std::sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return slot(a).order < slot(b).order; });
  return found;
}

Position Positions::end(std::size_t node) const {
  if (!graph_.nodes[node].async || slot(node).in_flight == 0) return issue(node);
  std::vector<std::size_t> all = issuer(node);
  auto at = static_cast<std::size_t>(std::find(all.begin(), all.end(), node) - all.begin());
  std::size_t last = at + static_cast<std::size_t>(slot(node).in_flight);
  return {slot(node).stage + static_cast<std::int64_t>(last / all.size()), slot(all[last % all.size()]).order};
}

bool may_overlap(const graph::Use& a, const graph::Use& b) {
  if (a.buffer != b.buffer) return false;
  for (std::size_t i = 0; i < std::min(a.ranges.size(), b.ranges.size()); ++i) {
    auto begin_a = analysis::small_literal(a.ranges[i].begin), extent_a = analysis::small_literal(a.ranges[i].extent);
    auto begin_b = analysis::small_literal(b.ranges[i].begin), extent_b = analysis::small_literal(b.ranges[i].extent);
    if (!begin_a || !extent_a || !begin_b || !extent_b) continue;
    if (*begin_a + *extent_a <= *begin_b || *begin_b + *extent_b <= *begin_a) return false;
  }
  return true;
}

const graph::Use* use_of(const std::vector<graph::Use>& uses, const ir::Buffer& buffer) {
  auto it = std::find_if(uses.begin(), uses.end(), [&](const graph::Use& use) { return use.buffer == buffer; });
  return it == uses.end() ? nullptr : &*it;
}

}  // namespace plait::plan
