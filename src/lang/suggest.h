#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plait::lang {

/// The candidate nearest to `name` by edit distance, or empty when none is near enough to be what was meant.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);
/// "did you mean `x`?", or `otherwise` when nothing is near.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise = {});
/// "a, b and c", each in backquotes; "none" for an empty list. At most 20 are named.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace plait::lang
