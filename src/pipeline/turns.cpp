#include <fmt/format.h>

#include <algorithm>

#include "pipeline/lowering.h"

// Replicas that take turns.
namespace plait::pipeline {

using namespace ir;

/// Why replicas cannot take turns so; empty where they can. A named barrier counts one arrival: who passes a turn on
/// must know that the turn before was taken, which it does where it has waited for it in the same iteration.
std::string Lowering::turn_obstacle(const plan::Token& token, const plan::LoopPlan& plan,
                                    const std::vector<Step>& list) const {
  if (placed_.replicas < 2) return "a token needs replicas that take turns, and `math` has one";
  for (const graph::StmtName& name : {token.from, token.to}) {
    if (std::none_of(list.begin(), list.end(), [&](const Step& step) { return names_.at(step.stmt.get()) == name; }))
      return fmt::format("a token of {}, which stands under a condition, has no placement yet", graph::text_of(name));
  }
  if (plan.find(token.from)->order >= plan.find(token.to)->order) return {};
  return fmt::format("a token of {}, which a turn issues before {}, has no placement yet", graph::text_of(token.from),
                     graph::text_of(token.to));
}

/// Replicas take turns: each issues the second statement of a token only when the one before it has issued the first.
/// Each has a named barrier on which it waits and the one before it arrives.
void Lowering::open_turns(const plan::LoopPlan& plan, const std::vector<Step>& list, const Value& begin,
                          const Value& end) {
  for (const plan::Token& token : plan.tokens) {
    if (std::string why = turn_obstacle(token, plan, list); !why.empty()) {
      diags_.error(Rule::place_operation, token.at.loc, why);
      return;
    }
    turns_.push_back({token, next_barrier_});
    next_barrier_ += placed_.replicas;
    Value last = Value(b_.builtins().replica) == placed_.replicas - 1;
    b_.if_(begin < end && last, [&] { b_.add(roles::BarrierArrive{Value(turns_.back().barrier), turn_threads()}); });
  }
}

std::int64_t Lowering::turn_threads() const { return std::int64_t{2} * placed_.warps * 32; }

void Lowering::wait_turn(const Stmt& stmt) {
  for (const Turn& turn : turns_) {
    if (names_.at(&stmt) != turn.token.to) continue;
    b_.add(roles::BarrierSync{turn.barrier + Value(b_.builtins().replica), turn_threads()});
  }
}

/// The last replica passes the turn back to the first, but for the last time.
void Lowering::pass_turn(const Stmt& stmt) {
  for (const Turn& turn : turns_) {
    if (names_.at(&stmt) != turn.token.from) continue;
    int last = placed_.replicas - 1;
    Value replica = b_.builtins().replica;
    Value next = placed_.replicas == 2 ? 1 - replica : select(replica == last, 0, replica + 1);
    b_.if_(replica < last || *more_turns_, [&] { b_.add(roles::BarrierArrive{turn.barrier + next, turn_threads()}); });
  }
}

}  // namespace plait::pipeline
