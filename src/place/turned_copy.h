#pragma once

#include "ir/kernel.h"

namespace plait::place {

/// A copy to a tensor of a fragment that is now `turned`, as a nest, since a copy turns nothing: neighbours of the
/// tensor's last dimension by neighbours.
ir::StmtRef turned_copy(const ir::StmtRef& stmt, const ir::TileOp& op, const ir::Buffer& turned);

}  // namespace plait::place
