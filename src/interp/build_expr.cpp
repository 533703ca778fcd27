#include "interp/builder.h"

namespace plait::interp {

using ir::DType;
using ir::ExprRef;

std::int32_t Builder::new_register() {
  program_.registers.push_back(int_value(0));
  return static_cast<std::int32_t>(program_.registers.size() - 1);
}

std::int32_t Builder::constant(Value value) {
  const auto [entry, is_new] = constants_.try_emplace(value.i, 0);
  if (is_new) {
    entry->second = new_register();
    program_.registers.back() = value;
  }
  return entry->second;
}

std::int32_t Builder::site(const Loc& loc) {
  if (program_.sites.empty() || program_.sites.back().scope != scope_ ||
      program_.sites.back().loc.source != loc.source || program_.sites.back().loc.line != loc.line ||
      program_.sites.back().loc.column != loc.column) {
    program_.sites.push_back({loc, scope_});
  }
  return static_cast<std::int32_t>(program_.sites.size() - 1);
}

std::size_t Builder::emit(Instr instr, const Loc& loc) {
  instr.site = site(loc);
  program_.code.push_back(instr);
  return program_.code.size() - 1;
}

void Builder::aim(std::size_t instr) { program_.code[instr].target = here(); }

std::int32_t Builder::value(const ExprRef& expr) {
  const ir::Expr& e = *expr;
  return std::visit(Overload{[&](const ir::IntLit& node) { return literal(e, node); },
                             [&](const ir::FloatLit& node) { return constant(float_value(node.value)); },
                             [&](const ir::VarRef& node) { return lookup(node); },
                             [&](const ir::Load& node) { return load(e, node); },
                             [&](const ir::Unary& node) { return unary(e, node); },
                             [&](const ir::Binary& node) { return binary(e, node); },
                             [&](const ir::Select& node) { return select(e, node); },
                             [&](const ir::Cast& node) { return cast(e, node); },
                             [&](const ir::Bitcast& node) { return bitcast(e, node); },
                             [&](const ir::Call& node) { return call(e, node); }},
                    e.node);
}

std::vector<std::int32_t> Builder::values(const std::vector<ExprRef>& exprs) {
  std::vector<std::int32_t> registers;
  for (const ExprRef& expr : exprs) registers.push_back(value(expr));
  return registers;
}

std::int32_t Builder::literal(const ir::Expr& expr, const ir::IntLit& node) {
  return constant(ir::is_float(expr.type) ? float_value(static_cast<double>(node.value)) : int_value(node.value));
}

std::int32_t Builder::lookup(const ir::VarRef& node) const {
  const auto found = vars_.find(node.var.get());
  PLAIT_ASSERT(found != vars_.end(), "the variable " + node.var->name + " is used before it is defined");
  return found->second;
}

std::int32_t Builder::load(const ir::Expr& expr, const ir::Load& node) {
  Instr instr{.run = run_load, .a = element(node.buffer, node.index, expr.loc)};
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::unary(const ir::Expr& expr, const ir::Unary& node) {
  const DType type = node.a->type;
  Instr instr{.run = unary_handler(node.op, type), .a = value(node.a), .c = static_cast<std::int32_t>(node.op)};
  instr.type = type;
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::binary(const ir::Expr& expr, const ir::Binary& node) {
  if (node.op == ir::BinaryOp::logical_and || node.op == ir::BinaryOp::logical_or) return logical(expr, node);
  const DType type = node.a->type;
  Instr instr{.run = binary_handler(node.op, type)};
  instr.a = value(node.a);
  instr.b = value(node.b);
  instr.c = static_cast<std::int32_t>(node.op);
  instr.type = type;
  instr.shift = static_cast<std::uint8_t>(64 - ir::dtype_bits(type));
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::logical(const ir::Expr& expr, const ir::Binary& node) {
  const std::int32_t result = new_register();
  emit({.run = run_move, .dst = result, .a = value(node.a)}, expr.loc);
  const Handler skip = node.op == ir::BinaryOp::logical_and ? run_jump_if_zero : run_jump_if_set;
  const std::size_t jump = emit({.run = skip, .a = result}, expr.loc);
  emit({.run = run_move, .dst = result, .a = value(node.b)}, expr.loc);
  aim(jump);
  return result;
}

std::int32_t Builder::select(const ir::Expr& expr, const ir::Select& node) {
  const std::int32_t result = new_register();
  const std::size_t to_false = emit({.run = run_jump_if_zero, .a = value(node.cond)}, expr.loc);
  emit({.run = run_move, .dst = result, .a = value(node.if_true)}, expr.loc);
  const std::size_t to_end = emit({.run = run_jump}, expr.loc);
  aim(to_false);
  emit({.run = run_move, .dst = result, .a = value(node.if_false)}, expr.loc);
  aim(to_end);
  return result;
}

std::int32_t Builder::add_cast(DType from, DType to, ir::Rounding rounding, bool saturate) {
  program_.casts.push_back({from, to, rounding, saturate});
  return static_cast<std::int32_t>(program_.casts.size() - 1);
}

std::int32_t Builder::cast(const ir::Expr& expr, const ir::Cast& node) {
  const std::int32_t from = value(node.a);
  // A saturating conversion turns an infinity into a number even where no number is too large.
  if (same_value(node.a->type, expr.type) && !(node.saturate && ir::is_float(expr.type))) return from;
  Instr instr{.run = run_cast, .a = from, .b = add_cast(node.a->type, expr.type, node.rounding, node.saturate)};
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::bitcast(const ir::Expr& expr, const ir::Bitcast& node) {
  Instr instr{.run = run_bitcast, .a = value(node.a)};
  instr.b = add_cast(node.a->type, expr.type, ir::Rounding::nearest_even, false);
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::call(const ir::Expr& expr, const ir::Call& node) {
  const std::vector<std::int32_t> args = values(node.args);
  Instr instr{.run = call_handler(node.fn), .target = static_cast<std::int32_t>(node.fn)};
  instr.a = args[0];
  if (args.size() > 1) instr.b = args[1];
  if (args.size() > 2) instr.c = args[2];
  instr.type = node.args[0]->type;
  instr.dst = new_register();
  emit(instr, expr.loc);
  return instr.dst;
}

std::int32_t Builder::element(const ir::Buffer& buffer, const std::vector<ExprRef>& index, const Loc& loc) {
  ElementCode code;
  code.index = values(index);
  code.reach = reach(buffer, loc);
  program_.elements.push_back(std::move(code));
  return static_cast<std::int32_t>(program_.elements.size() - 1);
}

}  // namespace plait::interp
