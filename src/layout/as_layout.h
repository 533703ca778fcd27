#pragma once

#include "layout/fragment.h"
#include "layout/layout.h"
#include "layout/smem.h"

/// Fragments and tiles as layouts, so that the algebra can be used on them.
namespace plait::layout {

/// ((thread digits), (element digits)) -> row·columns + column.
Layout as_layout(const FragmentMap& map);
/// (row, (column in panel, panel), copy) -> byte offset; for elements of whole bytes.
SwizzledLayout as_layout(const SmemTile& tile);

}  // namespace plait::layout
