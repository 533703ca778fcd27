#include "emit/cpu/temporary.h"

#include "emit/cpu/tile_ops.h"

namespace plait::cpu {

std::unique_ptr<Temporary> make_temporary(Emitter& e, const ir::Stmt& stmt, const Tile& like) {
  auto temporary = std::make_unique<Temporary>();
  temporary->decl.name = "temporary";
  temporary->decl.type = like.buffer->decl->type;
  temporary->decl.scope = ir::Scope::shared;
  BufferInfo& info = temporary->info;
  info.decl = &temporary->decl;
  info.base = op_scratch(e, stmt);
  info.extents.resize(like.dims.size());
  info.strides.resize(like.dims.size());
  llvm::Value* stride = e.i64(1);
  for (std::size_t d = like.dims.size(); d-- > 0;) {
    info.extents[d] = like.dims[d].extent;
    info.strides[d] = stride;
    stride = e.b.CreateMul(stride, like.dims[d].extent);
  }
  temporary->tile.buffer = &info;
  for (std::size_t d = 0; d < like.dims.size(); ++d)
    temporary->tile.dims.push_back({e.i64(0), info.extents[d], info.strides[d], info.extents[d]});
  return temporary;
}

}  // namespace plait::cpu
