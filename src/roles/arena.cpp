#include "roles/arena.h"

#include <algorithm>

#include "layout/role_layout.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kMbarBytes = 8;
/// What TMA asks for of tiles without a swizzle, and more than cp.async and bulk copies do.
constexpr std::int64_t kPlainAlignment = 128;
constexpr std::int64_t kSwizzledAlignment = 1024;

struct Interval {
  std::int64_t begin = 0, end = 0;
};

std::int64_t aligned(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// The first aligned offset from `from` on at which `bytes` are clear of the placed tiles, which are in order.
std::int64_t first_fit(std::int64_t from, std::int64_t bytes, std::int64_t alignment,
                       const std::vector<Interval>& placed) {
  std::int64_t offset = aligned(from, alignment);
  for (const Interval& other : placed) {
    if (other.begin < offset + bytes && offset < other.end) offset = aligned(other.end, alignment);
  }
  return offset;
}

}  // namespace

std::int64_t smem_alignment(const SmemDecl& smem) {
  return smem.swizzle == Swizzle::none ? kPlainAlignment : kSwizzledAlignment;
}

std::int64_t smem_bytes(const SmemDecl& smem) { return layout::smem_tile(smem).bytes(); }

Arena arena(const Program& program) {
  Arena out;
  std::vector<Interval> placed;
  for (const Smem& smem : program.smem) {
    if (smem->offset) placed.push_back({*smem->offset, *smem->offset + smem_bytes(*smem)});
  }
  std::sort(placed.begin(), placed.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  std::int64_t next = 0;
  for (const Smem& smem : program.smem) {
    std::int64_t bytes = smem_bytes(*smem);
    std::int64_t alignment = smem_alignment(*smem);
    std::int64_t offset = smem->offset ? *smem->offset : first_fit(next, bytes, alignment, placed);
    if (!smem->offset) next = offset + bytes;
    out.smem.push_back(offset);
    out.bytes = std::max(out.bytes, offset + bytes);
  }
  out.bytes = aligned(out.bytes, kMbarBytes);
  for (const Mbar& mbar : program.mbars) {
    out.mbars.push_back(out.bytes);
    out.bytes += kMbarBytes * mbar->size;
  }
  return out;
}

std::int64_t fragment_registers(const FragmentDecl& fragment, std::int64_t threads) {
  std::int64_t elements = layout::fragment_map(fragment, threads).elements_per_thread();
  if (fragment.kind == FragmentKind::rows) return elements * std::max(ir::dtype_bits(fragment.buffer->type) / 32, 1);
  return layout::registers(elements, fragment.buffer->type);
}

}  // namespace plait::roles
