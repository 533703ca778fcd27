#include "machine/device.h"

#include <algorithm>

#include "support/diagnostic.h"

namespace plait::machine {
namespace {

struct Entry {
  std::string_view name, meaning;
};
constexpr Entry kFeatures[] = {
#define PLAIT_FEATURE(id, what) {#id, what},
#include "machine/kinds.def"
#undef PLAIT_FEATURE
};
constexpr Entry kMemories[] = {
#define PLAIT_MEMORY(id, unit, own, what) {#id, what},
#include "machine/kinds.def"
#undef PLAIT_MEMORY
};
constexpr bool kOwn[] = {
#define PLAIT_MEMORY(id, unit, own, what) own,
#include "machine/kinds.def"
#undef PLAIT_MEMORY
};
constexpr Entry kUnits[] = {
#define PLAIT_UNIT(id, unit, what) {#id, what},
#include "machine/kinds.def"
#undef PLAIT_UNIT
};
constexpr Entry kCosts[] = {
#define PLAIT_COST(id, what) {#id, what},
#include "machine/kinds.def"
#undef PLAIT_COST
};

}  // namespace

std::string_view name_of(Target target) {
  switch (target) {
    case Target::cuda:
      return "cuda";
    case Target::cpu:
      return "cpu";
    case Target::npu:
      return "npu";
  }
  throw InternalError("a target without name");
}

std::string_view name_of(Feature feature) { return kFeatures[static_cast<std::size_t>(feature)].name; }
std::string_view name_of(MemoryKind kind) { return kMemories[static_cast<std::size_t>(kind)].name; }
std::string_view name_of(UnitKind kind) { return kUnits[static_cast<std::size_t>(kind)].name; }
std::string_view name_of(CostKind kind) { return kCosts[static_cast<std::size_t>(kind)].name; }
std::string_view meaning(Feature feature) { return kFeatures[static_cast<std::size_t>(feature)].meaning; }
std::string_view meaning(MemoryKind kind) { return kMemories[static_cast<std::size_t>(kind)].meaning; }
std::string_view meaning(UnitKind kind) { return kUnits[static_cast<std::size_t>(kind)].meaning; }
std::string_view meaning(CostKind kind) { return kCosts[static_cast<std::size_t>(kind)].meaning; }

bool is_own(MemoryKind kind) { return kOwn[static_cast<std::size_t>(kind)]; }

bool Device::has(Feature feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

const Memory* Device::memory(MemoryKind kind) const {
  auto found = std::find_if(memories.begin(), memories.end(), [&](const Memory& m) { return m.kind == kind; });
  return found == memories.end() ? nullptr : &*found;
}

std::optional<double> Device::rate(UnitKind kind, std::optional<ir::DType> type) const {
  std::optional<double> general;
  for (const Unit& unit : units) {
    for (const Unit::Rate& rate : unit.rates) {
      if (unit.kind != kind) continue;
      if (rate.type && rate.type == type) return rate.figure.value;
      if (!rate.type) general = rate.figure.value;
    }
  }
  return general;
}

const Cost* Device::cost(CostKind kind, std::string_view variant) const {
  const Cost* general = nullptr;
  for (const Cost& cost : costs) {
    if (cost.kind != kind) continue;
    if (cost.variant == variant) return &cost;
    if (cost.variant.empty()) general = &cost;
  }
  return general;
}

const Transfer* Device::transfer(MemoryKind from, MemoryKind to) const {
  auto found =
      std::find_if(transfers.begin(), transfers.end(), [&](const Transfer& t) { return t.from == from && t.to == to; });
  return found == transfers.end() ? nullptr : &*found;
}

double Device::bytes_per_cycle(const Memory& memory) const {
  return memory.bandwidth.unit == "GB/s" ? memory.bandwidth.value * 1e9 / cycles_per_second() : memory.bandwidth.value;
}

}  // namespace plait::machine
