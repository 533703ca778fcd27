#pragma once

#include "roles/program.h"

namespace plait::roles {

/// Registers of a thread that the compiler takes besides the fragments: addresses, counters, temporaries.
inline constexpr std::int64_t kOtherRegisters = 24;

/// What the fragments of a role take at the place where they take most, the last of such.
struct Pressure {
  std::int64_t registers = 0;       ///< of a thread
  std::vector<Fragment> fragments;  ///< that live there, the largest first
};

/// A fragment lives from what overwrites all of it to what reads it last; what wgmma works on lives until that is
/// awaited. Precondition: each fragment of the role has a layout (layout::fragment_error finds nothing).
Pressure pressure(const Role& role);

}  // namespace plait::roles
