#pragma once

#include "layout/layout.h"
#include "support/result.h"

namespace plait::layout {

/// Reads what Layout::str writes; spaces may stand anywhere between tokens.
Result<Layout> parse_layout(const SourceRef& text);
/// Reads what SwizzledLayout::str writes, or a layout alone.
Result<SwizzledLayout> parse_swizzled_layout(const SourceRef& text);

}  // namespace plait::layout
