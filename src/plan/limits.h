#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "machine/device.h"

namespace plait::plan {

// What a schedule that is read, as text or as JSON, may hold.

inline constexpr int kMostCount = 1 << 20;  ///< depths, versions, stages
inline constexpr std::size_t kMostText = std::size_t{4} << 20;
inline constexpr std::size_t kMostErrors = 20;

/// Bytes of shared memory that a block may have where a multiprocessor holds `occupancy` of them. Of a device with
/// limits.
std::int64_t shared_limit(const machine::Device& device, int occupancy);

/// e.g. `48 KiB`, for messages about memory.
std::string kib(std::int64_t bytes);

}  // namespace plait::plan
