#pragma once

#include "fuse/fuse.h"
#include "run_roles.h"

namespace plait::cli {

/// The command line of `plait fuse`.
struct FuseFlags {
  std::vector<std::string> paths = {"", ""};
  std::vector<std::string> kernels = {"", ""};  ///< of files that hold several
  std::vector<std::string> bindings, dims, scalars, blocks, schedules;
  std::string device, planner = "auto";
  std::string emit, output;
  RolesFlags roles;
  bool simulate = false;
  std::uint64_t seed = 0, interleavings = 1;
  int sms = 0;
};

/// One of the two programs, with what the command line says of it.
struct FuseSide {
  std::string label;  ///< by which options name it: the kernel's name, with `_a` or `_b` behind where both have one
  Program file;
  fuse::Subject subject;
  std::map<std::string, std::int64_t> dims;
  std::map<std::string, std::string> scalars;
};
struct FuseInput {
  std::vector<FuseSide> sides;
  machine::Device device;
};

/// Reads both files, and gives each what is meant for it: `NAME=VALUE` where it has the name, `KERNEL.NAME=VALUE`.
Result<FuseInput> load_fuse(const FuseFlags& flags);

}  // namespace plait::cli
