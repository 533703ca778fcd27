#pragma once

#include "ir/kernel.h"

namespace plait::machine {
enum class UnitKind;
}

/// Role programs: what is simulated and what is printed to CUDA, one statement to one instruction or to one unrolled
/// group of them. docs/roles.md is the reference of the text form and of the meaning of each statement.
namespace plait::roles {

using ir::DType;
using ir::ExprRef;
using ir::Var;

// ---- Declarations --------------------------------------------------------------------------------------------------

/// Order of 16-byte units in shared memory: unit u of row r stands at u ^ (r * span / 128 mod span / 16).
enum class Swizzle { none, b32, b64, b128 };
int swizzle_span(Swizzle swizzle);  ///< bytes: 0, 32, 64, 128

/// A block tile in shared memory. The last two dims are rows x columns (one dim: a row), leading dims count copies
/// (stages, consumers). With a swizzle, columns are stored in panels as wide as its span: a panel is all rows at a
/// pitch of the span, the next panel follows. Without one, rows follow each other, `buffer->pad` elements behind each.
struct SmemDecl {
  ir::Buffer buffer;  ///< name, type, literal shape; scope shared
  Swizzle swizzle = Swizzle::none;
  std::optional<std::int64_t> offset;  ///< bytes in the arena; chosen in order of declaration when absent
  Loc loc;
};
using Smem = std::shared_ptr<const SmemDecl>;

/// An array of mbarriers. `count`: arrivals that complete a phase (an expect counts as one).
struct MbarDecl {
  std::string name;
  std::int64_t size = 1;
  std::int64_t count = 1;
  Loc loc;
};
using Mbar = std::shared_ptr<const MbarDecl>;

/// A ring of slots through which roles hand on tiles: slot n % depth holds item n, in the tiles at that first index.
/// Machine-neutral; lower_channels() makes mbarriers of it.
struct ChannelDecl {
  std::string name;
  std::int64_t depth = 1;
  std::vector<Smem> tiles;              ///< their first dim is the depth
  std::optional<std::int64_t> writers;  ///< replicas that publish each item; all of the roles that do when absent
  std::optional<std::int64_t> readers;  ///< replicas that release each item; all of the roles that do when absent
  std::optional<std::int64_t> bytes;    ///< that TMA and bulk copies bring for an item; their sum when absent
  Loc loc;
};
using Channel = std::shared_ptr<const ChannelDecl>;

/// A TMA descriptor over a tensor parameter: `box` elements a dimension of the tensor, innermost last. Of a tensor
/// whose elements are narrower than a byte it moves the bytes: the last extent of the box, the last coordinate of a
/// copy and the tile (u8) count those.
struct MapDecl {
  std::string name;
  ir::Buffer tensor;
  std::vector<std::int64_t> box;
  Swizzle swizzle = Swizzle::none;
  Loc loc;
};
using Map = std::shared_ptr<const MapDecl>;

/// Of what the boxes of a map are made.
inline ir::DType moved_type(const MapDecl& map) {
  constexpr int byte_bits = 8;
  return ir::dtype_bits(map.tensor->type) < byte_bits ? ir::DType::u8 : map.tensor->type;
}

/// How the elements of a fragment lie in the registers of a role's threads (src/layout gives the maps).
enum class FragmentKind {
  wgmma_acc,  ///< [64·i, N] accumulator of wgmma m64nN
  wgmma_a,    ///< [64·i, K] A operand of wgmma from registers
  mma_acc,    ///< [16·i, 8·j] a warp's accumulator of mma.sync m16n8
  mma_a,      ///< [16·i, K] a warp's A operand of mma.sync
  mma_b,      ///< [8·j (n), K] a warp's B operand of mma.sync
  vector,     ///< [rows, columns]: `lanes` threads along a row, each with `vec` neighbours, then again behind them
  rows,       ///< [rows] one value a row of fragment `of`, held by every thread that holds part of that row
  columns,    ///< [columns] the same with columns
};
/// Whether it lies as a fragment `of` says.
constexpr bool is_side(FragmentKind kind) { return kind == FragmentKind::rows || kind == FragmentKind::columns; }

struct FragmentDecl {
  ir::Buffer buffer;  ///< name, type, literal shape; scope fragment
  FragmentKind kind = FragmentKind::vector;
  int vec = 1;                                  ///< vector: elements of one access
  int lanes = 32;                               ///< vector: threads along a row, a power of two
  std::shared_ptr<const FragmentDecl> of = {};  ///< rows, columns
  Loc loc;
};
using Fragment = std::shared_ptr<const FragmentDecl>;

/// An element of a shared tile, or the tile that starts there: one index a dimension.
struct SmemRef {
  Smem smem;
  std::vector<ExprRef> index;
  Loc loc;
};
struct MbarRef {
  Mbar mbar;
  ExprRef index;
  Loc loc;
};
/// One item of a channel, by its number: the count of items over all iterations.
struct ChannelRef {
  Channel channel;
  ExprRef index;
  Loc loc;
};
/// The part of a fragment that starts there; indices are literals once unrolled loops are expanded.
struct FragmentRef {
  Fragment fragment;
  std::vector<ExprRef> begin;
  Loc loc;
};
/// An element of a tensor, or the tile that starts there.
struct TensorRef {
  ir::Buffer tensor;
  std::vector<ExprRef> index;
  Loc loc;
};

// ---- Statements ----------------------------------------------------------------------------------------------------

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;
using Body = std::vector<StmtRef>;

// Scalars and control
struct Let {
  Var var;
  ExprRef value;
};
/// A variable that Set may change; one register a thread.
struct VarDef {
  Var var;
  ExprRef init;
};
struct Set {
  Var var;
  ExprRef value;
};
enum class Unroll { none, full, by };
struct For {
  Var var;
  ExprRef begin, end, step;      ///< step > 0
  Unroll unroll = Unroll::none;  ///< none forbids it; full needs literal bounds
  int factor = 1;                ///< by
  Body body;
};
struct While {
  ExprRef cond;
  Body body;
};
struct If {
  ExprRef cond;
  Body then_body, else_body;
};
/// Thread 0 of the role's replica (in the prologue: of the block).
struct Elect {
  Body body;
};
/// All lanes of one warp, by its number in the replica.
struct OneWarp {
  int warp = 0;
  Body body;
};
struct DefFragment {
  Fragment fragment;
};

// mbarriers
/// Every barrier of the array.
struct MbarInit {
  Mbar mbar;
};
struct Wait {
  MbarRef mbar;
  ExprRef parity;  ///< waits until the phase of this parity is complete; taken modulo 2
};
/// One arrival, of the executing thread. `rank`: at the same barrier of that block of the cluster; null: of this block.
struct Arrive {
  MbarRef mbar;
  ExprRef rank;
};
/// Adds `bytes` to what the phase waits for, then arrives once.
struct Expect {
  MbarRef mbar;
  ExprRef bytes;
};

// Fences and barriers
enum class FenceKind { mbar_init, proxy_async, wgmma, gpu };
struct Fence {
  FenceKind kind;
};
struct SyncThreads {};
struct SyncWarp {};
struct ClusterArrive {};
struct ClusterWait {};
/// Named barrier 1…15 over `threads`.
struct BarrierSync {
  ExprRef id;
  std::int64_t threads = 0;
};
/// Arrives without waiting.
struct BarrierArrive {
  ExprRef id;
  std::int64_t threads = 0;
};

// Channels
/// The writer waits until the slot of the item is free.
struct Acquire {
  ChannelRef item;
  ExprRef bytes;  ///< that this replica's copies will bring; null: as the channel says
};
/// The writer's data of the item are there; those of copies `on` the channel once the copies are complete.
struct Publish {
  ChannelRef item;
};
/// The reader waits until the item is there.
struct Receive {
  ChannelRef item;
};
/// The reader has read the item.
struct Release {
  ChannelRef item;
};

// Bulk copies (TMA)
enum class CacheHint { none, evict_first, evict_last };
struct TmaLoad {
  SmemRef dst;
  Map map;
  std::vector<ExprRef> at;
  MbarRef mbar;
  ExprRef multicast;  ///< mask of blocks of the cluster, null: this block
  CacheHint hint = CacheHint::none;
  ChannelRef channel = {};  ///< in place of mbar: what the data are published with
};
struct TmaStore {
  Map map;
  std::vector<ExprRef> at;
  SmemRef src;
  CacheHint hint = CacheHint::none;
};
/// `bytes` contiguous bytes, a multiple of 16.
struct BulkLoad {
  SmemRef dst;
  TensorRef src;
  ExprRef bytes;
  MbarRef mbar;
  CacheHint hint = CacheHint::none;
  ChannelRef channel = {};  ///< in place of mbar: what the data are published with
};
struct BulkStore {
  TensorRef dst;
  SmemRef src;
  ExprRef bytes;
  CacheHint hint = CacheHint::none;
};
struct BulkCommit {};
/// Waits until at most `pending` of the thread's groups are under way; `read`: only until their sources were read.
struct BulkWait {
  int pending = 0;
  bool read = false;
};
struct Prefetch {
  Map map;
};

// cp.async: rows x columns by the threads of the role in pieces of 16, 8 or 4 bytes, zeros outside the tensor. With
// `where` each thread copies one piece, a row of its own, between the places that it names; zeros where `where` is
// false.
struct CpAsync {
  SmemRef dst;
  TensorRef src;
  std::int64_t rows = 0, columns = 0;
  std::int64_t piece = 16;  ///< bytes
  ExprRef where = nullptr;  ///< null: the threads share out the tile
};
struct CpCommit {};
struct CpWait {
  int pending = 0;
};

// Matrix instructions
using MatrixOperand = std::variant<SmemRef, FragmentRef>;
/// acc += A·B, one instruction: 64 rows of acc from `acc.begin`, all its columns; K is that of the type (32 bytes).
/// A is stored [m, k], with trans_a [k, m]; B [k, n], with trans_b [n, k].
struct Wgmma {
  FragmentRef acc;
  MatrixOperand a;
  bool trans_a = false;
  SmemRef b;
  bool trans_b = false;
  ExprRef clear;  ///< null: add; else a condition under which the old value is dropped
};
struct WgmmaCommit {};
/// Until at most `pending` of the warpgroup's groups are under way.
struct WgmmaAwait {
  int pending = 0;
};
/// acc += A·B over whole fragments, k ascending: of a warp, or, where acc and A are of the wgmma kinds, each warp its
/// rows of those of the warpgroup. Of A the part that begins at `a`, with as many columns as B has.
struct Mma {
  Fragment acc;
  FragmentRef a;
  Fragment b;
};
/// The tile of `src` that `dst` covers (mma_a, wgmma_a: [m, k]; mma_b: stored [n, k], with trans [k, n]).
struct LdMatrix {
  FragmentRef dst;
  SmemRef src;
  bool trans = false;
};
/// 64 rows and `columns` columns of an accumulator from `src.begin`, converted to the type at `dst`.
struct StMatrix {
  SmemRef dst;
  FragmentRef src;
  std::int64_t columns = 0;
};

// Element work: each thread on what it owns
/// `fragment[index] = value`
struct ElementStore {
  Fragment fragment;
  std::vector<ExprRef> index;
  ExprRef value;
};
/// For each element of `domain` its owner runs the stores, `vars` being its coordinates. Loads and stores of fragments
/// name exactly the coordinates: [r, c] of fragments that lie as the domain does, [r] of `rows` of such a one.
struct Each {
  Fragment domain;
  std::vector<Var> vars;
  std::vector<ElementStore> stores;
};
enum class ReduceOp { sum, max, min };
/// dst[r] = op(dst[r], every src[r, c] that this thread owns), c ascending.
struct RowReduce {
  ReduceOp op;
  Fragment dst, src;
};
/// Every element becomes op over the `lanes` neighbouring lanes (2, 4, 8, 16 or 32), by xor shuffles, 1 first.
struct LaneReduce {
  ReduceOp op;
  Fragment fragment;
  int lanes = 32;
};
/// The compiler has to have the fragments' values here, and may assume nothing of them from here on: what is measured
/// over and over is neither left out nor taken out of its loop. At run time a branch that is not taken.
struct Keep {
  std::vector<Fragment> fragments;
};
/// Vector accesses of the owners. Of a tensor, elements outside read as `pad`, a literal (null: zero), and are not
/// written.
struct LoadTensor {
  Fragment dst;
  TensorRef src;
  CacheHint hint = CacheHint::none;
  ExprRef pad = {};
};
struct StoreTensor {
  TensorRef dst;
  Fragment src;
  CacheHint hint = CacheHint::none;
};
struct LoadShared {
  Fragment dst;
  SmemRef src;
};
struct StoreShared {
  SmemRef dst;
  Fragment src;
};
/// One element, by every thread that runs it.
struct PutTensor {
  TensorRef dst;
  ExprRef value;
};
struct PutShared {
  SmemRef dst;
  ExprRef value;
};
/// Neighbours of a row of a shared tile to those of a tensor, 16, 8 or 4 bytes, by every thread that runs it.
struct PutPiece {
  TensorRef dst;
  SmemRef src;
  std::int64_t piece = 16;  ///< bytes
};
/// dst = op(dst, value) as one indivisible step; gives the old value.
struct Atomic {
  Var result;
  TensorRef dst;
  ExprRef value;
  ir::AtomicOp op = ir::AtomicOp::add;
};
/// The name of its function: "atomic_add", …
std::string_view atomic_word(ir::AtomicOp op);
/// The same of an element of a shared tile.
struct AtomicShared {
  Var result;
  SmemRef dst;
  ExprRef value;
  ir::AtomicOp op = ir::AtomicOp::add;
};
/// The name of its function: "atomic_add", …
std::string_view atomic_word(ir::AtomicOp op);
/// The value of `src_var` in lane 0 of the executing warp.
struct Broadcast {
  Var result;
  ExprRef value;
};
/// What `value` is in another lane of the warp, by its number modulo 32; each lane says which.
struct Shuffle {
  Var result;
  ExprRef value;
  ExprRef lane;
};
/// Cycles of the multiprocessor, u32; `global`: nanoseconds of the device, u64. Not moved over other statements.
struct Clock {
  Var result;
  bool global = false;
};

// Tasks
using TaskOperand = std::variant<SmemRef, FragmentRef, TensorRef>;
/// A task on a unit of the machine, which it occupies for `ii` cycles and which is done after `latency`. The replica
/// goes on at once; what names the same data later waits for it. Machine-neutral: it has no lowering to CUDA.
struct Issue {
  machine::UnitKind unit;
  std::string task;                        ///< its name, for people
  ExprRef latency, ii;                     ///< null: what the machine model gives
  std::vector<TaskOperand> reads, writes;  ///< besides what the body names
  Body body;                               ///< what it computes
};

using AnyStmt =
    std::variant<Let, VarDef, Set, For, While, If, Elect, OneWarp, DefFragment, MbarInit, Wait, Arrive, Expect, Fence,
                 SyncThreads, SyncWarp, ClusterArrive, ClusterWait, BarrierSync, BarrierArrive, TmaLoad, TmaStore,
                 BulkLoad, BulkStore, BulkCommit, BulkWait, Prefetch, CpAsync, CpCommit, CpWait, Wgmma, WgmmaCommit,
                 WgmmaAwait, Mma, LdMatrix, StMatrix, Each, RowReduce, LaneReduce, Keep, LoadTensor, StoreTensor,
                 LoadShared, StoreShared, PutTensor, PutShared, PutPiece, Atomic, AtomicShared, Broadcast, Shuffle,
                 Clock, Acquire, Publish, Receive, Release, Issue>;

/// Any one of them. Construction and copies are out of line: what std::variant makes of so many alternatives is too
/// much for every file to compile anew.
struct StmtNode : AnyStmt {
  template <typename Node>
    requires std::is_constructible_v<AnyStmt, std::in_place_type_t<Node>, Node>
  StmtNode(Node node);  // NOLINT(google-explicit-constructor)
  StmtNode(const StmtNode& other);
  StmtNode(StmtNode&& other) noexcept;
  StmtNode& operator=(const StmtNode& other);
  StmtNode& operator=(StmtNode&& other) noexcept;
  ~StmtNode();

 private:
  template <typename Node>
  void put(Node node);
};

struct Stmt {
  Loc loc;     ///< in the role text, or in the C++ that built it
  Loc origin;  ///< the tile statement it came from, where known
  StmtNode node;
};

// ---- Programs ------------------------------------------------------------------------------------------------------

struct Role {
  std::string name;
  int replicas = 1;
  int warps = 4;            ///< a replica
  std::optional<int> regs;  ///< setmaxnreg at the role's start: a multiple of 8, 24…256
  Body body;
  Loc loc;
};

/// Names that every expression of a role may use, i32; the launch gives them.
struct Builtins {
  Var block, blocks;                ///< linear number of this block; number of blocks
  Var block_x, block_y, block_z;    ///< this block in the grid
  Var cluster_rank;                 ///< this block in its cluster
  Var sms;                          ///< multiprocessors of the device; host lets and launch only
  Var replica, warp, lane, thread;  ///< replica in the role; warp and thread in the replica; lane in the warp
};

/// New variables of these names.
Builtins make_builtins(const Loc& loc);

/// Memory of the launch in the device's, for what its blocks hand each other. Without `zero` its contents are undefined
/// when the launch begins.
struct WorkspaceDecl {
  ir::Buffer buffer;  ///< row-major; extents of the host, as those of the launch
  bool zero = false;
  Loc loc;
};
using Workspace = std::shared_ptr<const WorkspaceDecl>;

/// One instantiated role program. Threads: the roles in order, replica after replica.
struct Program {
  std::string name;
  std::string device;  ///< name of a machine model, e.g. "h200"
  std::vector<ir::Param> params;
  std::vector<Var> dims;
  std::vector<ir::Require> requires_;
  Builtins builtins;
  std::vector<Let> lets;        ///< computed on the host over dims, scalars and sms; the roles see them too
  std::vector<ExprRef> launch;  ///< blocks, on the host: one to three extents, x first
  int cluster = 1;              ///< blocks a cluster, along x
  int occupancy = 1;            ///< blocks a multiprocessor that the register budget allows for
  std::vector<Workspace> workspaces;
  std::vector<Map> maps;
  std::vector<Smem> smem;
  std::vector<Channel> channels;
  std::vector<Mbar> mbars;
  Body prologue;  ///< all threads, before the roles
  std::vector<Role> roles;
  Loc loc;
};

inline constexpr int kWarp = 32;  ///< threads

/// Threads of a block.
int thread_count(const Program& program);

/// Canonical text: `parse(print(p))` gives an equal program; compile-time parameters appear as their values.
std::string print(const Program& program);
/// One statement with its body, indented.
std::string print(const Stmt& stmt, int indent = 0);
bool equal(const Program& a, const Program& b);

}  // namespace plait::roles
