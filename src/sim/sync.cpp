#include <fmt/format.h>

#include "sim/access.h"
#include "sim/exec.h"
#include "sim/exit.h"
#include "sim/mbarrier.h"
#include "sim/tasks.h"

namespace plait::sim {
namespace {

template <typename Fn>
void for_lanes(LaneMask mask, Fn fn) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(mask, lane)) fn(lane);
  }
}

LaneMask bit(int lane) { return LaneMask{1} << lane; }
int first_lane(LaneMask mask) { return __builtin_ctz(mask); }

/// Lanes that wait have met the phase that was completed last.
void pass_wait(Machine& m, Warp& w, const PendingWait& wait) {
  Mbarrier& mbar = w.block.mbars[static_cast<std::size_t>(wait.mbar)];
  auto phase = static_cast<Clock>(mbar.phase);
  if (!m.checks()) return;
  if (phase >= 1 && !w.clock.knows(first_lane(wait.lanes), mbar.time, phase - 1)) {
    m.fail(Rule::sim_parity, w.site,
           fmt::format("{} by {} meets phase {} of {}, and may as well meet phase {}, which has the same parity: "
                       "nothing lets it begin after phase {} is complete",
                       m.site(w.site).word, describe_warp(m, w), phase - 1, describe_mbar(m, w.block, wait.mbar),
                       std::int64_t{phase} - 3, std::int64_t{phase} - 2));
  }
  w.clock.acquire(wait.lanes, mbar.released);
  mbar.passed.push_back({w.clock.warp(), w.clock.now(), w.site});
}

/// Meets waits in turn until one is not met yet.
Step go_on_waiting(Machine& m, Warp& w) {
  while (!w.waits.empty()) {
    PendingWait wait = w.waits.front();
    Mbarrier& mbar = w.block.mbars[static_cast<std::size_t>(wait.mbar)];
    if (!passes(mbar, wait.parity)) {
      w.status = Status::mbarrier;
      mbar.waiting.push_back(&w);
      return Step::blocked;
    }
    pass_wait(m, w, wait);
    w.waits.pop_front();
  }
  return Step::next;
}

/// The lanes of each barrier and parity.
std::deque<PendingWait> waits_of(Machine& m, const Warp& w, const act::Wait& a) {
  std::deque<PendingWait> waits;
  for_lanes(w.mask, [&](int lane) {
    int number = mbar_number(m, w, lane, a.mbar);
    if (number < 0) return;
    bool parity = (value_of(w, a.parity, lane).i & 1) != 0;
    for (PendingWait& wait : waits) {
      if (wait.mbar != number || wait.parity != parity) continue;
      wait.lanes |= bit(lane);
      return;
    }
    waits.push_back({number, parity, bit(lane)});
  });
  return waits;
}

}  // namespace

/// A warp that waits on an mbarrier comes back to the same statement; its waits are those that remain.
Step run(Machine& m, Warp& w, const act::Wait& a) {
  if (w.waits.empty()) {
    w.waits = waits_of(m, w, a);
    for (const PendingWait& wait : w.waits) {
      View view = w.clock.look(first_lane(wait.lanes));
      User user{w.block, w.first_thread + first_lane(wait.lanes), w.site, view};
      if (ready_to_use(m, w.block, wait.mbar, user, false)) continue;
      w.waits.clear();
      return Step::next;
    }
  }
  w.time += m.latency(m.costs().mbar_test);
  Step step = go_on_waiting(m, w);
  if (step == Step::blocked) --w.pc;  // blocked moves on; this statement is looked at again
  return step;
}

Step run(Machine& m, Warp& w, const act::MbarInit& a) {
  const MbarCode& code = m.code().mbars[static_cast<std::size_t>(a.mbar)];
  int lane = first_lane(w.mask);
  for (int i = code.first; i < code.first + code.decl->size; ++i) {
    Mbarrier& mbar = w.block.mbars[static_cast<std::size_t>(i)];
    if (mbar.initialised || __builtin_popcount(w.mask) > 1) {
      std::string again =
          mbar.initialised ? " again, after the one at " + place_of(m, mbar.init_site) : " in several lanes";
      m.fail(Rule::sim_mbar_init, w.site,
             fmt::format("{} initialises {}{}", describe_thread(m, w.block, w.first_thread + lane),
                         describe_mbar(m, w.block, i), again));
      return Step::next;
    }
    mbar.initialised = true;
    mbar.count = mbar.pending = code.decl->count;
    mbar.init_thread = w.clock.thread(lane);
    mbar.init = w.clock.now();
    mbar.init_site = w.site;
  }
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::Arrive& a) {
  for_lanes(w.mask, [&](int lane) {
    int number = mbar_number(m, w, lane, a.mbar);
    std::int64_t rank = a.rank.valid() ? value_of(w, a.rank, lane).i : w.block.rank;
    if (number < 0) return;
    View given = w.clock.release(bit(lane));
    User user{w.block, w.first_thread + lane, w.site, given};
    if (rank < 0 || rank >= m.cluster_size()) {
      m.fail(Rule::sim_bounds, w.site,
             fmt::format("{} arrives at block {} of a cluster of {}", describe_thread(m, w.block, user.thread), rank,
                         m.cluster_size()));
      return;
    }
    Block& target = *w.block.cluster->blocks[static_cast<std::size_t>(rank)];
    bool remote = &target != &w.block;
    if (remote && !touch_remote(m, w, target)) return;
    if (!ready_to_use(m, target, number, user, remote)) return;
    // What the warp hands over later comes after the arrival, so it may take place at once; who waits sees it later.
    std::int64_t delay = m.latency(remote ? m.costs().remote_arrive : m.costs().arrive);
    arrive_behind_tasks(m, w, target, number, user.thread, 0, given, delay);
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::Expect& a) {
  for_lanes(w.mask, [&](int lane) {
    int number = mbar_number(m, w, lane, a.mbar);
    if (number < 0) return;
    View given = w.clock.release(bit(lane));
    User user{w.block, w.first_thread + lane, w.site, given};
    if (!ready_to_use(m, w.block, number, user, false)) return;
    arrive_behind_tasks(m, w, w.block, number, user.thread, value_of(w, a.bytes, lane).i, given,
                        m.latency(m.costs().arrive));
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::Fence& a) {
  switch (a.kind) {
    case roles::FenceKind::mbar_init:
      for (Mbarrier& mbar : w.block.mbars) {
        bool own = mbar.init_thread >= w.clock.thread(0) && mbar.init_thread < w.clock.thread(0) + kLanes;
        if (!mbar.initialised || mbar.init_fenced != 0 || !own) continue;
        if (has(w.mask, static_cast<int>(mbar.init_thread - w.clock.thread(0)))) mbar.init_fenced = w.clock.now() + 1;
      }
      w.clock.tick();
      return Step::next;
    case roles::FenceKind::proxy_async:
      w.time += m.latency(m.costs().fence_proxy);
      w.clock.fence_proxy(w.mask);
      return Step::next;
    case roles::FenceKind::gpu:
      w.time += m.latency(m.costs().atomic);
      if (m.checks()) m.order().fence(w, w.mask);
      return Step::next;
    case roles::FenceKind::wgmma:
      if (!whole_warp(m, w)) return Step::next;
      w.wgmma_fenced = true;
      for (std::vector<Section>& sections : w.sections) {
        for (Section& section : sections) section.touched = false;
      }
      return Step::next;
  }
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::SyncWarp&) {
  if (whole_warp(m, w)) w.clock.sync();
  return Step::next;
}

// ---- Named barriers ------------------------------------------------------------------------------------------------

namespace {

Step meet(Machine& m, Warp& w, std::int64_t id, std::int64_t threads, bool waits) {
  NamedBarrier& barrier = w.block.barriers[static_cast<std::size_t>(id)];
  auto who = [&] { return fmt::format("{} by {}", m.site(w.site).word, describe_warp(m, w)); };
  if (barrier.arrived == 0) {
    barrier.threads = threads;
    barrier.site = w.site;
  } else if (barrier.threads != threads) {
    Diagnostic& d = m.fail(Rule::sim_barrier, w.site,
                           fmt::format("{} meets at barrier {} over {} threads, and others at {} over {}", who(), id,
                                       threads, place_of(m, barrier.site), barrier.threads));
    m.note(d, barrier.site, "the other count");
    return Step::next;
  }
  if (m.checks() && !w.clock.knows(0, barrier.time, barrier.generation)) {
    m.fail(
        Rule::sim_barrier, w.site,
        fmt::format("{} meets at barrier {} without knowing that the meeting before is over: it may count for either",
                    who(), id));
  }
  w.clock.sync();
  barrier.joined.join(w.clock.release(kAllLanes));
  barrier.arrived += kLanes;
  if (waits) {
    w.status = Status::named_barrier;
    w.wait_barrier = static_cast<int>(id);
    barrier.waiting.push_back(&w);
  }
  if (barrier.arrived < barrier.threads) return waits ? Step::blocked : Step::next;
  ++barrier.generation;
  barrier.arrived = 0;
  if (m.checks()) barrier.joined.time.raise(barrier.time, barrier.generation);
  std::vector<Warp*> waiting = std::move(barrier.waiting);
  barrier.waiting.clear();
  for (Warp* other : waiting) {
    other->clock.acquire(kAllLanes, barrier.joined);
    m.wake(*other, w.time + m.latency(m.costs().named_barrier));
  }
  return waits ? Step::blocked : Step::next;
}

}  // namespace

Step run(Machine& m, Warp& w, const act::SyncThreads&) {
  if (!whole_warp(m, w)) return Step::next;
  return meet(m, w, 0, m.code().threads, true);
}

Step run(Machine& m, Warp& w, const act::Barrier& a) {
  if (!whole_warp(m, w)) return Step::next;
  std::int64_t id = value_of(w, a.id, 0).i;
  if (id < 1 || id > 15 || a.threads < kLanes || a.threads % kLanes != 0) {
    m.fail(Rule::sim_bounds, w.site,
           fmt::format("{} by {} names barrier {} over {} threads", m.site(w.site).word, describe_warp(m, w), id,
                       a.threads));
    return Step::next;
  }
  return meet(m, w, id, a.threads, a.waits);
}

// ---- Clusters ------------------------------------------------------------------------------------------------------

namespace {

void complete_cluster_barrier(Machine& m, Cluster& cluster, std::int64_t time) {
  ClusterBarrier& barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived + cluster.exited_warps < cluster.warps) return;
  barrier.arrived = 0;
  ++barrier.generation;
  barrier.released = barrier.joined;
  std::vector<Warp*> waiting = std::move(barrier.waiting);
  barrier.waiting.clear();
  for (Warp* warp : waiting) {
    warp->clock.acquire(kAllLanes, barrier.released);
    m.wake(*warp, time + m.latency(m.costs().cluster_barrier));
  }
}

}  // namespace

Step run(Machine& m, Warp& w, const act::ClusterArrive&) {
  if (!whole_warp(m, w)) return Step::next;
  if (w.cluster_arrived) {
    m.fail(Rule::sim_cluster, w.site,
           fmt::format("{} arrives at the cluster barrier twice without waiting in between", describe_warp(m, w)));
    return Step::next;
  }
  Cluster& cluster = *w.block.cluster;
  w.cluster_arrived = true;
  w.cluster_generation = cluster.barrier.generation;
  w.cluster_site = w.site;
  w.clock.sync();
  cluster.barrier.joined.join(w.clock.release(kAllLanes));
  ++cluster.barrier.arrived;
  complete_cluster_barrier(m, cluster, w.time);
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::ClusterWait&) {
  if (!whole_warp(m, w)) return Step::next;
  if (!w.cluster_arrived) {
    m.fail(Rule::sim_cluster, w.site,
           fmt::format("{} waits at the cluster barrier without having arrived", describe_warp(m, w)));
    return Step::next;
  }
  w.cluster_arrived = false;
  ClusterBarrier& barrier = w.block.cluster->barrier;
  if (barrier.generation > w.cluster_generation) {
    w.clock.acquire(kAllLanes, barrier.released);
    return Step::next;
  }
  w.status = Status::cluster_barrier;
  barrier.waiting.push_back(&w);
  return Step::blocked;
}

void cluster_exit(Machine& m, Warp& w) {
  if (w.cluster_arrived)
    m.fail(Rule::sim_cluster, w.cluster_site,
           fmt::format("{} arrives at the cluster barrier and ends without waiting there", describe_warp(m, w)));
  Cluster& cluster = *w.block.cluster;
  ++cluster.exited_warps;
  complete_cluster_barrier(m, cluster, w.time);
}

bool touch_remote(Machine& m, const Warp& w, Block& target) {
  // The touch is part of what the warp's next release hands over; its clock has just been advanced by one.
  target.remote[w.clock.warp()] = {w.clock.now() - 1, w.site};
  if (!target.exited) return true;
  m.fail(Rule::sim_cluster, w.site,
         fmt::format("{} by {} reaches block {}, which has ended", m.site(w.site).word, describe_warp(m, w),
                     target.number));
  return false;
}

}  // namespace plait::sim
