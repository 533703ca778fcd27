#pragma once

#include <unordered_map>

#include "analysis/affine.h"

/// The tasks of a pipelined loop and what they wait for.
namespace plait::graph {

/// How schedules name a statement: by its kind (the tile operation, `each` for a parallel nest, the keyword of others,
/// the variable of a pipelined loop) and its line in the tile program; `nth` counts those of one kind in one line.
struct StmtName {
  std::string kind;
  int line = 0;
  int nth = 1;
  bool operator==(const StmtName&) const = default;
};
std::string text_of(const StmtName& name);  ///< `copy@12`, `copy@12#2`

using Names = std::unordered_map<const ir::Stmt*, StmtName>;
/// A name for every statement, also for those inside others; counted over the whole kernel.
Names name_statements(const ir::Kernel& kernel);
Names name_statements(const ir::Body& body);

/// What stands around a statement of the loop body: a let that each of its users evaluates for its own iteration, or
/// a condition under which the statement is executed.
struct Around {
  ir::StmtRef let;    ///< null: a condition
  ir::ExprRef cond;   ///< null: a let
  bool holds = true;  ///< whether the condition must hold, or must not
};

/// A part of a buffer that a task touches.
struct Use {
  ir::Buffer buffer;
  std::vector<ir::Range> ranges;  ///< one a dimension; empty: anywhere in the buffer
  bool certain = true;            ///< all of it is touched whenever the task is executed
};

/// A scheduled statement of the loop body.
struct Node {
  StmtName name;
  ir::StmtRef stmt;
  std::vector<Around> around;  ///< lets and conditions that it needs, outer ones first
  ir::StmtRef replay;          ///< the statement inside what stands around it: all that one iteration of it does
  ir::Unit unit = ir::Unit::vector;
  bool async = false;  ///< may complete after it was issued: copies between global and shared memory, products
  std::vector<Use> reads, writes;
  std::optional<std::int64_t> bytes;        ///< moved from or to global memory in one iteration
  std::optional<std::int64_t> flop;         ///< arithmetic of one iteration; nothing where an extent is no literal
  std::optional<std::int64_t> latency, ii;  ///< cycles, where the author gave them with `task`
  const Loc& loc() const { return stmt->loc; }
};

/// `to` in iteration i + distance follows `from` in iteration i.
struct Edge {
  analysis::DependenceKind kind;
  std::size_t from, to;  ///< numbers of nodes
  ir::Buffer buffer;     ///< null: the variable `var` of a scheduled let
  ir::Var var;
  std::optional<std::int64_t> distance;  ///< the one or least distance; nothing: any distance
  bool exact = false;                    ///< distance is the only one

  bool carried() const { return !exact || !distance || *distance > 0; }
  /// The least distance at which the edge may hold: that of its strictest demand.
  std::int64_t least() const { return distance ? *distance : (from < to ? 0 : 1); }
};

struct TaskGraph {
  StmtName loop;            ///< the loop's variable and line
  ir::StmtRef stmt;         ///< the loop; null when the graph was built of a bare For
  ir::PipelineAttrs asked;  ///< what the author wrote at the loop
  Loc loc;
  std::vector<Node> nodes;  ///< in program order
  std::vector<Edge> edges;
  std::vector<ir::StmtRef> replayed;  ///< lets and allocations of the body: statements that are no nodes
  /// For each statement of the flattened body in program order: its node, or nothing where it is replayed.
  std::vector<std::optional<std::size_t>> statements;
  std::vector<ir::Buffer> written;  ///< on-chip buffers that the loop writes, in order of their first write
  ir::StmtRef jump;                 ///< a `break` or `continue` of the loop: its iterations cannot overlap

  std::optional<std::size_t> find(const StmtName& name) const;
};

/// The graph of a loop. Lets that read no buffer which the loop writes are replayed and no nodes; `if` and `task`
/// bodies are taken apart where they only guard, else they are one node. Not provably independent means dependent.
TaskGraph build(const ir::For& loop, const analysis::Domain& outer, const Names& names);
inline TaskGraph build(const ir::For& loop, const analysis::Domain& outer) {
  return build(loop, outer, name_statements(loop.body));
}
/// Those of all pipelined loops of a kernel, in program order.
std::vector<TaskGraph> build(const ir::Kernel& kernel);

std::string text_of(const TaskGraph& graph);
std::string graphviz(const TaskGraph& graph);

}  // namespace plait::graph
