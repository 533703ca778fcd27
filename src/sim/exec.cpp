#include "sim/exec.h"

#include <fmt/format.h>

#include "ir/evaluate.h"
#include "sim/access.h"

namespace plait::sim {

bool evaluate(Machine& m, Warp& w, ExprRange range) {
  if (range.begin == range.end) return true;
  Evaluation e{m, w, w.file.data(), w.mask, w.site};
  const ExprInstr* code = w.code.exprs.data();
  e.next = code + range.begin;
  const ExprInstr* end = code + range.end;
  while (e.next < end && !e.failed) {
    const ExprInstr& instr = *e.next++;
    instr.run(e, instr);
  }
  w.time += m.latency(2 * (range.end - range.begin));
  return !e.failed;
}

Step execute(Machine& m, Warp& w, const Instr& instr) {
  w.time += m.latency(m.costs().instruction);
  return std::visit([&](const auto& action) { return run(m, w, action); }, instr.action);
}

LaneMask lanes_where(const Warp& w, Reg reg) {
  LaneMask lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) lanes |= LaneMask{value_of(w, reg, lane).i != 0 ? 1U : 0U} << lane;
  return lanes & w.mask;
}

bool whole_warp(Machine& m, const Warp& w) {
  if (w.mask == kAllLanes) return true;
  m.fail(Rule::sim_divergent, w.site,
         fmt::format("{} is run by {} of the 32 lanes of {}", m.site(w.site).word, __builtin_popcount(w.mask),
                     describe_warp(m, w)));
  return false;
}

namespace {

/// Puts a value in a register, in the lanes that run.
void set(Warp& w, Reg to, Reg from) {
  for (int lane = 0; lane < (to.per_lane ? kLanes : 1); ++lane) {
    if (to.per_lane && !has(w.mask, lane)) continue;
    w.file[static_cast<std::size_t>(to.at + lane)] = value_of(w, from, lane);
  }
}

Step leave(Warp& w, std::int32_t target) {
  w.mask = w.frames.back().outer;
  w.frames.pop_back();
  w.pc = target;
  return Step::jumped;
}

/// Runs what follows in `lanes` only; where there are none, goes on at `otherwise`.
Step enter(Warp& w, LaneMask lanes, std::int32_t otherwise) {
  w.frames.push_back({w.mask, w.mask & ~lanes});
  w.mask &= lanes;
  if (w.mask != 0) return Step::next;
  w.pc = otherwise;
  return Step::jumped;
}

}  // namespace

Step run(Machine&, Warp& w, const act::Assign& a) {
  set(w, a.to, a.from);
  return Step::next;
}

Step run(Machine&, Warp& w, const act::If& a) { return enter(w, lanes_where(w, a.cond), a.otherwise); }

Step run(Machine&, Warp& w, const act::Else& a) {
  w.mask = w.frames.back().rest;
  if (w.mask != 0) return Step::next;
  w.pc = a.end;
  return Step::jumped;
}

Step run(Machine&, Warp& w, const act::End&) {
  w.mask = w.frames.back().outer;
  w.frames.pop_back();
  return Step::next;
}

Step run(Machine&, Warp& w, const act::OnlyThread& a) {
  bool first = a.of_block ? w.first_thread == 0 : w.index == 0;
  return enter(w, first ? 1U : 0U, a.end);
}

Step run(Machine&, Warp& w, const act::OnlyWarp& a) { return enter(w, w.index == a.warp ? kAllLanes : 0, a.end); }

Step run(Machine&, Warp& w, const act::LoopEnter& a) {
  set(w, a.var, a.begin);
  w.frames.push_back({w.mask, 0});
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::LoopTest& a) {
  LaneMask inside = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    if (value_of(w, a.step, lane).i <= 0) {
      m.fail(Rule::loop_step, w.site, fmt::format("the step of the loop is {}", value_of(w, a.step, lane).i));
      return leave(w, a.exit);
    }
    auto less = ir::evaluate_int(ir::BinaryOp::lt, a.type, value_of(w, a.var, lane).i, value_of(w, a.end, lane).i);
    if (*less != 0) inside |= LaneMask{1} << lane;
  }
  w.mask = inside;
  return inside == 0 ? leave(w, a.exit) : Step::next;
}

Step run(Machine& m, Warp& w, const act::LoopNext& a) {
  for (int lane = 0; lane < (a.var.per_lane ? kLanes : 1); ++lane) {
    if (a.var.per_lane && !has(w.mask, lane)) continue;
    Value& var = w.file[static_cast<std::size_t>(a.var.at + lane)];
    std::int64_t step = value_of(w, a.step, lane).i;
    if (is_undefined(ir::BinaryOp::add, a.type, var.i, step)) {
      m.fail(
          Rule::sim_overflow, w.site,
          fmt::format("the loop variable overflows {} at the step from {} by {}", ir::dtype_name(a.type), var.i, step));
      m.stop();
      break;
    }
    var.i = *ir::evaluate_int(ir::BinaryOp::add, a.type, var.i, step);
  }
  w.pc = a.test;
  return Step::jumped;
}

Step run(Machine&, Warp& w, const act::WhileEnter&) {
  w.frames.push_back({w.mask, 0});
  return Step::next;
}

Step run(Machine&, Warp& w, const act::WhileTest& a) {
  w.mask = lanes_where(w, a.cond);
  return w.mask == 0 ? leave(w, a.exit) : Step::next;
}

Step run(Machine&, Warp& w, const act::Jump& a) {
  w.pc = a.target;
  return Step::jumped;
}

Step run(Machine& m, Warp& w, const act::Broadcast& a) {
  if (!whole_warp(m, w)) return Step::next;
  w.time += m.latency(m.costs().shuffle);
  Value value = value_of(w, a.value, 0);
  for (int lane = 0; lane < (a.result.per_lane ? kLanes : 1); ++lane)
    w.file[static_cast<std::size_t>(a.result.at + lane)] = value;
  return Step::next;
}

/// Values are those of before the statement, in all lanes.
Step run(Machine& m, Warp& w, const act::Shuffle& a) {
  if (!whole_warp(m, w)) return Step::next;
  occupy(m, w, a.work);
  w.time += m.latency(m.costs().shuffle);
  std::array<Value, kLanes> values{};
  for (int lane = 0; lane < kLanes; ++lane) {
    std::int64_t from = value_of(w, a.lane, lane).i & (kLanes - 1);
    values[static_cast<std::size_t>(lane)] = value_of(w, a.value, static_cast<int>(from));
  }
  for (int lane = 0; lane < (a.result.per_lane ? kLanes : 1); ++lane)
    w.file[static_cast<std::size_t>(a.result.at + lane)] = values[static_cast<std::size_t>(lane)];
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::ReadClock& a) {
  std::int64_t ns = static_cast<std::int64_t>(static_cast<double>(w.time) * 1000 / m.costs().clock_mhz);
  std::int64_t value = a.global ? ns : static_cast<std::uint32_t>(w.time);
  for (int lane = 0; lane < (a.result.per_lane ? kLanes : 1); ++lane)
    w.file[static_cast<std::size_t>(a.result.at + lane)] = interp::int_value(value);
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::Finish&) {
  m.finish(w);
  return Step::ended;
}

}  // namespace plait::sim
