#include <fmt/format.h>

#include "ir/build.h"
#include "place/placer.h"

// Which tiles can be loaded ahead of their readers: by TMA, or by cp.async of the threads that compute.
namespace plait::place {

using namespace ir;

namespace {

constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kPieceBits = 128;
constexpr std::int64_t kMaxBox = 256;

}  // namespace

bool is_multiple(const ExprRef& expr, std::int64_t unit) {
  if (unit == 1) return true;
  auto form = analysis::affine(expr);
  if (!form || form->constant % unit != 0) return false;
  return std::all_of(form->terms.begin(), form->terms.end(), [&](const auto& term) { return term.second % unit == 0; });
}

/// Why nothing moves this tile ahead of its readers; empty where TMA or cp.async may.
std::string Placer::load_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  const Buffer &tensor = global.buffer, &buffer = tile.buffer;
  if (placed_.assumptions.unaligned.contains(tensor->name))
    return fmt::format("the rows of `{}` do not start at multiples of 16 bytes", tensor->name);
  if (attrs.rows) return "its rows are chosen by a table";
  if (!attrs.valid.empty()) return "only a part of the tile is valid";
  if (!is_zero(attrs.pad)) return "it is padded with other than zero";
  if (tensor->type != buffer->type)
    return fmt::format("it converts {} to {}", dtype_name(tensor->type), dtype_name(buffer->type));
  if (dtype_bits(tensor->type) < 8) return fmt::format("it moves elements of {} bits", dtype_bits(tensor->type));
  if (!tensor->strides.empty() && as_int(tensor->strides.back()) != 1)
    return "the last stride of the tensor is not known to be 1";
  auto extents = literal_extents(global);
  if (!extents) return "the extents of the tile are no literals";
  std::vector<std::int64_t> shape = static_shape(*buffer);
  if (shape.size() > 2) return fmt::format("the tile has {} dimensions", shape.size());
  if (folded(*extents) != folded(shape) || !is_whole(tile)) return "it fills a part of the tile";
  // Where the rows of a tile are dropped as extents of 1, the box would not know them.
  if (extents->back() != shape.back()) return "the rows of the tile run along another dimension";
  if (extents->back() * dtype_bits(buffer->type) % kPieceBits != 0)
    return fmt::format("its rows of {} elements are no multiple of 16 bytes", extents->back());
  if (buffer->pad != 0) return "the rows of the tile are padded";
  return {};
}

/// Why TMA cannot move this tile; empty where it can.
std::string Placer::tma_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  if (std::string why = load_obstacle(global, tile, attrs); !why.empty()) return why;
  const Buffer& buffer = tile.buffer;
  if (global.buffer->shape.size() > kMaxRank)
    return fmt::format("the tensor has {} dimensions", global.buffer->shape.size());
  std::vector<std::int64_t> shape = static_shape(*buffer);
  bool swizzled = placed_.shared.at(buffer.get()).swizzle != roles::Swizzle::none;
  if (!swizzled && shape.size() == 2 && shape[0] > 1 && shape[1] > kMaxBox)
    return fmt::format("its rows of {} elements are wider than a box", shape[1]);
  return {};
}

/// Why cp.async cannot move this tile in pieces of 16 bytes; empty where it can.
std::string Placer::cp_async_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  if (std::string why = load_obstacle(global, tile, attrs); !why.empty()) return why;
  const Buffer &tensor = global.buffer, &buffer = tile.buffer;
  std::int64_t piece = kPieceBits / dtype_bits(buffer->type);
  if (placed_.assumptions.ragged.contains(tensor->name))
    return fmt::format("the rows of `{}` are no multiples of 16 bytes", tensor->name);
  if (!is_multiple(global.ranges.back().begin, piece))
    return fmt::format("it may begin within {} elements that are moved at once", piece);
  auto extents = *literal_extents(global);
  std::vector<std::int64_t> shape = static_shape(*buffer);
  bool rows = shape.size() == 2 && shape[0] > 1;
  if (rows && (extents.size() < 2 || extents[extents.size() - 2] != shape[0]))
    return "its rows do not run along the last but one dimension";
  return {};
}

}  // namespace plait::place
