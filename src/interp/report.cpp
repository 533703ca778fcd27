#include <fmt/format.h>
#include <fmt/ranges.h>

#include "interp/machine.h"

namespace plait::interp {

bool Machine::fail(std::int32_t site, Rule rule, const std::string& message, std::int32_t buffer) {
  if (site < 0) {
    findings_.error(rule, kernel_.loc, message);
    return false;
  }
  const Site& place = program_.sites[static_cast<std::size_t>(site)];
  const std::string around = variables_around(place.scope);
  Diagnostic& diagnostic =
      findings_.error(rule, place.loc, around.empty() ? message : fmt::format("{}, at {}", message, around));
  if (buffer >= 0) {
    const ir::BufferDecl& decl = *program_.buffers[static_cast<std::size_t>(buffer)].decl;
    if (decl.loc.known()) diagnostic.notes.push_back({decl.loc, describe(buffer) + " is defined here"});
  }
  return false;
}

std::string Machine::describe(std::int32_t buffer) const {
  const Storage& storage = storages_[static_cast<std::size_t>(buffer)];
  return fmt::format("{}[{}]", storage.code->decl->name, fmt::join(storage.extents, ", "));
}

std::string Machine::element_name(std::int32_t buffer, std::int64_t number) const {
  const Storage& storage = storages_[static_cast<std::size_t>(buffer)];
  std::vector<std::int64_t> index;
  for (std::size_t d = 0; d < storage.extents.size(); ++d) {
    index.push_back(number / storage.steps[d] % storage.extents[d]);
  }
  return fmt::format("{}[{}]", storage.code->decl->name, fmt::join(index, ", "));
}

std::string Machine::variables_around(std::int32_t scope) const {
  std::string text;
  while (scope >= 0) {
    const ScopeVar& var = program_.scopes[static_cast<std::size_t>(scope)];
    const std::string one = fmt::format("{} = {}", var.name, registers_[static_cast<std::size_t>(var.reg)].i);
    text = text.empty() ? one : fmt::format("{}, {}", one, text);
    scope = var.parent;
  }
  return text;
}

bool Machine::report_overlap(const Reach& reach, std::int64_t number, Access access, std::int32_t level,
                             std::uint32_t other) {
  const char* verb = access == Access::read ? "read" : access == Access::write ? "written" : "updated by an atomic";
  const std::string message = fmt::format("{} is {} here, and also touched by {}", element_name(reach.buffer, number),
                                          verb, other_iteration(level, other));
  return fail(reach.site, level == 0 ? Rule::block_overlap : Rule::parallel_overlap, message, reach.buffer);
}

std::string Machine::other_iteration(std::int32_t number, std::uint32_t other) {
  const LevelState& state = level(number);
  const std::string kind = number == 0 ? "block" : "iteration";
  if (other == TouchTable::some_other) return "another " + kind;
  std::int64_t rest = other - state.first;
  std::vector<std::string> values;
  if (number == 0) {
    for (std::size_t axis = 0; axis < kernel_.grid.size(); ++axis) {
      values.push_back(fmt::format("{} = {}", kernel_.grid[axis].var->name, rest % args_.grid[axis]));
      rest /= args_.grid[axis];
    }
  } else {
    const LoopCode& loop = program_.loops[static_cast<std::size_t>(state.loop)];
    const LoopState& running = loop_state(state.loop);
    for (std::size_t axis = loop.axes.size(); axis-- > 0;) {
      const LoopCode::Axis& code = loop.axes[axis];
      const std::int64_t value = integer(code.begin) + rest % running.counts[axis] * integer(code.step);
      values.insert(values.begin(), fmt::format("{} = {}", code.name, value));
      rest /= running.counts[axis];
    }
  }
  return fmt::format("the {} {}", kind, fmt::join(values, ", "));
}

}  // namespace plait::interp
