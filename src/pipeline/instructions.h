#pragma once

#include "place/placed.h"
#include "plan/schedule.h"

namespace plait::pipeline {

/// The instruction that each product and each copy of a placed program becomes, as schedules write it, in program
/// order.
std::vector<plan::Atom> instructions_of(const place::Placed& placed);

}  // namespace plait::pipeline
