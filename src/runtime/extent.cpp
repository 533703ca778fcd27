#include "runtime/extent.h"

#include <algorithm>

namespace plait::runtime {

std::optional<std::int64_t> checked_mul(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}

std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t r = 0;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

std::optional<std::int64_t> element_count(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::optional<std::int64_t> count = 1;
  for (std::int64_t extent : shape) {
    count = checked_mul(*count, extent);
    if (!count) return std::nullopt;
  }
  return count;
}

std::optional<std::vector<std::int64_t>> contiguous_strides(const std::vector<std::int64_t>& shape) {
  bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    auto next = checked_mul(stride, shape[i]);
    if (!next && !is_empty) return std::nullopt;
    stride = next.value_or(0);
  }
  return strides;
}

std::optional<std::int64_t> span_elements(const std::vector<std::int64_t>& shape,
                                          const std::vector<std::int64_t>& strides) {
  std::int64_t last = 0;
  for (std::int64_t extent : shape) {
    if (extent == 0) return 0;
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    auto reach = checked_mul(shape[i] - 1, strides[i]);
    auto sum = reach ? checked_add(last, *reach) : std::nullopt;
    if (!sum) return std::nullopt;
    last = *sum;
  }
  return checked_add(last, 1);
}

std::optional<std::int64_t> packed_bytes(std::int64_t elements, int bits) {
  auto total = checked_mul(elements, bits);
  if (!total) return std::nullopt;
  return *total / 8 + (*total % 8 != 0 ? 1 : 0);
}

std::optional<std::int64_t> span_bytes(const ir::TensorView& view) {
  auto elements = span_elements(view.shape, view.strides);
  if (!elements) return std::nullopt;
  return packed_bytes(*elements, ir::dtype_bits(view.type));
}

namespace {

/// Bytes from the lowest to behind the highest of those dimensions whose stride is no multiple of `period` bytes; 0
/// when they exceed the period. The whole span fits in 64 bits, so parts of it do.
std::int64_t inner_span(const ir::TensorView& view, std::int64_t period) {
  const int bits = ir::dtype_bits(view.type);
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] <= 1) continue;
    if (view.strides[i] * bits % (period * 8) != 0) elements += (view.shape[i] - 1) * view.strides[i];
  }
  std::int64_t span = *packed_bytes(elements, bits);
  return span <= period ? span : 0;
}

/// Whether both tensors repeat every `period` bytes and occupy different parts of it.
bool interleaves(const ir::TensorView& a, const ir::TensorView& b, std::int64_t period) {
  std::int64_t span_a = inner_span(a, period), span_b = inner_span(b, period);
  if (span_a == 0 || span_b == 0) return false;
  auto place = [period](const void* data) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(period));
  };
  std::int64_t a_to_b = (place(b.data) - place(a.data) + period) % period;
  std::int64_t b_to_a = (place(a.data) - place(b.data) + period) % period;
  return a_to_b >= span_a && b_to_a >= span_b;
}

}  // namespace

bool may_overlap(const ir::TensorView& a, const ir::TensorView& b) {
  std::int64_t bytes_a = span_bytes(a).value(), bytes_b = span_bytes(b).value();
  if (bytes_a == 0 || bytes_b == 0) return false;
  auto begin_a = reinterpret_cast<std::uintptr_t>(a.data), begin_b = reinterpret_cast<std::uintptr_t>(b.data);
  bool disjoint = begin_a < begin_b ? begin_b - begin_a >= static_cast<std::uintptr_t>(bytes_a)
                                    : begin_a - begin_b >= static_cast<std::uintptr_t>(bytes_b);
  if (disjoint) return false;
  for (std::size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] <= 1) continue;
    std::int64_t period_bits = a.strides[i] * ir::dtype_bits(a.type);
    if (period_bits > 0 && period_bits % 8 == 0 && interleaves(a, b, period_bits / 8)) return false;
  }
  return true;
}

bool may_overlap_itself(const ir::TensorView& view) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, extent
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] == 0) return false;
    if (view.shape[i] > 1) dims.emplace_back(view.strides[i], view.shape[i]);
  }
  std::sort(dims.begin(), dims.end());
  std::int64_t reach = 0;
  for (auto [stride, extent] : dims) {
    if (stride <= reach) return true;
    reach += (extent - 1) * stride;
  }
  return false;
}

}  // namespace plait::runtime
