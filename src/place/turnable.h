#pragma once

#include "place/placed.h"

namespace plait::place {

/// Fragments that can change the places of their rows and columns, and that a product needs so: families of those that
/// go together.
std::set<const ir::BufferDecl*> turnable_fragments(const ir::Body& body);

}  // namespace plait::place
