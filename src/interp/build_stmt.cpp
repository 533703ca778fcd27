#include "interp/builder.h"

namespace plait::interp {

using ir::LoopKind;

Program make_program(const ir::Kernel& kernel) { return Builder(kernel).build(); }

Program Builder::build() {
  parameters();
  for (const ir::GridAxis& axis : kernel_.grid) {
    program_.grid.push_back(define(axis.var));
    enter_scope(axis.var, program_.grid.back());
  }
  body(kernel_.body);
  emit({.run = run_end}, kernel_.loc);
  return std::move(program_);
}

void Builder::parameters() {
  for (const ir::Var& dim : kernel_.dims) program_.dims.push_back(define(dim));
  std::int32_t number = 0;
  for (const ir::Param& param : kernel_.params) {
    if (param.kind == ir::ParamKind::scalar) {
      program_.scalars.push_back(define(param.scalar));
      continue;
    }
    const std::int32_t buffer = add_buffer(param.buffer, number++, param.kind == ir::ParamKind::out);
    // Nobody writes an `in` parameter, so nobody needs to watch it; the others are watched across blocks too.
    if (param.kind != ir::ParamKind::in) program_.buffers[static_cast<std::size_t>(buffer)].last_level = 0;
  }
}

std::int32_t Builder::define(const ir::Var& var) { return vars_[var.get()] = new_register(); }

void Builder::enter_scope(const ir::Var& var, std::int32_t reg) {
  program_.scopes.push_back({var->name, reg, scope_});
  scope_ = static_cast<std::int32_t>(program_.scopes.size() - 1);
}

std::int32_t Builder::add_buffer(const ir::Buffer& buffer, std::int32_t param, bool out) {
  const auto number = static_cast<std::int32_t>(program_.buffers.size());
  program_.buffers.push_back({.decl = buffer, .param = param, .out = out, .level = level_});
  buffers_[buffer.get()] = number;
  return number;
}

Reach Builder::reach(const ir::Buffer& buffer, const Loc& loc) {
  const auto found = buffers_.find(buffer.get());
  PLAIT_ASSERT(found != buffers_.end(), "the buffer " + buffer->name + " is used before it is defined");
  BufferCode& code = program_.buffers[static_cast<std::size_t>(found->second)];
  Reach reach{.buffer = found->second, .site = site(loc)};
  const bool on_chip = code.param < 0;
  if (on_chip || code.last_level >= 0) {
    reach.first_level = on_chip ? code.level + 1 : 0;
    reach.last_level = level_;
    if (reach.first_level <= reach.last_level) code.last_level = std::max(code.last_level, level_);
  }
  reach.forbidden_write = buffer->scope == ir::Scope::local && level_ > code.level;
  return reach;
}

RegionCode Builder::region(const ir::Region& region, const Loc& loc) {
  RegionCode code;
  for (const ir::Range& range : region.ranges) {
    code.begin.push_back(value(range.begin));
    code.extent.push_back(value(range.extent));
  }
  code.reach = reach(region.buffer, region.loc.known() ? region.loc : loc);
  return code;
}

void Builder::body(const ir::Body& body) {
  for (const ir::StmtRef& stmt : body) statement(*stmt);
}

void Builder::statement(const ir::Stmt& stmt) {
  const Loc& loc = stmt.loc;
  std::visit(
      Overload{
          [&](const ir::For& node) { loop(node, loc); }, [&](const ir::While& node) { repeat(node, loc); },
          [&](const ir::If& node) { branch(node, loc); },
          [&](const ir::Let& node) { vars_[node.var.get()] = value(node.value); },
          [&](const ir::Alloc& node) { alloc(node.buffer, loc); }, [&](const ir::Store& node) { store(node, loc); },
          [&](const ir::AtomicElement& node) { atomic(node, loc); }, [&](const ir::TileOp& node) { tile(node, loc); },
          [&](const ir::Assert& node) { check(node, loc); }, [&](const ir::Print& node) { print(node, loc); },
          [&](const ir::Break&) { leave(&LoopFrame::breaks, loc); },
          [&](const ir::Continue&) { leave(&LoopFrame::continues, loc); },
          [&](const ir::Task& node) { body(node.body); }},
      stmt.node);
}

void Builder::loop(const ir::For& node, const Loc& loc) {
  LoopCode code;
  code.kind = node.kind;
  for (const ir::LoopAxis& axis : node.axes) {
    code.axes.push_back({axis.var->name, 0, value(axis.begin), value(axis.end), value(axis.step)});
  }
  const std::int32_t outer_scope = scope_;
  const auto number = static_cast<std::int32_t>(program_.loops.size());
  const std::size_t enter = emit({.run = run_enter_loop, .a = number}, loc);
  for (std::size_t n = 0; n < node.axes.size(); ++n) {
    code.axes[n].var = define(node.axes[n].var);
    enter_scope(node.axes[n].var, code.axes[n].var);
  }
  const std::int32_t inner = node.kind == LoopKind::parallel ? 1 : 0;
  level_ += inner;
  program_.levels = std::max(program_.levels, level_ + 1);
  code.level = level_;
  program_.loops.push_back(std::move(code));

  loops_.emplace_back();
  const std::int32_t start = here();
  body(node.body);
  for (const std::size_t jump : loops_.back().continues) aim(jump);
  emit({.run = run_next, .a = number, .target = start}, loc);
  for (const std::size_t jump : loops_.back().breaks) aim(jump);
  aim(enter);
  loops_.pop_back();
  level_ -= inner;
  scope_ = outer_scope;
}

void Builder::repeat(const ir::While& node, const Loc& loc) {
  const std::int32_t start = here();
  const std::size_t exit = emit({.run = run_jump_if_zero, .a = value(node.cond)}, loc);
  loops_.emplace_back();
  body(node.body);
  for (const std::size_t jump : loops_.back().continues) aim(jump);
  emit({.run = run_repeat, .target = start}, loc);
  for (const std::size_t jump : loops_.back().breaks) aim(jump);
  aim(exit);
  loops_.pop_back();
}

void Builder::branch(const ir::If& node, const Loc& loc) {
  const std::size_t to_else = emit({.run = run_jump_if_zero, .a = value(node.cond)}, loc);
  body(node.then_body);
  if (node.else_body.empty()) {
    aim(to_else);
    return;
  }
  const std::size_t to_end = emit({.run = run_jump}, loc);
  aim(to_else);
  body(node.else_body);
  aim(to_end);
}

void Builder::leave(std::vector<std::size_t> LoopFrame::* jumps, const Loc& loc) {
  PLAIT_ASSERT(!loops_.empty(), "break or continue outside a loop");
  (loops_.back().*jumps).push_back(emit({.run = run_jump}, loc));
}

void Builder::alloc(const ir::Buffer& buffer, const Loc& loc) {
  emit({.run = run_alloc, .a = add_buffer(buffer, -1, false)}, loc);
}

void Builder::store(const ir::Store& node, const Loc& loc) {
  const std::int32_t stored = value(node.value);
  emit({.run = run_store, .a = element(node.buffer, node.index, loc), .b = stored}, loc);
}

void Builder::atomic(const ir::AtomicElement& node, const Loc& loc) {
  const std::int32_t operand = value(node.value);
  const std::int32_t target = element(node.buffer, node.index, loc);
  emit({.run = run_atomic, .a = target, .b = operand, .c = static_cast<std::int32_t>(node.op)}, loc);
}

void Builder::tile(const ir::TileOp& node, const Loc& loc) {
  TileCode code;
  code.op = &node;
  for (const ir::Region& operand : node.operands) code.operands.push_back(region(operand, loc));
  if (const auto* copy = std::get_if<ir::CopyAttrs>(&node.attrs)) {
    if (copy->rows) code.rows.push_back(region(*copy->rows, loc));
    code.valid = values(copy->valid);
    if (copy->pad != nullptr) code.value = value(copy->pad);
  }
  if (const auto* fill = std::get_if<ir::FillAttrs>(&node.attrs)) code.value = value(fill->value);
  program_.tiles.push_back(std::move(code));
  emit({.run = run_tile, .a = static_cast<std::int32_t>(program_.tiles.size() - 1)}, loc);
}

void Builder::check(const ir::Assert& node, const Loc& loc) {
  program_.asserts.push_back({node.message, ir::print(*node.cond)});
  const auto number = static_cast<std::int32_t>(program_.asserts.size() - 1);
  emit({.run = run_assert, .a = value(node.cond), .b = number}, loc);
}

void Builder::print(const ir::Print& node, const Loc& loc) {
  PrintCode code{node.format, {}};
  for (const ir::ExprRef& arg : node.args) code.args.emplace_back(value(arg), arg->type);
  program_.prints.push_back(std::move(code));
  emit({.run = run_print, .a = static_cast<std::int32_t>(program_.prints.size() - 1)}, loc);
}

}  // namespace plait::interp
