#pragma once

#include "machine/device.h"
#include "machine/places.h"

namespace plait::machine {

/// What the fields of a model owe each other: names, what its target and its features need, limits that fit.
void check_device(const Device& device, const JsonPlaces& places, Diagnostics& diagnostics);

}  // namespace plait::machine
