#pragma once

#include "place/placed.h"

namespace plait::pipeline {

/// The kernel without the loads of shared tiles that nothing reads, with a remark for each.
ir::Kernel without_unread_loads(const ir::Kernel& kernel, std::vector<place::Remark>& remarks);

}  // namespace plait::pipeline
