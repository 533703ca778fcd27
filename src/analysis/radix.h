#pragma once

#include "analysis/interval.h"

namespace plait::analysis {

using ExprPair = std::pair<ir::ExprRef, ir::ExprRef>;

/// What follows from equal pairs of indices when they are digits of one number: x % b = y % b and x / b = y / b make
/// x = y, whatever b is. Lets are seen through. The given pairs are not among the result.
std::vector<ExprPair> implied_equalities(const std::vector<ExprPair>& equal, Ranges& ranges);

}  // namespace plait::analysis
