#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace plait::bench {

struct Settings {
  int repeats = 15;
  std::string only;  ///< part of a case's name; empty: all
};

/// Measures every case. Each gives {name, shape, threads, parameters, times, ratio, target}: `ratio` is how plait does
/// against what `against` names, larger is better, and `target` what it should reach.
std::vector<nlohmann::json> run_cases(const Settings& settings);

}  // namespace plait::bench
