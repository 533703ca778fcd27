#pragma once

#include <map>
#include <mutex>

#include "cuda/build.h"
#include "machine/device.h"
#include "plait/plait.h"
#include "planner/planner.h"
#include "runtime/bind.h"

namespace plait::api {

/// A tile program ready to be placed on a device, for calls of any alignment.
struct TileProgram {
  ir::Kernel kernel;
  machine::Device device;
  std::optional<plan::Schedule> schedule;  ///< none: what the author wrote, else a planner's
  planner::Kind planner = planner::Kind::automatic;
  std::map<std::string, std::int64_t> dims = {};  ///< of the calls, as far as they are known
};

/// The kernels that one tile program becomes, one for each set of alignments that calls come with; each is compiled
/// when the first such call needs it. Thread-safe.
class Variants {
 public:
  /// `first`: what the kernel that is there from the start assumes.
  Variants(TileProgram program, cuda::BuildOptions options, place::Assumptions first);
  ~Variants();

  /// Null: the first kernel serves the call, or tells what is wrong with it. Compiles at most once for each set.
  Result<const plait_roles*> serving(const runtime::Args& args);

 private:
  TileProgram program_;
  cuda::BuildOptions options_;
  place::Assumptions first_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<plait_roles>> others_;  ///< by what they assume
};

/// The program on its device; alignment as assumed.
Result<pipeline::Derived> derive(const TileProgram& program, const place::Assumptions& assumptions);

}  // namespace plait::api
