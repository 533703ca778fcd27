#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// Gives every buffer the metadata that tells LLVM which others it cannot overlap: parameters never do (the language
/// says so for written ones), and on-chip buffers do where they share scratch.
void assign_alias_scopes(Emitter& e);

}  // namespace plait::cpu
