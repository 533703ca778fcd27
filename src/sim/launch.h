#pragma once

#include <array>

#include "ir/tensor.h"
#include "roles/program.h"
#include "runtime/eval.h"
#include "runtime/host_tensor.h"
#include "support/result.h"

namespace plait::sim {

/// What a call of a role program fixes.
struct Launch {
  runtime::Env values;  ///< dims, scalars, sms and the lets of the head
  std::array<std::int64_t, 3> grid{1, 1, 1};
  std::vector<ir::TensorView> tensors;  ///< the tensor parameters in order, then the workspaces
  std::vector<runtime::HostTensor> workspaces;
  int sms = 1;
  std::int64_t blocks() const { return grid[0] * grid[1] * grid[2]; }
};

/// Evaluates the lets and the launch extents. `args` is bound to roles::call_signature(program).
Result<Launch> make_launch(const roles::Program& program, const ir::BoundArgs& args, int sms);

}  // namespace plait::sim
