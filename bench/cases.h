#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plait::bench {

struct Settings {
  int repeats = 15;
  std::string only;  ///< part of a case's name; empty: all
};

/// Measures every case. Each gives {name, shape, threads, parameters, times, ratio, ratio_of_best, target}: `ratio` is
/// how plait does against what `against` names by the medians, `ratio_of_best` by the best runs, larger is better, and
/// `target` is what the ratio should reach.
std::vector<nlohmann::json> run_cases(const Settings& settings);

}  // namespace plait::bench
