#include "analysis/affine.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

namespace {

bool names(const ExprRef& expr, const For& nest) {
  bool found = false;
  walk(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    for (const LoopAxis& axis : nest.axes) found = found || (ref != nullptr && ref->var == axis.var);
  });
  return found;
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
  Scalars::Scope scope(scalars_);
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

/// Of a nest that only replaces elements where a condition fails: when there is nothing to replace. A mask at the end
/// of a tensor, or at the diagonal of a causal product, then costs most tiles one comparison.
std::optional<Value> Lowering::nothing_to_mask(const For& nest, const place::NestAtom& atom) {
  if (atom.lines.size() != 1) return {};
  const place::NestLine& line = atom.lines.front();
  const auto* select = std::get_if<Select>(&line.value->node);
  if (select == nullptr) return {};
  const auto* kept = std::get_if<Load>(&select->if_true->node);
  if (kept == nullptr || kept->buffer != line.buffer || kept->index.size() != line.index.size()) return {};
  for (std::size_t d = 0; d < line.index.size(); ++d) {
    if (!identical(kept->index[d], line.index[d])) return {};
  }
  return holds_everywhere(select->cond, nest, own_rows(atom.domain));
}

}  // namespace plait::pipeline
