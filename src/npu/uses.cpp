#include "npu/uses.h"

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::npu {

using namespace ir;

namespace {

void operation(const Buffer& buffer, const TileOp& op, Uses& uses) {
  bool copies = op.kind == OpKind::copy;
  bool from_tensor = copies && op.operands[0].buffer->scope == Scope::global;
  bool to_tensor = copies && op.operands[1].buffer->scope == Scope::global;
  const std::vector<Effect>& effects = op_info(op.kind).effects;
  for (std::size_t i = 0; i < op.operands.size(); ++i) {
    if (op.operands[i].buffer != buffer) continue;
    if (op.kind == OpKind::gemm) {
      (i == 2 ? uses.result : uses.factor) = true;
    } else if (op.kind == OpKind::fill) {
      (is_whole(op.operands[i]) ? uses.fills : uses.writes) = true;
    } else if (copies && i == 1 && from_tensor) {
      uses.loads = true;
    } else if (copies && i == 0 && to_tensor) {
      uses.leaves = true;
    } else {
      uses.reads = uses.reads || effects[i] != Effect::write;
      uses.writes = uses.writes || effects[i] != Effect::read;
    }
  }
  const auto* attrs = std::get_if<CopyAttrs>(&op.attrs);
  if (attrs != nullptr && attrs->rows && attrs->rows->buffer == buffer) uses.reads = true;
}

}  // namespace

Uses uses_of(const Buffer& buffer, const Body& body) {
  Uses uses;
  walk(body, [&](const Stmt& stmt) {
    if (const auto* op = std::get_if<TileOp>(&stmt.node)) operation(buffer, *op, uses);
    const auto* store = std::get_if<Store>(&stmt.node);
    const auto* atomic = std::get_if<AtomicElement>(&stmt.node);
    uses.writes =
        uses.writes || (store != nullptr && store->buffer == buffer) || (atomic != nullptr && atomic->buffer == buffer);
    for_each_expr(stmt, [&](const ExprRef& root) {
      walk(root, [&](const Expr& e) {
        const auto* load = std::get_if<Load>(&e.node);
        uses.reads = uses.reads || (load != nullptr && load->buffer == buffer);
      });
    });
  });
  return uses;
}

Uses uses_of(const Buffer& buffer, const Stmt& stmt) {
  return uses_of(buffer, Body{std::make_shared<const Stmt>(stmt)});
}

Region whole(const Buffer& buffer, const Loc& loc) {
  Region region{buffer, {}, loc};
  for (const ExprRef& extent : buffer->shape) region.ranges.push_back({typed_int(DType::i64, 0), extent});
  return region;
}

}  // namespace plait::npu
