#pragma once

#include "reference/reference.h"
#include "run_inputs.h"

namespace plait::cli {

/// Copies of the inout tensors as they were before a run, so that it can be repeated; the others are empty.
struct Before {
  std::vector<runtime::HostTensor> tensors;
};
Before remember(const RunData& data);

/// The reference of the kernel's name, when the kernel has the parameters that it is for; else null.
const reference::Reference* matching_reference(const Session& session);

/// The call of a reference for a run. `tensors`, which the call refers to, gets the values from before the run (outputs
/// NaN), or stays empty where `with_values` is false.
reference::ReferenceCall reference_call(const Session& session, const RunData& data, const Before& before,
                                        std::map<std::string, std::vector<double>>& tensors, bool with_values);

}  // namespace plait::cli
