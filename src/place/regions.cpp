#include "ir/build.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

std::optional<std::vector<std::int64_t>> literal_extents(const Region& region) {
  std::vector<std::int64_t> extents;
  for (const Range& range : region.ranges) {
    auto extent = as_int(range.extent);
    if (!extent) return {};
    extents.push_back(*extent);
  }
  return extents;
}

std::vector<std::int64_t> folded(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> tile;
  for (std::int64_t extent : extents) {
    if (extent != 1) tile.push_back(extent);
  }
  return tile;
}

bool is_fragment(const Buffer& buffer) { return buffer->scope == Scope::fragment; }
bool is_shared(const Buffer& buffer) { return buffer->scope == Scope::shared; }
bool is_global(const Buffer& buffer) { return buffer->scope == Scope::global; }

roles::Swizzle widest_swizzle(std::int64_t row_bytes) {
  for (auto swizzle : {roles::Swizzle::b128, roles::Swizzle::b64, roles::Swizzle::b32}) {
    if (row_bytes > 0 && row_bytes % roles::swizzle_span(swizzle) == 0) return swizzle;
  }
  return roles::Swizzle::none;
}

}  // namespace plait::place
