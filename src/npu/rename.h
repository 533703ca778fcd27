#pragma once

#include <unordered_map>

#include "ir/kernel.h"

namespace plait::npu {

using BufferMap = std::unordered_map<const ir::BufferDecl*, ir::Buffer>;
/// The statement, and all inside it, with other buffers in the places of those of the map.
ir::StmtRef renamed(const ir::StmtRef& stmt, const BufferMap& map);

}  // namespace plait::npu
