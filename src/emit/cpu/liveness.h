#pragma once

#include "ir/kernel.h"

namespace plait::cpu {

/// A statement in its list, with the lists around it.
struct Place {
  const ir::Body* list = nullptr;
  std::size_t at = 0;
  bool loop = false;             ///< the list is the body of a loop
  const Place* outer = nullptr;  ///< the statement whose body the list is; null at the top
};

/// Whether nobody reads an on-chip buffer's present contents behind the `count` statements from `place` on: on every
/// path it is written anew as a whole first, or never read. False where that is not plain to see.
bool dead_after(const ir::BufferDecl* buffer, const Place& place, std::size_t count);

}  // namespace plait::cpu
