#include "place/swap.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "place/nest.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

namespace {

using Shape = std::vector<std::int64_t>;

const TileOp* op_of(const Stmt& stmt) { return std::get_if<TileOp>(&stmt.node); }
const GemmAttrs* gemm_of(const Stmt& stmt) {
  const TileOp* op = op_of(stmt);
  return op == nullptr ? nullptr : std::get_if<GemmAttrs>(&op->attrs);
}
bool is_tile(const Buffer& buffer) { return is_fragment(buffer) && buffer->shape.size() == 2 && buffer->pad == 0; }
bool is_nest(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  return loop != nullptr && loop->kind == LoopKind::parallel;
}

/// Finds the fragments that can change the places of their rows and columns.
class Finder {
 public:
  /// Families of fragments that go together, each of a product that needs it.
  std::set<const BufferDecl*> run(const Body& body) {
    walk(body, [&](const Stmt& stmt) { product(stmt); });
    if (wanted_.empty()) return {};
    walk(body, [&](const Stmt& stmt) {
      if (is_nest(stmt)) nest(std::get<For>(stmt.node));
    });
    walk(body, [&](const Stmt& stmt) { check(stmt); });
    std::set<const BufferDecl*> found;
    for (const Buffer& buffer : wanted_) {
      std::set<const BufferDecl*> family = family_of(buffer.get());
      bool kept = std::any_of(family.begin(), family.end(), [&](const BufferDecl* b) { return kept_.contains(b); });
      if (!kept) found.insert(family.begin(), family.end());
    }
    return found;
  }

 private:
  void product(const Stmt& stmt);
  void nest(const For& loop);
  void check(const Stmt& stmt);
  void check_op(const TileOp& op);
  void keep(const Buffer& buffer) { kept_.insert(buffer.get()); }
  void keep_read(const ExprRef& root);
  std::set<const BufferDecl*> family_of(const BufferDecl* buffer) const;

  std::vector<Buffer> wanted_;
  std::set<const BufferDecl*> kept_;  ///< used in a way that knows rows from columns
  std::vector<std::pair<const BufferDecl*, const BufferDecl*>> tied_;
  std::set<const Stmt*> inside_;  ///< statements of nests, which are looked at with their nest
};

void Finder::product(const Stmt& stmt) {
  if (gemm_of(stmt) == nullptr) return;
  const TileOp& op = *op_of(stmt);
  const Region& c = op.operands[2];
  if (!is_tile(c.buffer) || !is_whole(c) || c.buffer->type != DType::f32) return;
  Shape shape = static_shape(*c.buffer);
  bool fits = shape[0] % kWarpgroupRows == 0 && shape[1] % 8 == 0;
  bool turned = shape[1] % kWarpgroupRows == 0 && shape[0] % 8 == 0 && shape[0] <= kMaxProductColumns;
  bool shared = is_shared(op.operands[0].buffer) && is_shared(op.operands[1].buffer);
  bool known = is_product_type(op.operands[0].buffer->type) && is_product_type(op.operands[1].buffer->type);
  if (!fits && turned && shared && known) wanted_.push_back(c.buffer);
}

/// The fragments of a nest go together if it runs over their elements.
void Finder::nest(const For& loop) {
  std::vector<Buffer> own;
  auto meet = [&](const Buffer& buffer, const std::vector<ExprRef>& index) {
    if (!is_fragment(buffer)) return;
    bool whole = is_tile(buffer) && indexed_by(index, loop.axes, 2);
    if (!whole || loop.axes.size() != 2) keep(buffer);
    own.push_back(buffer);
  };
  auto expression = [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) meet(load->buffer, load->index);
    });
  };
  walk(loop.body, [&](const Stmt& stmt) {
    inside_.insert(&stmt);
    if (const auto* store = std::get_if<Store>(&stmt.node)) meet(store->buffer, store->index);
    if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) meet(atomic->buffer, atomic->index);
    for_each_expr(stmt, expression);
  });
  for (std::size_t i = 1; i < own.size(); ++i) tied_.emplace_back(own[0].get(), own[i].get());
}

void Finder::keep_read(const ExprRef& root) {
  walk(root, [&](const Expr& e) {
    if (const auto* load = std::get_if<Load>(&e.node); load != nullptr && is_fragment(load->buffer)) keep(load->buffer);
  });
}

void Finder::check(const Stmt& stmt) {
  if (inside_.contains(&stmt)) return;
  if (const TileOp* op = op_of(stmt)) check_op(*op);
  if (const auto* store = std::get_if<Store>(&stmt.node)) keep(store->buffer);
  if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) keep(atomic->buffer);
  for_each_expr(stmt, [&](const ExprRef& root) { keep_read(root); });
}

void Finder::check_op(const TileOp& op) {
  auto whole_tile = [](const Region& region) { return is_tile(region.buffer) && is_whole(region); };
  switch (op.kind) {
    case OpKind::fill:
      if (!whole_tile(op.operands[0])) keep(op.operands[0].buffer);
      return;
    case OpKind::gemm: {
      keep(op.operands[0].buffer);
      keep(op.operands[1].buffer);
      bool wanted = std::find(wanted_.begin(), wanted_.end(), op.operands[2].buffer) != wanted_.end();
      if (!wanted || !is_shared(op.operands[0].buffer) || !is_shared(op.operands[1].buffer))
        keep(op.operands[2].buffer);
      return;
    }
    case OpKind::copy: {
      const CopyAttrs& attrs = std::get<CopyAttrs>(op.attrs);
      const Buffer &src = op.operands[0].buffer, &dst = op.operands[1].buffer;
      bool plain = !attrs.rows && attrs.valid.empty() && literal_extents(op.operands[1]).has_value();
      if (!plain || !whole_tile(op.operands[0]) || !is_global(dst)) keep(src);
      keep(dst);
      return;
    }
    default:
      for (const Region& region : op.operands) keep(region.buffer);
  }
}

std::set<const BufferDecl*> Finder::family_of(const BufferDecl* buffer) const {
  std::set<const BufferDecl*> family = {buffer};
  for (std::size_t before = 0; before != family.size();) {
    before = family.size();
    for (const auto& [a, b] : tied_) {
      if (family.contains(a) || family.contains(b)) family.insert({a, b});
    }
  }
  return family;
}

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
  StmtRef store(const StmtRef& stmt, const TileOp& op);
  StmtRef in_nest(const StmtRef& stmt);
  static StmtRef made(const StmtRef& of, StmtNode node) {
    return std::make_shared<const Stmt>(Stmt{of->loc, std::move(node)});
  }

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
    Load swapped{turn(load->buffer), {load->index.rbegin(), load->index.rend()}};
    return std::make_shared<const Expr>(Expr{e->type, e->loc, std::move(swapped), e->weak});
  });
}

/// A statement inside of a nest.
StmtRef Turner::in_nest(const StmtRef& stmt) {
  return std::visit(Overload{[&](const Store& node) {
                               Store out{node.buffer, node.index, turn(node.value)};
                               for (ExprRef& index : out.index) index = turn(index);
                               if (is_turned(node.buffer)) {
                                 out.buffer = turn(node.buffer);
                                 std::reverse(out.index.begin(), out.index.end());
                               }
                               return made(stmt, std::move(out));
                             },
                             [&](const AtomicElement& node) {
                               AtomicElement out{node.op, node.buffer, node.index, turn(node.value)};
                               for (ExprRef& index : out.index) index = turn(index);
                               return made(stmt, std::move(out));
                             },
                             [&](const Let& node) { return made(stmt, Let{node.var, turn(node.value)}); },
                             [&](const If& node) {
                               If out{turn(node.cond), {}, {}};
                               for (const StmtRef& s : node.then_body) out.then_body.push_back(in_nest(s));
                               for (const StmtRef& s : node.else_body) out.else_body.push_back(in_nest(s));
                               return made(stmt, std::move(out));
                             },
                             [&](const auto&) { return stmt; }},
                    stmt->node);
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

/// A copy to a tensor as a nest, since a copy turns nothing: neighbours of the tensor's last dimension by neighbours.
StmtRef Turner::store(const StmtRef& stmt, const TileOp& op) {
  const Region &src = op.operands[0], &dst = op.operands[1];
  Diagnostics diags;
  const Loc& loc = stmt->loc;
  Shape shape = static_shape(*src.buffer);
  std::vector<std::size_t> dims = {0, 0};  // of the tensor, along which rows and columns run
  std::size_t next = dst.ranges.size();
  for (std::size_t d = 2; d-- > 0;) {
    do {
      --next;
    } while (next > 0 && as_int(dst.ranges[next].extent) != shape[d]);
    dims[d] = next;
  }
  For nest{LoopKind::parallel, {}, {}, {}};
  std::vector<ExprRef> own;
  for (std::size_t d = 0; d < 2; ++d) {
    Var var = std::make_shared<const VarDecl>(VarDecl{d == 0 ? "i" : "j", DType::i64, VarKind::loop, loc});
    nest.axes.push_back(
        {var, typed_int(DType::i64, 0, loc), typed_int(DType::i64, shape[d], loc), typed_int(DType::i64, 1, loc)});
    own.push_back(var_ref(var, loc));
  }
  Store write{dst.buffer, {}, nullptr};
  ExprRef inside;
  auto require = [&](const ExprRef& cond) {
    inside = inside == nullptr ? cond : make_binary(BinaryOp::logical_and, inside, cond, loc, diags);
  };
  for (std::size_t d = 0; d < dst.ranges.size(); ++d) {
    ExprRef at = dst.ranges[d].begin;
    for (std::size_t own_dim = 0; own_dim < 2; ++own_dim) {
      if (dims[own_dim] == d) at = make_binary(BinaryOp::add, at, own[own_dim], loc, diags);
    }
    require(make_binary(BinaryOp::ge, at, typed_int(DType::i64, 0, loc), loc, diags));
    require(make_binary(BinaryOp::lt, at, dst.buffer->shape[d], loc, diags));
    write.index.push_back(at);
  }
  ExprRef value = make_load(turn(src.buffer), {own[1], own[0]}, loc, diags);
  write.value = convert_for_store(dst.buffer->type, value, loc, diags);
  if (write.value == nullptr) write.value = make_cast(dst.buffer->type, value, std::nullopt, false, loc, diags);
  PLAIT_ASSERT(inside != nullptr && write.value != nullptr, "a copy as a nest");
  nest.body.push_back(made(stmt, If{inside, {made(stmt, std::move(write))}, {}}));
  return made(stmt, std::move(nest));
}

StmtRef Turner::operation(const StmtRef& stmt, const TileOp& op) {
  bool touches =
      std::any_of(op.operands.begin(), op.operands.end(), [&](const Region& r) { return is_turned(r.buffer); });
  if (!touches) return stmt;
  if (op.kind == OpKind::copy) return store(stmt, op);
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
  return std::visit(
      Overload{[&](const For& node) { return loop(stmt, node); },
               [&](const While& node) { return made(stmt, While{node.cond, body(node.body)}); },
               [&](const If& node) { return made(stmt, If{node.cond, body(node.then_body), body(node.else_body)}); },
               [&](const Task& node) { return made(stmt, Task{node.latency, node.ii, body(node.body)}); },
               [&](const Alloc& node) { return is_turned(node.buffer) ? made(stmt, Alloc{turn(node.buffer)}) : stmt; },
               [&](const TileOp& op) { return operation(stmt, op); }, [&](const auto&) { return stmt; }},
      stmt->node);
}

}  // namespace

Kernel swap_products(const Kernel& kernel, std::vector<Remark>& remarks) {
  std::set<const BufferDecl*> turned = Finder().run(kernel.body);
  if (turned.empty()) return kernel;
  Kernel made = kernel;
  made.body = Turner(turned, remarks).body(kernel.body);
  return made;
}

}  // namespace plait::place
