#pragma once

#include "fuse_load.h"

namespace plait::cli {

/// A call of both kernels: dims and scalars of the fused program by its own names.
struct FuseCall {
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::string> scalars;
  bool complete = false;  ///< every dim is given
};
FuseCall fuse_call(const FuseInput& input, const roles::Program& fused);

/// What the fused kernel is made of, what of a block it takes, and where dims are given the time that is predicted: of
/// each alone, of one after the other, of the fused one.
void report_fusion(const FuseInput& input, const fuse::Fused& fused, Outcome& outcome);

/// Runs the fused program and each of the two alone on the same inputs in the simulator, and compares bytes.
void simulate_fusion(const FuseInput& input, const fuse::Fused& fused, const FuseFlags& flags, Outcome& outcome);

}  // namespace plait::cli
