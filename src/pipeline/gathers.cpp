#include <fmt/format.h>

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

// Rows that the threads of the role that loads gather, by cp.async.
//
// A row of the tile takes as many neighbouring threads as it has pieces, so that each thread keeps its place in the
// rows and has every so manyth row. What a row's place in the tensor takes to compute and no iteration of the loop
// changes (quotients and remainders) is computed before the loop and kept in registers.
//
// What a thread has copied it has to await before it may say so; an item is therefore published some iterations after
// its copies were issued, and they are under way meanwhile.
namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

bool gather_mentions(const ExprRef& expr, const std::set<const VarDecl*>& vars) {
  return analysis::any_of_tree(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    return ref != nullptr && vars.contains(ref->var.get());
  });
}

bool divides(const ExprRef& expr) {
  return analysis::any_of_tree(expr, [](const Expr& e) {
    const auto* node = std::get_if<Binary>(&e.node);
    return node != nullptr && (node->op == BinaryOp::div || node->op == BinaryOp::mod);
  });
}

/// The largest parts of the expression that divide, differ among rows and stay as they are in all iterations.
void find_kept(const ExprRef& expr, const Var& row, const std::set<const VarDecl*>& changing,
               std::vector<ExprRef>& found) {
  if (!gather_mentions(expr, {row.get()}) || !divides(expr)) return;
  const bool number = expr->type == DType::i64 || expr->type == DType::i32;
  if (!number || gather_mentions(expr, changing)) {
    for (const ExprRef& operand : analysis::operands(*expr)) find_kept(operand, row, changing, found);
    return;
  }
  auto same = [&](const ExprRef& other) { return analysis::same_expr(expr, other); };
  if (std::none_of(found.begin(), found.end(), same)) found.push_back(expr);
}

/// The terms of a sum that differ among rows, and the rest of it; nothing where one cannot be told from the other.
struct Split {
  ExprRef row, rest;  ///< null: nothing
};
std::optional<Split> split_sum(const ExprRef& expr, const std::set<const VarDecl*>& row) {
  if (!gather_mentions(expr, row)) return Split{nullptr, expr};
  const auto* node = std::get_if<Binary>(&expr->node);
  const bool sum = node != nullptr && (node->op == BinaryOp::add || node->op == BinaryOp::sub);
  if (!sum) return Split{expr, nullptr};
  auto a = split_sum(node->a, row), b = split_sum(node->b, row);
  if (!a || !b) return {};
  Diagnostics diags;
  auto joined = [&](const ExprRef& x, const ExprRef& y) -> ExprRef {
    if (y == nullptr) return x;
    ExprRef left = x != nullptr ? x : typed_int(expr->type, 0);
    if (x == nullptr && node->op == BinaryOp::add) return y;
    return make_binary(node->op, left, y, expr->loc, diags);
  };
  return Split{joined(a->row, b->row), joined(a->rest, b->rest)};
}

/// Elements from one to the next along a dimension.
Value stride_of(const Buffer& tensor, std::size_t d) {
  if (!tensor->strides.empty()) return Value(tensor->strides[d]);
  Value out = 1;
  for (std::size_t inner = d + 1; inner < tensor->shape.size(); ++inner)
    out = inner == d + 1 ? Value(tensor->shape[inner]) : out * Value(tensor->shape[inner]);
  return out;
}

Value wide(const Value& value) {
  return value.expr()->type == DType::i64 ? value : roles::build::cast(DType::i64, value);
}

void gather_conjuncts(const ExprRef& cond, std::vector<ExprRef>& out) {
  const auto* both = std::get_if<Binary>(&cond->node);
  if (both == nullptr || both->op != BinaryOp::logical_and) return out.push_back(cond);
  gather_conjuncts(both->a, out);
  gather_conjuncts(both->b, out);
}

/// Variables that have another value in each iteration of a loop.
std::set<const VarDecl*> changing_in(const For& loop) {
  std::set<const VarDecl*> out;
  for (const LoopAxis& axis : loop.axes) out.insert(axis.var.get());
  walk(loop.body, [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) out.insert(let->var.get());
    if (const auto* inner = std::get_if<For>(&stmt.node)) {
      for (const LoopAxis& axis : inner->axes) out.insert(axis.var.get());
    }
  });
  return out;
}

}  // namespace

/// How the threads share out a tile.
Lowering::GatherShape Lowering::gather_shape(const Stmt& stmt, const graph::TensorRows& gather) const {
  const std::vector<std::int64_t> shape = static_shape(*gather.tile);
  GatherShape out;
  out.piece = std::get<place::CopyAtom>(placed_.atom(stmt)).piece;
  out.elements = out.piece * 8 / dtype_bits(gather.tile->type);
  out.lanes = shape[1] / out.elements;
  out.step = place::kGatherThreads / out.lanes;
  out.own = shape[0] / out.step;
  return out;
}

/// What a thread knows of its rows: which they are and, of those that `loop` gathers, what its iterations leave as it
/// is. Null: the gather stands in no loop.
Lowering::GatheredRows Lowering::keep_rows(const Stmt& stmt, const For* loop) {
  GatheredRows out;
  out.gather = *graph::row_gather(stmt);
  const graph::TensorRows& gather = out.gather;
  out.shape = gather_shape(stmt, gather);
  const std::string& name = gather.tile->name;
  Value thread = b_.builtins().thread;
  out.row = b_.let(fresh(name + "_row"), thread / out.shape.lanes);
  out.column = b_.let(fresh(name + "_column"), thread % out.shape.lanes * out.shape.elements);
  out.sometimes = gather.inside;
  if (loop == nullptr) return out;
  const Scalars::Demanding narrow(scalars_);
  std::set<const VarDecl*> changing = changing_in(*loop);
  changing.erase(gather.row.var.get());
  std::vector<ExprRef> found;
  for (const ExprRef& expr : gather.index) find_kept(expr, gather.row.var, changing, found);
  if (gather.inside != nullptr) find_kept(gather.inside, gather.row.var, changing, found);
  for (const ExprRef& expr : found)
    out.kept.push_back(
        {expr, std::make_shared<const VarDecl>(VarDecl{name + "_at", expr->type, VarKind::let, {}}), {}});
  split_places(out, changing);
  for (std::int64_t u = 0; u < out.shape.own; ++u) {
    Scalars::Scope scope(scalars_);
    scalars_.add_loop(std::get<For>(stmt.node));
    scalars_.bind(gather.row.var, out.row_at(u));
    for (KeptOfRow& kept : out.kept) kept.values.push_back(b_.let(fresh(name + "_at"), scalars_.convert(kept.expr)));
    bind_kept(out, u);
    if (out.splits) out.offsets.push_back(b_.let(fresh(name + "_from"), row_offset(out)));
    if (out.always != nullptr)
      out.wanted.push_back(b_.let(fresh(name + "_in"), scalars_.convert(with_kept(out.always, out.kept))));
  }
  return out;
}

/// What of the places and conditions of rows no iteration changes.
void Lowering::split_places(GatheredRows& rows, const std::set<const VarDecl*>& changing) {
  const graph::TensorRows& gather = rows.gather;
  rows.splits = true;
  std::set<const VarDecl*> of_row = {gather.row.var.get()};
  for (const KeptOfRow& kept : rows.kept) of_row.insert(kept.var.get());
  for (const ExprRef& expr : gather.index) {
    auto split = split_sum(with_kept(expr, rows.kept), of_row);
    rows.splits = rows.splits && split && (split->row == nullptr || !gather_mentions(split->row, changing));
    rows.row_index.push_back(split ? split->row : nullptr);
    rows.rest_index.push_back(split ? split->rest : nullptr);
  }
  std::vector<ExprRef> list;
  if (gather.inside != nullptr) gather_conjuncts(gather.inside, list);
  Diagnostics diags;
  rows.sometimes = nullptr;
  for (const ExprRef& cond : list) {
    ExprRef& part = gather_mentions(cond, changing) ? rows.sometimes : rows.always;
    part = part == nullptr ? cond : make_binary(BinaryOp::logical_and, part, cond, cond->loc, diags);
  }
}

/// Has what is kept of a thread's row stand for what it was computed from.
void Lowering::bind_kept(const GatheredRows& rows, std::int64_t own) {
  for (const KeptOfRow& kept : rows.kept) {
    scalars_.add_let({kept.var, kept.expr});
    scalars_.bind(kept.var, kept.values[static_cast<std::size_t>(own)]);
  }
}

/// Elements of the tensor before a row's, without what iterations add to it.
Value Lowering::row_offset(const GatheredRows& rows) {
  std::optional<Value> sum;
  for (std::size_t d = 0; d < rows.row_index.size(); ++d) {
    if (rows.row_index[d] == nullptr) continue;
    Value part = wide(scalars_.index(rows.row_index[d])) * stride_of(rows.gather.tensor, d);
    sum = sum ? *sum + part : part;
  }
  return sum ? *sum : Value(typed_int(DType::i64, 0));
}

/// What an iteration adds to it for all rows.
Value Lowering::step_offset(const GatheredRows& rows, const Value& from) {
  Value sum = wide(from);
  for (std::size_t d = 0; d < rows.rest_index.size(); ++d) {
    if (rows.rest_index[d] == nullptr || as_int(rows.rest_index[d]) == 0) continue;
    sum = sum + wide(scalars_.index(rows.rest_index[d])) * stride_of(rows.gather.tensor, d);
  }
  return sum;
}

/// The expression with what is kept of it in its place.
ExprRef Lowering::with_kept(const ExprRef& expr, const std::vector<KeptOfRow>& kept) {
  for (const KeptOfRow& one : kept) {
    if (analysis::same_expr(expr, one.expr)) return var_ref(one.var);
  }
  std::vector<ExprRef> operands = analysis::operands(*expr);
  for (ExprRef& operand : operands) operand = with_kept(operand, kept);
  return analysis::with_operands(expr, operands);
}

/// The copies of one tile, each thread its pieces.
void Lowering::gather_tile(const Stmt& stmt) {
  BodyScope scope(*this);
  auto known = gathered_rows_.find(&stmt);
  const GatheredRows rows = known != gathered_rows_.end() ? known->second : keep_rows(stmt, nullptr);
  const Scalars::Demanding narrow(scalars_);
  const graph::TensorRows& gather = rows.gather;
  const Buffer& tensor = gather.tensor;
  Value from = b_.let(fresh("from"), scalars_.index(gather.begin) + rows.column);
  std::optional<Value> clipped;
  if (gather.clipped) clipped = b_.let(fresh("within"), from < scalars_.index(tensor->shape.back()));
  std::optional<Value> step;
  if (rows.splits) step = b_.let(fresh("step"), step_offset(rows, from));
  for (std::int64_t u = 0; u < rows.shape.own; ++u) {
    Scalars::Scope own(scalars_);
    scalars_.add_loop(std::get<For>(stmt.node));
    scalars_.bind(gather.row.var, rows.row_at(u));
    bind_kept(rows, u);
    Values index;
    for (const ExprRef& expr : gather.index)
      index.push_back(step ? Value(0) : scalars_.index(with_kept(expr, rows.kept)));
    index.push_back(step ? rows.offsets[static_cast<std::size_t>(u)] + *step : from);
    std::optional<Value> where = clipped;
    auto demand = [&](const Value& cond) { where = where ? cond && *where : cond; };
    if (rows.sometimes != nullptr) demand(scalars_.convert(with_kept(rows.sometimes, rows.kept)));
    if (!rows.wanted.empty()) demand(rows.wanted[static_cast<std::size_t>(u)]);
    if (!where) where = Value(bool_literal(true));
    b_.add(roles::CpAsync{tile(gather.tile, {rows.row_at(u), rows.column}), at(tensor, index), 1, rows.shape.elements,
                          rows.shape.piece, where->expr()});
  }
}

// ---- When items are published --------------------------------------------------------------------------------------

/// Iterations by which items are published behind their copies in a loop over this body. The reader may hold an item
/// while it waits for the next one, and all that were not published hold slots, too.
int Lowering::gather_lag(const For& loop) const {
  constexpr std::int64_t kMostBehind = 4;
  if (as_int(loop.axes.front().step) != 1 || may_jump(loop.body)) return 0;
  std::set<std::size_t> here;
  std::int64_t least = INT64_MAX;
  for (const StmtRef& stmt : loop.body) {
    auto ring = rings_.filled_by_loader(*stmt);
    if (!ring) {
      // What is gathered within ends groups of its own.
      for (std::size_t inner : rings_.filled_within(*stmt)) {
        if (rings_.all()[inner].gathered) return 0;
      }
      continue;
    }
    const Ring& filled = rings_.all()[*ring];
    if (filled.gathered) here.insert(*ring);
    least = std::min(least, filled.depth - std::max<std::int64_t>(filled.least - 2, 0));
  }
  if (here.size() != 1) return 0;
  const std::int64_t lag = std::max(least - 3, std::min<std::int64_t>(least - 2, 1));
  return static_cast<int>(std::clamp<std::int64_t>(lag, 0, kMostBehind));
}

void Lowering::publish_gathered(std::size_t ring) {
  b_.add(roles::CpCommit{});
  auto publish = [&] {
    b_.add(roles::CpWait{lag_.count});
    b_.add(roles::Publish{item(ring, lag_.count)});
  };
  if (lag_.count == 0) return publish();
  b_.if_(lag_.done >= lag_.count, publish);
}

/// Behind a loop: what it has copied last.
void Lowering::publish_rest(std::size_t ring, int lag, const Value& trips) {
  for (int behind = lag; behind > 0; --behind) {
    b_.if_(trips >= behind, [&] {
      b_.add(roles::CpWait{behind - 1});
      b_.add(roles::Publish{item(ring, behind)});
    });
  }
}

/// A loop of the role that loads.
void Lowering::load_loop(const For& loop) {
  const LoopAxis& axis = loop.axes.front();
  Value begin = scalars_.index(axis.begin), end = scalars_.index(axis.end);
  std::optional<std::size_t> gathered;
  for (const StmtRef& stmt : loop.body) {
    auto ring = rings_.filled_by_loader(*stmt);
    if (!ring || !rings_.all()[*ring].gathered) continue;
    gathered = ring;
    gathered_rows_.insert_or_assign(stmt.get(), keep_rows(*stmt, &loop));
  }
  const Lag around = lag_;
  const int lag = gathered ? gather_lag(loop) : 0;
  b_.loop(fresh(axis.var->name), {begin, end, scalars_.index(axis.step)}, [&](const Value& value) {
    BodyScope scope(*this);
    scalars_.bind(axis.var, value);
    scalars_.add_loop(loop);
    lag_ = {lag, as_int(begin.expr()) == 0 ? value : value - begin};
    load_body(loop.body);
  });
  lag_ = around;
  if (lag > 0) publish_rest(*gathered, lag, as_int(begin.expr()) == 0 ? end : end - begin);
}

}  // namespace plait::pipeline
