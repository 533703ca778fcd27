#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

bool counts_iterations(const For& loop) {
  const LoopAxis& axis = loop.axes.front();
  return as_int(axis.begin) == 0 && as_int(axis.step) == 1;
}

/// The places that the schedule gives a statement of the role that computes: its own, or those of what stands under its
/// condition.
std::vector<const plan::Slot*> Lowering::places_of(const Stmt& stmt, const plan::LoopPlan& plan) const {
  std::vector<const plan::Slot*> found;
  auto note = [&](const Stmt& s) {
    const plan::Slot* slot = rings_.filled_by(s) ? nullptr : plan.find(names_.at(&s));
    if (slot != nullptr) found.push_back(slot);
  };
  note(stmt);
  for_each_body_of(stmt, [&](const Body& body) { walk(body, note); });
  auto earlier = [](const plan::Slot* a, const plan::Slot* b) { return a->order < b->order; };
  std::sort(found.begin(), found.end(), earlier);
  return found;
}

/// The statements of the loop in the order of the schedule; stages count from the first one that computes. Lets that
/// the schedule does not name stand before all, or behind the lets that they need, and are evaluated for each stage
/// that uses them.
std::vector<Lowering::Step> Lowering::steps_of(const For& loop, const plan::LoopPlan& plan) {
  struct Placed {
    Step step;
    int order;
  };
  std::vector<Placed> list;
  std::unordered_map<const VarDecl*, int> lets;  // the orders of those that the schedule names
  int least = INT_MAX;
  for (const StmtRef& stmt : loop.body) {
    std::vector<const plan::Slot*> places = places_of(*stmt, plan);
    int stage = places.empty() ? 0 : places.front()->stage, order = places.empty() ? -1 : places.front()->order;
    if (!places.empty()) least = std::min(least, stage);
    if (const auto* let = std::get_if<Let>(&stmt->node)) {
      walk(let->value, [&](const Expr& e) {
        const auto* ref = std::get_if<VarRef>(&e.node);
        auto needed = ref == nullptr || !places.empty() ? lets.end() : lets.find(ref->var.get());
        if (needed != lets.end()) order = std::max(order, needed->second);
      });
      if (order >= 0) lets[let->var.get()] = order;
    }
    list.push_back({{stmt, stage}, order});
  }
  std::stable_sort(list.begin(), list.end(), [](const Placed& a, const Placed& b) { return a.order < b.order; });
  std::vector<Step> steps;
  for (Placed& placed : list) {
    if (least != INT_MAX) placed.step.stage = std::max(placed.step.stage - least, 0);
    steps.push_back(placed.step);
  }
  return steps;
}

/// Slots that rings need where stages lie apart. Tiles are loaded in the order of the program, so that with an item of
/// one ring all items before it have a slot; the reader wants it in its first stage, and has by then given back what an
/// iteration has read whose last stage lies before.
void Lowering::deepen_rings() {
  struct Use {
    std::size_t begin = 0, end = 0;  ///< the first and the last of its loads in the body
    int first = INT_MAX, last = 0;   ///< stages that read it
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    const plan::LoopPlan* plan = loop == nullptr ? nullptr : schedule_.find(names_.at(&stmt));
    if (plan == nullptr || !overlaps(loop->body)) return;
    std::map<std::size_t, Use> uses;
    for (std::size_t i = 0; i < loop->body.size(); ++i) {
      auto ring = rings_.filled_by(*loop->body[i]);
      if (ring) uses.emplace(*ring, Use{i, i}).first->second.end = i;
    }
    for (const Step& step : steps_of(*loop, *plan)) {
      for (std::size_t ring : rings_.read_by(*step.stmt)) {
        auto use = uses.find(ring);
        if (use == uses.end()) continue;
        use->second.first = std::min(use->second.first, step.stage);
        use->second.last = std::max(use->second.last, step.stage);
      }
    }
    for (const auto& [ring, use] : uses) {
      for (const auto& [other, wanted] : uses) {
        if (wanted.first == INT_MAX) continue;
        rings_.need(ring, use.last - wanted.first + (use.begin <= wanted.end ? 1 : 0));
      }
    }
  });
  for (std::size_t r = 0; r < rings_.all().size(); ++r) {
    const Ring& ring = rings_.all()[r];
    if (ring.depth >= ring.least) continue;
    remarks_.push_back(
        {kernel_.loc, fmt::format("`{}` has {} slots: its tiles are loaded in the order of the program, and "
                                  "read stages behind others",
                                  ring.name, ring.least)});
    rings_.deepen(r, ring.least);
  }
}

/// The loop, its first iteration `begin`, its last one before `end`.
void Lowering::loop_over(const For& loop, const Value& begin, const Value& end,
                         const std::function<void(const Value&)>& body) {
  const LoopAxis& axis = loop.axes.front();
  b_.loop(fresh(axis.var->name), {begin, end, scalars_.index(axis.step)}, [&](const Value& value) {
    BodyScope scope(*this);
    scalars_.bind(axis.var, value);
    scalars_.add_loop(loop);
    body(value);
  });
}

void Lowering::pipelined_loop(const For& loop, const plan::LoopPlan& plan) {
  std::vector<Step> list = steps_of(loop, plan);
  int span = 0;
  for (const Step& step : list) {
    if (!rings_.filled_by(*step.stmt)) span = std::max(span, step.stage);
  }
  const LoopAxis& axis = loop.axes.front();
  if (span == 0) {
    Value begin = scalars_.index(axis.begin), end = scalars_.index(axis.end);
    std::optional<Flight> flight = flight_of(loop, list, plan);
    steady(loop, list, plan, begin, end, [&](const Value& now) {
      if (flight) take_up(*flight, now);
      one_after_another(list, flight ? &*flight : nullptr);
    });
    if (!flight) return;
    take_up(*flight, end);
    await(0);
    in_flight_ = nullptr;
    return;
  }
  for (const plan::Slot& slot : plan.slots) {
    if (slot.in_flight > 0)
      refuse_schedule(slot.at.loc, "a product in flight over the end of its iteration, in a loop of several stages,");
  }
  if (!counts_iterations(loop)) {
    diags_.error(Rule::place_operation, axis.begin->loc,
                 "a pipelined loop whose stages overlap does not count from 0 by 1",
                 "write range(n) and compute the index in the body");
    return;
  }
  ramp(list, span, loop, plan);
}

/// A let that has a place in the schedule is computed there, once an iteration, and kept for those that use it.
bool Lowering::keep_let(const Stmt& stmt, const plan::LoopPlan& plan) {
  const auto* let = std::get_if<Let>(&stmt.node);
  if (let == nullptr || plan.find(names_.at(&stmt)) == nullptr) return false;
  Var kept = b_.var(fresh(let->var->name), let->var->type, zero_of(let->var->type));
  registers_.insert_or_assign(let->var.get(), kept);
  scalars_.bind(let->var, kept);
  return true;
}

/// The lets of the loop that a step uses, evaluated for the iteration that it belongs to.
void Lowering::lets_for(const Step& step, const std::vector<Step>& list) {
  std::set<const VarDecl*> used;
  auto note = [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* ref = std::get_if<VarRef>(&e.node)) used.insert(ref->var.get());
    });
  };
  for_each_expr(*step.stmt, note);
  for_each_body_of(*step.stmt,
                   [&](const Body& body) { walk(body, [&](const Stmt& inner) { for_each_expr(inner, note); }); });
  std::vector<const Let*> needed;
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    const auto* node = std::get_if<Let>(&it->stmt->node);
    if (node == nullptr || !used.contains(node->var.get()) || registers_.contains(node->var.get())) continue;
    note(node->value);
    needed.push_back(node);
  }
  for (auto it = needed.rbegin(); it != needed.rend(); ++it) let(**it);
}

/// Iterations overlap: stage s of iteration i runs at time i + s. The first `span` times fill the pipeline, as many
/// behind the loop drain it.
void Lowering::ramp(const std::vector<Step>& all, int span, const For& loop, const plan::LoopPlan& plan) {
  std::vector<Step> list;
  for (const Step& step : all) {
    if (!std::holds_alternative<Let>(step.stmt->node) || keep_let(*step.stmt, plan)) list.push_back(step);
  }
  const LoopAxis& axis = loop.axes.front();
  Value trips = b_.let(fresh("trips"), scalars_.index(axis.end));
  using Live = std::function<bool(const Step&)>;
  using Guard = std::function<Value(const Step&)>;
  auto at_time = [&](const Value& now, int lead, const Live& live, const Guard& guard) {
    steps(list, lead, [&](const Step& step, const std::function<void()>& emit) {
      if (!live(step)) return;
      auto emit_inside = [&] {
        BodyScope scope(*this);
        scalars_.bind(axis.var, step.stage == 0 ? now : now - step.stage);
        scalars_.add_loop(loop);
        lets_for(step, all);
        emit();
      };
      if (!guard) return emit_inside();
      b_.if_(guard(step), [&] {
        emit_inside();
        await(0);
      });
    });
    await(0);
  };
  std::vector<std::size_t> rings = filled(list);
  for (int p = 0; p < span; ++p) {
    Value now = typed_int(DType::i32, p);
    auto live = [&](const Step& step) { return step.stage <= p; };
    if (span == 1) {
      b_.if_(trips > p, [&] {
        at_time(now, 0, live, {});
        advance(rings);
      });
      continue;
    }
    // The counters follow the time, also past the last iteration, so that a stage finds its item so many behind them.
    at_time(now, 0, live, [&](const Step& step) { return trips > p - step.stage; });
    advance(rings);
  }
  if (span > 1) {
    b_.if_(trips < span, [&] {
      for (std::size_t ring : rings)
        b_.set(counter_vars_[ring], counter(ring) - roles::build::cast(DType::u32, span - trips));
    });
  }
  steady(loop, all, plan, typed_int(DType::i32, span), trips, [&](const Value& now) {
    at_time(now, 0, [](const Step&) { return true; }, {});
    advance(rings);
  });
  for (int e = 0; e < span; ++e) {
    Value now = e == 0 ? trips : trips + e;
    b_.if_(now >= span, [&] { at_time(now, -e, [&](const Step& step) { return step.stage > e; }, {}); });
  }
}

/// The iterations in which all stages run: first those in which no mask has anything to hide, then the others.
void Lowering::steady(const For& loop, const std::vector<Step>& list, const plan::LoopPlan& plan, const Value& begin,
                      const Value& end, const std::function<void(const Value&)>& body) {
  open_turns(plan, list, begin, end);
  auto turn = [&](const Value& now) {
    more_turns_ = now + scalars_.index(loop.axes.front().step) < end;
    body(now);
  };
  auto unmasked = unmasked_iterations(loop, list, end);
  if (!unmasked) {
    loop_over(loop, begin, end, turn);
  } else {
    Value split = b_.let(fresh("unmasked"), *unmasked);
    mask_mode_ = MaskMode::none;
    loop_over(loop, begin, split, turn);
    mask_mode_ = MaskMode::always;
    loop_over(loop, max(begin, split), end, turn);
    mask_mode_ = MaskMode::where_needed;
    masks_.clear();
  }
  turns_.clear();
}

// ---- Turns ---------------------------------------------------------------------------------------------------------

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
