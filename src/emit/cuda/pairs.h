#pragma once

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {

/// What stands for two neighbouring elements of `each` that share a register.
struct Pair {
  const roles::Each& each;
  Elements& low;
  Elements& high;
  /// The register with both elements of a fragment that lies as the domain does; none of another one.
  std::function<std::optional<std::string>(const ir::Load&)> whole;
};

/// The register with both values of an element of `type` (f16, bf16), where they are computed together: `value` is a
/// f32 that is rounded to the type, a product of two values that the type has. None where it is anything else.
std::optional<std::string> pair_text(Emitter& e, ir::DType type, const ir::ExprRef& value, const Pair& pair);

}  // namespace plait::emit::cuda
