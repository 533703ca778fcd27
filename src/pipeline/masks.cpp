#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

namespace {

bool names(const ExprRef& expr, const For& nest) {
  return analysis::any_of_tree(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    auto is_own = [&](const LoopAxis& axis) { return ref != nullptr && ref->var == axis.var; };
    return std::any_of(nest.axes.begin(), nest.axes.end(), is_own);
  });
}

/// Whether the nest keeps each element where a condition holds, and changes nothing else.
bool is_mask(const place::NestAtom& atom) {
  if (atom.lines.size() != 1) return false;
  const place::NestLine& line = atom.lines.front();
  const auto* select = std::get_if<Select>(&line.value->node);
  const auto* kept = select == nullptr ? nullptr : std::get_if<Load>(&select->if_true->node);
  if (kept == nullptr || kept->buffer != line.buffer || kept->index.size() != line.index.size()) return false;
  return std::equal(kept->index.begin(), kept->index.end(), line.index.begin(), identical);
}

bool is_below(BinaryOp op) { return op == BinaryOp::lt || op == BinaryOp::le; }
bool is_above(BinaryOp op) { return op == BinaryOp::gt || op == BinaryOp::ge; }

}  // namespace

/// A condition without the nest's variables under which `cond` holds for each of their values, where the comparisons
/// are affine in them: the one that is hardest to meet.
std::optional<Value> Lowering::holds_everywhere(const ExprRef& cond, const For& nest, std::int64_t rows) {
  if (!names(cond, nest)) return scalars_.convert(cond);
  const auto* node = std::get_if<Binary>(&cond->node);
  if (node == nullptr) return {};
  if (node->op == BinaryOp::logical_and) {
    auto a = holds_everywhere(node->a, nest, rows), b = holds_everywhere(node->b, nest, rows);
    if (!a || !b) return {};
    return *a && *b;
  }
  if ((!is_below(node->op) && !is_above(node->op)) || node->a->type != DType::i64) return {};
  Diagnostics diags;
  auto form = analysis::affine(make_binary(BinaryOp::sub, node->a, node->b, cond->loc, diags));
  if (!form) return {};
  BodyScope scope(*this);
  scalars_.add_loop(nest);
  for (std::size_t d = 0; d < nest.axes.size(); ++d) {
    const LoopAxis& axis = nest.axes[d];
    std::int64_t extent = d == 0 ? rows : *as_int(axis.end), coefficient = form->coefficient(axis.var.get());
    bool at_end = is_below(node->op) ? coefficient > 0 : coefficient < 0;
    Value worst = typed_int(DType::i32, at_end ? extent - 1 : 0);
    scalars_.bind(axis.var, d == 0 ? row_of(worst, rows) : worst);
  }
  return scalars_.convert(cond);
}

/// How many of the loop's first iterations find the condition true everywhere: those before a bound that its variable
/// crosses once.
std::optional<Value> Lowering::leading_iterations(const ExprRef& cond, const For& loop, const For& nest,
                                                  std::int64_t rows, const Value& end) {
  const Var& var = loop.axes.front().var;
  const auto* node = std::get_if<Binary>(&cond->node);
  if (node == nullptr) return {};
  if (node->op == BinaryOp::logical_and) {
    auto a = leading_iterations(node->a, loop, nest, rows, end), b = leading_iterations(node->b, loop, nest, rows, end);
    if (!a || !b) return {};
    return min(*a, *b);
  }
  if ((!is_below(node->op) && !is_above(node->op)) || node->a->type != DType::i64) return {};
  // small < large, or <=.
  const ExprRef &small = is_below(node->op) ? node->a : node->b, &large = is_below(node->op) ? node->b : node->a;
  bool strict = node->op == BinaryOp::lt || node->op == BinaryOp::gt;
  Diagnostics diags;
  auto form = analysis::affine(make_binary(BinaryOp::sub, small, large, cond->loc, diags));
  if (!form || form->coefficient(var.get()) <= 0) return {};
  BodyScope scope(*this);
  scalars_.add_loop(loop);
  scalars_.add_loop(nest);
  scalars_.bind(var, typed_int(DType::i32, 0));
  for (std::size_t d = 0; d < nest.axes.size(); ++d) {
    const LoopAxis& axis = nest.axes[d];
    std::int64_t extent = d == 0 ? rows : *as_int(axis.end);
    Value worst = typed_int(DType::i32, form->coefficient(axis.var.get()) > 0 ? extent - 1 : 0);
    scalars_.bind(axis.var, d == 0 ? row_of(worst, rows) : worst);
  }
  auto wide = [&](const ExprRef& e) { return roles::build::cast(DType::i64, scalars_.convert(e)); };
  Value room = wide(large) - wide(small) + (strict ? 0 : 1);
  Value count = ceildiv(max(room, 0), form->coefficient(var.get()));
  return roles::build::cast(DType::i32, min(count, roles::build::cast(DType::i64, end)));
}

/// How many of the first iterations of a loop none of its masks changes: those masks are then in `masks_`.
/// Only loops that count from 0 by 1 are split: their variable is the number of the iteration.
std::optional<Value> Lowering::unmasked_iterations(const For& loop, const std::vector<Step>& list, const Value& end) {
  if (!counts_iterations(loop)) return {};
  VarMap lets;  // of the loop's body, so that conditions show how they depend on its variable
  for (const Step& step : list) {
    const auto* let = std::get_if<Let>(&step.stmt->node);
    if (let != nullptr && is_uniform_let(*let)) lets[let->var.get()] = substitute(let->value, lets);
  }
  std::optional<Value> least;
  for (const Step& step : list) {
    auto atom = placed_.atoms.find(step.stmt.get());
    if (step.stage != 0 || atom == placed_.atoms.end()) continue;
    const auto* nest = std::get_if<place::NestAtom>(&atom->second);
    if (nest == nullptr || !is_mask(*nest) || sharing(nest->domain) != placed_.replicas) continue;
    ExprRef cond = substitute(std::get<Select>(nest->lines.front().value->node).cond, lets);
    auto count = leading_iterations(cond, loop, std::get<For>(step.stmt->node), own_rows(nest->domain), end);
    if (!count) continue;
    masks_.insert(step.stmt.get());
    least = least ? min(*least, *count) : *count;
  }
  return least;
}

/// Of a nest that only replaces elements where a condition fails: when there is nothing to replace. A mask at the end
/// of a tensor, or at the diagonal of a causal product, then costs most tiles one comparison.
std::optional<Value> Lowering::nothing_to_mask(const For& nest, const place::NestAtom& atom) {
  if (!is_mask(atom) || sharing(atom.domain) != placed_.replicas) return {};
  const auto& select = std::get<Select>(atom.lines.front().value->node);
  return holds_everywhere(select.cond, nest, own_rows(atom.domain));
}

}  // namespace plait::pipeline
