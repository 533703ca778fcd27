#include "layout/role_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"

namespace plait::layout {
namespace {

using Error = std::optional<std::string>;

int span_of(roles::Swizzle swizzle) {
  switch (swizzle) {
    case roles::Swizzle::none:
      return 0;
    case roles::Swizzle::b32:
      return 32;
    case roles::Swizzle::b64:
      return 64;
    case roles::Swizzle::b128:
      return 128;
  }
  throw InternalError("a swizzle without span");
}

/// nothing for `rows` and `columns`, which lie as another fragment says.
std::optional<FragmentKind> own_kind(roles::FragmentKind kind) {
  switch (kind) {
    case roles::FragmentKind::wgmma_acc:
      return FragmentKind::wgmma_acc;
    case roles::FragmentKind::wgmma_a:
      return FragmentKind::wgmma_a;
    case roles::FragmentKind::mma_acc:
      return FragmentKind::mma_acc;
    case roles::FragmentKind::mma_a:
      return FragmentKind::mma_a;
    case roles::FragmentKind::mma_b:
      return FragmentKind::mma_b;
    case roles::FragmentKind::vector:
      return FragmentKind::vector;
    case roles::FragmentKind::rows:
    case roles::FragmentKind::columns:
      return {};
  }
  throw InternalError("a fragment without kind");
}

std::int64_t extent(const ir::Buffer& buffer, std::size_t dim) {
  std::optional<std::int64_t> value = ir::as_int(buffer->shape[dim]);
  PLAIT_ASSERT(value, "extents of " + buffer->name + " are literals");
  return *value;
}

/// The last two dims; one dim is a row.
std::pair<std::int64_t, std::int64_t> rows_and_columns(const ir::Buffer& buffer) {
  std::size_t rank = buffer->shape.size();
  PLAIT_ASSERT(rank >= 1, buffer->name + " has dims");
  return {rank == 1 ? 1 : extent(buffer, rank - 2), extent(buffer, rank - 1)};
}

FragmentSpec spec_of(const roles::FragmentDecl& fragment, FragmentKind kind, std::int64_t threads) {
  auto [rows, columns] = rows_and_columns(fragment.buffer);
  return {kind, rows, columns, fragment.buffer->type, fragment.vec, fragment.lanes, threads};
}

/// Threads among which a wgmma fragment is spread.
constexpr std::int64_t kWarpgroup = 128;

}  // namespace

Error fragment_error(const roles::FragmentDecl& fragment, std::int64_t threads) {
  std::optional<FragmentKind> kind = own_kind(fragment.kind);
  if (!kind) {
    std::string_view side = fragment.kind == roles::FragmentKind::rows ? "rows" : "columns";
    if (!fragment.of) return fmt::format("names no fragment whose {} it has", side);
    if (roles::is_side(fragment.of->kind))
      return fmt::format("has the {} of a fragment of {}", side,
                         fragment.of->kind == roles::FragmentKind::rows ? "rows" : "columns");
    if (Error error = fragment_error(*fragment.of, threads)) return fmt::format("lies as one that {}", *error);
    auto [rows, columns] = rows_and_columns(fragment.of->buffer);
    std::int64_t wanted = fragment.kind == roles::FragmentKind::rows ? rows : columns;
    if (fragment.buffer->shape.size() == 1 && extent(fragment.buffer, 0) == wanted) return {};
    return fmt::format("has not the shape [{}] of the {} of {}", wanted, side, fragment.of->buffer->name);
  }
  if (fragment.buffer->shape.empty() || fragment.buffer->shape.size() > 2)
    return fmt::format("has {} dims; a fragment has 1 or 2", fragment.buffer->shape.size());
  bool warpgroup = kind == FragmentKind::wgmma_acc || kind == FragmentKind::wgmma_a;
  if (warpgroup && threads != kWarpgroup)
    return fmt::format("is spread over 128 threads, and the replica has {}", threads);
  return fragment_error(spec_of(fragment, *kind, threads));
}

FragmentMap fragment_map(const roles::FragmentDecl& fragment, std::int64_t threads) {
  std::optional<FragmentKind> kind = own_kind(fragment.kind);
  if (kind) return fragment_map(spec_of(fragment, *kind, threads));
  FragmentMap of = fragment_map(*fragment.of, threads);
  return fragment.kind == roles::FragmentKind::rows ? rows_map(of) : columns_map(of);
}

SmemTile smem_tile(const roles::SmemDecl& smem) {
  auto [rows, columns] = rows_and_columns(smem.buffer);
  constexpr std::int64_t kTooMany = std::int64_t{1} << 30;  // refused by tile_error, and far from overflow
  std::int64_t copies = 1;
  for (std::size_t dim = 0; dim + 2 < smem.buffer->shape.size(); ++dim)
    copies = std::min(copies * std::min(extent(smem.buffer, dim), kTooMany), kTooMany);
  return {rows, columns, ir::dtype_bits(smem.buffer->type), span_of(smem.swizzle), smem.buffer->pad, copies};
}

TmaBox tma_box(const roles::MapDecl& map) {
  return {map.box, ir::dtype_bits(roles::moved_type(map)), span_of(map.swizzle)};
}

}  // namespace plait::layout
