#pragma once

#include <unordered_map>
#include <unordered_set>

#include "graph/graph.h"

namespace plait::graph {

/// A statement of a loop body with the `if`s and `task`s around it taken apart.
struct Item {
  ir::StmtRef stmt;
  std::vector<Around> inner;  ///< the conditions around it and the lets inside of these, outer ones first
  std::optional<std::int64_t> latency, ii;
  bool replayed = false;  ///< a let that its users evaluate, or an allocation: no node
};

struct Flat {
  std::vector<Item> items;                            ///< in program order
  std::unordered_set<const ir::BufferDecl*> written;  ///< by the loop
  std::unordered_set<const ir::BufferDecl*> own;      ///< allocated in the loop body: new in each iteration
  std::vector<ir::Buffer> written_on_chip;            ///< in order of their first write
  ir::StmtRef jump;                                   ///< a break or continue of the loop itself
};
Flat flatten(const ir::For& loop);

/// The variables that a statement uses, those of nested statements included.
std::unordered_set<const ir::VarDecl*> variables_of(const ir::StmtRef& stmt);

/// A statement inside lets and conditions.
ir::StmtRef wrap(const ir::StmtRef& stmt, const std::vector<Around>& around);

}  // namespace plait::graph
