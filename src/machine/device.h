#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/type.h"

/// Machine models: what a device has, how fast it is, what it costs. docs/machines.md is the reference of the JSON
/// form.
namespace plait::machine {

/// One number with its unit and where it comes from: a document, "measured: " a command, or "modelled: " a reason.
struct Figure {
  double value = 0;
  std::string unit;
  std::string source;

  std::int64_t integer() const {
    return static_cast<std::int64_t>(value);
  }  ///< limits, capacities and counts are whole
  bool measured() const { return source.starts_with("measured"); }
};

enum class Target { cuda, cpu, npu };
enum class Feature {
#define PLAIT_FEATURE(id, what) id,
#include "machine/kinds.def"
#undef PLAIT_FEATURE
};
enum class MemoryKind {
#define PLAIT_MEMORY(id, unit, own, what) id,
#include "machine/kinds.def"
#undef PLAIT_MEMORY
};
enum class UnitKind {
#define PLAIT_UNIT(id, unit, what) id,
#include "machine/kinds.def"
#undef PLAIT_UNIT
};
enum class CostKind {
#define PLAIT_COST(id, what) id,
#include "machine/kinds.def"
#undef PLAIT_COST
};
std::string_view name_of(Target target);
std::string_view name_of(Feature feature);
std::string_view name_of(MemoryKind kind);
std::string_view name_of(UnitKind kind);
std::string_view name_of(CostKind kind);
std::string_view meaning(Feature feature);
std::string_view meaning(MemoryKind kind);
std::string_view meaning(UnitKind kind);
std::string_view meaning(CostKind kind);

/// What no kernel may exceed.
struct Limits {
#define PLAIT_LIMIT(id, unit, most, what) Figure id;
#include "machine/kinds.def"
#undef PLAIT_LIMIT
};

struct Memory {
  MemoryKind kind = MemoryKind::global;
  Figure capacity;   ///< bytes; of one compute unit where each has its own
  Figure bandwidth;  ///< GB/s or B/cycle as the kind says; of all compute units together, or of one that has its own
  Figure latency;    ///< cycles
};

/// A specialised unit of each compute unit: results or bytes a cycle, for all types or type by type.
struct Unit {
  struct Rate {
    std::optional<ir::DType> type;  ///< none: every type that is not listed
    Figure figure;
  };
  UnitKind kind = UnitKind::issue;
  std::vector<Rate> rates;
};

/// Latency and initiation interval of an operation, in cycles.
struct Cost {
  CostKind kind = CostKind::arithmetic;
  std::string variant;  ///< which form of the operation, e.g. "m64n256k16 bf16, A shared"; empty: any other
  Figure latency;
  Figure interval;
};

/// What moving a tile between two memories of an NPU costs: `latency` plus bytes over `bandwidth`, and the unit is
/// busy for bytes over `bandwidth`, at least `interval`.
struct Transfer {
  MemoryKind from = MemoryKind::global, to = MemoryKind::l1;
  UnitKind unit = UnitKind::mte2;
  Figure latency;    ///< cycles
  Figure bandwidth;  ///< B/cycle
  Figure interval;   ///< cycles, of one descriptor
};

/// What a matrix product of an NPU costs besides its multiply-adds over the rate of `cube`.
struct CubeCost {
  Figure latency;  ///< cycles
  Figure slice;    ///< elements of K that are brought to L0 at once
};

/// What element work of an NPU costs: the larger of its instructions and of its bytes over `bandwidth`; the next one
/// may follow after one `overlap`th of that.
struct VectorCost {
  Figure width;      ///< bytes that one instruction works on
  Figure bandwidth;  ///< B/cycle
  Figure overlap;    ///< tasks
};

struct Device {
  std::string name;         ///< what --device takes
  std::string description;  ///< for people
  std::string text;         ///< the model as it was read
  Target target = Target::cuda;
  std::string arch;  ///< sm_90a, x86-64, …
  std::vector<Feature> features;
  Figure compute_units;          ///< multiprocessors, cores
  Figure clock;                  ///< MHz, under load
  std::optional<Limits> limits;  ///< of every cuda device
  std::vector<Memory> memories;
  std::vector<Unit> units;
  std::vector<Cost> costs;
  // Of every npu, and of no other.
  std::optional<Figure> vector_cores;  ///< beside each cube core
  std::vector<Transfer> transfers;
  std::optional<CubeCost> cube_cost;
  std::optional<VectorCost> vector_cost;

  bool has(Feature feature) const;
  /// Null where the device has none.
  const Memory* memory(MemoryKind kind) const;
  /// Of one compute unit, a cycle; the rate of the type, else the one of all types, else nothing.
  std::optional<double> rate(UnitKind kind, std::optional<ir::DType> type = {}) const;
  /// The cost of this variant, else of the operation in general, else null.
  const Cost* cost(CostKind kind, std::string_view variant = {}) const;
  /// Null where nothing moves data from the one to the other.
  const Transfer* transfer(MemoryKind from, MemoryKind to) const;
  /// Bandwidth in bytes a cycle: of the whole device, or of one compute unit where each has its own.
  double bytes_per_cycle(const Memory& memory) const;
  double cycles_per_second() const { return clock.value * 1e6; }
};

/// Whether every compute unit has a memory of this kind to itself.
bool is_own(MemoryKind kind);

}  // namespace plait::machine
