#include "fuse/fuse.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/merge.h"
#include "plan/rules.h"
#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "sim/occupancy.h"

namespace plait::fuse {
namespace {

/// Of shared memory, for the alignment of tiles and for mbarriers.
constexpr std::int64_t kApart = 2048;
/// Blocks in one: their loads take what an h200's memory gives.
constexpr int kMostBlocks = 8;

/// One of the two, while it is made to fit.
class Candidate {
 public:
  Candidate(const Subject& subject, const machine::Device& device) : subject_(subject), device_(device) {}

  /// Plans it alone, then brings it to blocks that stay.
  Diagnostics plan();
  bool fewer_blocks();
  /// Derives it anew with at most so many bytes of shared memory for all its blocks.
  bool within(std::int64_t bytes);

  Part part() const { return {made_.derived.program, made_.blocks}; }
  std::int64_t smem_bytes() const {
    return roles::arena(roles::lower_channels(made_.derived.program)).bytes * made_.blocks;
  }
  int threads() const { return roles::thread_count(made_.derived.program) * made_.blocks; }
  const FusedPart& made() const { return made_; }

 private:
  Result<pipeline::Derived> derive(const plan::Schedule& schedule, const machine::Device& device) const {
    return planner::derive(subject_.kernel, device, schedule, subject_.planning);
  }
  Diagnostics stay();
  int blocks_at_once() const;
  std::optional<plan::Schedule> fewer_slots(const plan::Schedule& of);

  const Subject& subject_;
  const machine::Device& device_;
  std::optional<int> stages_;  ///< at most, in loops whose author says how many
  FusedPart made_;
};

Diagnostics Candidate::plan() {
  if (subject_.schedule) {
    auto derived = planner::derive(subject_.kernel, device_, subject_.schedule, subject_.planning);
    if (!derived) return derived.diagnostics();
    made_.alone = std::move(*derived);
  } else {
    auto planned = planner::plan(subject_.kernel, device_, subject_.planning);
    if (!planned) return planned.diagnostics();
    made_.alone = std::move(planned->derived);
    made_.planned = std::move(*planned);
  }
  made_.derived = made_.alone;
  return stay();
}

/// Where nobody loads ahead, other blocks of the multiprocessor are what a wait is filled with.
int Candidate::blocks_at_once() const {
  const roles::Program& program = made_.alone.program;
  int planned = made_.alone.schedule.place.work.occupancy;
  if (subject_.blocks || program.roles.size() > 1 || planned > 1) return subject_.blocks.value_or(planned);
  return std::min(sim::resident_blocks(program, device_), kMostBlocks);
}

/// Blocks that stay take all tiles, however many blocks the other one has.
Diagnostics Candidate::stay() {
  plan::Schedule schedule = made_.alone.schedule;
  plan::Work& work = schedule.place.work;
  work.occupancy = made_.blocks = blocks_at_once();
  bool moves = work.kind == plan::WorkKind::plain;
  if (moves) work.kind = plan::WorkKind::persistent;
  if (work == made_.alone.schedule.place.work) return {};
  for (plan::Role& role : schedule.place.roles) role.regs.reset();
  auto derived = derive(schedule, device_);
  while (!derived && !subject_.blocks && made_.blocks > 1) {
    work.occupancy = --made_.blocks;
    derived = derive(schedule, device_);
  }
  if (!derived) {
    Diagnostics found;
    for (Diagnostic d : derived.diagnostics().list()) {
      if (made_.blocks > 1) d.message = fmt::format("{} blocks at once: {}", made_.blocks, d.message);
      found.add(std::move(d));
    }
    return found;
  }
  if (moves) made_.changed.push_back("its blocks stay and take tile after tile");
  made_.derived = std::move(*derived);
  return {};
}

bool Candidate::fewer_blocks() {
  if (made_.blocks == 1 || subject_.blocks) return false;
  plan::Schedule schedule = made_.derived.schedule;
  --schedule.place.work.occupancy;
  auto derived = derive(schedule, device_);
  if (!derived) return false;
  made_.derived = std::move(*derived);
  --made_.blocks;
  return true;
}

/// The schedule with a slot less in its deepest rings, or with a stage less.
std::optional<plan::Schedule> Candidate::fewer_slots(const plan::Schedule& of) {
  plan::Schedule schedule = of;
  int deepest = 1;
  for (const plan::LoopPlan& loop : schedule.loops) {
    for (const plan::Ring& ring : loop.rings) deepest = std::max(deepest, ring.depth);
  }
  for (plan::LoopPlan& loop : schedule.loops) {
    for (plan::Ring& ring : loop.rings) {
      if (deepest > 1 && ring.depth == deepest) --ring.depth;
    }
  }
  if (deepest > 1) return schedule;
  int stages = stages_.value_or(plan::most_stages(subject_.kernel)) - 1;
  if (stages < 0 || subject_.schedule || !made_.planned.loops.empty()) return std::nullopt;
  stages_ = stages;
  auto planned = plan::plan_with_at_most(subject_.kernel, device_, stages);
  if (!planned) return std::nullopt;
  planned->schedule.place = schedule.place;
  return std::move(planned->schedule);
}

bool Candidate::within(std::int64_t bytes) {
  machine::Device device = device_;
  const std::int64_t each = bytes / made_.blocks;
  if (each <= 0) return false;
  device.limits->smem_per_block.value = static_cast<double>(each);
  std::optional<plan::Schedule> schedule = made_.derived.schedule;
  for (int less = 0; schedule; ++less) {
    auto derived = derive(*schedule, device);
    if (derived && roles::arena(roles::lower_channels(derived->program)).bytes <= each) {
      made_.derived = std::move(*derived);
      made_.changed.push_back(fmt::format("tiles take {} bytes of shared memory", smem_bytes()));
      return true;
    }
    schedule = fewer_slots(*schedule);
  }
  return false;
}

class Fuser {
 public:
  Fuser(const Subject& first, const Subject& second, const machine::Device& device)
      : device_(device), limits_(roles::limits_of(device)), first_(first, device), second_(second, device) {}

  Result<Fused> run() {
    for (Candidate* side : {&first_, &second_}) {
      Diagnostics found = side->plan();
      if (found.has_errors()) return found;
    }
    auto made = with_fewer_blocks(first_, second_, false);
    return made ? made : with_fewer_blocks(first_, second_, true);
  }

 private:
  /// Blocks stand for fewer until both fit; where `shrink` says so rings give up slots, too.
  Result<Fused> with_fewer_blocks(Candidate first, Candidate second, bool shrink) const {
    while (true) {
      auto made = together(first, second, shrink);
      if (made || !fewer_blocks(made.diagnostics().list().front().rule, first, second)) return made;
    }
  }

  Result<Fused> together(Candidate first, Candidate second, bool shrink) const {
    auto merged = merge(first.part(), second.part(), limits_);
    if (!merged && shrink && merged.diagnostics().list().front().rule == Rule::smem_capacity) {
      Candidate& large = first.smem_bytes() >= second.smem_bytes() ? first : second;
      Candidate& small = &large == &first ? second : first;
      auto room = [&](const Candidate& other) { return limits_.smem_block - other.smem_bytes() - kApart; };
      if (large.within(room(small)) || small.within(room(large))) merged = merge(first.part(), second.part(), limits_);
    }
    if (!merged) return merged.diagnostics();
    return Fused{std::move(*merged), first.made(), second.made()};
  }

  /// Of the program that takes more of what is too little.
  static bool fewer_blocks(Rule lacking, Candidate& first, Candidate& second) {
    auto fewer = [&](auto of_first, auto of_second) {
      Candidate &more = of_first >= of_second ? first : second, &other = &more == &first ? second : first;
      return more.fewer_blocks() || other.fewer_blocks();
    };
    switch (lacking) {
      case Rule::smem_capacity:
        return fewer(first.smem_bytes(), second.smem_bytes());
      case Rule::barrier_id:
        return fewer(first.made().blocks, second.made().blocks);
      case Rule::role_threads:
      case Rule::register_budget:
      case Rule::fragment_registers:
        return fewer(first.threads(), second.threads());
      default:
        return false;
    }
  }

  const machine::Device& device_;
  roles::Limits limits_;
  Candidate first_, second_;
};

}  // namespace

Result<Fused> fuse(const Subject& first, const Subject& second, const machine::Device& device) {
  if (device.target == machine::Target::cuda) return Fuser(first, second, device).run();
  Diagnostics found;
  found.error(Rule::place_device, first.kernel.loc,
              fmt::format("kernels are fused for GPUs, and {} is none", device.name),
              "name a GPU's model, e.g. --device h200");
  return found;
}

}  // namespace plait::fuse
