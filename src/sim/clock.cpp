#include "sim/clock.h"

#include <algorithm>

namespace plait::sim {

void VectorClock::join(const VectorClock& other) {
  if (at_.size() < other.at_.size()) at_.resize(other.at_.size(), 0);
  for (std::size_t i = 0; i < other.at_.size(); ++i) at_[i] = std::max(at_[i], other.at_[i]);
}

void VectorClock::meet(const VectorClock& other) {
  if (at_.size() > other.at_.size()) at_.resize(other.at_.size());
  for (std::size_t i = 0; i < at_.size(); ++i) at_[i] = std::min(at_[i], other.at_[i]);
}

void join(KnownClusters& to, const KnownClusters& from) {
  for (const auto& [cluster, clock] : from) to[cluster].join(clock);
}

void View::join(const View& other) {
  memory.join(other.memory);
  fenced.join(other.fenced);
  if (!other.others.empty()) sim::join(others, other.others);
  time.join(other.time);
}

void View::meet(const View& other) {
  memory.meet(other.memory);
  fenced.meet(other.fenced);
  for (auto& [cluster, clock] : others) {
    auto same = other.others.find(cluster);
    clock.meet(same == other.others.end() ? VectorClock() : same->second);
  }
  time.meet(other.time);
}

bool WarpClock::sees(int lane, Component component, Clock clock) const {
  if (component == thread(lane)) return clock <= now_;
  const Copies& copies = copies_[index(lane)];
  if (component == copies.component && clock <= copies.seen) return true;
  return view(lane).memory.get(component) >= clock;
}

bool WarpClock::sees(int lane, std::uint16_t cluster, Component component, Clock clock) const {
  const KnownClusters& others = view(lane).others;
  auto found = others.find(cluster);
  return found != others.end() && found->second.get(component) >= clock;
}

/// Adds what a lane knows of its own doings, which its view does not hold.
void WarpClock::add_own(View& to, int lane) const {
  to.memory.raise(thread(lane), now_);
  to.fenced.raise(thread(lane), fenced_[index(lane)]);
  const Copies& copies = copies_[index(lane)];
  if (copies.component == 0) return;
  to.memory.raise(copies.component, copies.seen);
  to.fenced.raise(copies.component, copies.fenced);
}

View WarpClock::look(int lane) const {
  if (!kept_) return {};
  View out = view(lane);
  add_own(out, lane);
  out.time.raise(warp_, now_);
  return out;
}

View WarpClock::release(LaneMask lanes) {
  if (!kept_) return {};
  View out = base_;
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    if (own_[index(lane)]) out.join(*own_[index(lane)]);
    add_own(out, lane);
  }
  out.time.raise(warp_, now_);
  ++now_;
  return out;
}

void WarpClock::acquire(LaneMask lanes, const View& view) {
  if (!kept_) return;
  if (lanes == kAllLanes) base_.join(view);
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    std::unique_ptr<View>& own = own_[index(lane)];
    if (!own && lanes == kAllLanes) continue;
    if (!own) own = std::make_unique<View>(base_);
    own->join(view);
  }
}

void WarpClock::learn(int lane, Component component, Clock clock) {
  if (!kept_) return;
  std::unique_ptr<View>& own = own_[index(lane)];
  if (!own) own = std::make_unique<View>(base_);
  own->memory.raise(component, clock);
}

void WarpClock::fence_proxy(LaneMask lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((lanes >> lane & 1U) == 0) continue;
    fenced_[index(lane)] = now_;
    copies_[index(lane)].fenced = copies_[index(lane)].seen;
  }
  ++now_;
}

void WarpClock::sync() {
  if (!kept_) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::unique_ptr<View>& own = own_[index(lane)];
    if (own) base_.join(*own);
    own.reset();
  }
  for (int lane = 0; lane < kLanes; ++lane) add_own(base_, lane);
  base_.time.raise(warp_, now_);
  ++now_;
}

}  // namespace plait::sim
