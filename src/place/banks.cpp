#include "ir/visit.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

/// In the layouts of products, and where a tile is transposed, neighbouring lanes have one column of different rows,
/// which all lie in the same banks unless the tile is swizzled.
void Placer::swizzle_for_banks() {
  auto walks_rows = [&](const Buffer& fragment) {
    auto home = placed_.fragments.find(fragment.get());
    return home != placed_.fragments.end() &&
           (home->second.kind == roles::FragmentKind::wgmma_acc || home->second.kind == roles::FragmentKind::wgmma_a);
  };
  auto swizzle = [&](const Buffer& buffer) {
    auto home = placed_.shared.find(buffer.get());
    if (home == placed_.shared.end() || home->second.swizzle != roles::Swizzle::none || !is_shared(buffer)) return;
    std::vector<std::int64_t> shape = static_shape(*buffer);
    if (shape.size() != 2 || shape[0] == 1 || buffer->pad != 0) return;
    home->second.swizzle = widest_swizzle(shape[1] * dtype_bits(buffer->type) / 8);
  };
  for (const Copy& copy : copies_) {
    if (walks_rows(copy.src.buffer)) swizzle(copy.dst.buffer);
    if (walks_rows(copy.dst.buffer)) swizzle(copy.src.buffer);
  }
  for (const StmtRef& stmt : others_) {
    const TileOp& op = std::get<TileOp>(stmt->node);
    if (op.kind == OpKind::transpose) swizzle(op.operands[0].buffer);
  }
  for (const StmtRef& stmt : others_) {
    const TileOp& op = std::get<TileOp>(stmt->node);
    if (op.kind == OpKind::transpose) swizzle(op.operands[0].buffer);
  }
  for (const StmtRef& nest : nests_) {
    for (const NestLine& line : nest_lines_.at(nest.get()).lines) {
      if (!walks_rows(line.buffer)) continue;
      walk(line.value, [&](const Expr& expr) {
        if (const auto* load = std::get_if<Load>(&expr.node)) swizzle(load->buffer);
      });
    }
  }
}

}  // namespace plait::place
