#pragma once

#include <map>

#include "ir/kernel.h"
#include "syntax/tree.h"

namespace plait::lang {

/// Values for compile-time parameters as given by `-D name=value`: text that must be a literal or a type name.
using Bindings = std::map<std::string, std::string>;

/// Gives one kernel of a file its meaning: binds compile-time parameters, resolves names, inlines functions, folds
/// static ifs, types every expression, resolves the extents of tile operations. `kernel` empty: the file's only kernel.
Result<ir::Kernel> elaborate(const syntax::File& file, const std::string& kernel, const Bindings& bindings);

/// Names of a file's kernels in order.
std::vector<std::string> kernel_names(const syntax::File& file);

}  // namespace plait::lang
