#include "planner/npu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/choice.h"
#include "planner/memory.h"
#include "planner/npu_loop.h"
#include "planner/rate.h"
#include "planner/regions.h"
#include "planner/reopen.h"

namespace plait::planner {

using graph::TaskGraph;
using machine::UnitKind;

namespace {

sim::Unit simulated(UnitKind unit) {
  switch (unit) {
    case UnitKind::cube:
      return sim::Unit::cube;
    case UnitKind::mte1:
      return sim::Unit::mte1;
    case UnitKind::mte2:
      return sim::Unit::mte2;
    case UnitKind::fixpipe:
      return sim::Unit::fixpipe;
    case UnitKind::aiv_mte2:
      return sim::Unit::aiv_mte2;
    case UnitKind::mte3:
      return sim::Unit::mte3;
    case UnitKind::scalar:
      return sim::Unit::scalar;
    default:
      return sim::Unit::vector;
  }
}

/// That an iteration may take: what goes from core to core and back takes one more than what stays on one.
constexpr int kMostTurns = 4;

/// Of the solver, for all loops of a kernel and all numbers of versions with which they are tried: some seconds.
constexpr std::int64_t kSolverSteps = 1'000'000;

class NpuPlanner {
 public:
  using Entry = planner::Entry<npu::Derived>;

  NpuPlanner(const machine::Device& device, const Options& options, npu::Derived base)
      : device_(device), options_(options), base_(std::move(base)), graphs_(graph::build(base_.kernel)) {}

  Result<NpuPlanned> run() {
    Diagnostics found = learn();
    if (found.has_errors()) return found;
    if (!any_open() && !any_order()) return NpuPlanned{{}, std::move(base_)};
    Memory memory(options_, device_, base_.made.program, graphs_, costs());
    if (auto known = recall(memory)) return std::move(*known);
    NpuPlanned out = search();
    if (!out.loops.empty()) memory.keep({out.derived.made.schedule, out.loops, out.candidates, out.compared});
    if (auto failure = memory.failure(base_.kernel.loc)) out.derived.made.remarks.push_back(*failure);
    return out;
  }

 private:
  bool any_open() const {
    return std::any_of(graphs_.begin(), graphs_.end(), [](const TaskGraph& graph) { return is_open(graph.asked); });
  }

  static std::vector<PlannedLoop::Task> tasks_of(const std::vector<plan::Problem::Task>& tasks) {
    std::vector<PlannedLoop::Task> out;
    for (const plan::Problem::Task& task : tasks) out.push_back({task.name, task.cost});
    return out;
  }

  /// What a planner makes of the statements outside of loops.
  const std::vector<TimedRegion>& orders(Kind kind) {
    auto known = orders_.find(kind);
    if (known != orders_.end()) return known->second;
    std::vector<TimedRegion>& made = orders_[kind];
    for (const OpenRegion& open : regions_) {
      if (auto found = planner::timed(kind, open)) made.push_back(std::move(*found));
    }
    return made;
  }

  bool any_order() {
    return (options_.kind != Kind::greedy && !orders(Kind::modulo).empty()) ||
           (options_.kind != Kind::modulo && !orders(Kind::greedy).empty());
  }

  /// By graph; nothing is loaded by a role of its own.
  std::vector<LoopCosts> costs() const {
    std::vector<LoopCosts> out;
    for (const NpuLoop& loop : loops_) {
      LoopCosts& costs = out.emplace_back();
      for (const plan::Problem::Task& task : loop.tasks) costs.tasks.push_back(task.cost);
      costs.ahead.assign(costs.tasks.size(), false);
    }
    return out;
  }

  /// What was found before for just this.
  std::optional<NpuPlanned> recall(Memory& memory) const {
    auto known = memory.recall();
    if (!known) return std::nullopt;
    auto derived = npu::carry_out(base_.kernel, graphs_, device_, known->schedule);
    if (!derived) return std::nullopt;
    NpuPlanned out{{std::move(known->loops), std::move(known->candidates), known->compared, machine::Target::npu},
                   std::move(*derived)};
    for (PlannedLoop& loop : out.loops) {
      auto region = std::find_if(regions_.begin(), regions_.end(),
                                 [&](const OpenRegion& open) { return open.region.name == loop.loop; });
      if (region != regions_.end()) {
        loop.loc = region->region.loc;
        loop.tasks = tasks_of(region->problem.tasks);
        continue;
      }
      auto at =
          std::find_if(loops_.begin(), loops_.end(), [&](const NpuLoop& l) { return l.graph->loop == loop.loop; });
      if (at == loops_.end()) return std::nullopt;
      loop.loc = at->graph->loc;
      if (loop.ii > 0) loop.tasks = tasks_of(at->tasks);
    }
    return out;
  }

  NpuPlanned search() {
    // Of schedules that are as good as each other the first one is taken.
    if (options_.kind != Kind::greedy) by_weights(Kind::modulo);
    // The modulo planner keeps what it starts from where flags between cores, which are no part of the problem, hold up
    // more in what it finds.
    const bool starts = options_.kind == Kind::modulo && entries_.back().derived;
    if (options_.kind != Kind::modulo || starts) by_weights(Kind::greedy);
    if (options_.kind == Kind::automatic) {
      for (int stages = any_open() ? kMostStages : 1; stages > 0; --stages) by_rules(stages);
    }
    NpuPlanned out;
    out.compared = unit_;
    out.target = machine::Target::npu;
    auto best = planner::choose(std::move(entries_), out, kExactly);
    if (!best) {
      for (place::Remark& why : not_planned(out, base_.kernel.loc)) base_.made.remarks.push_back(std::move(why));
    }
    out.derived = best ? std::move(*best) : std::move(base_);
    return out;
  }

  /// What the tasks cost, and by which unit schedules are compared.
  Diagnostics learn() {
    Diagnostics found;
    std::map<UnitKind, std::int64_t> busy;
    for (const TaskGraph& graph : graphs_) {
      auto loop = npu_loop(graph, base_.kernel, device_);
      if (!loop) {
        found.append(loop.diagnostics());
        continue;
      }
      for (const plan::Problem::Task& task : loop->tasks) {
        length_ += task.cost.latency;
        for (const auto& [unit, cycles] : task.cost.busy) busy[unit] += cycles;
      }
      loops_.push_back(std::move(*loop));
    }
    for (graph::StraightRegion& region : graph::regions_of(base_.kernel)) {
      auto problem = npu_region(region, base_.kernel, device_);
      if (!problem) continue;  // what nobody knows the cost of keeps its place
      auto open = open_region(std::move(region), std::move(*problem));
      if (!open) continue;
      length_ += open->in_program_order;
      for (const plan::Problem::Task& task : open->problem.tasks) {
        for (const auto& [unit, cycles] : task.cost.busy) busy[unit] += cycles;
      }
      regions_.push_back(std::move(*open));
    }
    auto most =
        std::max_element(busy.begin(), busy.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != busy.end()) unit_ = simulated(most->first);
    for (const ir::BufferDecl* buffer : of_one_version(base_.kernel, graphs_)) single_[buffer] = 1;
    return found;
  }

  void by_rules(int stages) {
    Entry entry;
    entry.told.what = any_open() ? fmt::format("rules, stages={}", stages) : "rules";
    entry.schedule = base_.made.schedule;
    auto loops = put_stages(entry.schedule, graphs_, device_, stages);
    if (!loops) return;
    entry.loops = std::move(*loops);
    consider(std::move(entry));
  }

  /// Each loop by its timetable. Where its versions do not fit, buffers get fewer, which lengthens the interval.
  void by_weights(Kind kind) {
    Entry entry;
    entry.told.what = name_of(kind);
    MostVersions most = single_;
    plan::ModuloOptions modulo;
    modulo.most_turns = kMostTurns;
    plan::Steps steps{kSolverSteps};
    modulo.steps = &steps;
    do {
      entry.schedule = base_.made.schedule;
      entry.loops.clear();
      for (const NpuLoop& loop : loops_) {
        if (!is_open(loop.graph->asked)) continue;
        Timed made = timed(kind, *loop.graph, problem_of(loop, most), source_of(loop), modulo);
        place_of(entry.schedule, *loop.graph) = plan_of(loop, made.table, most, std::string(name_of(kind)), device_);
        tell_limits(loop, most, made.told);
        made.told.tasks = tasks_of(loop.tasks);
        entry.loops.push_back(std::move(made.told));
      }
      level(entry.schedule);
    } while (fewer(entry.schedule, most));
    for (const TimedRegion& made : orders(kind)) {
      entry.schedule.regions.push_back(made.plan);
      entry.loops.push_back(made.told);
    }
    consider(std::move(entry));
  }

  /// What bounds the loop is said of all the versions that it could have.
  void tell_limits(const NpuLoop& loop, const MostVersions& most, PlannedLoop& told) const {
    std::vector<std::string> limited;
    for (const ir::Buffer& buffer : loop.graph->written) {
      auto limit = most.find(buffer.get());
      if (limit != most.end() && !single_.contains(buffer.get()))
        limited.push_back(fmt::format("{} x{}", buffer->name, limit->second));
    }
    if (limited.empty()) return;
    told.bounds = plan::bounds_of(problem_of(loop, single_));
    told.optimal = told.ii == told.bounds.least(1);
    told.why_not = fmt::format("memories hold no more than {}", fmt::join(limited, ", "));
  }

  std::string source_of(const NpuLoop& loop) const {
    const std::string model = fmt::format("modelled: the cost functions of {}", device_.name);
    std::vector<std::string> all;
    for (const plan::Problem::Task& task : loop.tasks) {
      const std::string& own = task.cost.source.starts_with("modelled") ? model : task.cost.source;
      if (!own.empty() && std::find(all.begin(), all.end(), own) == all.end()) all.push_back(own);
    }
    return fmt::format("{}", fmt::join(all, "; "));
  }

  /// A buffer that several loops use has as many versions in each of them.
  void level(plan::Schedule& schedule) const {
    for (const NpuLoop& loop : loops_) {
      for (const ir::Buffer& buffer : loop.graph->written) {
        int copies = copies_of(schedule, buffer);
        if (copies == 1 || !is_open(loop.graph->asked)) continue;
        plan::LoopPlan& plan = place_of(schedule, *loop.graph);
        std::erase_if(plan.versions, [&](const plan::Versions& v) { return v.buffer == buffer->name; });
        plan.versions.push_back({buffer->name, copies, {}});
      }
    }
  }

  static int copies_of(const plan::Schedule& schedule, const ir::Buffer& buffer) {
    int copies = 1;
    for (const plan::LoopPlan& plan : schedule.loops) copies = std::max(copies, plan.copies(buffer->name));
    return copies;
  }

  /// Takes a version away from the buffer that has most of them, of several from the largest, in a memory that is too
  /// full. False: nothing is, or nothing can be taken.
  bool fewer(const plan::Schedule& schedule, MostVersions& most) const {
    std::vector<npu::MemoryUse> uses = npu::memory_use(base_.kernel, schedule, device_);
    auto full = std::find_if(uses.begin(), uses.end(), [](const npu::MemoryUse& u) { return u.need > u.limit; });
    if (full == uses.end()) return false;
    npu::Homes homes(base_.kernel.body);
    const ir::BufferDecl* found = nullptr;
    std::pair<int, std::int64_t> rank{1, 0};
    for (const NpuLoop& loop : loops_) {
      for (const ir::Buffer& buffer : loop.graph->written) {
        std::pair<int, std::int64_t> own{copies_of(schedule, buffer), ir::dtype_bits(buffer->type)};
        for (std::int64_t extent : ir::static_shape(*buffer)) own.second *= extent;
        if (homes.of(buffer) != full->kind || own.first == 1 || own <= rank || !is_open(loop.graph->asked)) continue;
        found = buffer.get();
        rank = own;
      }
    }
    if (found != nullptr) most[found] = rank.first - 1;
    return found != nullptr;
  }

  void consider(Entry entry) {
    auto derived = npu::carry_out(base_.kernel, graphs_, device_, entry.schedule);
    if (!derived && in_program_order(entry)) derived = npu::carry_out(base_.kernel, graphs_, device_, entry.schedule);
    if (derived) {
      entry.derived = std::move(*derived);
      entry.told.predicted =
          utilisation(entry.derived->made.program, device_, options_.dims, unit_, trial_length(length_));
    } else {
      entry.told.refused = derived.diagnostics().list().front().message;
    }
    entries_.push_back(std::move(entry));
  }

  const machine::Device& device_;
  const Options& options_;
  npu::Derived base_;
  std::vector<TaskGraph> graphs_;
  std::vector<NpuLoop> loops_;  ///< by graph
  std::vector<OpenRegion> regions_;
  std::map<Kind, std::vector<TimedRegion>> orders_;
  MostVersions single_;  ///< buffers of one version
  sim::Unit unit_ = sim::Unit::cube;
  std::int64_t length_ = 0;  ///< cycles of an iteration of each loop, nothing overlapping
  std::vector<Entry> entries_;
};

}  // namespace

Result<NpuPlanned> plan_on_npu(const ir::Kernel& kernel, const machine::Device& device, const Options& options) {
  if (options.all) {
    Options left = options;
    left.all = false;
    return plan_on_npu(reopened(kernel), device, left);
  }
  auto base = npu::derive(kernel, device);
  if (!base) return base.diagnostics();
  if (options.kind == Kind::rules) return NpuPlanned{{}, std::move(*base)};
  return NpuPlanner(device, options, std::move(*base)).run();
}

}  // namespace plait::planner
