#include "place/swap.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "place/placer.h"
#include "place/turnable.h"
#include "place/turned_copy.h"

namespace plait::place {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;

/// Writes the kernel anew with those fragments turned.
class Turner {
 public:
  Turner(const std::set<const BufferDecl*>& turned, std::vector<Remark>& remarks)
      : turned_(turned), remarks_(remarks) {}

  Body body(const Body& from) {
    Body made;
    for (const StmtRef& stmt : from) made.push_back(statement(stmt));
    return made;
  }

 private:
  bool is_turned(const Buffer& buffer) const { return turned_.contains(buffer.get()); }
  Buffer turn(const Buffer& buffer);
  Region turn(Region region);
  ExprRef turn(const ExprRef& expr);
  StmtRef statement(const StmtRef& stmt);
  StmtRef loop(const StmtRef& stmt, const For& node);
  StmtRef operation(const StmtRef& stmt, const TileOp& op);
  StmtRef in_nest(const StmtRef& stmt);
  static StmtRef made(const StmtRef& of, StmtNode node) { return make_stmt(std::move(node), of->loc); }

  const std::set<const BufferDecl*>& turned_;
  std::vector<Remark>& remarks_;
  std::unordered_map<const BufferDecl*, Buffer> made_;
};

Buffer Turner::turn(const Buffer& buffer) {
  Buffer& known = made_[buffer.get()];
  if (known == nullptr) {
    BufferDecl decl = *buffer;
    std::reverse(decl.shape.begin(), decl.shape.end());
    known = std::make_shared<const BufferDecl>(std::move(decl));
  }
  return known;
}

Region Turner::turn(Region region) {
  if (!is_turned(region.buffer)) return region;
  region.buffer = turn(region.buffer);
  std::reverse(region.ranges.begin(), region.ranges.end());
  return region;
}

ExprRef Turner::turn(const ExprRef& expr) {
  return rewrite(expr, [&](const ExprRef& e) -> ExprRef {
    const auto* load = std::get_if<Load>(&e->node);
    if (load == nullptr || !is_turned(load->buffer)) return nullptr;
    Diagnostics diags;
    return make_load(turn(load->buffer), {load->index.rbegin(), load->index.rend()}, e->loc, diags);
  });
}

/// A statement inside of a nest.
StmtRef Turner::in_nest(const StmtRef& stmt) {
  if (const auto* node = std::get_if<Let>(&stmt->node)) return made(stmt, Let{node->var, turn(node->value)});
  if (const auto* node = std::get_if<Store>(&stmt->node)) {
    Store out{node->buffer, node->index, turn(node->value)};
    for (ExprRef& index : out.index) index = turn(index);
    if (is_turned(node->buffer)) {
      out.buffer = turn(node->buffer);
      std::reverse(out.index.begin(), out.index.end());
    }
    return made(stmt, std::move(out));
  }
  if (const auto* node = std::get_if<AtomicElement>(&stmt->node)) {
    AtomicElement out{node->op, node->buffer, node->index, turn(node->value)};
    for (ExprRef& index : out.index) index = turn(index);
    return made(stmt, std::move(out));
  }
  if (const auto* node = std::get_if<If>(&stmt->node)) {
    If out{turn(node->cond), {}, {}};
    for (const StmtRef& s : node->then_body) out.then_body.push_back(in_nest(s));
    for (const StmtRef& s : node->else_body) out.else_body.push_back(in_nest(s));
    return made(stmt, std::move(out));
  }
  return stmt;
}

StmtRef Turner::loop(const StmtRef& stmt, const For& node) {
  For out = node;
  if (node.kind != LoopKind::parallel) {
    out.body = body(node.body);
    return made(stmt, std::move(out));
  }
  bool touches = false;
  auto meet = [&](const Buffer& buffer) { touches = touches || is_turned(buffer); };
  walk(node.body, [&](const Stmt& inner) {
    if (const auto* store = std::get_if<Store>(&inner.node)) meet(store->buffer);
    for_each_expr(inner, [&](const ExprRef& root) {
      walk(root, [&](const Expr& e) {
        if (const auto* load = std::get_if<Load>(&e.node)) meet(load->buffer);
      });
    });
  });
  if (!touches) return stmt;
  std::reverse(out.axes.begin(), out.axes.end());
  out.body.clear();
  for (const StmtRef& inner : node.body) out.body.push_back(in_nest(inner));
  return made(stmt, std::move(out));
}

StmtRef Turner::operation(const StmtRef& stmt, const TileOp& op) {
  bool touches =
      std::any_of(op.operands.begin(), op.operands.end(), [&](const Region& r) { return is_turned(r.buffer); });
  if (!touches) return stmt;
  if (op.kind == OpKind::copy) return turned_copy(stmt, op, turn(op.operands[0].buffer));
  TileOp out = op;
  for (Region& region : out.operands) region = turn(std::move(region));
  if (const auto* attrs = std::get_if<GemmAttrs>(&op.attrs)) {
    std::swap(out.operands[0], out.operands[1]);
    GemmAttrs swapped = *attrs;
    swapped.trans_a = !attrs->trans_b;
    swapped.trans_b = !attrs->trans_a;
    out.attrs = swapped;
    Shape shape = static_shape(*op.operands[2].buffer);
    remarks_.push_back({stmt->loc, fmt::format("the product is computed as its transpose: its {} rows are no multiple "
                                               "of {}, its {} columns are",
                                               shape[0], kWarpgroupRows, shape[1])});
  }
  return made(stmt, std::move(out));
}

StmtRef Turner::statement(const StmtRef& stmt) {
  if (const auto* op = std::get_if<TileOp>(&stmt->node)) return operation(stmt, *op);
  if (const auto* node = std::get_if<For>(&stmt->node)) return loop(stmt, *node);
  if (const auto* node = std::get_if<While>(&stmt->node)) return made(stmt, While{node->cond, body(node->body)});
  if (const auto* node = std::get_if<If>(&stmt->node))
    return made(stmt, If{node->cond, body(node->then_body), body(node->else_body)});
  if (const auto* node = std::get_if<Task>(&stmt->node))
    return made(stmt, Task{node->latency, node->ii, body(node->body)});
  const auto* node = std::get_if<Alloc>(&stmt->node);
  return node != nullptr && is_turned(node->buffer) ? made(stmt, Alloc{turn(node->buffer)}) : stmt;
}

}  // namespace

Kernel swap_products(const Kernel& kernel, std::vector<Remark>& remarks) {
  std::set<const BufferDecl*> turned = turnable_fragments(kernel.body);
  if (turned.empty()) return kernel;
  Kernel made = kernel;
  made.body = Turner(turned, remarks).body(kernel.body);
  return made;
}

}  // namespace plait::place
