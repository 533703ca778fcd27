#include "ir/tensor.h"

namespace plait::ir {

TensorView byte_view(const TensorView& view) {
  constexpr std::int64_t byte_bits = 8;
  const std::int64_t bits = dtype_bits(view.type);
  TensorView bytes = view;
  if (bits >= byte_bits || view.shape.empty()) return bytes;
  bytes.type = DType::u8;
  bytes.shape.back() = view.shape.back() * bits / byte_bits;
  for (std::size_t d = 0; d + 1 < bytes.strides.size(); ++d) bytes.strides[d] = view.strides[d] * bits / byte_bits;
  return bytes;
}

}  // namespace plait::ir
