#include "plan/ordered.h"

#include <algorithm>
#include <unordered_set>

#include "graph/flatten.h"
#include "graph/regions.h"

namespace plait::plan {

using namespace ir;

namespace {

class Orderer {
 public:
  Orderer(const graph::StraightRegion& region, const RegionPlan& plan) : region_(region), plan_(plan) {}

  Body run() {
    for (const StmtRef& stmt : region_.statements) {
      if (std::holds_alternative<Alloc>(stmt->node)) out_.push_back(stmt);
      if (std::holds_alternative<Let>(stmt->node) && !is_task(stmt)) lets_.push_back(stmt);
    }
    for (const RegionPlan::Entry& entry : plan_.order) {
      auto task = std::find(region_.names.begin(), region_.names.end(), entry.stmt) - region_.names.begin();
      const StmtRef& stmt = region_.statements[region_.tasks[static_cast<std::size_t>(task)]];
      needed_by(stmt);
      out_.push_back(stmt);
    }
    for (const StmtRef& let : lets_) put(let);
    return std::move(out_);
  }

 private:
  bool is_task(const StmtRef& stmt) const {
    return std::any_of(region_.tasks.begin(), region_.tasks.end(),
                       [&](std::size_t task) { return region_.statements[task] == stmt; });
  }

  void needed_by(const StmtRef& stmt) {
    std::unordered_set<const VarDecl*> used = graph::variables_of(stmt);
    for (const StmtRef& let : lets_) {
      if (used.contains(std::get<Let>(let->node).var.get())) put(let);
    }
  }

  void put(const StmtRef& let) {
    if (!done_.insert(let.get()).second) return;
    needed_by(let);
    out_.push_back(let);
  }

  const graph::StraightRegion& region_;
  const RegionPlan& plan_;
  std::vector<StmtRef> lets_;  ///< that are replayed
  std::unordered_set<const Stmt*> done_;
  Body out_;
};

}  // namespace

Kernel ordered(const Kernel& kernel, const Schedule& schedule) {
  if (schedule.regions.empty()) return kernel;
  return graph::with_regions(kernel, graph::regions_of(kernel), [&](const graph::StraightRegion& region) {
    const RegionPlan* plan = schedule.find_region(region.name);
    return plan == nullptr ? region.statements : Orderer(region, *plan).run();
  });
}

}  // namespace plait::plan
