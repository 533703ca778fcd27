#pragma once

#include <string>

#include "bundle/bundle.h"
#include "emit/c/expr.h"

namespace plait::bundle {

/// The functions and tables of one kernel in the C file: what binds calls of it, what plans their launches, its
/// variants. `exprs` collects what they call and what cannot be printed; `limits` grows to what they need.
struct Limits {
  std::size_t dims = 1, tensors = 1, rank = 1, workspaces = 1, params = 1, maps = 1;
};
std::string print_kernel(const Bundle& bundle, const BundledKernel& kernel, emit::c::HostExprs& exprs, Limits& limits);

/// What C sees of it: the members of the struct of its arguments, and the functions.
std::string print_interface(const Bundle& bundle, const BundledKernel& kernel);

/// A text as a string literal of C.
std::string c_string(const std::string& text);
/// The name of a bundle, or an architecture, in capitals.
std::string capitals(const std::string& text);
/// `@@` and `@` replaced by the bundle's name, in capitals and as it is.
std::string named(std::string_view text, const std::string& name);

/// The head that every variant of a kernel shares, as far as binding goes: that of the first.
const roles::Program& head_of(const BundledKernel& kernel);

/// A scalar that C has no type of its own for, or whose values it cannot compute with.
bool is_passed(ir::DType type);

}  // namespace plait::bundle
