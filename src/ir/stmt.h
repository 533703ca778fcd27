#pragma once

#include <optional>

#include "ir/expr.h"

namespace plait::ir {

struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;
using Body = std::vector<StmtRef>;

// ---- Buffers -------------------------------------------------------------------------------------------------------

enum class Scope {
  global,    ///< memory of the device; only parameters
  shared,    ///< on-chip memory of a block
  fragment,  ///< registers of a block, distributed over its threads
  local,     ///< registers of one thread: private to an iteration inside `parallel`, one value a block outside
};
std::string_view scope_name(Scope scope);

/// Author's wish for the order of a buffer's elements in memory. It never changes a result.
enum class LayoutKind { automatic, row_major, column_major, swizzle, strided };
struct LayoutHint {
  LayoutKind kind = LayoutKind::automatic;
  int swizzle_bytes = 0;              ///< swizzle: 32, 64 or 128
  std::vector<std::int64_t> strides;  ///< strided: elements, one a dimension
};

struct BufferDecl {
  std::string name;
  DType type = DType::f32;
  Scope scope = Scope::global;
  /// Extents. Global: over dims and literals. Other scopes: literals (fixed when the program is instantiated).
  std::vector<ExprRef> shape;
  /// Strides in elements, of global buffers only; empty means contiguous, last dimension fastest.
  std::vector<ExprRef> strides;
  LayoutHint layout;
  int pad = 0;  ///< unused elements behind each row of the last dimension (on-chip buffers)
  Loc loc;
};

/// The literal extents of an on-chip buffer. Precondition: the scope is not global.
std::vector<std::int64_t> static_shape(const BufferDecl& buffer);

// ---- Tile operations -----------------------------------------------------------------------------------------------

struct Range {
  ExprRef begin;
  ExprRef extent;
};
/// A box of elements, one range a dimension of the buffer.
struct Region {
  Buffer buffer;
  std::vector<Range> ranges;
  Loc loc;
};

/// Whether the region is all of its buffer; false of tensors, whose extents need not be literals.
bool is_whole(const Region& region);

enum class OpKind {
#define PLAIT_TILE_OP(id, name, attrs, effects, unit) id,
#include "ir/ops.def"
#undef PLAIT_TILE_OP
};
enum class Unit { dma, matrix, vector };
enum class Effect { read, write, update };
struct OpInfo {
  OpKind kind;
  std::string_view name;
  std::vector<Effect> effects;  ///< one an operand
  Unit unit;
};
const OpInfo& op_info(OpKind kind);
std::optional<OpKind> op_from_name(std::string_view name);

enum class CacheHint { none, evict_first, evict_last };

/// copy(src, dst): elements are converted as Cast does by default. Where the source is global, elements outside the
/// tensor (on either side, in any dimension) read as `pad`; where the destination is global, elements outside it are
/// dropped.
struct CopyAttrs {
  /// Row map: the first dimension of the 2-D global side with extent > 1 is indexed by rows[i] + its begin instead of i
  /// + its begin. A 1-D integer on-chip region; a negative entry makes the row invalid: it reads as `pad`, or is not
  /// written.
  std::optional<Region> rows;
  bool scatter = false;  ///< the map applies to the destination
  /// Valid extent of the tile, one a dimension of the on-chip side (aligned right): elements beyond read as `pad`, or
  /// are not written.
  std::vector<ExprRef> valid;
  ExprRef pad;  ///< of the destination's type; null means zero
  CacheHint cache = CacheHint::none;
};
struct FillAttrs {
  ExprRef value;  ///< of the destination's type
};
enum class WarpPolicy { automatic, rows, columns, square };
/// C += op(A)·op(B), op the transpose where its flag is set, k ascending, each step one fused multiply-add in the type
/// of C.
struct GemmAttrs {
  bool trans_a = false;
  bool trans_b = false;
  bool clear_accum = false;  ///< C starts from zero
  WarpPolicy policy = WarpPolicy::automatic;
};
/// Reduces dimension `dim` of the source. `clear` false: the destination's value takes part. argmax/argmin: lowest
/// index of the extreme element (NaN wins over every number), always as if clear.
struct ReduceAttrs {
  int dim = 0;
  bool clear = true;
};
struct CumsumAttrs {
  int dim = 0;
  bool reverse = false;
};
struct NoAttrs {};
using OpAttrs = std::variant<NoAttrs, CopyAttrs, FillAttrs, GemmAttrs, ReduceAttrs, CumsumAttrs>;

struct TileOp {
  OpKind kind;
  std::vector<Region> operands;
  OpAttrs attrs;
};

// ---- Statements ----------------------------------------------------------------------------------------------------

enum class LoopKind { serial, unrolled, vectorized, parallel, pipelined, persistent };
std::string_view loop_kind_name(LoopKind kind);  ///< "range", "unrolled", …

struct LoopAxis {
  Var var;
  ExprRef begin, end;
  ExprRef step;  ///< > 0
};
/// What the author wrote about overlapping the iterations of a pipelined loop.
struct PipelineAttrs {
  std::optional<int> stages;
  std::vector<int> order, stage;  ///< one entry a statement of the body, or empty
};
/// serial, unrolled, vectorized, pipelined: one axis. parallel: iterations are independent, in any order. persistent:
/// iterations are spread over the blocks of the grid, each executed once by one block (iteration t, flattened with the
/// last axis fastest, by block t mod blocks).
struct For {
  LoopKind kind;
  std::vector<LoopAxis> axes;
  PipelineAttrs pipeline;
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
struct Let {
  Var var;
  ExprRef value;
};
struct Alloc {
  Buffer buffer;
};
/// buffer[index] = value; the value has the buffer's type.
struct Store {
  Buffer buffer;
  std::vector<ExprRef> index;
  ExprRef value;
};
enum class AtomicOp { add, max, min };
/// buffer[index] = op(buffer[index], value) as one indivisible step, in any order among iterations and blocks.
struct AtomicElement {
  AtomicOp op;
  Buffer buffer;
  std::vector<ExprRef> index;
  ExprRef value;
};
struct Assert {
  ExprRef cond;
  std::string message;
};
/// `{}` in the format stands for the next argument.
struct Print {
  std::string format;
  std::vector<ExprRef> args;
};
struct Break {};
struct Continue {};
/// A region with the author's measured cost, in cycles.
struct Task {
  std::optional<std::int64_t> latency, ii;
  Body body;
};

using StmtNode =
    std::variant<For, While, If, Let, Alloc, Store, AtomicElement, TileOp, Assert, Print, Break, Continue, Task>;

struct Stmt {
  Loc loc;
  StmtNode node;
};

}  // namespace plait::ir
