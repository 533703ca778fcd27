#pragma once

#include "cuda/driver.h"

namespace plait::cuda {

struct DeviceInfo {
  Device number = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  int sms = 0;
  std::int64_t l2_bytes = 0;
  int max_threads = 0;        ///< a block
  std::int64_t max_smem = 0;  ///< dynamic shared memory of a block
  std::int64_t max_grid[3] = {0, 0, 0};
  bool reads_host_memory = false;  ///< any host pointer may be used on the device
};

/// A context that is current in the calling thread.
struct Context {
  const Driver* driver = nullptr;
  ContextHandle handle = nullptr;
  std::uint64_t id = 0;  ///< of this context alone, also after it was destroyed
  DeviceInfo device;
};

/// The current context; where there is none, the primary context of device 0 becomes current.
Result<Context> current_context(const Driver& driver);
/// The same with the driver of this process.
Result<Context> current_context();

/// Waits for all work of the current context. Errors of kernels appear here.
Diagnostics synchronize(const Driver& driver);

}  // namespace plait::cuda
