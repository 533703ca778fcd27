#pragma once

#include "ir/build.h"

namespace plait::lang {

// Parts of a kernel's header, shared by the text form and the C++ form. Each returns null after reporting what is
// wrong.

/// An extent or stride of the parameter `name`: an i64 over dims and literals, not negative.
ir::ExprRef make_extent(const ir::ExprRef& e, const std::string& name, Loc loc, Diagnostics& diags);
/// The default of a scalar argument, a literal of its type.
ir::ExprRef make_default(ir::DType type, const ir::ExprRef& e, const std::string& name, Loc loc, Diagnostics& diags);
/// The extent of a grid axis: an i64 over dims and scalar arguments.
ir::ExprRef make_grid_extent(const ir::ExprRef& e, Loc loc, Diagnostics& diags);
/// Adds a require whose condition is known at the call; `cond` may be null.
void add_require(ir::Kernel& kernel, const ir::ExprRef& cond, const std::string& message, Loc loc, Diagnostics& diags);
/// A kernel's number of threads, within what any machine could run.
void set_threads(ir::Kernel& kernel, std::int64_t count, Loc loc, Diagnostics& diags);

}  // namespace plait::lang
