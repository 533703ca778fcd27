#pragma once

#include "pipeline/lowering.h"

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
  void loop(const Values& extents, const Point& point);
  void loop(const Value& first, std::int64_t threads, const Values& extents, const Point& point);
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

  // lines.cpp, products.cpp: reductions, running sums, products
  struct Lines {
    Side src;
    std::size_t dim;  ///< of the source, along which a line runs
    Value length = 1;
  };
  Lines lines(const ir::Region& src, std::size_t dim);
  void each_line(const Lines& lines, const ir::Region& dst,
                 const std::function<void(const Values&, const Values&)>& fn);
  Value line_element(const Lines& lines, const Values& line, const Value& k);
  void reduce(const ir::TileOp& op);
  void arg_reduce(const ir::TileOp& op);
  void cumsum(const ir::Stmt& stmt, const ir::TileOp& op);
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

}  // namespace plait::pipeline
