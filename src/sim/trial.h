#pragma once

#include <map>

#include "runtime/host_tensor.h"
#include "sim/simulate.h"

namespace plait::sim {

/// A call of a role program on tensors of its own.
struct Call {
  std::vector<runtime::HostTensor> tensors;  ///< the tensor parameters in order
  ir::BoundArgs args;
};

/// A call on inputs drawn from `seed` and poisoned outputs.
Result<Call> draw_call(const roles::Program& program, const std::map<std::string, std::int64_t>& dims,
                       const std::map<std::string, ir::ScalarValue>& scalars = {}, std::uint64_t seed = 0);

/// A call for simulations without values, whose tensors take address space only and read as zero.
class BlankCall {
 public:
  static Result<BlankCall> make(const roles::Program& program, const std::map<std::string, std::int64_t>& dims,
                                const std::map<std::string, ir::ScalarValue>& scalars);
  const ir::BoundArgs& args() const { return args_; }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(void* memory) const;
  };
  std::vector<std::unique_ptr<void, Unmap>> memory_;
  ir::BoundArgs args_;
};

/// A simulation, and what it left in the tensors.
struct Trial {
  Outcome outcome;
  std::vector<runtime::HostTensor> tensors;
};

/// Simulates on copies of the call's tensors.
Result<Trial> run_trial(const roles::Program& program, const Call& call, int sms, const Options& options);

/// The first tensor in which two trials differ, by its number; -1: none.
int first_difference(const Trial& a, const Trial& b);

}  // namespace plait::sim
