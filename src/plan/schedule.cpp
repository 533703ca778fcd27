#include "plan/schedule.h"

#include <algorithm>

namespace plait::plan {
namespace {

template <typename List, typename Pred>
auto find_in(const List& list, const Pred& pred) -> decltype(list.data()) {
  auto it = std::find_if(list.begin(), list.end(), pred);
  return it == list.end() ? nullptr : &*it;
}

}  // namespace

const Slot* LoopPlan::find(const StmtName& name) const {
  return find_in(slots, [&](const Slot& slot) { return slot.stmt == name; });
}

int LoopPlan::copies(std::string_view buffer) const {
  for (const Ring& ring : rings) {
    if (std::find(ring.buffers.begin(), ring.buffers.end(), buffer) != ring.buffers.end()) return ring.depth;
  }
  const Versions* found = find_in(versions, [&](const Versions& v) { return v.buffer == buffer; });
  return found == nullptr ? 1 : found->count;
}

int LoopPlan::stages() const {
  int most = 0;
  for (const Slot& slot : slots) most = std::max(most, slot.stage);
  return most + 1;
}

const LoopPlan* Schedule::find(const StmtName& loop) const {
  return find_in(loops, [&](const LoopPlan& plan) { return plan.loop == loop; });
}

const RegionPlan* Schedule::find_region(const StmtName& region) const {
  return find_in(regions, [&](const RegionPlan& plan) { return plan.region == region; });
}

}  // namespace plait::plan
