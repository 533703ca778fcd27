#pragma once

#include "pipeline/fresh_names.h"

namespace plait::npu {

using pipeline::Scalars;
using roles::build::Value;
using roles::build::Values;

/// What a task computes, element by element: the lanes of a core's one warp share out the iteration space. Every buffer
/// on chip lies in a tile of the role program.
class Elements {
 public:
  using Place = std::function<roles::SmemRef(const ir::Buffer&, const Values& index)>;
  Elements(roles::build::Builder& b, Scalars& scalars, pipeline::FreshNames& names, Diagnostics& diags, Place place)
      : b_(b), scalars_(scalars), names_(names), diags_(diags), place_(std::move(place)) {}

  /// The body of the task that does the statement. `cores`: replicas of the role that share out its first dimension.
  void run(const ir::Stmt& stmt, int cores);
  Value read(const ir::Buffer& buffer, const Values& index) const;
  /// The type in which a tile holds elements.
  static ir::DType stored_as(ir::DType type);

 private:
  using Point = std::function<void(const Values& at)>;
  /// One side of an operation: the dimensions of more than one element are walked along.
  struct Side {
    const ir::Region* region;
    Values begin, extents;
    std::vector<std::size_t> dims;
  };

  std::string fresh(const std::string& name) { return names_.in_role(name); }
  void refuse(const ir::Stmt& stmt, const std::string& what);
  void loop(const Values& extents, const Point& point);
  void write(const ir::Buffer& buffer, const Values& index, const Value& value);
  Value value(const ir::ExprRef& expr) { return scalars_.convert(expr); }
  Side side(const ir::Region& region);
  static Values extents_of(const Side& side);
  static Values index_at(const Side& side, const Values& at);
  bool pairs(const ir::Stmt& stmt, const Side& a, const Side& b);

  // elements.cpp: nests
  void nest(const ir::Stmt& stmt, const ir::For& loop);
  void body(const ir::Body& body);
  void statement(const ir::Stmt& stmt);
  void branch(const ir::If& node);
  void atomic(const ir::AtomicElement& node);
  // tiles.cpp
  void copy(const ir::Stmt& stmt, const ir::TileOp& op);
  void inside(const Side& side, const Values& index, std::optional<Value>& cond);
  void map_rows(const ir::CopyAttrs& attrs, const Side& mapped, const Values& at, Values& index,
                std::optional<Value>& cond);
  void mask(const ir::CopyAttrs& attrs, const Side& tile, const Values& at, std::optional<Value>& cond);
  void fill(const ir::TileOp& op);
  void transpose(const ir::Stmt& stmt, const ir::TileOp& op);
  void atomic_tile(const ir::Stmt& stmt, const ir::TileOp& op);
  // lines.cpp
  void product(const ir::TileOp& op);
  void reduce(const ir::TileOp& op);
  void arg_reduce(const ir::TileOp& op);
  void cumsum(const ir::Stmt& stmt, const ir::TileOp& op);
  Values line_of(const Side& src, std::size_t dim, const Values& line, const Value& k) const;
  void each_line(const Side& src, const ir::Region& dst, const std::function<void(const Values&, const Values&)>& fn);

  roles::build::Builder& b_;
  Scalars& scalars_;
  pipeline::FreshNames& names_;
  Diagnostics& diags_;
  Place place_;
  int cores_ = 1;
};

/// `value` as one of `type`.
Value as_type(ir::DType type, const Value& value);
Value nothing_of(ir::DType type);  ///< zero

}  // namespace plait::npu
