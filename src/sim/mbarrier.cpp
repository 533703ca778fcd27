#include "sim/mbarrier.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/access.h"

namespace plait::sim {
namespace {

/// What the hardware can count.
constexpr std::int64_t kMaxBytes = (1 << 20) - 1;

std::string describe(const Machine& m, const User& user) {
  return fmt::format("{} by {}", m.site(user.site).word, describe_thread(m, user.block, user.thread));
}

/// A wait that met the phase before must be over for certain: otherwise it could meet the phase behind.
void check_passed(Machine& m, Block& block, int number, Mbarrier& mbar) {
  for (const Mbarrier::Moment& pass : mbar.passed) {
    if (mbar.arriving.time.get(pass.warp) >= pass.clock) continue;
    Diagnostic& d =
        m.fail(Rule::sim_parity, pass.site,
               fmt::format("a wait for phase {} of {} may come after phase {} is complete, which has the other parity: "
                           "nothing lets {} at {} come after the wait",
                           mbar.phase - 1, describe_mbar(m, block, number), mbar.phase, m.site(mbar.last_site).word,
                           place_of(m, mbar.last_site)));
    m.note(d, mbar.last_site, "completes the next phase");
  }
  mbar.passed.clear();
}

void complete_phase(Machine& m, Block& block, int number, std::int64_t time) {
  Mbarrier& mbar = block.mbars[static_cast<std::size_t>(number)];
  if (m.checks()) check_passed(m, block, number, mbar);
  ++mbar.phase;
  mbar.last_arrivals = std::exchange(mbar.arrivals, {});
  mbar.last_has_bytes = std::exchange(mbar.has_bytes, false);
  mbar.pending = mbar.count;
  if (m.checks()) {
    mbar.arriving.time.raise(mbar.time, static_cast<Clock>(mbar.phase));
    mbar.arriving.memory.raise(mbar.memory, static_cast<Clock>(mbar.phase));
    mbar.released = mbar.arriving;
  }
  std::vector<Warp*> waiting = std::move(mbar.waiting);
  mbar.waiting.clear();
  for (Warp* warp : waiting) m.wake(*warp, time + m.latency(m.costs().mbar_wait));
}

void check_complete(Machine& m, Block& block, int number, std::int64_t time) {
  Mbarrier& mbar = block.mbars[static_cast<std::size_t>(number)];
  if (mbar.pending == 0 && mbar.bytes == 0) complete_phase(m, block, number, time);
}

/// Whether what happens now can belong to no earlier phase: the user knows that the one before is over, having waited
/// for it or because all that it waited for has happened before.
bool knows_phase(const Machine& m, const Mbarrier& mbar, const User& user) {
  if (!m.checks()) return true;
  if (user.view.time.get(mbar.time) >= static_cast<Clock>(mbar.phase)) return true;
  return !mbar.last_has_bytes &&
         std::all_of(mbar.last_arrivals.begin(), mbar.last_arrivals.end(), [&](const Mbarrier::Moment& arrival) {
           return user.view.time.get(arrival.warp) >= arrival.clock;
         });
}

}  // namespace

bool ready_to_use(Machine& m, Block& block, int number, const User& user, bool remote) {
  const Mbarrier& mbar = block.mbars[static_cast<std::size_t>(number)];
  if (!mbar.initialised) {
    m.fail(Rule::sim_mbar_init, user.site,
           fmt::format("{} uses {}, which is not initialised", describe(m, user), describe_mbar(m, block, number)));
    return false;
  }
  if (!m.checks()) return true;
  Clock needed = remote ? mbar.init_fenced : mbar.init;
  if (needed != 0 && user.view.memory.get(mbar.init_thread) >= needed) return true;
  const char* why = needed == 0 ? "no fence mbar_init stands behind" : "nothing orders that behind";
  Diagnostic& d =
      m.fail(Rule::sim_mbar_init, user.site,
             fmt::format("{} uses {}{}, and {} the mbar_init at {}", describe(m, user), describe_mbar(m, block, number),
                         remote ? " through TMA or from another block" : "", why, place_of(m, mbar.init_site)));
  m.note(d, mbar.init_site, "initialised here");
  return false;
}

void arrive(Machine& m, Block& block, int number, const User& user, std::int64_t bytes, const Arrival& arrival,
            std::int64_t time) {
  Mbarrier& mbar = block.mbars[static_cast<std::size_t>(number)];
  mbar.bytes += bytes;
  mbar.has_bytes = mbar.has_bytes || bytes != 0;
  if (mbar.bytes > kMaxBytes || bytes < 0) {
    m.fail(Rule::sim_bytes, user.site,
           fmt::format("{} makes {} wait for {} bytes; it counts up to {}", describe(m, user),
                       describe_mbar(m, block, number), bytes < 0 ? bytes : mbar.bytes, kMaxBytes));
  }
  if (!knows_phase(m, mbar, user)) {
    m.fail(Rule::sim_arrivals, user.site,
           fmt::format("{} arrives on {} without knowing that phase {} is complete: it may count for either phase",
                       describe(m, user), describe_mbar(m, block, number), mbar.phase - 1));
  }
  if (mbar.pending == 0) {
    m.fail(Rule::sim_arrivals, user.site,
           fmt::format("{} is arrival {} of phase {} of {}, whose count is {}", describe(m, user), mbar.count + 1,
                       mbar.phase, describe_mbar(m, block, number), mbar.count));
    return;
  }
  --mbar.pending;
  mbar.last_site = user.site;
  mbar.arriving.join(arrival.given);
  if (m.checks()) mbar.arrivals.push_back({arrival.warp, arrival.clock, user.site});
  if (mbar.pending == 0 && mbar.bytes < 0) {
    m.fail(Rule::sim_bytes, user.site,
           fmt::format("copies have brought {} bytes more than phase {} of {} expects", -mbar.bytes, mbar.phase,
                       describe_mbar(m, block, number)));
  }
  check_complete(m, block, number, time);
}

void complete_bytes(Machine& m, Block& block, int number, const User& user, std::int64_t bytes, std::int64_t time) {
  Mbarrier& mbar = block.mbars[static_cast<std::size_t>(number)];
  --mbar.in_flight;
  if (!knows_phase(m, mbar, user)) {
    m.fail(Rule::sim_bytes, user.site,
           fmt::format("the {} bytes of {} come in phase {} of {}, which completed its phase {} without them: it "
                       "expected fewer bytes than its copies bring",
                       bytes, describe(m, user), mbar.phase, describe_mbar(m, block, number), mbar.phase - 1));
  }
  mbar.bytes -= bytes;
  mbar.has_bytes = true;
  mbar.last_site = user.site;
  mbar.arriving.time.join(user.view.time);
  if (mbar.pending == 0 && mbar.bytes < 0) {
    m.fail(Rule::sim_bytes, user.site,
           fmt::format("{} brings {} bytes more than phase {} of {} expects", describe(m, user), -mbar.bytes,
                       mbar.phase, describe_mbar(m, block, number)));
  }
  check_complete(m, block, number, time);
}

}  // namespace plait::sim
