#pragma once

#include <chrono>

#include "cuda/kernel.h"
#include "lang/elaborate.h"

namespace plait::cuda {

struct BuildOptions {
  std::string architecture;  ///< e.g. "sm_90a"; empty: that of the program's device
  std::string source;        ///< CUDA C++ in the place of the emitted one, for experiments; empty: the emitted one
  bool ahead = false;        ///< asked for ahead of time: PLAIT_JIT says nothing of it
  bool source_only = false;  ///< ends before NVRTC: the code is empty
  CompileOptions compile;
};

/// Time of one step on the way.
struct Step {
  std::string_view name;
  double ms = 0;
};
struct Built {
  std::shared_ptr<const Kernel> kernel;
  std::vector<Step> steps;
};

/// The way from the text of a role program to a kernel: parse, verify, emit, compile.
Result<Built> build(const SourceRef& text, const lang::Bindings& bindings, const BuildOptions& options);

/// The same from a program that is verified; `warnings` are what was found in it so far.
Result<Built> build(roles::Program program, const BuildOptions& options, Diagnostics warnings = {});

/// Times the steps of a compilation one after the other.
class StepClock {
 public:
  explicit StepClock(std::vector<Step>& steps) : steps_(steps) {}
  void lap(std::string_view name);
  /// The next step begins now.
  void restart() { last_ = std::chrono::steady_clock::now(); }

 private:
  std::vector<Step>& steps_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// What is known of a compiled role program, as JSON.
std::string report_json(const Built& built);

}  // namespace plait::cuda
