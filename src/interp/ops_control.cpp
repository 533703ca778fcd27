#include <fmt/format.h>

#include <limits>

#include "interp/handlers.h"
#include "interp/machine.h"

namespace plait::interp {

namespace {

/// Iterations of begin, begin + step, … below end; at most the largest i64.
std::int64_t count_iterations(std::int64_t begin, std::int64_t end, std::int64_t step) {
  if (begin >= end) return 0;
  const std::uint64_t distance = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  const std::uint64_t count = (distance - 1) / static_cast<std::uint64_t>(step) + 1;
  return static_cast<std::int64_t>(std::min(count, std::uint64_t{std::numeric_limits<std::int64_t>::max()}));
}

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

void set_variable(Machine& m, const LoopCode::Axis& axis, std::int64_t index) {
  m.reg(axis.var).i = m.integer(axis.begin) + index * m.integer(axis.step);
}

/// Variables for iteration number `state.done`, the last axis fastest.
void set_variables(Machine& m, const LoopCode& loop, LoopState& state) {
  std::int64_t rest = state.done;
  for (std::size_t axis = loop.axes.size(); axis-- > 0;) {
    state.index[axis] = rest % state.counts[axis];
    rest /= state.counts[axis];
    set_variable(m, loop.axes[axis], state.index[axis]);
  }
}

/// From one iteration to the next.
void advance_variables(Machine& m, const LoopCode& loop, LoopState& state) {
  for (std::size_t axis = loop.axes.size(); axis-- > 0;) {
    const bool carry = ++state.index[axis] == state.counts[axis];
    if (carry) state.index[axis] = 0;
    set_variable(m, loop.axes[axis], state.index[axis]);
    if (!carry) return;
  }
}

/// Evaluates the bounds; false after reporting a step that is not positive.
bool count_axes(Machine& m, const Instr& in, const LoopCode& loop, LoopState& state) {
  state.total = 1;
  state.counts.clear();
  for (const LoopCode::Axis& axis : loop.axes) {
    const std::int64_t step = m.integer(axis.step);
    if (step <= 0)
      return m.fail(in.site, Rule::loop_step, fmt::format("the loop over {} has step {}", axis.name, step));
    state.counts.push_back(count_iterations(m.integer(axis.begin), m.integer(axis.end), step));
    state.total = saturating_product(state.total, state.counts.back());
  }
  state.index.assign(state.counts.size(), 0);
  return true;
}

}  // namespace

const Instr* run_jump(Machine& m, const Instr& in) { return m.at(in.target); }

const Instr* run_jump_if_zero(Machine& m, const Instr& in) { return m.integer(in.a) == 0 ? m.at(in.target) : &in + 1; }

const Instr* run_jump_if_set(Machine& m, const Instr& in) { return m.integer(in.a) != 0 ? m.at(in.target) : &in + 1; }

const Instr* run_repeat(Machine& m, const Instr& in) { return m.within_limits(in.site) ? m.at(in.target) : nullptr; }

const Instr* run_enter_loop(Machine& m, const Instr& in) {
  const LoopCode& loop = m.program().loops[static_cast<std::size_t>(in.a)];
  LoopState& state = m.loop_state(in.a);
  if (!count_axes(m, in, loop, state)) return nullptr;
  state.done = loop.kind == ir::LoopKind::persistent ? m.block() : 0;
  if (state.done >= state.total) return m.at(in.target);
  set_variables(m, loop, state);
  if (loop.kind == ir::LoopKind::parallel) m.begin_parallel(loop.level, in.a);
  return &in + 1;
}

const Instr* run_next(Machine& m, const Instr& in) {
  const LoopCode& loop = m.program().loops[static_cast<std::size_t>(in.a)];
  LoopState& state = m.loop_state(in.a);
  const std::int64_t stride = loop.kind == ir::LoopKind::persistent ? m.blocks() : 1;
  if (stride >= state.total - state.done) return &in + 1;
  if (!m.within_limits(in.site)) return nullptr;
  state.done += stride;
  if (stride == 1) {
    advance_variables(m, loop, state);
  } else {
    set_variables(m, loop, state);
  }
  if (loop.kind == ir::LoopKind::parallel) m.next_iteration(loop.level);
  return m.at(in.target);
}

const Instr* run_assert(Machine& m, const Instr& in) {
  if (m.integer(in.a) != 0) return &in + 1;
  const AssertCode& code = m.program().asserts[static_cast<std::size_t>(in.b)];
  const std::string claim = code.condition + " does not hold";
  m.fail(in.site, Rule::assert_failed, code.message.empty() ? claim : fmt::format("{} ({})", code.message, claim));
  return nullptr;
}

const Instr* run_print(Machine& m, const Instr& in) {
  if (!m.options().print) return &in + 1;
  const PrintCode& code = m.program().prints[static_cast<std::size_t>(in.a)];
  std::string line;
  std::size_t from = 0;
  for (const auto& [reg, type] : code.args) {
    const std::size_t hole = code.format.find("{}", from);
    if (hole == std::string::npos) break;
    line += code.format.substr(from, hole - from) + show(type, m.reg(reg));
    from = hole + 2;
  }
  m.options().print(line + code.format.substr(from));
  return &in + 1;
}

const Instr* run_end(Machine& /*m*/, const Instr& /*in*/) { return nullptr; }

}  // namespace plait::interp
