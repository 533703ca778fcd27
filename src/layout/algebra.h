#pragma once

#include <optional>

#include "layout/layout.h"

/// Operations on layouts. Where the result is no layout (strides that do not divide, digits that carry), it is nullopt,
/// never something near it.
namespace plait::layout {

/// c -> outer(inner(c)), with the modes of `inner`. Every offset of `inner` must be an index of `outer`.
std::optional<Layout> compose(const Layout& outer, const Layout& inner);
/// The same behind a swizzle.
std::optional<SwizzledLayout> compose(const SwizzledLayout& outer, const Layout& inner);

/// What `layout` leaves out: (layout, complement) meets each of the offsets 0, 1, … once, ceil(extent / period) periods
/// of them, so that all below `extent` are among them.
std::optional<Layout> complement(const Layout& layout, std::int64_t extent);

/// R with layout(R(i)) = i, for as many i from 0 on as the strides reach without a gap.
Layout right_inverse(const Layout& layout);
/// L with L(layout(i)) = i for every index. Only for layouts that have a complement.
std::optional<Layout> left_inverse(const Layout& layout);

/// (tile, rest): the elements of `layout` at the offsets of `tiler`, and its repetitions over all of `layout`.
std::optional<Layout> divide(const Layout& layout, const Layout& tiler);
/// Mode by mode with a number of elements that divides it: ((tile, tile, …), (rest, rest, …)).
std::optional<Layout> tile(const Layout& layout, const std::vector<std::int64_t>& extents);
/// (block, repetitions): `block` once for each element of `tiler`, beside each other without overlap.
std::optional<Layout> product(const Layout& block, const Layout& tiler);

}  // namespace plait::layout
