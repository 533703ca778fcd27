#pragma once

#include "runtime/host_tensor.h"

namespace plait::runtime {

/// Fills `tensor` with the values that `plait run` draws for an input that is not given. They depend on `seed`, the
/// parameter's `name`, the type and the element's row-major number only: SplitMix64 of a counter, the same on every
/// machine and for any number of threads. Floats: standard normal (Box-Muller, on arithmetic that IEEE 754 rounds
/// exactly), rounded to the type. bool: a fair coin. Integers: uniform; i1…i16 in
/// [-4, 4] within the type, i32 and i64, which are mostly indices and counts, and unsigned types in [0, 7] within the
/// type.
void fill_random(HostTensor& tensor, const std::string& name, std::uint64_t seed);

/// The `number`-th standard normal value of a stream; `key` names the stream.
double normal_value(std::uint64_t key, std::uint64_t number);

}  // namespace plait::runtime
