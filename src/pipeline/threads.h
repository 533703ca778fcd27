#pragma once

#include "pipeline/lowering.h"
#include "pipeline/teams.h"

namespace plait::pipeline {

/// Statements that the threads of the role that computes do element by element: each takes every so manyth element of
/// the iteration space. Operands lie in memory; what lies in registers is put there before and taken back behind.
class Threads {
 public:
  explicit Threads(Lowering& of) : l_(of), b_(of.b_), scalars_(of.scalars_) {}

  /// A tile operation or a nest.
  void run(const ir::Stmt& stmt);
  /// A store or an atomic of straight code: by one thread.
  void single(const ir::Stmt& stmt);
  /// A product whose result lies in registers: each thread what it owns.
  void each_product(const ir::Stmt& stmt);
  /// A copy to registers, each thread what it owns.
  void load_elements(const ir::Stmt& stmt);
  /// A slice of a staged tile to a tensor, by the threads of the replica.
  void store_slice(const ir::TileOp& op, const roles::Smem& stage, const Values& lead, const Values& origin,
                   std::int64_t rows, std::int64_t columns);

 private:
  using Builder = roles::build::Builder;
  using Point = std::function<void(const Values& at)>;

  // threads.cpp
  Value thread() const;
  std::int64_t count() const;
  /// `unroll`: iterations whose loads may go ahead of the stores of those before.
  void loop(const Values& extents, const Point& point, int unroll = 1);
  void loop(const Value& first, std::int64_t threads, const Values& extents, const Point& point, int unroll = 1);
  void by_one(const std::function<void()>& body);
  Value get(const ir::Buffer& buffer, const Values& index);
  void put(const ir::Buffer& buffer, const Values& index, const Value& value);
  Value value(const ir::ExprRef& expr);
  void spill(const ir::Stmt& stmt, const std::function<void()>& body);
  Lowering::Fragment spread(const Lowering::Fragment& rows);

  // nests.cpp
  void nest(const ir::Stmt& stmt, const ir::For& loop);
  void body(const ir::Body& body);
  void statement(const ir::Stmt& stmt);
  void branch(const ir::If& node);
  void atomic(const ir::AtomicElement& node);

  // tiles.cpp: copies, fills, transposes, atomics of tiles
  /// One element of a copy: where it is read and written, and under which conditions.
  struct Move {
    Values src, dst;
    std::optional<Value> readable, writable;
  };
  struct Side {
    const ir::Region* region;
    Values begin, extents;          ///< one a dimension
    std::vector<std::size_t> dims;  ///< those that are walked along
  };
  Side side(const ir::Region& region);
  Values extents_of(const Side& side) const;
  Values index_at(const Side& side, const Values& at) const;
  void inside(const Side& side, const Values& index, std::optional<Value>& cond);
  Move move_at(const ir::TileOp& op, const Side& src, const Side& dst, const Values& at);
  void map_rows(const ir::CopyAttrs& attrs, const Side& mapped, const Values& at, Values& index,
                std::optional<Value>& cond);
  Value moved(const ir::TileOp& op, const Move& move);
  bool pairs(const ir::Stmt& stmt, const Side& a, const Side& b);
  bool apart(const ir::Stmt& stmt, const ir::TileOp& op);
  void copy(const ir::Stmt& stmt, const ir::TileOp& op);
  void fill(const ir::TileOp& op);
  void transpose(const ir::Stmt& stmt, const ir::TileOp& op);
  void atomic_tile(const ir::Stmt& stmt, const ir::TileOp& op);

  // wide.cpp: copies and fills in pieces of up to 16 bytes
  /// How the threads share out a tile: what they all move at once, rows and columns, so often.
  struct Sweep {
    std::int64_t rows = 1, columns = 1;          ///< of all threads of a replica at once
    std::int64_t down = 1, along = 1;            ///< how often, in the part of a replica
    std::int64_t own_rows = 0, own_columns = 0;  ///< by which the parts of replicas follow each other
    int vec = 1, lanes = 1;
    bool has_rows = false;  ///< two dimensions are swept, and others walked along one by one; else one
  };
  using Sides = std::vector<const Side*>;
  int piece_of(const Side& side) const;
  bool clips(const Side& side);
  std::optional<Sweep> sweep_of(const Sides& sides);
  void sweep(const Sweep& how, const Side& over, const Point& point);
  Lowering::Fragment pieces(const Sweep& how, const std::string& name, ir::DType type);
  void load(const Lowering::Fragment& to, const ir::Buffer& from, const Values& at, const ir::CopyAttrs& attrs);
  void store(const ir::Buffer& to, const Values& at, const Lowering::Fragment& from, roles::CacheHint hint);
  bool copy_wide(const ir::TileOp& op, const Side& src, const Side& dst);
  bool fill_wide(const Side& dst, const Value& value);

  // lines.cpp: reductions, running sums
  struct Lines {
    Side src;
    std::size_t dim;  ///< of the source, along which a line runs
    Value length = 1;
    Team team;
  };
  /// A line as one thread of its team has it.
  struct Line {
    Values at;                    ///< one a dimension that is walked along besides the line's
    std::optional<Value> exists;  ///< where some threads have none
    Value place;                  ///< number of the lane among those of the line
  };
  /// Combines what another thread has with a thread's own.
  using TakeIn = std::function<void(const Values& others)>;
  Lines lines(const ir::TileOp& op, std::size_t dim);
  Value warp() const;
  static std::int64_t lane_step(const Team& team);
  Value lane_place(const Team& team) const;
  Values place_of_line(const Lines& lines, const Side& to, const Values& at);
  void each_line(const Lines& lines, const std::function<void(const Line& line)>& fn);
  Value line_element(const Lines& lines, const Values& line, const Value& k);
  Value first_of(const Lines& lines, const Line& line) const;
  void where(const std::optional<Value>& cond, const std::function<void()>& body);
  void by_first(const Lines& lines, const Line& line, const std::function<void()>& body);
  void exchange(std::int64_t lanes, std::int64_t step, const std::vector<ir::Var>& own, const TakeIn& take_in);
  roles::SmemRef part(const std::vector<ir::Var>& own, std::size_t number, const Value& warp);
  Value read_part(const std::vector<ir::Var>& own, std::size_t number, const Value& warp);
  void leave_part(const std::vector<ir::Var>& own);
  void share(const Lines& lines, const Line& line, const std::vector<ir::Var>& own, const TakeIn& take_in);
  void reduce(const ir::TileOp& op);
  void arg_reduce(const ir::TileOp& op);
  void cumsum(const ir::Stmt& stmt, const ir::TileOp& op);
  void sum_before(const Lines& lines, const Line& line, const Value& begin, const Value& end, const ir::Var& carry,
                  const std::function<Value(const Value& k)>& element);
  void scan_step(const Lines& lines, const Line& line, const Value& first, const Value& end, const ir::Var& carry,
                 const std::function<Value(const Value& k)>& element,
                 const std::function<void(const Value& k, const Value& sum)>& write);

  // products.cpp
  void product(const ir::TileOp& op);
  Value multiplied(const ir::TileOp& op, const Value& row, const Value& column, const Value& k, const Value& sum);

  Lowering& l_;
  Builder& b_;
  Scalars& scalars_;
  bool in_each_ = false;  ///< where no statement may stand
};

/// Whether a statement may jump out of the loop that it stands in.
bool may_jump(const ir::Stmt& stmt);
bool may_jump(const ir::Body& body);

/// What combines two elements of a reduction, and what changes no value under it.
struct Combination {
  ir::BinaryOp op;
  bool absolute;
  Value combine(const Value& a, const Value& b) const;
  Value neutral(ir::DType type) const;
};
Combination combination_of(ir::OpKind kind);
roles::build::Value bit_xor(const roles::build::Value& a, const roles::build::Value& b);

}  // namespace plait::pipeline
