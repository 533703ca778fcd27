#include "analysis/accesses.h"

#include <algorithm>

#include "analysis/expr_util.h"
#include "support/result.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// Whether a loop body may leave an iteration early by a `break` or `continue` of that loop.
bool jumps(const Body& body) {
  return std::any_of(body.begin(), body.end(), [](const StmtRef& stmt) {
    return std::visit(Overload{[](const Break&) { return true; }, [](const Continue&) { return true; },
                               [](const If& s) { return jumps(s.then_body) || jumps(s.else_body); },
                               [](const Task& s) { return jumps(s.body); }, [](const auto&) { return false; }},
                      stmt->node);
  });
}

bool is_one(const ExprRef& extent) { return small_literal(extent) == 1; }

}  // namespace

std::optional<std::size_t> AccessWalker::allocated(const Buffer& buffer) const {
  auto it = allocs_.find(buffer.get());
  return it == allocs_.end() ? std::nullopt : std::optional(it->second);
}

void AccessWalker::walk(const Body& body) {
  std::size_t conditions = domain_.conditions.size(), lets = domain_.lets.size();
  for (std::size_t i = 0; i < body.size(); ++i) {
    path_.push_back({i, nullptr});
    statement(body[i]);
    path_.pop_back();
  }
  domain_.conditions.resize(conditions);
  domain_.lets.resize(lets);
}

void AccessWalker::walk_loop(const For& loop) {
  std::size_t vars = domain_.vars.size(), steps = path_.size();
  domain_.add_loop(loop);
  for (const LoopAxis& axis : loop.axes) path_.push_back({0, axis.var});
  bool early = jumps(loop.body);
  uncertain_ += early ? 1 : 0;
  walk(loop.body);
  uncertain_ -= early ? 1 : 0;
  path_.resize(steps);
  domain_.vars.resize(vars);
}

void AccessWalker::statement(const StmtRef& stmt) {
  StmtRef outer = std::exchange(stmt_, stmt);
  auto outside = std::exchange(seen_, {});
  std::visit([&](const auto& node) { visit_node(node); }, stmt->node);
  stmt_ = std::move(outer);
  seen_ = std::move(outside);
}

void AccessWalker::visit_node(const For& node) {
  path_.push_back({0, nullptr});
  for (const LoopAxis& axis : node.axes) {
    reads(axis.begin);
    reads(axis.end);
    if (axis.step) reads(axis.step);
  }
  if (visit_loop_) visit_loop_(stmt_, node, domain_);
  path_.back().number = 1;
  walk_loop(node);
  path_.pop_back();
}

/// The iterations of a `while` are counted by a variable that nobody sees.
void AccessWalker::visit_node(const While& node) {
  auto count = std::make_shared<const VarDecl>(VarDecl{"while", DType::i64, VarKind::loop, stmt_->loc});
  path_.push_back({0, count});
  domain_.vars.push_back({count, nullptr, nullptr, nullptr});
  ++uncertain_;
  path_.push_back({0, nullptr});
  reads(node.cond);
  path_.back().number = 1;
  domain_.assume(node.cond);
  walk(node.body);
  domain_.conditions.pop_back();
  --uncertain_;
  domain_.vars.pop_back();
  path_.resize(path_.size() - 2);
}

void AccessWalker::visit_node(const If& node) {
  path_.push_back({0, nullptr});
  reads(node.cond);
  domain_.assume(node.cond);
  path_.back().number = 1;
  walk(node.then_body);
  domain_.conditions.back() = not_expr(node.cond);
  path_.back().number = 2;
  walk(node.else_body);
  domain_.conditions.pop_back();
  path_.pop_back();
}

void AccessWalker::visit_node(const Let& node) {
  reads(node.value);
  domain_.add_let(node);
  assume_divisors(node.value);
}

void AccessWalker::visit_node(const Alloc& node) { allocs_[node.buffer.get()] = path_.size(); }

void AccessWalker::visit_node(const Store& node) {
  for (const ExprRef& e : node.index) reads(e);
  reads(node.value);
  element(node.buffer, node.index, Touch::write, nullptr);
}

void AccessWalker::visit_node(const AtomicElement& node) {
  for (const ExprRef& e : node.index) reads(e);
  reads(node.value);
  element(node.buffer, node.index, Touch::atomic, nullptr);
}

/// What follows an assertion is executed only where it held.
void AccessWalker::visit_node(const Assert& node) {
  reads(node.cond);
  domain_.assume(node.cond);
}

void AccessWalker::visit_node(const Print& node) {
  for (const ExprRef& e : node.args) reads(e);
}

void AccessWalker::visit_node(const Task& node) { walk(node.body); }

void AccessWalker::reads_under(const ExprRef& cond, const ExprRef& expr) {
  domain_.conditions.push_back(cond);
  auto outside = std::exchange(seen_, {});
  reads(expr);
  seen_ = std::move(outside);
  domain_.conditions.pop_back();
}

void AccessWalker::reads(const ExprRef& expr) {
  if (!seen_.insert(expr.get()).second) return;
  if (const auto* e = std::get_if<Select>(&expr->node)) {
    reads(e->cond);
    reads_under(e->cond, e->if_true);
    reads_under(not_expr(e->cond), e->if_false);
    return;
  }
  const auto* e = std::get_if<Binary>(&expr->node);
  if (e != nullptr && (e->op == BinaryOp::logical_and || e->op == BinaryOp::logical_or)) {
    reads(e->a);
    reads_under(e->op == BinaryOp::logical_and ? e->a : not_expr(e->a), e->b);
    return;
  }
  for (const ExprRef& operand : operands(*expr)) reads(operand);
  if (const auto* load = std::get_if<Load>(&expr->node)) element(load->buffer, load->index, Touch::read, expr.get());
}

/// What was divided by in an evaluated expression is not zero.
void AccessWalker::assume_divisors(const ExprRef& expr) {
  if (std::holds_alternative<Select>(expr->node)) return;
  const auto* e = std::get_if<Binary>(&expr->node);
  if (e != nullptr && (e->op == BinaryOp::logical_and || e->op == BinaryOp::logical_or)) return;
  for (const ExprRef& operand : operands(*expr)) assume_divisors(operand);
  bool divides = e != nullptr && (e->op == BinaryOp::div || e->op == BinaryOp::mod || e->op == BinaryOp::ceil_div);
  if (!divides || !is_integer(expr->type) || small_literal(e->b)) return;
  domain_.assume(binary_expr(BinaryOp::ne, e->b, int_expr(e->b->type, 0)));
}

void AccessWalker::element(const Buffer& buffer, const std::vector<ExprRef>& index, Touch touch, const Expr* load) {
  std::size_t conditions = domain_.conditions.size();
  for (const ExprRef& e : index) assume_divisors(e);
  Access access{stmt_, load, nullptr, touch, buffer, {}, uncertain_ == 0};
  for (const ExprRef& e : index) access.ranges.push_back({e, nullptr});
  visit_(access);
  domain_.conditions.resize(conditions);
}

void AccessWalker::region(const Region& region, Touch touch, bool certain) {
  visit_(Access{stmt_, nullptr, &region, touch, region.buffer, region.ranges, certain && uncertain_ == 0});
}

/// The side of a copy whose rows come from a map: the first dimension of more than one row may be anywhere.
void AccessWalker::mapped_region(const Region& region, Touch touch) {
  Access access{stmt_, nullptr, &region, touch, region.buffer, region.ranges, false};
  for (Range& range : access.ranges) {
    bool one = is_one(range.extent), sure = small_literal(range.extent).has_value();
    if (!one) range.begin = nullptr;
    if (!one && sure) break;
  }
  visit_(access);
}

void AccessWalker::region_reads(const Region& region) {
  for (const Range& range : region.ranges) {
    reads(range.begin);
    reads(range.extent);
  }
}

void AccessWalker::copy(const TileOp& node, const CopyAttrs& attrs) {
  const Region& source = node.operands[0];
  const Region& target = node.operands[1];
  for (const ExprRef& e : attrs.valid) reads(e);
  if (attrs.pad) reads(attrs.pad);
  if (attrs.rows) {
    region_reads(*attrs.rows);
    region(*attrs.rows, Touch::read, true);
  }
  if (attrs.rows && !attrs.scatter) {
    mapped_region(source, Touch::read);
  } else {
    region(source, Touch::read, true);
  }
  if (attrs.rows && attrs.scatter) return mapped_region(target, Touch::write);
  // A global source pads what is not valid; elsewhere the rest of the target keeps its contents.
  bool whole = attrs.valid.empty() || (source.buffer->scope == Scope::global && target.buffer->scope != Scope::global);
  region(target, Touch::write, whole);
}

void AccessWalker::visit_node(const TileOp& node) {
  for (const Region& operand : node.operands) region_reads(operand);
  if (const auto* attrs = std::get_if<CopyAttrs>(&node.attrs)) return copy(node, *attrs);
  bool overwrites = false;
  if (const auto* attrs = std::get_if<FillAttrs>(&node.attrs)) reads(attrs->value);
  if (const auto* attrs = std::get_if<GemmAttrs>(&node.attrs)) overwrites = attrs->clear_accum;
  if (const auto* attrs = std::get_if<ReduceAttrs>(&node.attrs)) overwrites = attrs->clear;
  const auto& effects = op_info(node.kind).effects;
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    bool reads_it = effects[i] == Effect::read || (effects[i] == Effect::update && !overwrites);
    if (reads_it) region(node.operands[i], Touch::read, true);
  }
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    if (effects[i] != Effect::read) region(node.operands[i], Touch::write, true);
  }
}

}  // namespace plait::analysis
