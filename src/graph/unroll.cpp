#include "graph/unroll.h"

#include <algorithm>

#include "analysis/affine.h"
#include "analysis/expr_util.h"
#include "graph/work.h"
#include "ir/build.h"
#include "ir/rebuild.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::graph {

using namespace ir;

namespace {

constexpr std::int64_t kMostTrips = 8, kMostStatements = 16;

/// Copies statements with values in the place of some variables; lets and loop variables of the copy are its own.
class Copier {
 public:
  Copier(const Var& var, std::int64_t value) { values_[var.get()] = typed_int(var->type, value, var->loc); }

  Body body(const Body& from) {
    Body out;
    for (const StmtRef& stmt : from) {
      StmtNode node = std::visit([&](const auto& n) { return StmtNode(copied(n)); }, stmt->node);
      out.push_back(make_stmt(std::move(node), stmt->loc));
    }
    return out;
  }

 private:
  ExprRef of(const ExprRef& e) const {
    if (e == nullptr) return e;
    ExprRef made = substitute(e, values_);
    return made == e ? e : analysis::simplify(made, {});
  }
  std::vector<ExprRef> of(std::vector<ExprRef> list) const {
    for (ExprRef& e : list) e = of(e);
    return list;
  }
  ir::Region of(ir::Region region) const {
    for (Range& range : region.ranges) range = {of(range.begin), of(range.extent)};
    return region;
  }
  Var own(const Var& var) {
    Var made = std::make_shared<VarDecl>(*var);
    values_[var.get()] = var_ref(made, var->loc);
    return made;
  }

  For copied(const For& n) {
    For out = n;
    for (LoopAxis& axis : out.axes) axis = {axis.var, of(axis.begin), of(axis.end), of(axis.step)};
    for (LoopAxis& axis : out.axes) axis.var = own(axis.var);
    out.body = body(n.body);
    return out;
  }
  While copied(const While& n) { return {of(n.cond), body(n.body)}; }
  If copied(const If& n) { return {of(n.cond), body(n.then_body), body(n.else_body)}; }
  Let copied(const Let& n) {
    ExprRef value = of(n.value);
    return {own(n.var), std::move(value)};
  }
  Store copied(const Store& n) const { return {n.buffer, of(n.index), of(n.value)}; }
  AtomicElement copied(const AtomicElement& n) const { return {n.op, n.buffer, of(n.index), of(n.value)}; }
  TileOp copied(const TileOp& n) const {
    TileOp out = n;
    for (ir::Region& region : out.operands) region = of(region);
    if (auto* copy = std::get_if<CopyAttrs>(&out.attrs)) {
      if (copy->rows) copy->rows = of(*copy->rows);
      copy->valid = of(copy->valid);
      copy->pad = of(copy->pad);
    }
    if (auto* fill = std::get_if<FillAttrs>(&out.attrs)) fill->value = of(fill->value);
    return out;
  }
  Assert copied(const Assert& n) const { return {of(n.cond), n.message}; }
  Print copied(const Print& n) const { return {n.format, of(n.args)}; }
  Task copied(const Task& n) { return {n.latency, n.ii, body(n.body)}; }
  Alloc copied(const Alloc& n) const { return n; }
  Break copied(const Break& n) const { return n; }
  Continue copied(const Continue& n) const { return n; }

  VarMap values_;
};

/// The values of a loop's variable, where it is one to take apart.
std::vector<std::int64_t> values_of(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  if (loop == nullptr || (loop->kind != LoopKind::serial && loop->kind != LoopKind::unrolled)) return {};
  const LoopAxis& axis = loop->axes.front();
  auto begin = as_int(axis.begin), end = as_int(axis.end), step = as_int(axis.step);
  if (!begin || !end || !step) return {};
  std::int64_t trips = *end > *begin ? (*end - *begin + *step - 1) / *step : 0;
  bool works = false, fits = trips > 0 && trips <= kMostTrips;
  std::int64_t statements = 0;
  walk(loop->body, [&](const Stmt& inner) {
    const auto* other = std::get_if<For>(&inner.node);
    fits = fits && !std::holds_alternative<Alloc>(inner.node) && !std::holds_alternative<While>(inner.node) &&
           !std::holds_alternative<Break>(inner.node) && !std::holds_alternative<Continue>(inner.node) &&
           (other == nullptr || other->kind == LoopKind::parallel);
    works = works || (is_async(inner) && unit_of(inner) == Unit::matrix);
    fits = fits && !is_load(inner);
    ++statements;
  });
  if (!fits || !works || statements * trips > kMostStatements) return {};
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < trips; ++i) values.push_back(*begin + i * *step);
  return values;
}

/// A body of a pipelined loop without the inner loops that are taken apart.
Body unrolled(const Body& body) {
  Body out;
  for (const StmtRef& stmt : body) {
    std::vector<std::int64_t> values = values_of(*stmt);
    if (values.empty()) out.push_back(stmt);
    for (std::int64_t value : values) {
      const For& loop = std::get<For>(stmt->node);
      Body copy = Copier(loop.axes.front().var, value).body(loop.body);
      out.insert(out.end(), copy.begin(), copy.end());
    }
  }
  return out;
}

Body with_unrolled(const Body& body) {
  Body out;
  for (const StmtRef& stmt : body) {
    const auto* loop = std::get_if<For>(&stmt->node);
    bool open =
        loop != nullptr && loop->kind == LoopKind::pipelined && !loop->pipeline.stages && loop->pipeline.order.empty();
    out.push_back(with_bodies(stmt, open ? unrolled : with_unrolled));
  }
  return out;
}

}  // namespace

Kernel with_inner_loops_unrolled(const Kernel& kernel) {
  Kernel out = kernel;
  out.body = with_unrolled(kernel.body);
  return out;
}

}  // namespace plait::graph
