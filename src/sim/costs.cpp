#include "sim/costs.h"

namespace plait::sim {
namespace {

using machine::CostKind;
using machine::UnitKind;

void set_rate(double& to, const machine::Device& device, UnitKind kind, std::optional<ir::DType> type = {}) {
  to = device.rate(kind, type).value_or(to);
}

void set_latency(std::int64_t& to, const machine::Device& device, CostKind kind) {
  if (const machine::Cost* cost = device.cost(kind)) to = cost->latency.integer();
}

}  // namespace

Costs costs_of(const machine::Device& device) {
  Costs costs;
  costs.clock_mhz = device.clock.value;
  costs.sms = static_cast<int>(device.compute_units.integer());
  set_rate(costs.tensor_fma, device, UnitKind::tensor, ir::DType::bf16);
  costs.mma_fma = costs.tensor_fma;
  if (const machine::Cost* mma = device.cost(CostKind::mma)) {
    constexpr double kProducts = 16 * 8 * 16;
    if (mma->interval.value > 0) costs.mma_fma = kProducts / mma->interval.value;
  }
  set_rate(costs.smem_bytes, device, UnitKind::smem);
  set_rate(costs.tma_bytes, device, UnitKind::tma);
  set_rate(costs.l2_bytes, device, UnitKind::l2);
  set_rate(costs.cuda_lanes, device, UnitKind::cuda, ir::DType::f32);
  set_rate(costs.sfu_lanes, device, UnitKind::sfu);
  set_latency(costs.instruction, device, CostKind::arithmetic);
  set_latency(costs.tma_load, device, CostKind::tma_load);
  set_latency(costs.tma_store, device, CostKind::tma_store);
  set_latency(costs.global_load, device, CostKind::global_load);
  set_latency(costs.atomic, device, CostKind::atomic);
  set_latency(costs.smem_access, device, CostKind::smem_load);
  set_latency(costs.wgmma, device, CostKind::wgmma);
  set_latency(costs.mma, device, CostKind::mma);
  set_latency(costs.mbar_wait, device, CostKind::mbarrier_wait);
  set_latency(costs.arrive, device, CostKind::mbarrier_arrive);
  set_latency(costs.remote_arrive, device, CostKind::remote_arrive);
  set_latency(costs.named_barrier, device, CostKind::named_barrier);
  set_latency(costs.cluster_barrier, device, CostKind::cluster_barrier);
  set_latency(costs.fence_proxy, device, CostKind::fence_proxy);
  set_latency(costs.shuffle, device, CostKind::shuffle);
  set_latency(costs.block_start, device, CostKind::block_start);
  return costs;
}

}  // namespace plait::sim
