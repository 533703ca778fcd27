#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;

namespace {

bool step_is_control(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  return (loop != nullptr && loop->kind != LoopKind::parallel) || std::holds_alternative<If>(stmt.node) ||
         std::holds_alternative<While>(stmt.node);
}

}  // namespace

void Lowering::math_role() {
  bool alone = rings_.all_own();
  std::optional<int> regs;
  if (!alone && moves_registers()) regs = registers("math");
  b_.role("math", {placed_.replicas, placed_.warps, regs}, [&] {
    begin_role();
    define_fragments();
    work_.each(WorkMap::Side::computes, [&] { math_body(kernel_.body); });
    if (stores_by_tma()) b_.elect([&] { b_.add(roles::BulkWait{0, false}); });
    leave_cluster();
  });
}

// ---- What is under way ---------------------------------------------------------------------------------------------

/// Waits until at most so many groups are under way, and gives back the slots that the others read.
void Lowering::await(std::size_t pending) {
  if (under_way_.size() <= pending) return;
  b_.add(roles::WgmmaAwait{static_cast<int>(pending)});
  while (under_way_.size() > pending) {
    for (const Group::Give& give : under_way_.front().releases) {
      if (give.where) {
        b_.if_(*give.where, [&] { release(give.ring, give.behind); });
      } else {
        release(give.ring, give.behind);
      }
    }
    under_way_.pop_front();
  }
}

void Lowering::release(std::size_t ring, int behind) { b_.add(roles::Release{item(ring, behind)}); }

/// Waits for what a statement that uses these buffers must not overtake.
void Lowering::settle(const Touched& touches) {
  const Touched use = with_shared(touches);
  for (std::size_t i = under_way_.size(); i-- > 0;) {
    if (in_conflict(under_way_[i].use, use)) return await(under_way_.size() - 1 - i);
  }
}

// ---- Bodies --------------------------------------------------------------------------------------------------------

/// The steps in order, those that are live. `around` puts each into its surroundings; `lead`: by how much the counters
/// of rings stand ahead of the iteration of stage 0.
void Lowering::steps(const std::vector<Step>& list, int lead, const Live& live, const Around& around) {
  // By stage and then by order: the way of one iteration through the steps.
  std::vector<const Step*> path;
  for (const Step& step : list) path.push_back(&step);
  std::stable_sort(path.begin(), path.end(), [](const Step* a, const Step* b) { return a->stage < b->stage; });
  std::set<std::size_t> here;  // rings that this body itself fills
  for (std::size_t ring : filled(list)) here.insert(ring);
  Fetches fetches = fetches_of(list, live, -lead);
  await_fetches(fetches.at_front);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Step& step = list[i];
    if (rings_.filled_by_reader(*step.stmt)) fetch(list, i, live, fetches, around);
    if (!live(step) || rings_.filled_by(*step.stmt)) continue;
    std::vector<std::size_t> receives, releases;
    for (std::size_t ring : rings_.read_by(*step.stmt)) {
      auto is_reader = [&](const Step* other) { return rings_.reads(*other->stmt, ring); };
      if (!here.contains(ring)) continue;
      if (*std::find_if(path.begin(), path.end(), is_reader) == &step) receives.push_back(ring);
      if (*std::find_if(path.rbegin(), path.rend(), is_reader) == &step) releases.push_back(ring);
    }
    around(step, [&] {
      b_.origin(step.stmt->loc);
      for (std::size_t ring : here) leads_[ring] = lead + step.stage;
      for (std::size_t ring : receives) b_.add(roles::Receive{item(ring, lead_of(ring))});
      await_fetches(fetches.before[i]);
      // Tensor cores add to a result in the order of the products.
      if (in_flight_ == nullptr || in_flight_->product != step.stmt.get()) settle(touched(*step.stmt));
      complete_sums(*step.stmt);
      wait_turn(*step.stmt);
      statement(step.stmt);
      pass_turn(*step.stmt);
      bool maybe_nothing = step_is_control(*step.stmt);
      if (maybe_nothing && !releases.empty()) meet_replica();
      for (std::size_t ring : releases) give_back(ring);
      for (std::size_t ring : here) leads_.erase(ring);
    });
  }
}

/// All threads of the replica have come here. A product makes them meet, but a loop around it may run no iteration, and
/// then one thread would give back a slot that others have not waited for yet.
void Lowering::meet_replica() {
  Value barrier = placed_.replicas == 1 ? Value(1) : 1 + Value(b_.builtins().replica);
  b_.add(roles::BarrierSync{barrier, std::int64_t{placed_.warps} * 32});
}

/// Releases a slot, or has the last group of products that reads it do so.
void Lowering::give_back(std::size_t ring) {
  auto reader = std::find_if(under_way_.rbegin(), under_way_.rend(), [&](const Group& group) {
    return std::any_of(group.use.reads.begin(), group.use.reads.end(),
                       [&](const Buffer& buffer) { return rings_.ring_of(buffer) == ring; });
  });
  if (reader == under_way_.rend()) return release(ring, lead_of(ring));
  reader->releases.push_back({ring, lead_of(ring), {}});
}

/// Rings that another role fills at these statements, each once.
std::vector<std::size_t> Lowering::filled(const std::vector<Step>& list) const {
  std::vector<std::size_t> out;
  for (const Step& step : list) {
    auto ring = rings_.filled_by_loader(*step.stmt);
    if (ring && std::find(out.begin(), out.end(), *ring) == out.end()) out.push_back(*ring);
  }
  return out;
}

void Lowering::math_body(const Body& body) {
  std::vector<Step> list;
  for (std::size_t i = 0; i < body.size(); ++i) {
    list.push_back({body[i], 0});
    if (work_.pieces() != nullptr && work_.pieces()->is(*body[i])) {
      one_after_another(list);
      return combined([&] { math_body({body.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.end()}); });
    }
    if (!may_jump(*body[i]) || i + 1 == body.size()) continue;
    // The rest of an iteration that may have ended here.
    one_after_another(list);
    Body rest(body.begin() + static_cast<std::ptrdiff_t>(i) + 1, body.end());
    return b_.if_(!Value(jumps_.back().skip), [&] {
      BodyScope scope(*this);
      math_body(rest);
    });
  }
  one_after_another(list);
}

void Lowering::one_after_another(const std::vector<Step>& list, const Flight* flight) {
  at_iteration(list, 0);  // nothing is ahead: one slot does
  steps(list, 0, [](const Step&) { return true; }, [](const Step&, const std::function<void()>& emit) { emit(); });
  if (flight != nullptr) {
    leave_under_way(*flight);
  } else {
    await(0);
  }
  advance(filled(list));
}

/// Of a condition that is a literal here only the chosen branch is there, as in the text, and its names stay taken.
void Lowering::branch(const If& node, const Value& cond, const std::function<void(const Body&)>& body) {
  if (auto known = as_int(cond.expr())) {
    Scalars::Scope scope(scalars_);
    return body(*known != 0 ? node.then_body : node.else_body);
  }
  auto inner = [&](const Body& of, bool holds) {
    BodyScope scope(*this);
    scalars_.assume(node.cond, holds);
    body(of);
  };
  roles::build::Builder::Then otherwise;
  if (!node.else_body.empty()) otherwise = [&] { inner(node.else_body, false); };
  b_.if_(cond, [&] { inner(node.then_body, true); }, otherwise);
}

void Lowering::statement(const StmtRef& stmt) {
  if (const auto* node = std::get_if<Let>(&stmt->node)) return let(*node);
  if (std::holds_alternative<Alloc>(stmt->node)) return;
  const auto* loop = std::get_if<For>(&stmt->node);
  bool is_operation = std::holds_alternative<TileOp>(stmt->node) || (loop && loop->kind == LoopKind::parallel);
  if (is_operation) return operation(*stmt);
  bool single = std::holds_alternative<Store>(stmt->node) || std::holds_alternative<AtomicElement>(stmt->node);
  if (single) return Threads(*this).single(*stmt);
  control(stmt);
}

void Lowering::control(const StmtRef& stmt) {
  await(0);
  if (const auto* loop = std::get_if<For>(&stmt->node)) {
    const plan::LoopPlan* plan = schedule_.find(names_.at(stmt.get()));
    if (plan != nullptr && is_pipelined(*loop, *plan)) return pipelined_loop(*loop, *plan);
    if (loop->kind == LoopKind::persistent) return persistent_loop(*loop, [&] { math_body(loop->body); });
    return serial_loop(*loop, [&] { math_body(loop->body); });
  }
  if (const auto* loop = std::get_if<While>(&stmt->node)) return while_loop(*loop, [&] { math_body(loop->body); });
  if (std::holds_alternative<Break>(stmt->node)) return jump(true);
  if (std::holds_alternative<Continue>(stmt->node)) return jump(false);
  if (const auto* task = std::get_if<Task>(&stmt->node)) return math_body(task->body);
  if (const auto* node = std::get_if<If>(&stmt->node))
    return branch(*node, scalars_.convert(node->cond), [&](const Body& body) { math_body(body); });
  diags_.error(Rule::place_operation, stmt->loc, "this statement has no placement yet");
}

}  // namespace plait::pipeline
