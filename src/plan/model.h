#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "machine/device.h"

/// Small models of a copy -> compute pipeline: what a depth is worth, what it takes, how many choices there are.
namespace plait::plan {

// ---- Time
// ------------------------------------------------------------------------------------------------------------

/// Cycles of one iteration: its copy occupies the copy unit for `issue`, its data is there `latency` after that began,
/// and is worked on for `compute`.
struct PipelineCosts {
  std::int64_t iterations = 1, issue = 1, latency = 1, compute = 1;  ///< latency >= 0, the others >= 1
};
/// The largest values that the model takes.
inline constexpr std::int64_t max_model_iterations = 1'000'000;
inline constexpr std::int64_t max_model_cycles = 1'000'000'000;
inline constexpr std::int64_t max_model_stages = 1024;

struct PipelineRun {
  std::int64_t makespan = 0;
  double speedup = 1;      ///< against depth 1
  double utilisation = 0;  ///< compute's share of the span that begins with the first compute
  /// Mean cycles from one issue, or compute, to the next; nothing for a single iteration.
  std::optional<double> issue_interval, compute_interval;
};
/// Event by event: a copy waits for the one before it and for its slot, a compute for its data and for the one before
/// it; a slot is free when the compute that read it ends.
PipelineRun run_pipeline(const PipelineCosts& costs, std::int64_t depth);
/// Cycles an iteration in the steady state: max(compute, issue, (latency + compute) / depth).
double steady_interval(const PipelineCosts& costs, std::int64_t depth);
/// The least depth at which the latency costs nothing: 1 + ceil(latency / compute) where compute is the longer of the
/// two units' times.
std::int64_t sufficient_depth(const PipelineCosts& costs);

// ---- Shared memory
// -----------------------------------------------------------------------------------------------------

struct Extents {
  std::int64_t rows = 1, columns = 1;
};
/// Bytes of one copy of both tiles, each rounded up to whole bytes.
std::int64_t stage_bytes(const Extents& a, const Extents& b, ir::DType type);

// ---- The space of choices
// ----------------------------------------------------------------------------------------------

/// Tilings of C[M, N] = A[M, K] B[K, N].
struct Space {
  std::int64_t m = 1, n = 1, k = 1;
  std::vector<std::int64_t> bm, bn, bk, stages, threads;
  ir::DType type = ir::DType::f16;
  std::int64_t limit = 0;  ///< bytes of shared memory
};
inline constexpr std::int64_t max_model_points = 1'000'000;

struct Point {
  std::int64_t bm = 1, bn = 1, bk = 1, stages = 1, threads = 1;
  double cycles = 0;
};
enum class Verdict {
  infeasible,  ///< no point is legal
  degenerate,  ///< several points, one value: the model says nothing
  ties,        ///< several points share the best value
  unique,      ///< one point is best
};
struct SpaceReport {
  std::int64_t requested = 0, legal = 0;
  /// Points that break a rule; one point may break both.
  std::int64_t over_memory = 0, indivisible = 0;
  std::int64_t distinct = 0;  ///< values of the cost model among the legal points
  std::vector<Point> best;    ///< all that share the least value
  Verdict verdict = Verdict::infeasible;
};
/// What the cost model knows of a machine.
struct MatmulRates {
  double units = 1;       ///< multiprocessors
  double products = 1;    ///< multiply-adds a cycle of one of them
  double copy_bytes = 1;  ///< bytes a cycle that one of them takes in
  double latency = 0;     ///< cycles of a copy
};
/// Of a device; nothing where it has no unit for products of this type, or none that copies.
std::optional<MatmulRates> matmul_rates(const machine::Device& device, ir::DType type);
/// waves * (K / bk * max(compute, copy, (latency + compute) / stages) + latency), waves = ceil(tiles / units).
double matmul_cycles(const Space& space, const Point& point, const MatmulRates& rates);
SpaceReport explore(const Space& space, const MatmulRates& rates);

}  // namespace plait::plan
