#include "graph/row_gather.h"

#include <cmath>

#include "analysis/expr_util.h"
#include "graph/work.h"
#include "ir/build.h"
#include "ir/visit.h"

namespace plait::graph {

using namespace ir;

namespace {

bool mentions(const ExprRef& expr, const Var& var) {
  return analysis::any_of_tree(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return ref != nullptr && ref->var == var;
  });
}

bool is_positive_zero(const ExprRef& expr) {
  if (const auto* real = std::get_if<FloatLit>(&expr->node)) return real->value == 0 && !std::signbit(real->value);
  return as_int(expr) == 0;
}

/// What is left of a sum without the variable, which it has once and as it is; null for other expressions.
ExprRef without(const ExprRef& expr, const Var& var) {
  if (const auto* ref = std::get_if<VarRef>(&expr->node); ref != nullptr && ref->var == var)
    return typed_int(expr->type, 0, expr->loc);
  const auto* sum = std::get_if<Binary>(&expr->node);
  if (sum == nullptr || (sum->op != BinaryOp::add && sum->op != BinaryOp::sub)) return nullptr;
  const bool left = mentions(sum->a, var), right = mentions(sum->b, var);
  if (left == right || (right && sum->op == BinaryOp::sub)) return nullptr;
  ExprRef rest = without(left ? sum->a : sum->b, var);
  if (rest == nullptr) return nullptr;
  if (as_int(rest) == 0 && sum->op == BinaryOp::add) return left ? sum->b : sum->a;
  Diagnostics diags;
  return left ? make_binary(sum->op, rest, sum->b, expr->loc, diags)
              : make_binary(sum->op, sum->a, rest, expr->loc, diags);
}

void conjuncts(const ExprRef& cond, std::vector<ExprRef>& out) {
  const auto* both = std::get_if<Binary>(&cond->node);
  if (both == nullptr || both->op != BinaryOp::logical_and) return out.push_back(cond);
  conjuncts(both->a, out);
  conjuncts(both->b, out);
}

/// The only store of a nest's body, its lets, and the conditions around it.
struct Only {
  const Store* store = nullptr;
  VarMap lets;
  std::vector<ExprRef> conditions;
};

/// Takes a body apart in which nothing stands behind the store; without one where it holds anything else.
void take_apart(const Body& body, Only& out) {
  for (const StmtRef& stmt : body) {
    if (out.store != nullptr) {
      out.store = nullptr;
      return;
    }
    if (const auto* let = std::get_if<Let>(&stmt->node)) {
      out.lets[let->var.get()] = substitute(let->value, out.lets);
      continue;
    }
    if (const auto* node = std::get_if<If>(&stmt->node); node != nullptr && node->else_body.empty()) {
      out.conditions.push_back(substitute(node->cond, out.lets));
      take_apart(node->then_body, out);
    } else {
      out.store = std::get_if<Store>(&stmt->node);
    }
    if (out.store == nullptr) return;
  }
}

Only only_store(const For& nest) {
  Only out;
  take_apart(nest.body, out);
  return out;
}

/// Whether the nest runs over all elements of the tile, and the index is that of its own.
bool covers(const For& nest, const BufferDecl& tile, const std::vector<ExprRef>& index) {
  if (tile.shape.size() != 2 || nest.axes.size() != 2 || index.size() != 2) return false;
  for (std::size_t d = 0; d < 2; ++d) {
    const LoopAxis& axis = nest.axes[d];
    const auto* at = std::get_if<VarRef>(&index[d]->node);
    const bool whole = as_int(axis.begin) == 0 && as_int(axis.step) == 1 && as_int(axis.end) &&
                       as_int(axis.end) == as_int(tile.shape[d]);
    if (!whole || at == nullptr || at->var != axis.var) return false;
  }
  return true;
}

/// Sorts a condition into those of a row and the end of the tensor's rows; false where it is neither.
bool take_condition(const ExprRef& cond, const ExprRef& last, const Var& column, TensorRows& out) {
  std::vector<ExprRef> list;
  conjuncts(cond, list);
  Diagnostics diags;
  for (const ExprRef& one : list) {
    if (!mentions(one, column)) {
      out.inside = out.inside == nullptr ? one : make_binary(BinaryOp::logical_and, out.inside, one, cond->loc, diags);
      continue;
    }
    const auto* less = std::get_if<Binary>(&one->node);
    const bool end = less != nullptr && less->op == BinaryOp::lt && analysis::same_expr(less->a, last) &&
                     analysis::same_expr(less->b, out.tensor->shape.back());
    if (!end) return false;
    out.clipped = true;
  }
  return true;
}

/// Where the rows lie; nothing where an element's place in its row or the row's depends on the other's.
std::optional<TensorRows> rows_at(const For& nest, const Buffer& tile, const Buffer& tensor,
                                  const std::vector<ExprRef>& index, const std::vector<ExprRef>& conditions) {
  const Var &row = nest.axes[0].var, &column = nest.axes[1].var;
  if (tensor->scope != Scope::global) return {};
  TensorRows out{tile, tensor, nest.axes[0], {}, without(index.back(), column), nullptr};
  if (out.begin == nullptr || mentions(out.begin, row)) return {};
  for (std::size_t d = 0; d + 1 < index.size(); ++d) {
    if (mentions(index[d], column)) return {};
    out.index.push_back(index[d]);
  }
  for (const ExprRef& cond : conditions) {
    if (!take_condition(cond, index.back(), column, out)) return {};
  }
  return out;
}

const For* nest_of(const Stmt& stmt) {
  const auto* nest = std::get_if<For>(&stmt.node);
  return nest != nullptr && nest->kind == LoopKind::parallel ? nest : nullptr;
}

}  // namespace

std::optional<TensorRows> row_gather(const Stmt& stmt) {
  const For* nest = nest_of(stmt);
  if (nest == nullptr) return {};
  const Only only = only_store(*nest);
  const Store* store = only.store;
  const bool whole = store != nullptr && only.conditions.empty() && store->buffer->scope == Scope::shared &&
                     covers(*nest, *store->buffer, store->index);
  if (!whole) return {};
  const ExprRef value = substitute(store->value, only.lets);
  const auto* choice = std::get_if<Select>(&value->node);
  if (choice != nullptr && !is_positive_zero(choice->if_false)) return {};
  const auto* load = std::get_if<Load>(choice == nullptr ? &value->node : &choice->if_true->node);
  if (load == nullptr || load->buffer->type != store->buffer->type) return {};
  std::vector<ExprRef> conditions;
  if (choice != nullptr) conditions.push_back(choice->cond);
  return rows_at(*nest, store->buffer, load->buffer, load->index, conditions);
}

std::optional<TensorRows> row_scatter(const Stmt& stmt) {
  const For* nest = nest_of(stmt);
  if (nest == nullptr) return {};
  const Only only = only_store(*nest);
  if (only.store == nullptr) return {};
  ExprRef value = substitute(only.store->value, only.lets);
  const DType type = only.store->buffer->type;
  if (const auto* cast = std::get_if<Cast>(&value->node);
      cast != nullptr && value->type == type && cast->rounding == Rounding::nearest_even && !cast->saturate)
    value = cast->a;
  const auto* load = std::get_if<Load>(&value->node);
  const bool own = load != nullptr && load->buffer->scope == Scope::fragment && is_float(load->buffer->type) &&
                   is_float(type) && covers(*nest, *load->buffer, load->index);
  if (!own) return {};
  std::vector<ExprRef> index;
  for (const ExprRef& e : only.store->index) index.push_back(substitute(e, only.lets));
  return rows_at(*nest, load->buffer, only.store->buffer, index, only.conditions);
}

Buffer loaded_tile(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op != nullptr) return is_load(stmt) ? op->operands[1].buffer : nullptr;
  auto gather = row_gather(stmt);
  return gather ? gather->tile : nullptr;
}

Buffer loaded_tensor(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op != nullptr) return is_load(stmt) ? op->operands[0].buffer : nullptr;
  auto gather = row_gather(stmt);
  return gather ? gather->tensor : nullptr;
}

}  // namespace plait::graph
