#pragma once

#include "cuda/context.h"
#include "machine/device.h"
#include "profile/isolate.h"
#include "store/measured.h"

namespace plait::profile {

/// Runs an isolated task on the GPU of the context: alone for its latency; for its interval one behind the other, or,
/// of tasks that hold their role, in as many replicas on each multiprocessor as there is room for. Precondition: it has
/// a text. Errors: those of compiling and running it.
Result<store::Measured> measure(const Isolated& task, const cuda::Context& context, const machine::Device& device);

/// That the GPU of the context is one of which the model speaks: an error where it does not run the model's code.
Diagnostics check_gpu(const cuda::Context& context, const machine::Device& device);

}  // namespace plait::profile
