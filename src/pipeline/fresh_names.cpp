#include "pipeline/fresh_names.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait::pipeline {

std::string FreshNames::in_role(const std::string& name) {
  std::string made = name;
  for (int n = 2; head_.contains(made) || role_.contains(made); ++n) made = fmt::format("{}_{}", name, n);
  role_.insert(made);
  used_.insert(made);
  return made;
}

std::string FreshNames::in_head(const std::string& name, const std::vector<std::string>& behind) {
  std::string made = name;
  auto taken = [&](const std::string& all) { return head_.contains(all) || used_.contains(all); };
  auto any_taken = [&] {
    return std::any_of(behind.begin(), behind.end(), [&](const std::string& part) { return taken(made + part); });
  };
  for (int n = 2; any_taken(); ++n) made = fmt::format("{}_{}", name, n);
  for (const std::string& part : behind) head_.insert(made + part);
  return made;
}

}  // namespace plait::pipeline
