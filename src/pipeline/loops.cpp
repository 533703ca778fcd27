#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

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
    if (!rings_.filled_by_loader(*step.stmt)) span = std::max(span, step.stage);
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
  // What only loads run ahead of is as if it had one stage.
  const bool together = computes_in_one_stage(list);
  for (const plan::Slot& slot : plan.slots) {
    if (slot.in_flight > 0 && !together)
      refuse_schedule(slot.at.loc, "a product in flight over the end of its iteration, in a loop of several stages,");
  }
  if (together) flight_of(loop, list, plan);  // which tells why there is none
  if (work_.pieces() != nullptr && !together)
    return refuse_schedule(schedule_.place.work.at.loc, "a loop in pieces whose stages overlap");
  if (!counts_up(loop)) {
    diags_.error(Rule::place_operation, axis.begin->loc,
                 "a pipelined loop whose stages overlap does not count from 0 by 1",
                 "write range(n) and compute the index in the body");
    return;
  }
  ramp(list, span, loop, plan);
}

/// What is done where a condition holds; of one that is a literal here the text has the body alone, or nothing, and its
/// names stay taken.
void Lowering::when(const Value& cond, const std::function<void()>& body) {
  if (auto known = as_int(cond.expr())) {
    Scalars::Scope scope(scalars_);
    if (*known != 0) body();
    return;
  }
  b_.if_(cond, [&] {
    BodyScope scope(*this);
    body();
  });
}

/// Iterations overlap: stage s of iteration i runs at time i + s. The first `span` times fill the pipeline, as many
/// behind the loop drain it. Times count as the iterations do, which begin within a tile's where that is in pieces.
void Lowering::ramp(const std::vector<Step>& all, int span, const For& loop, const plan::LoopPlan& plan) {
  std::vector<Step> list;
  for (const Step& step : all) {
    if (!std::holds_alternative<Let>(step.stmt->node) || keep_let(*step.stmt, plan)) list.push_back(step);
  }
  const LoopAxis& axis = loop.axes.front();
  Value first = scalars_.index(axis.begin);
  const bool from_zero = as_int(first.expr()) == 0;
  auto time = [&](int n) { return from_zero ? Value(typed_int(DType::i32, n)) : first + n; };
  Value end = b_.let(fresh(from_zero ? "trips" : "end"), scalars_.index(axis.end));
  Value trips = from_zero ? end : b_.let(fresh("trips"), end - first);
  using Guard = std::function<Value(const Step&)>;
  auto at_time = [&](const Value& now, int lead, const Live& live, const Guard& guard) {
    steps(list, lead, live, [&](const Step& step, const std::function<void()>& emit) {
      auto emit_inside = [&] {
        Scalars::Scope scope(scalars_);
        Value own = step.stage == 0 ? now : now - step.stage;
        scalars_.bind(axis.var, own);
        at_iteration(list, own);
        scalars_.add_loop(loop);
        lets_for(step, all);
        emit();
      };
      if (!guard) return emit_inside();
      when(guard(step), [&] {
        emit_inside();
        await(0);
      });
    });
    await(0);
  };
  std::vector<std::size_t> rings = filled(list);
  for (int p = 0; p < span; ++p) {
    Value now = time(p);
    auto live = [&](const Step& step) { return step.stage <= p; };
    if (span == 1) {
      when(trips > p, [&] {
        at_time(now, 0, live, {});
        advance(rings);
      });
      continue;
    }
    // The counters follow the time, also past the last iteration, so that a stage finds its item so many behind them.
    at_time(now, 0, live, [&](const Step& step) { return trips > p - step.stage; });
    advance(rings);
  }
  if (span > 1 && !rings.empty()) {
    when(trips < span, [&] {
      for (std::size_t ring : rings)
        b_.set(counter_vars_[ring], counter(ring) - roles::build::cast(DType::u32, span - trips));
    });
  }
  const auto all_trips = as_int(trips.expr());
  if (!all_trips || *all_trips > span) {
    steady(loop, all, plan, time(span), end, [&](const Value& now) {
      at_time(now, 0, [](const Step&) { return true; }, {});
      advance(rings);
    });
  }
  for (int e = 0; e < span; ++e) {
    Value now = e == 0 ? end : end + e;
    when(now >= time(span), [&] { at_time(now, -e, [&](const Step& step) { return step.stage > e; }, {}); });
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

}  // namespace plait::pipeline
