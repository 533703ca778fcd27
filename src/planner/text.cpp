#include <fmt/format.h>

#include <algorithm>

#include "explain/busy.h"
#include "explain/table.h"
#include "planner/planner.h"

namespace plait::planner {

namespace {

std::string tasks_text(const PlannedLoop& loop) {
  explain::Table table({"task", "issue", "latency", "busy", ""}, "lrrll");
  for (const PlannedLoop::Task& task : loop.tasks) {
    std::string busy;
    for (const auto& [unit, cycles] : task.cost.busy)
      busy += fmt::format("{}{} {}", busy.empty() ? "" : ", ", machine::name_of(unit), cycles);
    table.add({task.name, fmt::format("{}", task.cost.issue), fmt::format("{}", task.cost.latency), busy,
               task.cost.source.substr(0, task.cost.source.find(':'))});
  }
  return loop.tasks.empty() ? "" : table.text(4);
}

/// Statements outside of loops.
std::string region_text(const PlannedLoop& region) {
  return fmt::format("region {}, planner {}: {} cycles, {} in the order of the program\n  {}\n  costs {}\n{}",
                     graph::text_of(region.loop), region.planner, region.ii, *region.in_program_order,
                     region.optimal ? "no order is shorter" : region.why_not, region.costs, tasks_text(region));
}

std::string loop_text(const PlannedLoop& loop, machine::Target target) {
  if (loop.in_program_order) return region_text(loop);
  std::string out = fmt::format("loop {}, planner {}", graph::text_of(loop.loop), loop.planner);
  if (loop.ii == 0) return out + "\n";
  out += fmt::format(": II {} cycles\n", loop.ii);
  out += fmt::format("  at least {} for {}", loop.bounds.resource, loop.bounds.critical);
  if (loop.bounds.recurrence > 0)
    out += fmt::format(", {} for iterations that need the one before", loop.bounds.recurrence);
  out += fmt::format("; {}\n", !loop.optimal ? loop.why_not
                               : loop.ii <= std::max(loop.bounds.resource, loop.bounds.recurrence)
                                   ? "no shorter interval is possible"
                                   : "no shorter one is possible in the turns that an iteration may take");
  out += fmt::format("  costs {}\n", loop.costs);
  out += tasks_text(loop);
  if (loop.bounds.recurrence > loop.bounds.resource) {
    out += "  to go faster: what an iteration needs of the one before has to end earlier\n";
  } else if (loop.ii <= loop.bounds.resource) {
    out += fmt::format("  to go faster: {} has to do less an iteration, or something else has to do it\n",
                       loop.bounds.critical);
  } else if (target == machine::Target::npu) {
    out += "  to go faster: smaller tiles, or fewer buffers, so that more iterations overlap\n";
  } else {
    out += "  to go faster: more replicas, or more blocks a multiprocessor, to fill the gaps\n";
  }
  return out;
}

}  // namespace

std::string text(const Planning& planned) {
  if (planned.candidates.empty()) return {};
  std::string out = "\nplanned\n";
  for (const PlannedLoop& loop : planned.loops) out += loop_text(loop, planned.target);
  out += fmt::format("schedules that were looked at; predicted: {}'s part of the time of one {}\n",
                     explain::unit_name(planned.compared),
                     planned.target == machine::Target::npu ? "AI core" : "multiprocessor");
  explain::Table table({"schedule", "predicted", ""}, "lrl");
  for (const Candidate& c : planned.candidates) {
    bool chosen = &c == &planned.candidates.front() && !planned.loops.empty();
    std::string why = !c.refused.empty() ? "refused: " + c.refused : chosen ? "chosen" : "";
    table.add({c.what, c.predicted ? fmt::format("{:.1f} %", 100 * *c.predicted) : "-", why});
  }
  return out + table.text(2);
}

}  // namespace plait::planner
