#pragma once

#include "plan/schedule.h"

namespace plait::plan {

/// When something happens in the rhythm of a loop: in the turn `turn` behind its iteration, at or behind the statement
/// of that order.
struct Position {
  std::int64_t turn = 0;
  int order = 0;
  auto operator<=>(const Position&) const = default;
};

/// The slots of a loop by node, and what follows from them. Every node has a slot.
class Positions {
 public:
  Positions(const graph::TaskGraph& graph, const std::vector<Slot>& slots);

  const Slot& slot(std::size_t node) const { return *slots_[node]; }
  Position issue(std::size_t node) const { return {slot(node).stage, slot(node).order}; }
  /// When a node is known to have ended: for asynchronous work its await, else at once.
  Position end(std::size_t node) const;
  bool same_role(std::size_t a, std::size_t b) const { return slot(a).role == slot(b).role; }
  /// The asynchronous nodes of a node's unit and role, in the order in which a turn issues them.
  std::vector<std::size_t> issuer(std::size_t node) const;

 private:
  const graph::TaskGraph& graph_;
  std::vector<const Slot*> slots_;
};

/// Whether two parts of a buffer may share an element; other than by literals nothing is proved.
bool may_overlap(const graph::Use& a, const graph::Use& b);
const graph::Use* use_of(const std::vector<graph::Use>& uses, const ir::Buffer& buffer);

}  // namespace plait::plan
