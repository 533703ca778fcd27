#include "emit/cpu/region.h"

#include "emit/cpu/expr.h"
#include "fmt/format.h"

namespace plait::cpu {

Tile emit_region(Emitter& e, const ir::Region& region, const Loc& loc, bool clips) {
  Tile tile{&e.buffers.at(region.buffer.get()), {}};
  for (std::size_t d = 0; d < region.ranges.size(); ++d) {
    const TileDim dim{emit_index(e, region.ranges[d].begin), emit_index(e, region.ranges[d].extent),
                      tile.buffer->strides[d], tile.buffer->extents[d]};
    tile.dims.push_back(dim);
    const auto& name = region.buffer->name;
    trap_if(e, e.b.CreateICmpSLT(dim.extent, e.i64(0)), Rule::region_extent, loc,
            fmt::format("dimension {} of the tile of {} has extent {{}}", d, name),
            [&] { return std::vector<llvm::Value*>{dim.extent}; });
    if ((clips && tile.buffer->global()) || !e.options.checks || e.proved.contains({&region, d})) continue;
    llvm::Value* too_large = e.b.CreateICmpUGT(dim.extent, dim.size);
    llvm::Value* outside = e.b.CreateICmpUGT(dim.begin, e.b.CreateSub(dim.size, dim.extent));
    trap_if(
        e, e.b.CreateOr(too_large, outside), Rule::out_of_bounds, loc,
        fmt::format("the tile of {} begins at {{}} in dimension {} and has extent {{}}, the buffer has {{}}", name, d),
        [&] { return std::vector<llvm::Value*>{dim.begin, dim.extent, dim.size}; });
  }
  return tile;
}

llvm::Value* first_element(Emitter& e, const Tile& tile) {
  llvm::Value* sum = e.i64(0);
  for (const TileDim& dim : tile.dims) sum = e.b.CreateAdd(sum, e.b.CreateMul(dim.begin, dim.stride));
  return sum;
}

std::vector<std::size_t> proper_dims(const Tile& tile) {
  std::vector<std::size_t> dims;
  for (std::size_t d = 0; d < tile.dims.size(); ++d) {
    if (!is_const(tile.dims[d].extent, 1)) dims.push_back(d);
  }
  return dims;
}

void require_equal(Emitter& e, llvm::Value* a, llvm::Value* b, const Loc& loc) {
  trap_if(e, e.b.CreateICmpNE(a, b), Rule::region_extent, loc, "the two sides of the operation have extents {} and {}",
          [&] { return std::vector<llvm::Value*>{a, b}; });
}

}  // namespace plait::cpu
