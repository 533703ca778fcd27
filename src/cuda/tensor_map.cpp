#include "cuda/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cuda/errors.h"

namespace plait::cuda {
namespace {

using ir::DType;

constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kUnit = 16;  ///< bytes that addresses, strides and rows are multiples of
constexpr std::int64_t kMaxExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;
constexpr std::int64_t kMaxBox = 256;

struct SwizzleInfo {
  MapSwizzle code;
  std::int64_t span;  ///< bytes of the longest row, 0: no limit
};
SwizzleInfo swizzle_info(roles::Swizzle swizzle) {
  switch (swizzle) {
    case roles::Swizzle::none:
      return {MapSwizzle::none, 0};
    case roles::Swizzle::b32:
      return {MapSwizzle::b32, 32};
    case roles::Swizzle::b64:
      return {MapSwizzle::b64, 64};
    case roles::Swizzle::b128:
      return {MapSwizzle::b128, 128};
  }
  throw InternalError("a swizzle that the tensor maps do not know");
}

/// Every limit of the hardware that the tensor or the box breaks.
class Checker {
 public:
  Checker(const roles::MapDecl& map, const ir::TensorView& tensor)
      : map_(map), tensor_(tensor), element_bytes_(ir::dtype_bits(tensor.type) / 8) {}

  Diagnostics run() {
    if (tensor_.shape.empty() || tensor_.shape.size() > kMaxRank) {
      problem(fmt::format("{} has {} dimensions, TMA takes 1 to {}", name(), tensor_.shape.size(), kMaxRank));
      return std::move(found_);
    }
    check_box();
    check_tensor();
    return std::move(found_);
  }

 private:
  const std::string& name() const { return map_.tensor->name; }
  void problem(const std::string& text) {
    // Findings at one place are kept once: the first speaks, the others are its notes.
    if (found_.empty()) {
      found_.error(Rule::gpu_map, map_.loc, fmt::format("map {}: {}", map_.name, text));
      return;
    }
    Diagnostic first = found_.list().front();
    first.notes.push_back({{}, text});
    found_ = {};
    found_.add(std::move(first));
  }
  void check_box() {
    if (map_.box.size() != tensor_.shape.size()) {
      problem(fmt::format("the box has {} dimensions, {} has {}", map_.box.size(), name(), tensor_.shape.size()));
      return;
    }
    for (std::int64_t extent : map_.box) {
      if (extent < 1 || extent > kMaxBox)
        problem(fmt::format("an extent of the box [{}] is not in 1 to {}", fmt::join(map_.box, ", "), kMaxBox));
    }
    std::int64_t row = map_.box.back() * element_bytes_;
    std::int64_t span = swizzle_info(map_.swizzle).span;
    if (row % kUnit != 0) problem(fmt::format("a row of the box has {} bytes, not a multiple of {}", row, kUnit));
    if (span > 0 && row > span)
      problem(fmt::format("a row of the box has {} bytes, more than the swizzle of {}", row, span));
  }
  void check_tensor() {
    std::size_t last = tensor_.shape.size() - 1;
    if (reinterpret_cast<std::uintptr_t>(tensor_.data) % kUnit != 0)
      problem(fmt::format("{} does not start at a multiple of {} bytes", name(), kUnit));
    for (std::size_t i = 0; i <= last; ++i) {
      if (tensor_.shape[i] > kMaxExtent)
        problem(fmt::format("dimension {} of {} is {}, more than 2^32", i, name(), tensor_.shape[i]));
      std::int64_t stride = tensor_.strides[i];
      if (i == last) {
        if (tensor_.shape[i] > 1 && stride != 1)
          problem(fmt::format("the last dimension of {} has stride {}, not 1", name(), stride));
        continue;
      }
      // A dimension of one element is never stepped along.
      if (tensor_.shape[i] <= 1) continue;
      if (stride > kMaxStride / element_bytes_ - 1 || stride * element_bytes_ % kUnit != 0)
        problem(fmt::format("dimension {} of {} has a stride of {} bytes, not a multiple of {} below 2^40", i, name(),
                            stride * element_bytes_, kUnit));
    }
  }

  const roles::MapDecl& map_;
  const ir::TensorView& tensor_;
  std::int64_t element_bytes_;
  Diagnostics found_;
};

/// Extents, strides and box as the driver wants them: innermost first, strides in bytes without the innermost.
struct Shape {
  std::uint64_t extents[kMaxRank], strides[kMaxRank];
  std::uint32_t box[kMaxRank], steps[kMaxRank];
};
Shape reversed(const roles::MapDecl& map, const ir::TensorView& tensor) {
  Shape out{};
  std::size_t rank = tensor.shape.size();
  std::int64_t bytes = ir::dtype_bits(tensor.type) / 8;
  for (std::size_t i = 0; i < rank; ++i) {
    std::size_t from = rank - 1 - i;
    out.extents[i] = static_cast<std::uint64_t>(tensor.shape[from]);
    out.box[i] = static_cast<std::uint32_t>(map.box[from]);
    out.steps[i] = 1;
    if (i == 0) continue;
    // The driver wants a stride that could be one, also where there is nothing to step to.
    std::uint64_t packed = i == 1 ? (out.extents[0] * static_cast<std::uint64_t>(bytes) + kUnit - 1) / kUnit * kUnit
                                  : out.strides[i - 2] * out.extents[i - 1];
    bool is_stepped = tensor.shape[from] > 1;
    out.strides[i - 1] = is_stepped            ? static_cast<std::uint64_t>(tensor.strides[from] * bytes)
                         : packed < kMaxStride ? packed
                                               : kUnit;
  }
  return out;
}

/// Elements narrower than a byte are moved by bytes, of which a row and what leads to the next one are to be whole.
Diagnostics rows_of_bytes(const roles::MapDecl& map, const ir::TensorView& tensor) {
  constexpr std::int64_t byte_bits = 8;
  const std::int64_t bits = ir::dtype_bits(tensor.type);
  Diagnostics diags;
  auto whole = [&](std::int64_t elements) { return bits >= byte_bits || elements * bits % byte_bits == 0; };
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const bool last = d + 1 == tensor.shape.size();
    const bool stepped = last || tensor.shape[d] > 1;
    if (!stepped || whole(last ? tensor.shape[d] : tensor.strides[d])) continue;
    diags.error(Rule::gpu_map, map.loc,
                fmt::format("map {}: {} of {} has {} elements of {} bits, no whole bytes", map.name,
                            last ? "a row" : fmt::format("the stride of dimension {}", d), map.tensor->name,
                            last ? tensor.shape[d] : tensor.strides[d], bits));
    break;
  }
  return diags;
}

/// L2 fetches 256 bytes for what a box asks of, where they are of one row; where rows start elsewhere, 128: on an H200
/// a product of 8191x8193x8200 runs 1.06 times as fast (docs/performance.md, "Rows that start anywhere").
MapPromotion promotion_of(const Shape& shape, std::size_t rank) {
  constexpr std::uint64_t kFetched = 256;
  for (std::size_t d = 0; d + 1 < rank; ++d) {
    if (shape.strides[d] % kFetched != 0) return MapPromotion::l2_128;
  }
  return MapPromotion::l2_256;
}

}  // namespace

MapType map_type(DType type) {
  switch (type) {
    case DType::bool_:
    case DType::i8:
    case DType::u8:
    case DType::e4m3:
    case DType::e5m2:
    // By bytes.
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::e2m1:
      return MapType::u8;
    case DType::i16:
    case DType::u16:
      return MapType::u16;
    case DType::i32:
      return MapType::i32;
    case DType::u32:
      return MapType::u32;
    case DType::i64:
      return MapType::i64;
    case DType::u64:
      return MapType::u64;
    case DType::f16:
      return MapType::f16;
    case DType::bf16:
      return MapType::bf16;
    // Values in memory are already rounded: the bits are moved as they are.
    case DType::tf32:
    case DType::f32:
      return MapType::f32;
    case DType::f64:
      return MapType::f64;
  }
  throw InternalError("a type that the tensor maps do not know");
}

MapSwizzle map_swizzle(roles::Swizzle swizzle) { return swizzle_info(swizzle).code; }

Result<TensorMap> encode_map(const Driver& driver, const roles::MapDecl& map, const ir::TensorView& of) {
  TensorMap encoded{};
  if (std::find(of.shape.begin(), of.shape.end(), 0) != of.shape.end()) return encoded;
  if (Diagnostics wrong = rows_of_bytes(map, of); wrong.has_errors()) return wrong;
  const ir::TensorView tensor = ir::byte_view(of);
  Diagnostics wrong = Checker(map, tensor).run();
  if (wrong.has_errors()) return wrong;
  Shape shape = reversed(map, tensor);
  Status status =
      driver.encode_map(&encoded, map_type(tensor.type), static_cast<std::uint32_t>(tensor.shape.size()), tensor.data,
                        shape.extents, shape.strides, shape.box, shape.steps, MapInterleave::none,
                        swizzle_info(map.swizzle).code, promotion_of(shape, tensor.shape.size()), MapFill::zeros);
  if (status != Status::ok) return check(driver, status, fmt::format("encoding map {}", map.name), map.loc);
  return encoded;
}

}  // namespace plait::cuda
