// `plait model`: what a pipeline's depth is worth, what it takes, and how many tilings there are.
#include "plan/model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "command.h"
#include "device_program.h"
#include "numbers.h"

namespace plait::cli {
namespace {

constexpr Bounds kStages = {1, plan::max_model_stages};
constexpr Bounds kCycles = {1, plan::max_model_cycles};

// ---- pipeline ------------------------------------------------------------------------------------------------------

struct PipelineFlags {
  std::string iterations, issue = "1", latency, compute, stages = "1..8";
};

std::string interval_text(std::optional<double> cycles) { return cycles ? fmt::format("{:.1f}", *cycles) : "-"; }

Outcome pipeline(const PipelineFlags& flags) {
  plan::PipelineCosts costs;
  costs.iterations = integer("--iterations", flags.iterations, {1, plan::max_model_iterations});
  costs.issue = integer("--issue", flags.issue, kCycles);
  costs.latency = integer("--latency", flags.latency, {0, plan::max_model_cycles});
  costs.compute = integer("--compute", flags.compute, kCycles);
  std::vector<std::int64_t> depths = integers("--stages", flags.stages, kStages);
  Outcome outcome;
  outcome.text = fmt::format("{} iterations, cycles: issue {}, latency {}, compute {}\n", costs.iterations, costs.issue,
                             costs.latency, costs.compute);
  outcome.text += "stages  makespan  speed-up  utilisation  issue interval  compute interval  steady interval\n";
  std::vector<Report> rows;
  for (std::int64_t depth : depths) {
    plan::PipelineRun run = plan::run_pipeline(costs, depth);
    double steady = plan::steady_interval(costs, depth);
    outcome.text += fmt::format("{:>6}  {:>8}  {:>8.2f}  {:>9.0f} %  {:>14}  {:>16}  {:>15.1f}\n", depth, run.makespan,
                                run.speedup, run.utilisation * 100, interval_text(run.issue_interval),
                                interval_text(run.compute_interval), steady);
    Report row;
    row.set("stages", depth);
    row.set("makespan", run.makespan);
    row.set("speedup", run.speedup);
    row.set("utilisation", run.utilisation);
    row.set("issue_interval", run.issue_interval);
    row.set("compute_interval", run.compute_interval);
    row.set("steady_interval", steady);
    rows.push_back(std::move(row));
  }
  std::int64_t enough = plan::sufficient_depth(costs);
  outcome.text += fmt::format(
      "smallest sufficient depth: {} = ceil((latency + compute) / max(compute, issue)), where the steady interval is "
      "{} "
      "cycles\n",
      enough, std::max(costs.compute, costs.issue));
  outcome.report.set("stages", rows);
  outcome.report.set("sufficient_depth", enough);
  return outcome;
}

// ---- budget
// ----------------------------------------------------------------------------------------------------------

struct BudgetFlags {
  std::string a, b, dtype = "f16", limit, stages, device = "h200";
};

ir::DType dtype(const std::string& text) {
  auto type = ir::dtype_from_name(text);
  if (!type) throw UsageError{fmt::format("--dtype: there is no type '{}'", text)};
  return *type;
}

/// The limit that is given, else what a block of the device can have.
std::int64_t limit_of(const std::string& limit, const machine::Device& device) {
  if (!limit.empty()) return byte_size("--limit", limit);
  if (!device.limits) throw UsageError{fmt::format("--device: {} has no shared memory; give --limit", device.name)};
  return device.limits->smem_per_block.integer();
}

std::vector<std::int64_t> depths_to_show(const std::string& stages, std::int64_t largest) {
  constexpr std::int64_t kMostRows = 16;
  if (!stages.empty()) return integers("--stages", stages, kStages);
  std::vector<std::int64_t> depths;
  for (std::int64_t depth = 1; depth <= std::min(largest + 1, kMostRows); ++depth) depths.push_back(depth);
  return depths;
}

Outcome budget(const BudgetFlags& flags) {
  constexpr Bounds kExtent = {1, 1 << 20};
  constexpr double kPercent = 100;
  plan::Extents a = extents("--a", flags.a, kExtent), b = extents("--b", flags.b, kExtent);
  if (a.columns != b.rows)
    throw UsageError{fmt::format("--b: a tile of {} rows does not go with {} columns of --a", b.rows, a.columns)};
  ir::DType type = dtype(flags.dtype);
  auto device = machine::load_device(flags.device);
  if (!device) return failed(device.diagnostics());
  std::int64_t limit = limit_of(flags.limit, *device), stage = plan::stage_bytes(a, b, type), largest = limit / stage;
  Outcome outcome;
  outcome.text = fmt::format("{} {}x{} + {}x{}: {} a stage, limit {}\n", ir::dtype_name(type), a.rows, a.columns,
                             b.rows, b.columns, size_text(stage), size_text(limit));
  outcome.text += "stages       bytes  of limit  fits\n";
  std::vector<Report> rows;
  for (std::int64_t depth : depths_to_show(flags.stages, largest)) {
    std::int64_t bytes = depth * stage;
    double percent = kPercent * static_cast<double>(bytes) / static_cast<double>(limit);
    outcome.text +=
        fmt::format("{:>6}  {:>10}  {:>6.1f} %  {}\n", depth, bytes, percent, bytes <= limit ? "yes" : "no");
    Report row;
    row.set("stages", depth);
    row.set("bytes", bytes);
    row.set("percent", percent);
    row.set("fits", bytes <= limit);
    rows.push_back(std::move(row));
  }
  outcome.text += largest > 0 ? fmt::format("largest that fits: {}\n", largest) : "not even one stage fits\n";
  outcome.ok = largest > 0;
  outcome.report.set("bytes_per_stage", stage);
  outcome.report.set("limit", limit);
  outcome.report.set("stages", rows);
  outcome.report.set("largest", largest);
  return outcome;
}

// ---- space
// -----------------------------------------------------------------------------------------------------------

struct SpaceFlags {
  std::string m, n, k, bm, bn, bk, stages, threads, dtype = "f16", limit, device = "h200";
};

plan::Space space_of(const SpaceFlags& flags, const machine::Device& device) {
  constexpr Bounds kDim = {1, std::int64_t{1} << 31};
  constexpr Bounds kTile = {1, 1 << 12};
  constexpr Bounds kThreads = {1, 1024};
  plan::Space space;
  space.m = integer("--m", flags.m, kDim);
  space.n = integer("--n", flags.n, kDim);
  space.k = integer("--k", flags.k, kDim);
  space.bm = integers("--bm", flags.bm, kTile);
  space.bn = integers("--bn", flags.bn, kTile);
  space.bk = integers("--bk", flags.bk, kTile);
  space.stages = integers("--stages", flags.stages, kStages);
  space.threads = integers("--threads", flags.threads, kThreads);
  space.type = dtype(flags.dtype);
  space.limit = limit_of(flags.limit, device);
  double points = 1;
  for (const auto* list : {&space.bm, &space.bn, &space.bk, &space.stages, &space.threads})
    points *= static_cast<double>(list->size());
  if (points > static_cast<double>(plan::max_model_points))
    throw UsageError{fmt::format("the lists name {:.0f} points, more than {}", points, plan::max_model_points)};
  return space;
}

std::string_view name_of(plan::Verdict verdict) {
  switch (verdict) {
    case plan::Verdict::infeasible:
      return "infeasible";
    case plan::Verdict::degenerate:
      return "degenerate";
    case plan::Verdict::ties:
      return "ties";
    case plan::Verdict::unique:
      return "unique";
  }
  return "";
}

std::string verdict_text(const plan::SpaceReport& found) {
  switch (found.verdict) {
    case plan::Verdict::infeasible:
      return "all infeasible: no point is legal";
    case plan::Verdict::degenerate:
      return "degenerate: the model says the same of every legal point; measure";
    case plan::Verdict::ties:
      return fmt::format("ties: {} points share the least value; measure", found.best.size());
    case plan::Verdict::unique:
      return "one point has the least value";
  }
  return "";
}

std::string model_text(const machine::Device& device, const plan::MatmulRates& rates) {
  return fmt::format(
      "cost model: ceil(tiles / {:g}) * (K / bk * max(compute, copy, (latency + compute) / stages) + latency) cycles,\n"
      "  compute bm*bn*bk / {:g}, copy bytes / {:.1f}, latency {:g} ({}); threads do not enter it\n",
      rates.units, rates.products, rates.copy_bytes, rates.latency, device.name);
}

Report point_report(const plan::Point& point) {
  Report report;
  report.set("bm", point.bm);
  report.set("bn", point.bn);
  report.set("bk", point.bk);
  report.set("stages", point.stages);
  report.set("threads", point.threads);
  report.set("cycles", point.cycles);
  return report;
}

Outcome space(const SpaceFlags& flags) {
  constexpr std::size_t kMostShown = 8;
  auto device = machine::load_device(flags.device);
  if (!device) return failed(device.diagnostics());
  plan::Space asked = space_of(flags, *device);
  auto rates = plan::matmul_rates(*device, asked.type);
  if (!rates)
    throw UsageError{fmt::format("--device: {} has no unit for products of {}, or none that copies", device->name,
                                 ir::dtype_name(asked.type))};
  plan::SpaceReport found = plan::explore(asked, *rates);
  Outcome outcome;
  outcome.text = fmt::format("{} points requested, {} legal\n", found.requested, found.legal);
  outcome.text += fmt::format("  over {} of shared memory: {}\n", size_text(asked.limit), found.over_memory);
  outcome.text += fmt::format("  M, N or K not divisible by the tile: {}\n", found.indivisible);
  outcome.text += model_text(*device, *rates);
  outcome.text += fmt::format("{} distinct values\n", found.distinct);
  std::vector<Report> best;
  for (const plan::Point& point : found.best) {
    if (best.size() == kMostShown) break;
    outcome.text += fmt::format("best: bm {}, bn {}, bk {}, stages {}, threads {}: {:.0f} cycles\n", point.bm, point.bn,
                                point.bk, point.stages, point.threads, point.cycles);
    best.push_back(point_report(point));
  }
  if (found.best.size() > kMostShown) outcome.text += fmt::format("  and {} more\n", found.best.size() - kMostShown);
  outcome.text += fmt::format("verdict: {}\n", verdict_text(found));
  outcome.ok = found.legal > 0;
  outcome.report.set("requested", found.requested);
  outcome.report.set("legal", found.legal);
  outcome.report.set("over_memory", found.over_memory);
  outcome.report.set("indivisible", found.indivisible);
  outcome.report.set("distinct", found.distinct);
  outcome.report.set("best_points", static_cast<std::int64_t>(found.best.size()));
  outcome.report.set("best", best);
  outcome.report.set("verdict", std::string(name_of(found.verdict)));
  return outcome;
}

// ---- The command line
// ------------------------------------------------------------------------------------------------

void add_pipeline(const CommandGroup& model, Command& command) {
  Options sub =
      add_command(model, command, "pipeline", "Time of a copy -> compute pipeline at each depth, event by event");
  auto flags = std::make_shared<PipelineFlags>();
  sub.add("--iterations", flags->iterations, "iterations of the loop").required();
  sub.add("--issue", flags->issue, "cycles that a copy occupies its unit (default: 1)");
  sub.add("--latency", flags->latency, "cycles from the issue of a copy until its data is there").required();
  sub.add("--compute", flags->compute, "cycles of work on one iteration's data").required();
  sub.add("--stages", flags->stages, "depths, e.g. 1..8 or 2,4 (default: 1..8)");
  sub.chosen([flags, &command] { command.action = [flags] { return pipeline(*flags); }; });
}

void add_budget(const CommandGroup& model, Command& command) {
  Options sub = add_command(model, command, "budget", "Shared memory that the stages of two tiles take");
  auto flags = std::make_shared<BudgetFlags>();
  sub.add("--a", flags->a, "tile of the first operand, ROWSxCOLUMNS").required();
  sub.add("--b", flags->b, "tile of the second operand, ROWSxCOLUMNS").required();
  sub.add("--dtype", flags->dtype, "element type (default: f16)");
  sub.add("--limit", flags->limit, "bytes, e.g. 228KiB (default: what a block of the device can have)");
  sub.add("--stages", flags->stages, "depths to list (default: 1 to one more than fits)");
  add_device(sub, "--device", flags->device, "machine model (default: h200)");
  sub.chosen([flags, &command] { command.action = [flags] { return budget(*flags); }; });
}

void add_space(const CommandGroup& model, Command& command) {
  Options sub = add_command(model, command, "space",
                            "Count the legal tilings of a matrix product, and what a cost model says of them");
  auto flags = std::make_shared<SpaceFlags>();
  sub.add("--m", flags->m, "rows of C").required();
  sub.add("--n", flags->n, "columns of C").required();
  sub.add("--k", flags->k, "columns of A").required();
  sub.add("--bm", flags->bm, "rows of a tile, e.g. 64,128").required();
  sub.add("--bn", flags->bn, "columns of a tile").required();
  sub.add("--bk", flags->bk, "depth of a tile along K").required();
  sub.add("--stages", flags->stages, "depths, e.g. 1..4").required();
  sub.add("--threads", flags->threads, "threads of a block").required();
  sub.add("--dtype", flags->dtype, "element type (default: f16)");
  sub.add("--limit", flags->limit,
          "bytes of shared memory, e.g. 228KiB (default: what a block of the device can have)");
  add_device(sub, "--device", flags->device, "machine model (default: h200)");
  sub.chosen([flags, &command] { command.action = [flags] { return space(*flags); }; });
}

}  // namespace

void add_model(CommandLine& line, Command& command) {
  CommandGroup model =
      line.group("model", "Small models: depth of a pipeline, shared memory, space of tilings",
                 "Exit status: 0 success, 1 nothing fits, 2 the command line is wrong, 3 a fault of plait.");
  add_pipeline(model, command);
  add_budget(model, command);
  add_space(model, command);
}

}  // namespace plait::cli
