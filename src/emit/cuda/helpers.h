#pragma once

#include <unordered_map>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {

/// Fixed helper functions of the emitted file, by name.
using HelperTable = std::unordered_map<std::string, HelperText>;

/// Conversions between types (helpers_number.cpp).
void add_number_helpers(HelperTable& table);
/// Elements that share a register or a byte, and atomics (helpers_element.cpp).
void add_element_helpers(HelperTable& table);
/// Two elements of 16 bits at once (helpers_pairs.cpp).
void add_pair_helpers(HelperTable& table);

}  // namespace plait::emit::cuda
