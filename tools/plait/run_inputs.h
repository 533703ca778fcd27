#pragma once

#include "run_options.h"
#include "runtime/host_tensor.h"

namespace plait::cli {

/// Tensors of one run in the order of the kernel's tensor parameters, and the call that they make.
struct RunData {
  std::vector<const ir::Param*> params;
  std::vector<runtime::HostTensor> tensors;
  std::vector<bool> drawn;  ///< filled with random numbers, as no file was given
  runtime::Args args;
  ir::BoundArgs bound;
};

/// Reads the given inputs, takes dims from them and from --dim, draws the other inputs, poisons the outputs, and checks
/// the call.
Result<RunData> prepare_run(const ir::Kernel& kernel, const RunRequest& request);

/// The value of a scalar argument on the command line; nothing where the text is none of the type.
std::optional<ir::ScalarValue> parse_scalar(ir::DType type, const std::string& text);
/// The values of --scalar NAME=VALUE texts for these parameters.
std::map<std::string, ir::ScalarValue> scalar_values(const std::vector<ir::Param>& params,
                                                     const std::vector<std::string>& texts);

/// The call `data.bound` on other tensors of the same layouts.
ir::BoundArgs rebound(const ir::BoundArgs& bound, const std::vector<runtime::HostTensor>& tensors);

}  // namespace plait::cli
