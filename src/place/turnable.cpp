#include "place/turnable.h"

#include <algorithm>

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

}  // namespace

std::set<const BufferDecl*> turnable_fragments(const Body& body) { return Finder().run(body); }

}  // namespace plait::place
