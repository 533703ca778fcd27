#pragma once

#include <map>
#include <mutex>

#include "jit/jit.h"
#include "plait/plait.h"
#include "runtime/bind.h"

namespace plait::api {

/// The kernels that one tile program becomes, one for each set of alignments that calls come with; each is compiled, or
/// comes from the folder of compiled code, when the first such call needs it. Thread-safe.
class Variants {
 public:
  /// `first`: the kernel that is there from the start.
  Variants(jit::Request request, const plait_roles& first);
  ~Variants();

  /// Null: the first kernel serves the call, or tells what is wrong with it. Compiles at most once for each set.
  Result<const plait_roles*> serving(const runtime::Args& args);

 private:
  jit::Request request_;
  ir::Kernel signature_;  ///< the tile program's
  place::Assumptions first_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<plait_roles>> others_;  ///< by what they assume
};

}  // namespace plait::api
