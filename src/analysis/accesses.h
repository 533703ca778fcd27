#pragma once

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "analysis/affine.h"

namespace plait::analysis {

enum class Touch { read, write, atomic };

/// One touch of a buffer by a statement: an element, or an operand of a tile operation.
struct Access {
  ir::StmtRef stmt;
  const ir::Expr* load = nullptr;      ///< the Load, for element reads
  const ir::Region* region = nullptr;  ///< for operands of tile operations
  Touch touch = Touch::read;
  ir::Buffer buffer;
  /// One a dimension. An extent of null means one element; a begin of null: anywhere in the dimension.
  std::vector<ir::Range> ranges;
  /// Where the conditions hold, the statement is executed and touches all of the ranges that lies inside the buffer.
  bool certain = true;
};

/// One step on the way from the walked body to a statement: its number in a body, or the variable of a loop.
struct Step {
  std::size_t number = 0;
  ir::Var var;
};

/// Visits every access of a body in program order, reads of a statement before its writes, and knows at each the domain
/// around it.
class AccessWalker {
 public:
  using Visit = std::function<void(const Access&)>;
  AccessWalker(Domain domain, Visit visit) : domain_(std::move(domain)), visit_(std::move(visit)) {}

  /// Called before a loop is entered.
  void on_loop(LoopVisit visit) { visit_loop_ = std::move(visit); }
  void walk(const ir::Body& body);
  /// The body of a loop, without the loop's bounds; its axes become part of the domain and the path.
  void walk_loop(const ir::For& loop);

  const Domain& domain() const { return domain_; }
  const std::vector<Step>& path() const { return path_; }
  /// For a buffer allocated in what was walked: the length of the path there.
  std::optional<std::size_t> allocated(const ir::Buffer& buffer) const;

 private:
  void statement(const ir::StmtRef& stmt);
  void visit_node(const ir::For& node);
  void visit_node(const ir::While& node);
  void visit_node(const ir::If& node);
  void visit_node(const ir::Let& node);
  void visit_node(const ir::Alloc& node);
  void visit_node(const ir::Store& node);
  void visit_node(const ir::AtomicElement& node);
  void visit_node(const ir::TileOp& node);
  void visit_node(const ir::Assert& node);
  void visit_node(const ir::Print& node);
  void visit_node(const ir::Break&) {}
  void visit_node(const ir::Continue&) {}
  void visit_node(const ir::Task& node);

  void reads(const ir::ExprRef& expr);
  void assume_divisors(const ir::ExprRef& expr);
  void reads_under(const ir::ExprRef& cond, const ir::ExprRef& expr);
  void element(const ir::Buffer& buffer, const std::vector<ir::ExprRef>& index, Touch touch, const ir::Expr* load);
  void region(const ir::Region& region, Touch touch, bool certain);
  void mapped_region(const ir::Region& region, Touch touch);
  void region_reads(const ir::Region& region);
  void copy(const ir::TileOp& node, const ir::CopyAttrs& attrs);

  Domain domain_;
  Visit visit_;
  LoopVisit visit_loop_;
  std::vector<Step> path_;
  std::unordered_map<const ir::BufferDecl*, std::size_t> allocs_;
  ir::StmtRef stmt_;
  std::unordered_set<const ir::Expr*> seen_;  ///< of the statement's expressions, under the conditions now in force
  int uncertain_ = 0;
};

}  // namespace plait::analysis
