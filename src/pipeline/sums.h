#pragma once

#include <map>
#include <set>

#include "place/placed.h"

namespace plait::pipeline {

/// Sums over the rows of fragments that a loop adds to, and that nothing in the loop reads: the lanes that share a row
/// keep their parts apart until the sum is read, which saves the exchange between them in every iteration. Scaling all
/// parts by one factor is as good as scaling the sum. Each iteration's part is summed over the columns of a thread
/// first, ascending; the lanes' parts last.
struct Sums {
  /// By sum: the statements that need it whole.
  std::map<ir::Buffer, std::set<const ir::Stmt*>> readers;

  bool has(const ir::Buffer& buffer) const { return readers.contains(buffer); }
};
Sums find_sums(const place::Placed& placed);

}  // namespace plait::pipeline
