#include "sim/global_order.h"

#include "sim/state.h"

namespace plait::sim {

void GlobalOrder::fence(Warp& w, LaneMask lanes) {
  std::uint16_t own = w.block.cluster->id;
  for (int lane = 0; lane < kLanes; ++lane) {
    LaneMask bit = LaneMask{1} << lane;
    if ((lanes & bit) == 0) continue;
    if (auto met = w.met.find(lane); met != w.met.end()) {
      View view;
      view.others = std::move(met->second);
      if (auto here = view.others.find(own); here != view.others.end()) {
        view.memory = std::move(here->second);
        view.others.erase(here);
      }
      w.clock.acquire(bit, view);
      w.met.erase(met);
    }
    View known = w.clock.look(lane);
    KnownClusters& published = w.published[lane];
    published = std::move(known.others);
    published[own] = std::move(known.memory);
  }
  w.clock.tick();
}

void GlobalOrder::atomic(Warp& w, int lane, int tensor, std::int64_t element) {
  KnownClusters& handed = handed_[{tensor, element}];
  if (!handed.empty()) join(w.met[lane], handed);
  if (auto published = w.published.find(lane); published != w.published.end()) join(handed, published->second);
}

}  // namespace plait::sim
