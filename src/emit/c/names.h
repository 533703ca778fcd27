#pragma once

#include <string>
#include <string_view>

#include "ir/type.h"

/// What C calls the names and types of a kernel's signature.
namespace plait::emit::c {

/// A keyword of C or C++.
bool is_c_word(std::string_view name);
/// What <stdint.h> defines, as INT64_MAX and int64_t, and names that belong to the compiler.
bool belongs_to_headers(std::string_view name);

/// A parameter's name in C. Different names stay different: of `int` comes `int_`, and of `int_` therefore `int__`.
std::string c_name(const std::string& name);

/// The C type of an element; floats that C does not have, and elements narrower than a byte, are their bits.
std::string c_element(ir::DType type);
/// The C type of a scalar argument; floats that C does not have are passed as float.
std::string c_scalar(ir::DType type);

}  // namespace plait::emit::c
