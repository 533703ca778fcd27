#pragma once

#include <optional>

#include "ir/tensor.h"

namespace plait::runtime {

// Sizes of tensors in 64 bits; nullopt where the number does not fit.

std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b);
std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b);

/// Number of elements; 0 if any extent is 0, whatever the others are.
std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape);
/// Last dimension fastest. A tensor without elements gets strides that fit, whatever its extents.
std::optional<std::vector<std::int64_t>> contiguous_strides(const std::vector<std::int64_t>& shape);
/// Elements from the first to behind the last one; 0 for an empty tensor.
std::optional<std::int64_t> span_elements(const std::vector<std::int64_t>& shape,
                                          const std::vector<std::int64_t>& strides);
/// Bytes that hold `elements` packed elements of `bits` bits.
std::optional<std::int64_t> packed_bytes(std::int64_t elements, int bits);
/// Bytes from `data` that a tensor may touch.
std::optional<std::int64_t> span_bytes(const ir::TensorView& view);

/// False only when no element of one tensor shares a byte with one of the other: disjoint memory, or slices of one
/// array that interleave. Both spans fit.
bool may_overlap(const ir::TensorView& a, const ir::TensorView& b);
/// False only when the elements of the tensor lie at different places. The span fits.
bool may_overlap_itself(const ir::TensorView& view);

}  // namespace plait::runtime
