#include "run_bench.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "runtime/cost.h"
#include "runtime/extent.h"

namespace plait::cli {
namespace {

constexpr std::size_t kMinRepetitions = 10;
constexpr double kMinSeconds = 0.5;
constexpr std::size_t kWarmUps = 3;

void restore(RunData& data, const Before& before) {
  for (std::size_t i = 0; i < data.tensors.size(); ++i) {
    const runtime::HostTensor& saved = before.tensors[i];
    if (saved.data() != nullptr)
      std::memcpy(data.tensors[i].data(), saved.data(), static_cast<std::size_t>(saved.bytes()));
  }
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::optional<double> count_flops(const Session& session, const RunData& data, const Before& before) {
  const reference::Reference* reference = matching_reference(session);
  if (reference != nullptr && reference->flops) {
    std::map<std::string, std::vector<double>> none;
    return reference->flops(reference_call(session, data, before, none, false));
  }
  runtime::Cost cost = runtime::estimate_cost(session.kernel, data.bound);
  return cost.exact && cost.gemm_flops > 0 ? std::optional(cost.gemm_flops) : std::nullopt;
}

double tensor_bytes(const RunData& data) {
  double bytes = 0;
  for (const runtime::HostTensor& t : data.tensors) {
    bytes += static_cast<double>(runtime::element_count(t.view().shape).value()) * ir::dtype_bits(t.view().type) / 8;
  }
  return bytes;
}

}  // namespace

Measurement measure_run(const Session& session, RunData& data, const Before& before, const Runner& runner) {
  using Clock = std::chrono::steady_clock;
  Measurement m;
  std::vector<double> seconds;
  double total = 0;
  for (std::size_t i = 0; i < kWarmUps + kMinRepetitions || total < kMinSeconds; ++i) {
    restore(data, before);
    auto begin = Clock::now();
    m.diagnostics = runner(data.bound);
    double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    if (m.diagnostics.has_errors()) return m;
    if (i < kWarmUps) continue;
    seconds.push_back(elapsed);
    total += elapsed;
  }
  double typical = median(seconds);
  m.median_ms = typical * 1e3;
  m.repetitions = static_cast<std::int64_t>(seconds.size());
  if (typical <= 0) return m;
  if (auto flops = count_flops(session, data, before)) m.gflops = *flops / typical * 1e-9;
  m.gbs = tensor_bytes(data) / typical * 1e-9;
  return m;
}

}  // namespace plait::cli
