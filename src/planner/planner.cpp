#include "planner/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "explain/explain.h"
#include "ir/visit.h"
#include "planner/choice.h"
#include "planner/loop.h"
#include "planner/memory.h"
#include "planner/rate.h"
#include "planner/regions.h"
#include "planner/reopen.h"
#include "planner/time.h"

namespace plait::planner {

using graph::TaskGraph;

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::rules:
      return "rules";
    case Kind::greedy:
      return "greedy";
    case Kind::modulo:
      return "modulo";
    case Kind::automatic:
      return "auto";
  }
  return {};
}

std::optional<Kind> kind_of(std::string_view name) {
  for (Kind kind : {Kind::rules, Kind::greedy, Kind::modulo, Kind::automatic}) {
    if (name_of(kind) == name) return kind;
  }
  return std::nullopt;
}

bool is_open(const ir::PipelineAttrs& asked) { return !asked.stages && asked.order.empty(); }

bool is_open(const ir::Kernel& kernel) {
  bool open = false;
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* loop = std::get_if<ir::For>(&stmt.node);
    open = open || (loop != nullptr && loop->kind == ir::LoopKind::pipelined && is_open(loop->pipeline));
  });
  return open;
}

namespace {

constexpr int kMostOccupancy = 4;     // blocks of a multiprocessor that are tried
constexpr std::size_t kKept = 2;      // schedules that are tried with more blocks, and with other orders of tiles
constexpr double kTurnsWorth = 0.95;  // of the interval of replicas side by side
// Of threads that load and of threads that compute, where fragments of the latter take most of what they have.
constexpr int kFewRegisters = 24, kManyRegisters = 240;
constexpr std::int64_t kCrowded = 160;
class Planner {
 public:
  using Entry = planner::Entry<pipeline::Derived>;

  Planner(const ir::Kernel& kernel, const machine::Device& device, const Options& options,
          std::vector<TaskGraph> graphs, std::vector<OpenRegion> regions, pipeline::Derived base)
      : kernel_(kernel),
        device_(device),
        options_(options),
        graphs_(std::move(graphs)),
        regions_(std::move(regions)),
        base_(std::move(base)) {}

  Planned run() {
    if (!any_open() && !any_order()) return Planned{{}, std::move(base_)};
    learn();
    Memory memory(options_, device_, base_.program, graphs_, costs_);
    if (auto known = recall(memory)) return std::move(*known);
    // Of schedules that are as good as each other the first one is taken.
    if (options_.kind != Kind::greedy) by_weights(Kind::modulo);
    if (options_.kind != Kind::modulo) by_weights(Kind::greedy);
    if (options_.kind == Kind::automatic) {
      for (int stages = any_open() ? kMostStages : 1; stages > 0; --stages) by_rules(stages);
    }
    if (any_open()) {
      more_blocks();
      if (uneven() && each_gets(2)) pairs();
    }
    Planned out = choose();
    if (!out.loops.empty()) memory.keep({out.derived.schedule, out.loops, out.candidates, out.compared});
    if (auto failure = memory.failure(kernel_.loc)) out.derived.remarks.push_back(*failure);
    return out;
  }

 private:
  bool any_open() const {
    return std::any_of(graphs_.begin(), graphs_.end(), [](const TaskGraph& graph) { return is_open(graph.asked); });
  }

  bool loads() const {
    return std::any_of(base_.program.roles.begin(), base_.program.roles.end(),
                       [](const roles::Role& role) { return role.name == "load"; });
  }

  /// What was found before for just this.
  std::optional<Planned> recall(Memory& memory) {
    auto known = memory.recall();
    if (!known) return std::nullopt;
    auto derived = pipeline::derive(kernel_, device_, {options_.assumptions, known->schedule, &graphs_});
    if (!derived) return std::nullopt;
    Planned out{{std::move(known->loops), std::move(known->candidates), known->compared}, std::move(*derived)};
    for (PlannedLoop& loop : out.loops) {
      auto region = std::find_if(regions_.begin(), regions_.end(),
                                 [&](const OpenRegion& open) { return open.region.name == loop.loop; });
      if (region != regions_.end()) {
        loop.loc = region->region.loc;
        loop.tasks = tasks_of(region->problem);
        continue;
      }
      auto at = std::find_if(graphs_.begin(), graphs_.end(), [&](const TaskGraph& g) { return g.loop == loop.loop; });
      if (at == graphs_.end()) return std::nullopt;
      loop.loc = at->loc;
      if (loop.ii > 0) loop.tasks = tasks_of(static_cast<std::size_t>(at - graphs_.begin()));
    }
    if (unread_) out.derived.remarks.push_back(*unread_);
    return out;
  }

  static std::vector<PlannedLoop::Task> tasks_of(const plan::Problem& problem) {
    std::vector<PlannedLoop::Task> out;
    for (const plan::Problem::Task& task : problem.tasks) out.push_back({task.name, task.cost});
    return out;
  }

  std::vector<PlannedLoop::Task> tasks_of(std::size_t loop) const {
    std::vector<PlannedLoop::Task> out;
    for (std::size_t node = 0; node < graphs_[loop].nodes.size(); ++node)
      out.push_back({graph::text_of(graphs_[loop].nodes[node].name), costs_[loop].tasks[node]});
    return out;
  }

  /// What the tasks cost, and by which unit schedules are compared.
  void learn() {
    sim::Costs rates = sim::costs_of(device_);
    std::vector<explain::Loop> loops = explain::explain_loops(base_.program, rates, graphs_, base_.schedule);
    weigh(loops);
    explain::Busy all;
    for (const TaskGraph& graph : graphs_) {
      const explain::Loop& loop = explained(loops, graph);
      all += loop.busy;
      length_ += std::max(loop.sequence, loop.resource_ii);
    }
    for (const OpenRegion& open : regions_) {
      all += open.busy;
      length_ += open.in_program_order;
    }
    unit_ = explain::busiest(all);
    explain::Explanation whole = explain::explain(base_.program, device_, nullptr, nullptr);
    for (const explain::RoleUse& role : whole.roles) {
      bool two = role.replicas == 2 && role.warps == 4;
      crowded_ = crowded_ || (role.name == "math" && two && role.fragments >= kCrowded);
    }
  }

  /// By what was measured, where that can be read.
  void weigh(const std::vector<explain::Loop>& loops) {
    Result<store::Database> store = store::Database::open(options_.store, store::Access::read);
    Diagnostics unread = store ? Diagnostics() : store.diagnostics();
    // Without measurements nothing is cut out to be looked for.
    const store::Database* measured = store && !store->empty() ? &*store : nullptr;
    for (const TaskGraph& graph : graphs_) {
      auto costs = costs_of(graph, explained(loops, graph), base_.program, device_, measured);
      if (!costs) {
        unread.append(costs.diagnostics());
        measured = nullptr;
        costs = costs_of(graph, explained(loops, graph), base_.program, device_, nullptr);
      }
      costs_.push_back(std::move(*costs));
    }
    if (unread.has_errors())
      unread_ = {graphs_.empty() ? kernel_.loc : graphs_.back().loc,
                 fmt::format("planned without what was measured: {}", unread.list().front().message)};
  }

  /// Everything but the loops that are planned, with names for the roles where there are two.
  plan::Schedule frame() const {
    plan::Schedule schedule = base_.schedule;
    if (loads()) name_roles(schedule);
    return schedule;
  }

  void name_roles(plan::Schedule& schedule) const {
    for (const roles::Role& role : base_.program.roles) {
      plan::Role named;
      named.name = role.name;
      named.warps = role.warps;
      named.replicas = role.replicas;
      if (crowded_) named.regs = role.name == "load" ? kFewRegisters : kManyRegisters;
      schedule.place.roles.push_back(named);
    }
    for (plan::LoopPlan& loop : schedule.loops) name_roles(loop);
  }

  /// Of a loop that keeps what its author wrote: what is loaded ahead passes through rings.
  void name_roles(plan::LoopPlan& loop) const {
    auto at = std::find_if(graphs_.begin(), graphs_.end(), [&](const TaskGraph& g) { return g.loop == loop.loop; });
    const LoopCosts& costs = costs_[static_cast<std::size_t>(at - graphs_.begin())];
    for (std::size_t i = 0; i < at->nodes.size(); ++i) {
      auto slot = std::find_if(loop.slots.begin(), loop.slots.end(),
                               [&](const plan::Slot& s) { return s.stmt == at->nodes[i].name; });
      slot->role = costs.ahead[i] ? "load" : "math";
      if (!costs.ahead[i]) continue;
      const std::string& tile = at->nodes[i].writes.front().buffer->name;
      auto has = [&](const plan::Ring& ring) { return ring.buffers.front() == tile; };
      if (std::none_of(loop.rings.begin(), loop.rings.end(), has))
        loop.rings.push_back({{tile}, loop.copies(tile), {}});
      std::erase_if(loop.versions, [&](const plan::Versions& v) { return v.buffer == tile; });
    }
  }

  void by_rules(int stages) {
    Entry entry;
    entry.told.what = any_open() ? fmt::format("rules, stages={}", stages) : "rules";
    entry.schedule = base_.schedule;
    auto loops = put_stages(entry.schedule, graphs_, device_, stages);
    if (!loops) return;
    if (crowded_ && loads()) name_roles(entry.schedule);  // which gives them their registers
    entry.loops = std::move(*loops);
    consider(std::move(entry));
  }

  /// Replicas side by side, and in turns where that makes the interval shorter: left to themselves they come to run
  /// side by side, and none has the unit that the others wait for.
  void by_weights(Kind kind) {
    Entry side_by_side = weighed(kind, Turns::together, Overlap::any);
    bool several = std::any_of(costs_.begin(), costs_.end(), [](const LoopCosts& c) { return c.replicas > 1; });
    std::optional<std::size_t> in_turns;
    if (several && loads()) {
      Entry entry = weighed(kind, Turns::in_turns, Overlap::any);
      if (interval(entry) < kTurnsWorth * interval(side_by_side))
        in_turns = within_registers(kind, Turns::in_turns, entry);
    }
    auto other = within_registers(kind, Turns::together, side_by_side);
    // Turns that are predicted to do as well hold where replicas that nothing holds drift.
    auto busy = [&](std::size_t entry) { return entries_[entry].told.predicted.value_or(0); };
    if (in_turns && other && kTurnsWorth * busy(*other) < busy(*in_turns)) entries_[*other].derived.reset();
  }

  /// Where overlapped iterations take more registers than there are, one ends before the next begins; where that is too
  /// much, tasks stand in the program's order. The number of what is carried out.
  std::optional<std::size_t> within_registers(Kind kind, Turns turns, const Entry& overlapped) {
    bool done = consider(overlapped);
    for (Overlap less : {Overlap::none, Overlap::in_order}) {
      if (!done && lacks_registers_) done = consider(weighed(kind, turns, less));
    }
    return done ? std::optional(entries_.size() - 1) : std::nullopt;
  }

  static double interval(const Entry& entry) {
    double sum = 0;
    for (const PlannedLoop& loop : entry.loops) sum += loop.in_program_order ? 0 : static_cast<double>(loop.ii);
    return sum;
  }

  /// What a planner makes of the statements outside of loops.
  const std::vector<TimedRegion>& orders(Kind kind) {
    auto known = orders_.find(kind);
    if (known != orders_.end()) return known->second;
    std::vector<TimedRegion>& made = orders_[kind];
    for (const OpenRegion& open : regions_) {
      if (auto found = timed(kind, open)) made.push_back(std::move(*found));
    }
    return made;
  }

  bool any_order() {
    return (options_.kind != Kind::greedy && !orders(Kind::modulo).empty()) ||
           (options_.kind != Kind::modulo && !orders(Kind::greedy).empty());
  }

  Entry weighed(Kind kind, Turns turns, Overlap overlap) {
    Entry entry;
    entry.told.what = fmt::format("{}{}{}{}", name_of(kind), turns == Turns::in_turns ? ", replicas in turns" : "",
                                  overlap != Overlap::any ? ", iterations apart" : "",
                                  overlap == Overlap::in_order ? ", in program order" : "");
    entry.schedule = frame();
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      const TaskGraph& graph = graphs_[i];
      if (!is_open(graph.asked)) continue;
      LoopProblem problem = problem_of(graph, costs_[i], turns, overlap);
      Timed made = timed(kind, graph, problem.problem, sources_of(costs_[i]));
      place_of(entry.schedule, graph) =
          plan_of(graph, costs_[i], problem, made.table, std::string(name_of(kind)), device_, loads());
      made.told.tasks = tasks_of(i);
      entry.loops.push_back(std::move(made.told));
    }
    for (const TimedRegion& made : orders(kind)) {
      entry.schedule.regions.push_back(made.plan);
      entry.loops.push_back(made.told);
    }
    return entry;
  }

  /// Whether some multiprocessor gets so many tiles of a call, as far as that is known.
  bool some_gets(int tiles) const {
    auto all = tiles_of(kernel_, options_.dims);
    return !all || *all > std::int64_t{tiles - 1} * sim::costs_of(device_).sms;
  }

  /// Blocks that share a multiprocessor fill each other's gaps.
  void more_blocks() {
    for (std::size_t best : leaders()) {
      for (int blocks = 2; blocks <= kMostOccupancy && some_gets(blocks); ++blocks) {
        Entry entry = again(entries_[best], fmt::format("occupancy {}", blocks));
        entry.schedule.place.work.occupancy = blocks;
        for (plan::Role& role : entry.schedule.place.roles) role.regs.reset();
        if (!consider(std::move(entry))) break;
      }
    }
  }

  /// Whether tiles differ in what they cost, by the first axis of the grid.
  bool uneven() const { return base_.schedule.place.work.kind == plan::WorkKind::plain && loads(); }

  bool each_gets(int tiles) const {
    auto all = tiles_of(kernel_, options_.dims);
    return !all || *all >= std::int64_t{tiles} * sim::costs_of(device_).sms;
  }

  /// The first and the last tile together cost the same everywhere, so that blocks may stay.
  void pairs() {
    for (std::size_t best : leaders()) {
      Entry entry = again(entries_[best], "persistent, paired");
      entry.schedule.place.work.kind = plan::WorkKind::persistent;
      entry.schedule.place.work.order = plan::TileOrder::paired;
      consider(std::move(entry));
    }
  }

  Entry again(const Entry& of, const std::string& with) const {
    Entry entry;
    entry.told.what = fmt::format("{}, {}", of.told.what, with);
    entry.schedule = of.schedule;
    entry.loops = of.loops;
    return entry;
  }

  /// The best ones so far, and the best of each planner: one that takes less memory leaves room for more blocks. As
  /// they were looked at.
  std::vector<std::size_t> leaders() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i].derived) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return entries_[a].told.predicted.value_or(0) > entries_[b].told.predicted.value_or(0);
    });
    std::set<std::string> planners;
    std::vector<std::size_t> kept;
    for (std::size_t i : order) {
      const std::string& what = entries_[i].told.what;
      bool first = planners.insert(what.substr(0, what.find(','))).second;
      if (kept.size() < kKept || first) kept.push_back(i);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }

  /// Rings get fewer slots until the schedule fits.
  bool shrink(plan::Schedule& schedule) const {
    plan::Ring* deepest = nullptr;
    for (plan::LoopPlan& loop : schedule.loops) {
      for (plan::Ring& ring : loop.rings) {
        if (ring.depth > 1 && (deepest == nullptr || ring.depth > deepest->depth)) deepest = &ring;
      }
    }
    if (deepest == nullptr) return false;
    int depth = deepest->depth;
    for (plan::LoopPlan& loop : schedule.loops) {
      for (plan::Ring& ring : loop.rings) {
        if (ring.depth == depth) --ring.depth;
      }
    }
    return true;
  }

  /// Derives and predicts; false where nothing carries it out.
  bool consider(Entry entry) {
    pipeline::DeriveOptions how{options_.assumptions, entry.schedule, &graphs_};
    while (true) {
      how.schedule = entry.schedule;
      auto derived = pipeline::derive(kernel_, device_, how);
      if (derived) {
        entry.derived = std::move(*derived);
        break;
      }
      const Diagnostic& why = derived.diagnostics().list().front();
      lacks_registers_ = why.rule == Rule::schedule_registers || why.rule == Rule::place_registers;
      bool memory = why.rule == Rule::schedule_memory || why.rule == Rule::pipeline_capacity;
      if (memory && shrink(entry.schedule)) continue;
      if (in_program_order(entry)) continue;
      entry.told.refused = why.message;
      entries_.push_back(std::move(entry));
      return false;
    }
    entry.told.predicted = utilisation(entry.derived->program, device_, options_.dims, unit_, trial_length(length_));
    entries_.push_back(std::move(entry));
    return true;
  }

  Planned choose() {
    Planned out;
    out.compared = unit_;
    auto best = planner::choose(std::move(entries_), out, kRoughly);
    if (!best) {
      for (place::Remark& why : not_planned(out, kernel_.loc)) base_.remarks.push_back(std::move(why));
    }
    out.derived = best ? std::move(*best) : std::move(base_);
    if (unread_) out.derived.remarks.push_back(*unread_);
    return out;
  }

  const ir::Kernel& kernel_;
  const machine::Device& device_;
  const Options& options_;
  std::vector<TaskGraph> graphs_;
  std::vector<OpenRegion> regions_;
  std::map<Kind, std::vector<TimedRegion>> orders_;
  pipeline::Derived base_;
  std::vector<LoopCosts> costs_;         ///< by graph
  std::optional<place::Remark> unread_;  ///< why nothing that was measured is used
  sim::Unit unit_ = sim::Unit::tensor;
  bool crowded_ = false;          ///< fragments leave few registers
  bool lacks_registers_ = false;  ///< why the last schedule was refused
  std::int64_t length_ = 0;       ///< cycles of an iteration of each loop, nothing overlapping
  std::vector<Entry> entries_;
};

}  // namespace

Result<Planned> plan(const ir::Kernel& kernel, const machine::Device& device, const Options& options) {
  if (options.all) {
    Options left = options;
    left.all = false;
    return plan(reopened(kernel), device, left);
  }
  auto base = pipeline::derive(kernel, device, {options.assumptions, {}, nullptr});
  if (!base) return base.diagnostics();
  if (options.kind == Kind::rules) return Planned{{}, std::move(*base)};
  auto regions = open_regions(kernel, base->program, device);
  if (!regions) return regions.diagnostics();
  if (regions->empty() && !is_open(kernel)) return Planned{{}, std::move(*base)};
  return Planner(kernel, device, options, graph::build(kernel), std::move(*regions), std::move(*base)).run();
}

Result<pipeline::Derived> derive(const ir::Kernel& kernel, const machine::Device& device,
                                 const std::optional<plan::Schedule>& schedule, const Options& options) {
  if (schedule) return pipeline::derive(kernel, device, {options.assumptions, schedule, nullptr});
  auto planned = plan(kernel, device, options);
  if (!planned) return planned.diagnostics();
  return std::move(planned->derived);
}

}  // namespace plait::planner
