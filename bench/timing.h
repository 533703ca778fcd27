#pragma once

#include <functional>
#include <string>
#include <vector>

namespace plait::bench {

/// One of the things compared in a case.
struct Side {
  std::string name;
  std::function<void()> run;
};

struct Times {
  std::string name;
  std::vector<double> seconds;  ///< in the order measured

  double median() const;
  double best() const;
};

/// Runs all sides by turns, `repeats` times after one warming run each, so that whatever else the machine does falls on
/// all alike.
std::vector<Times> alternate(const std::vector<Side>& sides, int repeats);

}  // namespace plait::bench
