#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

/// Who knows that what has happened: vector clocks. They depend on the order of synchronisation alone, not on time.
namespace plait::sim {

constexpr int kLanes = 32;
using LaneMask = std::uint32_t;
constexpr LaneMask kAllLanes = 0xffffffffU;

using Component = std::uint32_t;
using Clock = std::uint32_t;

class VectorClock {
 public:
  Clock get(Component c) const { return c < at_.size() ? at_[c] : 0; }
  void raise(Component c, Clock value) {
    if (c >= at_.size()) at_.resize(c + 1, 0);
    if (at_[c] < value) at_[c] = value;
  }
  void join(const VectorClock& other);
  void meet(const VectorClock& other);  ///< what both know

 private:
  std::vector<Clock> at_;
};

/// Of clusters, by their numbers: accesses of theirs that happened before.
using KnownClusters = std::map<std::uint16_t, VectorClock>;
void join(KnownClusters& to, const KnownClusters& from);

/// What is known to a thread, or handed over by a barrier. `memory` and `fenced` have one component for each source of
/// memory accesses (threads of the cluster first, then groups of asynchronous copies, phases of mbarriers, wgmma
/// groups), `time` one for each warp, mbarrier and named barrier.
struct View {
  VectorClock memory;         ///< accesses that happened before
  VectorClock fenced;         ///< those of threads among them that a proxy fence orders before TMA and wgmma too
  KnownClusters others = {};  ///< `memory` of other clusters
  VectorClock time;           ///< events that lie in the past, whether or not their memory accesses are visible

  void join(const View& other);
  void meet(const View& other);
};

/// The clocks of a warp's lanes. They run in lockstep but learn from each other only where the warp synchronises.
class WarpClock {
 public:
  /// `first_thread`: lane 0 in `memory`; `warp`: this warp in `time`. One that is not kept knows nothing and hands over
  /// nothing.
  WarpClock(bool kept, Component first_thread, Component warp)
      : kept_(kept), first_thread_(first_thread), warp_(warp) {}

  Component thread(int lane) const { return first_thread_ + static_cast<Component>(lane); }
  Component warp() const { return warp_; }
  Clock now() const { return now_; }

  /// Whether access `clock` of `component` happened before what the lane does now.
  bool sees(int lane, Component component, Clock clock) const;
  /// The same for an access of another cluster.
  bool sees(int lane, std::uint16_t cluster, Component component, Clock clock) const;
  /// The same for an event in `time`.
  bool knows(int lane, Component component, Clock clock) const { return view(lane).time.get(component) >= clock; }

  /// What one lane knows now.
  View look(int lane) const;
  /// What the lanes together hand over; what they do from now on is not part of it.
  View release(LaneMask lanes);
  void acquire(LaneMask lanes, const View& view);
  /// Of one lane: accesses up to `clock` of `component` are complete.
  void learn(int lane, Component component, Clock clock);
  void fence_proxy(LaneMask lanes);
  /// What follows is later than what was.
  void tick() { ++now_; }
  /// Every lane learns what the others know.
  void sync();
  /// What every lane knows.
  const View& common() const { return base_; }

  /// cp.async groups of a lane are a component of their own that only the lane itself learns about.
  void set_copies(int lane, Component component) { copies_[index(lane)].component = component; }
  void learn_copies(int lane, Clock clock) { copies_[index(lane)].seen = clock; }

 private:
  struct Copies {
    Component component = 0;  ///< 0: the lane has none
    Clock seen = 0, fenced = 0;
  };
  static std::size_t index(int lane) { return static_cast<std::size_t>(lane); }
  const View& view(int lane) const { return own_[index(lane)] ? *own_[index(lane)] : base_; }
  void add_own(View& to, int lane) const;

  bool kept_;
  Component first_thread_, warp_;
  Clock now_ = 1;
  View base_;                                      ///< known to every lane
  std::array<std::unique_ptr<View>, kLanes> own_;  ///< of lanes that know more
  std::array<Clock, kLanes> fenced_{};             ///< accesses of the lane up to this one are fenced
  std::array<Copies, kLanes> copies_{};
};

}  // namespace plait::sim
