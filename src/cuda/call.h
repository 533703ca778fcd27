#pragma once

#include <array>

#include "cuda/kernel.h"
#include "runtime/bind.h"
#include "runtime/eval.h"

namespace plait::cuda {

/// Name of the device that tensors in the memory of an NVIDIA device are on, in runtime::TensorArg.
constexpr std::string_view device_name = "cuda";

/// A call that has passed every check.
struct Call {
  ir::BoundArgs args;
  runtime::Env env;                        ///< dims, scalars, `sms` and the host lets
  std::vector<ir::TensorView> workspaces;  ///< in the program's order, without data
  std::array<std::int64_t, 3> blocks{};    ///< any 0: nothing to run
};

/// Checks the arguments as runtime::bind does, then what role programs add: values of host lets,
/// launch extents within the device's, rows that are whole pieces.
Result<Call> bind_call(const Kernel& kernel, const runtime::Args& args, const DeviceInfo& device);

}  // namespace plait::cuda
