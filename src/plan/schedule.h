#pragma once

#include "graph/graph.h"
#include "machine/device.h"
#include "support/result.h"

/// Schedules: what runs where and when. A text of their own beside the tile program, written by planners, the tuner and
/// people alike; docs/schedules.md is the reference of the form.
namespace plait::plan {

using graph::StmtName;

/// A place in the text of a schedule. It takes no part in comparisons.
struct At {
  Loc loc;
  bool operator==(const At&) const { return true; }
};

// ---- place: who computes what ---------------------------------------------------------------------------------------

enum class WorkKind {
  plain,       ///< one block a tile
  persistent,  ///< as many blocks as run at once, tile t to block t mod blocks
  dynamic,     ///< the same, the next tile from a counter
  stream_k,    ///< persistent, the k iterations of all tiles dealt out evenly
};
enum class TileOrder {
  rows,
  grouped,
  hilbert,
  longest_first,  ///< the first axis from its end
  paired,  ///< first and last of the first axis together, then the next two: of causal work every pair costs the same
};
struct Work {
  WorkKind kind = WorkKind::plain;
  TileOrder order = TileOrder::rows;
  int group = 1;  ///< grouped: rows of tiles walked together
  int cluster_x = 1, cluster_y = 1;
  int heads = 1;  ///< heads (second grid axis) whose blocks follow each other, for L2
  int split_k = 1;
  int occupancy =
      1;  ///< blocks that a multiprocessor holds at once, for which each has its part of registers and memory
  At at = {};
  bool operator==(const Work&) const = default;
};

enum class Axis { rows, columns };
struct Role {
  std::string name;
  int warps = 4;
  int replicas = 1;
  Axis over = Axis::rows;   ///< what the replicas share out
  std::optional<int> regs;  ///< of a thread
  At at = {};
  bool operator==(const Role&) const = default;
};

enum class Instruction { wgmma, mma, fma, tma, cp_async, vector, scalar };
enum class Operand { shared, registers };
/// The instruction of a tile operation.
struct Atom {
  StmtName stmt;
  Instruction instruction = Instruction::wgmma;
  int m = 0, n = 0, k = 0;  ///< wgmma, mma
  Operand a = Operand::shared, b = Operand::shared;
  bool swapped = false;  ///< computes the transpose, B times A
  At at = {};
  bool operator==(const Atom&) const = default;
};

enum class StoreVia { tma, vector, direct };
/// How a fragment gets to global memory.
struct Staging {
  std::string buffer;
  std::int64_t bytes = 0;  ///< of shared memory on the way; direct: 0
  StoreVia via = StoreVia::tma;
  At at = {};
  bool operator==(const Staging&) const = default;
};

struct Place {
  Work work;
  std::vector<Role> roles;
  std::vector<Atom> atoms;
  std::vector<Staging> stagings;
  bool operator==(const Place&) const = default;
};

// ---- loop: what overlaps --------------------------------------------------------------------------------------------

struct Slot {
  StmtName stmt;
  std::string role;  ///< empty: the only one
  machine::UnitKind unit = machine::UnitKind::cuda;
  int stage = 0;  ///< iterations by which it runs behind stage 0
  int order = 0;  ///< its place among the statements of all stages, unique in the loop
  /// Later asynchronous work of its unit and role that may be issued before it is awaited; who needs its result in the
  /// role awaits it earlier.
  int in_flight = 0;
  At at = {};
  bool operator==(const Slot&) const = default;
};
/// Buffers that pass from one role to another together, in `depth` slots.
struct Ring {
  std::vector<std::string> buffers;
  int depth = 1;
  At at = {};
  bool operator==(const Ring&) const = default;
};
struct Versions {
  std::string buffer;
  int count = 1;
  At at = {};
  bool operator==(const Versions&) const = default;
};
/// Replica r issues `to` only after replica r - 1 (before replica 0: the last one, a turn earlier) issued `from`.
struct Token {
  StmtName from, to;
  At at = {};
  bool operator==(const Token&) const = default;
};
struct LoopPlan {
  StmtName loop;  ///< `k@11`: variable and line
  std::string planner = "hand";
  std::optional<std::int64_t> ii;  ///< cycles from one iteration to the next, where the planner knows them
  std::vector<Slot> slots;
  std::vector<Ring> rings;
  std::vector<Versions> versions;  ///< of buffers in no ring; those not named have 1
  std::vector<Token> tokens;
  At at = {};
  bool operator==(const LoopPlan&) const = default;

  const Slot* find(const StmtName& name) const;
  /// Copies of a buffer: the depth of its ring, its versions, else 1.
  int copies(std::string_view buffer) const;
  int stages() const;  ///< the largest stage, plus 1
};

// ---- region: what is issued first where nothing recurs
// ---------------------------------------------------------------

/// The order of statements that stand between loops; regions that are not named keep the program's.
struct RegionPlan {
  StmtName region;  ///< `body@9`: the line of its first statement in the program
  std::string planner = "hand";
  std::optional<std::int64_t> makespan;  ///< cycles, where the planner knows them
  struct Entry {
    StmtName stmt;
    At at = {};
    bool operator==(const Entry&) const = default;
  };
  std::vector<Entry> order;
  At at = {};
  bool operator==(const RegionPlan&) const = default;
};

struct Schedule {
  std::string kernel;
  std::string device;
  Place place;
  std::vector<LoopPlan> loops;
  std::vector<RegionPlan> regions;
  At at = {};
  bool operator==(const Schedule&) const = default;

  const LoopPlan* find(const StmtName& loop) const;
  const RegionPlan* find_region(const StmtName& region) const;
};

/// parse(print(s)) == s. Any bytes are safe to give to the readers.
std::string print(const Schedule& schedule);
Result<Schedule> parse(const SourceRef& text);
std::string to_json(const Schedule& schedule);
Result<Schedule> parse_json(const SourceRef& json);

bool has_shape(Instruction instruction);   ///< whether m, n, k and the operands mean something
std::string shape_text(const Atom& atom);  ///< `m64n256k16, A shared, B shared`
std::string_view name_of(WorkKind kind);
std::string_view name_of(TileOrder order);
std::string_view name_of(Axis axis);
std::string_view name_of(Instruction instruction);
std::string_view name_of(Operand operand);
std::string_view name_of(StoreVia via);

}  // namespace plait::plan
