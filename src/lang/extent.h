#pragma once

#include "ir/build.h"

namespace plait::lang {

/// `end - begin` of a range `begin:end`, in the plainest form found: a literal where everything else cancels, `e` for
/// `b : b + e`, a product of variables, and otherwise the difference as it stands. Null operands give null.
ir::ExprRef range_extent(const ir::ExprRef& begin, const ir::ExprRef& end, Loc loc, Diagnostics& diags);

}  // namespace plait::lang
