#pragma once

#include <string>

#include "ir/kernel.h"

namespace plait::ir {

// Pieces of text from which print_stmt.cpp and print_kernel.cpp make statements and kernels.

/// The integer literal `value`.
bool is_int(const ExprRef& e, std::int64_t value);
/// An expression where nothing says which type a literal should take.
std::string expr_text(const ExprRef& e);
/// An expression where its type is known from elsewhere (the target of a store): a literal stands bare.
std::string typed_text(const ExprRef& e);
/// `a, b, c`
std::string exprs_text(const std::vector<ExprRef>& list);
/// `A` for the whole buffer, otherwise every dimension in full: `A[b, r : r + 64, :]`.
std::string region_text(const Region& region);
/// In double quotes, with the escapes of the language.
std::string string_text(std::string_view value);

}  // namespace plait::ir
