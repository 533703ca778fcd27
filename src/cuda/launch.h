#pragma once

#include "cuda/call.h"

namespace plait::cuda {

/// A call that is ready to run as often as is wanted: arguments are checked and laid out, maps are encoded. Running it
/// allocates nothing but the program's workspaces, which are of the stream's order, and may be done from several
/// threads at once, in the context of its preparation.
class Launch {
 public:
  /// Everything but `stream`.
  Launch(std::shared_ptr<const LoadedKernel> kernel, std::string name, Loc loc);
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  /// Puts the kernel on the stream; without blocks, nothing happens.
  Diagnostics run(StreamHandle stream) const {
    if (is_empty_) return {};
    LaunchConfig config = config_;
    config.stream = stream;
    if (!workspaces_.empty()) return run_with_workspaces(config);
    Status status = kernel_->driver->launch(&config, kernel_->function, const_cast<void**>(pointers_.data()), nullptr);
    return status == Status::ok ? Diagnostics() : failure(status);
  }

  const LoadedKernel& kernel() const { return *kernel_; }
  bool is_empty() const { return is_empty_; }
  std::int64_t blocks() const;

 private:
  friend Result<std::unique_ptr<Launch>> prepare(const Kernel&, const Context&, const runtime::Args&);
  Diagnostics run_with_workspaces(LaunchConfig& config) const;
  Diagnostics failure(Status status) const;
  Diagnostics lay_out(const Kernel& kernel, const Call& call);

  std::shared_ptr<const LoadedKernel> kernel_;
  std::string name_;
  Loc loc_;
  bool is_empty_ = false;
  LaunchConfig config_{};
  LaunchAttribute cluster_{};
  std::vector<TensorMap> maps_;
  std::vector<std::uint64_t> values_;  ///< device pointers, dims, scalars and lets
  std::vector<void*> pointers_;        ///< one a kernel parameter, into maps_ and values_
  struct Workspace {
    std::size_t bytes;
    bool zero;
    std::size_t argument;  ///< its number among the kernel's parameters
    std::string name;
  };
  std::vector<Workspace> workspaces_;
};

/// Checks a call and loads the kernel into the context where it is not there yet. The tensors are in device memory
/// (runtime::TensorArg::device is device_name).
Result<std::unique_ptr<Launch>> prepare(const Kernel& kernel, const Context& context, const runtime::Args& args);

}  // namespace plait::cuda
