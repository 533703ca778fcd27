#include "sim/exit.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/access.h"

namespace plait::sim {
namespace {

std::string statement(const Machine& m, std::int32_t site) {
  return fmt::format("{} at {}", m.site(site).word, place_of(m, site));
}

void fail_exit(Machine& m, const Block& block, std::int32_t site, const std::string& what) {
  m.fail(Rule::sim_exit, site, fmt::format("block {} may end {}", block.number, what));
}

void check_loads(Machine& m, Block& block) {
  for (std::size_t i = 0; i < block.mbars.size(); ++i) {
    const Mbarrier& mbar = block.mbars[i];
    if (!mbar.initialised) continue;
    std::string name = describe_mbar(m, block, static_cast<int>(i));
    bool loads = mbar.in_flight > 0 || block.final.memory.get(mbar.memory) < mbar.last_load;
    if (loads) {
      fail_exit(
          m, block, mbar.load_site,
          fmt::format("while the copies that complete on {} still write its memory: nobody waits for them", name));
    } else if (mbar.pending != mbar.count || mbar.bytes != 0) {
      m.fail(Rule::sim_phase_open, mbar.last_site,
             fmt::format("block {} ends in the middle of phase {} of {}: {} of {} arrivals and {} bytes are missing",
                         block.number, mbar.phase, name, mbar.pending, mbar.count, mbar.bytes));
    }
  }
}

void check_stores(Machine& m, Block& block) {
  for (const auto& warp : block.warps) {
    for (const auto& [lane, groups] : warp->bulk) {
      Clock last = groups.committed();
      const BulkGroups::Group& open = groups.groups.back();
      if (open.reads + open.writes > 0) {
        fail_exit(m, block, groups.last_site,
                  fmt::format("before {} has read its memory: no bulk_commit stands behind it",
                              statement(m, groups.last_site)));
      } else if (block.final.memory.get(groups.read) < last && last > 0) {
        fail_exit(m, block, groups.last_site,
                  fmt::format("before {} has read its memory: no bulk_wait follows", statement(m, groups.last_site)));
      }
    }
    const CopyGroups& copies = warp->copies;
    if (!copies.components.empty() && block.final.memory.get(copies.components[0]) < copies.used) {
      fail_exit(m, block, copies.last_site,
                fmt::format("before {} is complete: no cp_wait follows", statement(m, copies.last_site)));
    }
  }
}

void check_products(Machine& m, Block& block) {
  for (const Replica& replica : block.replicas) {
    auto last = static_cast<Clock>(replica.group_time.size());
    if (replica.last_site == 0 || block.final.memory.get(replica.wgmma) >= last) continue;
    fail_exit(m, block, replica.last_site,
              fmt::format("before {} is complete: no wgmma_await follows", statement(m, replica.last_site)));
  }
}

void check_remote(Machine& m, Block& block) {
  for (const auto& [warp, touch] : block.remote) {
    if (block.final.time.get(warp) >= touch.clock) continue;
    m.fail(Rule::sim_cluster, touch.site,
           fmt::format("block {} may have ended when {} of another block reaches it: no cluster barrier stands behind",
                       block.number, statement(m, touch.site)));
  }
}

// ---- Deadlock ------------------------------------------------------------------------------------------------------

/// What a warp waits for, in words.
std::string waits_for(const Machine& m, const Warp& w) {
  switch (w.status) {
    case Status::mbarrier: {
      const PendingWait& wait = w.waits.front();
      const Mbarrier& mbar = w.block.mbars[static_cast<std::size_t>(wait.mbar)];
      std::string text = fmt::format("phase {} of {}: {} of {} arrivals", mbar.phase,
                                     describe_mbar(m, w.block, wait.mbar), mbar.pending, mbar.count);
      return text + (mbar.bytes == 0 ? " are missing" : fmt::format(" and {} bytes are missing", mbar.bytes));
    }
    case Status::named_barrier: {
      const NamedBarrier& barrier = w.block.barriers[static_cast<std::size_t>(w.wait_barrier)];
      std::string name = w.wait_barrier == 0 ? "the threads of the block" : fmt::format("barrier {}", w.wait_barrier);
      return fmt::format("{}: {} of {} threads are missing", name, barrier.threads - barrier.arrived, barrier.threads);
    }
    case Status::cluster_barrier: {
      const Cluster& cluster = *w.block.cluster;
      return fmt::format("the cluster barrier: {} of {} warps are missing",
                         cluster.warps - cluster.exited_warps - cluster.barrier.arrived, cluster.warps);
    }
    case Status::bulk_groups:
      return "bulk groups of its own";
    case Status::copy_groups:
      return "cp.async groups of its own";
    case Status::wgmma_groups:
      return fmt::format("wgmma group {}, which other warps of the warpgroup have not issued", w.wait_target);
    case Status::ready:
    case Status::done:
      break;
  }
  return "nothing";
}

}  // namespace

void check_exit(Machine& m, Block& block) {
  check_loads(m, block);
  check_stores(m, block);
  check_products(m, block);
  check_remote(m, block);
}

void report_deadlock(Machine& m, const std::vector<std::unique_ptr<Cluster>>& clusters) {
  struct Waiter {
    std::int32_t site;
    std::string text;
    int warps;
  };
  std::vector<Waiter> waiters;
  for (const auto& cluster : clusters) {
    if (cluster == nullptr) continue;
    for (const auto& block : cluster->blocks) {
      for (const auto& warp : block->warps) {
        if (warp->status == Status::done) continue;
        std::string who = describe_warp(m, *warp);
        std::string text = fmt::format("{} waits for {}", who.substr(who.find(" of ") + 4), waits_for(m, *warp));
        auto same = std::find_if(waiters.begin(), waiters.end(),
                                 [&](const Waiter& w) { return w.site == warp->site && w.text == text; });
        if (same != waiters.end()) {
          ++same->warps;
        } else {
          waiters.push_back({warp->site, text, 1});
        }
      }
    }
  }
  if (waiters.empty()) return;
  Diagnostic& d = m.fail(Rule::sim_deadlock, waiters[0].site, "no thread can go on: " + waiters[0].text);
  constexpr std::size_t kNotes = 8;
  for (std::size_t i = 1; i < waiters.size() && i <= kNotes; ++i) m.note(d, waiters[i].site, waiters[i].text);
}

}  // namespace plait::sim
