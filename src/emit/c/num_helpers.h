#pragma once

#include <set>
#include <string>

namespace plait::emit::c {

/// `struct num`, and those of the functions on it that are named, with what they call.
std::string num_helpers(const std::set<std::string>& names);

}  // namespace plait::emit::c
