#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/regions.h"
#include "lang/suggest.h"
#include "plan/check.h"

namespace plait::plan {

namespace {

class RegionChecker {
 public:
  RegionChecker(const RegionPlan& plan, const graph::StraightRegion& region, Diagnostics& diags)
      : plan_(plan), region_(region), diags_(diags) {}

  void run() {
    names();
    if (diags_.has_errors()) return;
    for (const graph::StraightRegion::Wait& wait : region_.waits) {
      std::size_t from = place_of(wait.from), to = place_of(wait.to);
      if (from < to) continue;
      diags_
          .error(Rule::schedule_edge, plan_.order[to].at.loc,
                 fmt::format("{} stands before {}, but {}", text(wait.to), text(wait.from), wait.why),
                 fmt::format("put {} behind it", text(wait.to)))
          .notes.push_back({region_.statements[region_.tasks[wait.from]]->loc, "what it waits for"});
    }
  }

 private:
  std::string text(std::size_t task) const { return fmt::format("'{}'", graph::text_of(region_.names[task])); }

  std::size_t place_of(std::size_t task) const {
    auto same = [&](const RegionPlan::Entry& entry) { return entry.stmt == region_.names[task]; };
    return static_cast<std::size_t>(std::find_if(plan_.order.begin(), plan_.order.end(), same) - plan_.order.begin());
  }

  void names() {
    std::vector<std::string> known;
    for (const StmtName& name : region_.names) known.push_back(graph::text_of(name));
    std::set<std::string> seen;
    for (const RegionPlan::Entry& entry : plan_.order) {
      std::string name = graph::text_of(entry.stmt);
      if (std::find(known.begin(), known.end(), name) == known.end()) {
        diags_.error(Rule::schedule_name, entry.at.loc,
                     fmt::format("the region {} has no statement '{}'", graph::text_of(region_.name), name),
                     lang::did_you_mean(name, known, "it has " + lang::quoted_list(known)));
      } else if (!seen.insert(name).second) {
        diags_.error(Rule::schedule_complete, entry.at.loc, fmt::format("'{}' has a second line", name));
      }
    }
    for (std::size_t task = 0; task < known.size(); ++task) {
      if (seen.contains(known[task])) continue;
      diags_.error(Rule::schedule_complete, plan_.at.loc, fmt::format("'{}' has no line", known[task]))
          .notes.push_back({region_.statements[region_.tasks[task]]->loc, "the statement"});
    }
  }

  const RegionPlan& plan_;
  const graph::StraightRegion& region_;
  Diagnostics& diags_;
};

}  // namespace

Diagnostics check_regions(const Schedule& schedule, const ir::Kernel& kernel) {
  Diagnostics diags;
  if (schedule.regions.empty()) return diags;
  const std::vector<graph::StraightRegion> regions = graph::regions_of(kernel);
  std::vector<std::string> known;
  for (const graph::StraightRegion& region : regions) known.push_back(graph::text_of(region.name));
  std::set<std::string> seen;
  for (const RegionPlan& plan : schedule.regions) {
    std::string name = graph::text_of(plan.region);
    auto region = std::find_if(regions.begin(), regions.end(),
                               [&](const graph::StraightRegion& r) { return r.name == plan.region; });
    if (!seen.insert(name).second)
      diags.error(Rule::schedule_complete, plan.at.loc, fmt::format("the region '{}' has a second part", name));
    if (region == regions.end()) {
      diags.error(Rule::schedule_name, plan.at.loc,
                  fmt::format("the kernel has no region '{}' of statements outside of pipelined loops", name),
                  lang::did_you_mean(name, known, "it has " + lang::quoted_list(known)));
      continue;
    }
    RegionChecker(plan, *region, diags).run();
  }
  return diags;
}

}  // namespace plait::plan
