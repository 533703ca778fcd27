#include "plan/model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "support/result.h"

namespace plait::plan {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t bytes_of(const Extents& tile, ir::DType type) {
  constexpr std::int64_t kByte = 8;
  return ceil_div(tile.rows * tile.columns * ir::dtype_bits(type), kByte);
}

std::optional<double> mean_step(std::int64_t first, std::int64_t last, std::int64_t count) {
  if (count < 2) return std::nullopt;
  return static_cast<double>(last - first) / static_cast<double>(count - 1);
}

}  // namespace

PipelineRun run_pipeline(const PipelineCosts& costs, std::int64_t depth) {
  PLAIT_ASSERT(costs.iterations >= 1 && depth >= 1, "a pipeline has iterations and stages");
  std::vector<std::int64_t> slot_free(static_cast<std::size_t>(depth), 0);
  std::int64_t issue = 0, end = 0, first_compute = 0, last_compute = 0;
  for (std::int64_t i = 0; i < costs.iterations; ++i) {
    std::int64_t& slot = slot_free[static_cast<std::size_t>(i % depth)];
    issue = i == 0 ? 0 : std::max(issue + costs.issue, slot);
    std::int64_t start = std::max(issue + costs.latency, end);
    if (i == 0) first_compute = start;
    last_compute = start;
    end = start + costs.compute;
    slot = end;
  }
  PipelineRun run;
  run.makespan = end;
  // At depth 1 nothing overlaps: the next copy waits for the compute, unless the copy unit itself is still busy.
  std::int64_t alone = std::max(costs.latency + costs.compute, costs.issue);
  std::int64_t serial = alone * (costs.iterations - 1) + costs.latency + costs.compute;
  run.speedup = static_cast<double>(serial) / static_cast<double>(end);
  run.utilisation = static_cast<double>(costs.compute * costs.iterations) / static_cast<double>(end - first_compute);
  run.issue_interval = mean_step(0, issue, costs.iterations);
  run.compute_interval = mean_step(first_compute, last_compute, costs.iterations);
  return run;
}

double steady_interval(const PipelineCosts& costs, std::int64_t depth) {
  double busy = static_cast<double>(std::max(costs.compute, costs.issue));
  return std::max(busy, static_cast<double>(costs.latency + costs.compute) / static_cast<double>(depth));
}

std::int64_t sufficient_depth(const PipelineCosts& costs) {
  return ceil_div(costs.latency + costs.compute, std::max(costs.compute, costs.issue));
}

std::int64_t stage_bytes(const Extents& a, const Extents& b, ir::DType type) {
  return bytes_of(a, type) + bytes_of(b, type);
}

std::optional<MatmulRates> matmul_rates(const machine::Device& device, ir::DType type) {
  const machine::Cost* copy = device.cost(machine::CostKind::tma_load);
  if (copy == nullptr) copy = device.cost(machine::CostKind::cp_async);
  auto products = device.rate(machine::UnitKind::tensor, type);
  const machine::Memory* l2 = device.memory(machine::MemoryKind::l2);
  if (copy == nullptr || !products || l2 == nullptr) return std::nullopt;
  // All units draw at once; one of them alone may draw more than its share, up to its own rate.
  double share = device.bytes_per_cycle(*l2) / device.compute_units.value;
  double bytes = std::min(share, device.rate(machine::UnitKind::l2).value_or(share));
  return MatmulRates{device.compute_units.value, *products, bytes, copy->latency.value};
}

double matmul_cycles(const Space& space, const Point& point, const MatmulRates& rates) {
  double tiles = static_cast<double>(ceil_div(space.m, point.bm)) * static_cast<double>(ceil_div(space.n, point.bn));
  double compute = static_cast<double>(point.bm * point.bn * point.bk) / rates.products;
  double copy =
      static_cast<double>(stage_bytes({point.bm, point.bk}, {point.bk, point.bn}, space.type)) / rates.copy_bytes;
  double step = std::max({compute, copy, (rates.latency + compute) / static_cast<double>(point.stages)});
  return std::ceil(tiles / rates.units) * (static_cast<double>(ceil_div(space.k, point.bk)) * step + rates.latency);
}

namespace {

/// Calls `fn` for each point of the space, the last list fastest.
template <typename F>
void for_each_point(const Space& space, const F& fn) {
  const std::array<const std::vector<std::int64_t>*, 5> lists = {&space.bm, &space.bn, &space.bk, &space.stages,
                                                                 &space.threads};
  std::array<std::size_t, 5> at{};
  if (std::any_of(lists.begin(), lists.end(), [](const auto* list) { return list->empty(); })) return;
  while (true) {
    auto value = [&](std::size_t i) { return (*lists[i])[at[i]]; };
    fn(Point{value(0), value(1), value(2), value(3), value(4), 0});
    std::size_t digit = lists.size();
    while (digit > 0 && ++at[digit - 1] == lists[digit - 1]->size()) at[--digit] = 0;
    if (digit == 0) return;
  }
}

Verdict verdict_of(const SpaceReport& report) {
  if (report.legal == 0) return Verdict::infeasible;
  if (report.best.size() == 1) return Verdict::unique;
  return report.distinct == 1 ? Verdict::degenerate : Verdict::ties;
}

}  // namespace

SpaceReport explore(const Space& space, const MatmulRates& rates) {
  SpaceReport report;
  std::set<double> values;
  for_each_point(space, [&](Point point) {
    ++report.requested;
    bool fits = point.stages * stage_bytes({point.bm, point.bk}, {point.bk, point.bn}, space.type) <= space.limit;
    bool divides = space.m % point.bm == 0 && space.n % point.bn == 0 && space.k % point.bk == 0;
    report.over_memory += fits ? 0 : 1;
    report.indivisible += divides ? 0 : 1;
    if (!fits || !divides) return;
    ++report.legal;
    point.cycles = matmul_cycles(space, point, rates);
    values.insert(point.cycles);
    if (!report.best.empty() && point.cycles < report.best.front().cycles) report.best.clear();
    if (report.best.empty() || point.cycles == report.best.front().cycles) report.best.push_back(point);
  });
  report.distinct = static_cast<std::int64_t>(values.size());
  report.verdict = verdict_of(report);
  return report;
}

}  // namespace plait::plan
