#pragma once

#include "roles/program.h"

namespace plait::roles {

/// The parameters, dims and conditions of a role program as those of a kernel without body, for runtime/bind.h.
ir::Kernel call_signature(const Program& program);

}  // namespace plait::roles
