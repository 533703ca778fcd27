#pragma once

#include "roles/program.h"

namespace plait::roles {

/// The program with mbarriers in place of its channels. A channel `ring` of depth D becomes the arrays ring_full[D] and
/// ring_empty[D], initialised at the start of the prologue; the phase of item n is n / D. Every channel-free part of
/// the program is the same as before. Precondition: verify() found nothing wrong.
Program lower_channels(const Program& program);

}  // namespace plait::roles
