#include "sim/costs.h"

#include <algorithm>

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

void set_memories(Costs& costs, const machine::Device& device) {
  const machine::Memory* memory = device.memory(machine::MemoryKind::global);
  const machine::Memory* l2 = device.memory(machine::MemoryKind::l2);
  if (memory != nullptr) costs.memory_bytes = device.bytes_per_cycle(*memory);
  if (l2 == nullptr) return;
  costs.l2_total_bytes = device.bytes_per_cycle(*l2);
  costs.l2_capacity = l2->capacity.value;
  costs.global_load = l2->latency.integer();
  if (memory != nullptr)
    costs.memory_latency = std::max<std::int64_t>(memory->latency.integer() - l2->latency.integer(), 0);
}

/// What an instruction takes beyond the time in which it keeps its unit busy.
void set_tail(std::int64_t& to, const machine::Device& device, CostKind kind, std::string_view variant) {
  const machine::Cost* cost = device.cost(kind, variant);
  if (cost != nullptr && cost->latency.value > cost->interval.value)
    to = static_cast<std::int64_t>(cost->latency.value - cost->interval.value);
}

}  // namespace

Costs costs_of(const machine::Device& device) {
  Costs costs;
  costs.clock_mhz = device.clock.value;
  set_memories(costs, device);
  costs.sms = static_cast<int>(device.compute_units.integer());
  if (device.vector_cores) costs.vector_cores = static_cast<int>(device.vector_cores->integer());
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
  constexpr double kBox = 8192;  // bytes of the box whose latency the models state
  costs.tma_load = std::max<std::int64_t>(costs.tma_load - static_cast<std::int64_t>(kBox / costs.tma_bytes), 0);
  set_latency(costs.tma_store, device, CostKind::tma_store);
  set_latency(costs.atomic, device, CostKind::atomic);
  set_latency(costs.smem_access, device, CostKind::smem_load);
  set_tail(costs.wgmma, device, CostKind::wgmma, "m64n256k16 bf16");
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
