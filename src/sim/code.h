#pragma once

#include <algorithm>

#include "ir/tensor.h"
#include "layout/matrix_access.h"
#include "layout/role_layout.h"
#include "roles/program.h"
#include "sim/costs.h"
#include "sim/expr.h"

/// A role program with every name resolved to a number and every unrolled loop expanded: what Machine runs.
namespace plait::sim {

/// A statement of the program, as messages name it.
struct Site {
  Loc loc;
  Loc origin;        ///< the tile statement that it came from, where known
  std::string word;  ///< "tma_load", "wait", …
};

struct SmemCode {
  roles::Smem decl;
  layout::SmemTile tile;
  std::int64_t base = 0;                ///< bytes in the arena
  std::vector<std::int64_t> lead = {};  ///< extents before rows and columns
  bool has_rows = true;                 ///< false: declared with one dim
};
/// Bytes of an element, by which accesses are told apart; elements of less than a byte count as one each, since threads
/// change them without touching their neighbours.
inline std::int64_t told_bytes(ir::DType type) { return std::max(ir::dtype_bits(type) / 8, 1); }
struct TensorCode {
  ir::Buffer decl;
  ir::TensorView view;
  bool is_in = false, is_out = false;
  bool is_blank = false;      ///< without contents at the start
  std::int64_t granule = 16;  ///< bytes that accesses are told apart by
};
struct MapCode {
  roles::Map decl;
  int tensor = 0;
  layout::TmaBox box;
};
struct MbarCode {
  roles::Mbar decl;
  int first = 0;  ///< number of its first barrier in the block
};

/// Elements of a fragment lie at base[thread of the replica] + offset[element of the thread].
struct FragmentCode {
  roles::Fragment decl;
  layout::FragmentMap map;
  std::int64_t rows = 1, columns = 1;
  bool floats = true;   ///< kept as f32; else as Value
  bool matrix = false;  ///< element (r, c) lies at r * columns + c (+ a whole matrix a warp for mma kinds)
  std::int64_t size = 0;
  std::int64_t section = 0;  ///< elements that wgmma locks at a time: 64 rows; 0: not for wgmma
  std::vector<std::int32_t> base = {}, offset = {};
  std::vector<layout::Coord> thread_coord = {}, element_coord = {};
  std::int64_t run = 1;  ///< neighbouring columns that follow each other in a thread
};

/// A fragment as `each` over another one reads or writes it: its element for each element of the domain.
struct FragmentUse {
  int fragment = 0;
  std::vector<std::int32_t> element;
};
struct ElementCode {
  int buffer = 0;  ///< tensor or shared tile
  std::vector<Reg> index;
};
struct CastCode {
  ir::DType from, to;
  ir::Rounding rounding = ir::Rounding::nearest_even;
  bool saturate = false;
};

// ---- Operands ------------------------------------------------------------------------------------------------------

struct SmemPlace {
  int smem = 0;
  std::vector<Reg> index;
};
struct TensorPlace {
  int tensor = 0;
  std::vector<Reg> index;
};
struct MbarPlace {
  int mbar = 0;
  Reg index;
};
struct FragmentPlace {
  int fragment = 0;
  std::int64_t row = 0, column = 0;
};

struct Touch {
  int data = 0;  ///< number of a buffer in the role
  Reg slot;      ///< which copy of a tile; not valid: any
};
/// Data that a statement reads and writes.
struct Touched {
  std::vector<Touch> reads, writes;
  bool all = false;  ///< everything that tasks work on
  bool empty() const { return reads.empty() && writes.empty() && !all; }
};

// ---- Actions, after the expressions of their operands were computed
// --------------------------------------------------

namespace act {

struct Assign {
  Reg to, from;
  ir::DType type;
};
/// Control: a frame keeps the lanes outside (and those for the else branch).
struct If {
  Reg cond;
  std::int32_t otherwise = 0;
};
struct Else {
  std::int32_t end = 0;
};
struct End {};
struct OnlyThread {
  bool of_block = false;  ///< else of the replica
  std::int32_t end = 0;
};
struct OnlyWarp {
  int warp = 0;
  std::int32_t end = 0;
};
struct LoopEnter {
  Reg var, begin;
};
struct LoopTest {
  Reg var, end, step;
  ir::DType type;
  std::int32_t exit = 0;
};
struct LoopNext {
  Reg var, step;
  ir::DType type;
  std::int32_t test = 0;
};
struct WhileEnter {};
struct WhileTest {
  Reg cond;
  std::int32_t exit = 0;
};
struct Jump {
  std::int32_t target = 0;
};

struct DefFragment {
  int fragment = 0;
};
struct MbarInit {
  int mbar = 0;
};
struct Wait {
  MbarPlace mbar;
  Reg parity;
};
struct Arrive {
  MbarPlace mbar;
  Reg rank;
};
struct Expect {
  MbarPlace mbar;
  Reg bytes;
};
struct Fence {
  roles::FenceKind kind = roles::FenceKind::mbar_init;
};
struct SyncThreads {};
struct SyncWarp {};
struct ClusterArrive {};
struct ClusterWait {};
struct Barrier {
  Reg id;
  std::int64_t threads = 0;
  bool waits = true;
};
struct TmaLoad {
  SmemPlace dst;
  int map = 0;
  std::vector<Reg> at;
  MbarPlace mbar;
  Reg multicast;
};
struct TmaStore {
  int map = 0;
  std::vector<Reg> at;
  SmemPlace src;
};
struct BulkLoad {
  SmemPlace dst;
  TensorPlace src;
  Reg bytes;
  MbarPlace mbar;
};
struct BulkStore {
  TensorPlace dst;
  SmemPlace src;
  Reg bytes;
};
struct BulkCommit {};
struct BulkWait {
  int pending = 0;
  bool read = false;
};
struct Prefetch {};
struct CpAsync {
  SmemPlace dst;
  TensorPlace src;
  std::int64_t rows = 0, columns = 0;
  std::int64_t piece = 16;   ///< bytes
  std::optional<Reg> where;  ///< each lane its own piece; zeros where it is false
};
struct CpCommit {};
struct CpWait {
  int pending = 0;
};
struct Wgmma {
  FragmentPlace acc;
  std::optional<FragmentPlace> a_registers;
  SmemPlace a;  ///< where there is no a_registers
  bool trans_a = false;
  SmemPlace b;
  bool trans_b = false;
  Reg clear;
};
struct WgmmaCommit {};
struct WgmmaAwait {
  int pending = 0;
};
struct Mma {
  int acc = 0;
  FragmentPlace a;
  int b = 0;
};
struct LdMatrix {
  FragmentPlace dst;
  SmemPlace src;
  bool trans = false;
  std::vector<std::vector<layout::MatrixAccess>> accesses;  ///< a warp
};
struct StMatrix {
  SmemPlace dst;
  FragmentPlace src;
  std::int64_t columns = 0;
  std::vector<std::vector<layout::MatrixAccess>> accesses;  ///< a warp
};
struct EachStore {
  ExprRange code;
  int use = 0;  ///< Code::fragment_uses
  Reg value;
  ir::DType type;
};
struct Each {
  int domain = 0;
  std::vector<Reg> vars;  ///< one a coordinate
  std::vector<EachStore> stores;
  int operations = 0, special = 0;  ///< a thread's instructions for one element: all, and of the special-function unit
};
struct RowReduce {
  roles::ReduceOp op = roles::ReduceOp::sum;
  int dst = 0, src = 0;
  /// For each element of dst the elements of src that it takes, columns ascending.
  std::vector<std::vector<std::int32_t>> elements;
};
struct LaneReduce {
  roles::ReduceOp op = roles::ReduceOp::sum;
  int fragment = 0;
  int lanes = 32;
};
struct Keep {};
struct LoadTensor {
  int dst = 0;
  TensorPlace src;
  Value pad;  ///< of elements outside
};
struct StoreTensor {
  TensorPlace dst;
  int src = 0;
};
struct LoadShared {
  int dst = 0;
  SmemPlace src;
};
struct StoreShared {
  SmemPlace dst;
  int src = 0;
};
struct PutTensor {
  ThreadWork work;
  TensorPlace dst;
  Reg value;
};
struct PutShared {
  ThreadWork work;
  SmemPlace dst;
  Reg value;
};
struct PutPiece {
  TensorPlace dst;
  SmemPlace src;
  std::int64_t piece = 16;  ///< bytes
};
struct Atomic {
  ThreadWork work;
  Reg result;
  TensorPlace dst;
  Reg value;
  ir::BinaryOp op = ir::BinaryOp::add;
};
struct AtomicShared {
  ThreadWork work;
  Reg result;
  SmemPlace dst;
  Reg value;
  ir::BinaryOp op = ir::BinaryOp::add;
};
struct Broadcast {
  Reg result, value;
};
struct Shuffle {
  ThreadWork work;
  Reg result, value, lane;
};
struct ReadClock {
  Reg result;
  bool global = false;
};
struct TaskBegin {
  bool measured = false;  ///< the task takes as long as the statements up to its end
  /// The end, where nothing behind the task needs what its statements define: of time alone they tell nothing.
  std::int32_t end = -1;
};
struct TaskEnd {
  machine::UnitKind unit{};
  Reg latency, ii;
  Touched touched;
};
/// Ends the prologue or the role.
struct Finish {};

}  // namespace act

using Action = std::variant<
    act::Assign, act::If, act::Else, act::End, act::OnlyThread, act::OnlyWarp, act::LoopEnter, act::LoopTest,
    act::LoopNext, act::WhileEnter, act::WhileTest, act::Jump, act::DefFragment, act::MbarInit, act::Wait, act::Arrive,
    act::Expect, act::Fence, act::SyncThreads, act::SyncWarp, act::ClusterArrive, act::ClusterWait, act::Barrier,
    act::TmaLoad, act::TmaStore, act::BulkLoad, act::BulkStore, act::BulkCommit, act::BulkWait, act::Prefetch,
    act::CpAsync, act::CpCommit, act::CpWait, act::Wgmma, act::WgmmaCommit, act::WgmmaAwait, act::Mma, act::LdMatrix,
    act::StMatrix, act::Each, act::RowReduce, act::LaneReduce, act::Keep, act::LoadTensor, act::StoreTensor,
    act::LoadShared, act::StoreShared, act::PutTensor, act::PutShared, act::PutPiece, act::Atomic, act::AtomicShared,
    act::Broadcast, act::Shuffle, act::ReadClock, act::TaskBegin, act::TaskEnd, act::Finish>;

struct Instr {
  ExprRange code;  ///< computes the operands
  std::int32_t site = 0;
  Action action;
  Touched touched = {};  ///< what tasks of the replica are waited for
};

/// Registers that the launch fills in.
struct BuiltinRegs {
  Reg block, blocks, block_x, block_y, block_z, cluster_rank, replica, warp, lane, thread;
};

/// Prologue and body of one role; the prologue is compiled for each role, as its threads run it.
struct RoleCode {
  std::string name;
  int replicas = 1, warps = 4;
  int first_thread = 0;  ///< of replica 0 in the block
  std::vector<Instr> instrs;
  std::vector<ExprInstr> exprs;
  std::vector<Value> file;  ///< initial registers: constants in their places
  BuiltinRegs builtins;
  std::vector<FragmentCode> fragments;
  std::vector<FragmentUse> fragment_uses;
};

struct Code {
  std::vector<Site> sites;  ///< 0: none
  std::vector<SmemCode> smem;
  std::vector<MapCode> maps;
  std::vector<TensorCode> tensors;
  std::vector<MbarCode> mbars;
  std::vector<ElementCode> elements;
  std::vector<CastCode> casts;
  std::vector<RoleCode> roles;
  std::int64_t arena = 0;          ///< bytes of shared memory
  std::int64_t smem_granule = 16;  ///< bytes that accesses to shared memory are told apart by
  int mbar_total = 0;
  int threads = 0;  ///< a block
};

/// What a launch fixes: the values of dims, scalars and host lets, the grid.
struct Launch;

/// Translates a verified program for one launch.
Code make_code(const roles::Program& program, const Launch& launch);

}  // namespace plait::sim
