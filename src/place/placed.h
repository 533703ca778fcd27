#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "machine/device.h"
#include "roles/program.h"
#include "support/result.h"

/// Placement: which instruction does each tile operation, which threads do it, and where each buffer lies. It comes
/// before any schedule, on the serial program; docs/design.md, "Placement".
namespace plait::place {

/// Of products on tensor cores: rows of a result that one warpgroup computes, bytes of k that one instruction takes,
/// and the most columns.
inline constexpr std::int64_t kWarpgroupRows = 64;
inline constexpr std::int64_t kDepthBytes = 32;
inline constexpr std::int64_t kMaxProductColumns = 256;

/// Of tiles that are gathered row by row: threads that load them, and the most pieces of a tile that each has.
inline constexpr std::int64_t kGatherThreads = 128;
inline constexpr std::int64_t kMostGathered = 16;

/// What is known of the tensors of a call. One kernel is made for each set that occurs.
struct Assumptions {
  /// Tensors that TMA cannot address: the base or a stride other than the innermost is no multiple of 16 bytes, or the
  /// innermost is not 1.
  std::set<std::string> unaligned;
  /// Tensors whose innermost extent is no multiple of 16 bytes: their rows end within a vector access.
  std::set<std::string> ragged;
  /// Tensors that TMA can address, whose rows start within lines of 128 bytes.
  std::set<std::string> straddling;
  /// Of tensors that are unaligned or ragged: the most bytes, a power of two, that what they begin at, the extent of
  /// rows and the strides are multiples of.
  std::map<std::string, int> granules = {};
  bool operator==(const Assumptions&) const = default;
};

/// What the kernel's threads, tiles and work items look like where the author or a schedule says so.
struct Wishes {
  std::optional<int> replicas;  ///< warpgroups that share the rows of every tile
  /// Copies to shared memory that cannot be loaded ahead, and why.
  std::map<const ir::Stmt*, std::string> in_order = {};
};

/// Why the device cannot run what placement makes; empty where it can.
Diagnostics missing_features(const ir::Kernel& kernel, const machine::Device& device);

/// A place where a slower way was taken, and why.
struct Remark {
  Loc loc;
  std::string text;
};

/// A tile in shared memory; with a swizzle TMA and wgmma can use it.
struct SharedHome {
  roles::Swizzle swizzle = roles::Swizzle::none;
  bool packed = false;  ///< elements narrower than a byte share bytes, as in the tensor that TMA loads them from
};

/// A tile in registers: rows are shared out evenly over the replicas.
struct FragmentHome {
  roles::FragmentKind kind = roles::FragmentKind::vector;
  int vec = 1, lanes = 32;  ///< vector
  ir::Buffer of = {};       ///< rows, columns: a fragment whose rows or columns these are
};

/// On tensor cores, `A` of each product from shared memory or from registers: by wgmma, or by mma.sync, each warp its
/// rows of the same accumulator.
struct GemmAtom {
  bool a_in_registers = false;
  bool by_warps = false;
};
/// Without tensor cores: each thread the elements of the result that it owns, k ascending, from operands in memory.
struct EachGemmAtom {};
/// Element by element, all threads of the role sharing the elements out; what lies in registers goes through memory.
struct ThreadsAtom {};
enum class CopyWay {
  tma_load,         ///< global to shared, by a box of a tensor map
  cp_async_load,    ///< the same by the threads that compute, in pieces that arrive later
  gather_load,      ///< rows of a tensor to shared, by cp.async of the threads of the role that loads
  tma_store,        ///< shared to global, by a box of a tensor map
  staged_store,     ///< registers to global through shared memory: stmatrix, then TMA
  staged_elements,  ///< the same where TMA cannot store: stmatrix, then all threads element by element
  staged_rows,      ///< the same of rows that have places of their own: stmatrix, then threads piece by piece
  load_fragment,    ///< global or shared to registers, each thread what it owns
  load_elements,    ///< the same, element by element: with a row map, padding, a valid part or other dimensions
  store_fragment,   ///< registers to global or shared, the same
  move_fragment,    ///< registers to registers
};
struct CopyAtom {
  CopyWay way = CopyWay::tma_load;
  int piece = 16;  ///< bytes that a thread moves at once, by cp.async or of staged rows
};
/// `buffer[vars] = value` for each element that a thread owns; lets of the nest are put into the values.
struct NestLine {
  ir::Buffer buffer;
  std::vector<ir::ExprRef> index;
  ir::ExprRef value;
};
struct NestAtom {
  ir::Buffer domain;  ///< a fragment over all of the nest's variables
  std::vector<NestLine> lines;
};
struct FillAtom {};
/// Along the rows of a fragment, within each thread and then over the lanes of a row.
struct ReduceAtom {};
using Atom = std::variant<GemmAtom, EachGemmAtom, CopyAtom, NestAtom, FillAtom, ReduceAtom, ThreadsAtom>;

struct Placed {
  ir::Kernel kernel;
  machine::Device device;
  Assumptions assumptions;
  int replicas = 1;  ///< of the role that computes
  int warps = 4;     ///< a replica
  /// Shared buffers, and others that live in shared memory since no layout in registers suits their uses.
  std::unordered_map<const ir::BufferDecl*, SharedHome> shared;
  std::unordered_map<const ir::BufferDecl*, FragmentHome> fragments;
  std::unordered_map<const ir::Stmt*, Atom> atoms;  ///< of every tile operation and parallel nest
  std::vector<Remark> remarks;

  const Atom& atom(const ir::Stmt& stmt) const { return atoms.at(&stmt); }
  bool in_registers(const ir::Buffer& buffer) const { return fragments.contains(buffer.get()); }
};

/// Refuses, at its statement, what has no placement on the device.
Result<Placed> place(const ir::Kernel& kernel, const machine::Device& device, const Assumptions& assumptions = {},
                     const Wishes& wishes = {});

/// Whether products are wgmma and tiles come by TMA where it can address them; else by mma.sync and cp.async.
bool is_hopper(const machine::Device& device);

/// Whether it is a literal zero; null, which stands for zero where a value may be left out, is one.
bool is_zero(const ir::ExprRef& expr);

/// Whether the expression is a multiple of `unit` for all values of its variables.
bool is_multiple(const ir::ExprRef& expr, std::int64_t unit);

/// What elements outside of a tensor read as, as a literal of the tensor's type; null where it is no value of it.
ir::ExprRef pad_as(ir::DType type, const ir::ExprRef& pad);

/// Bytes of a row of the tile as it lies in a tensor.
std::int64_t row_bytes(const ir::Buffer& tile);

/// The widest swizzle whose span divides a row of so many bytes; none below 32 bytes.
roles::Swizzle widest_swizzle(std::int64_t row_bytes);

}  // namespace plait::place
