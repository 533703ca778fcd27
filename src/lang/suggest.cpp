#include "lang/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace plait::lang {
namespace {

/// Longer names are not compared: the distance is quadratic, and nobody mistypes them by a letter.
constexpr std::size_t kMaxCompared = 64;
constexpr std::size_t kMaxListed = 20;

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

/// Edit distance with insertion, deletion, replacement and exchange of neighbours; a wrong case costs nothing.
std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::string a = lower(left), b = lower(right);
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > kMaxCompared) return {};
  std::size_t limit = name.size() <= 2 ? 0 : (name.size() + 1) / 3;
  std::string best;
  std::size_t best_distance = limit + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxCompared || candidate == name) continue;
    std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise) {
  std::string best = nearest(name, candidates);
  return best.empty() ? std::move(otherwise) : fmt::format("did you mean `{}`?", best);
}

std::string quoted_list(const std::vector<std::string>& names) {
  if (names.empty()) return "none";
  std::string out;
  std::size_t shown = std::min(names.size(), kMaxListed);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) out += i + 1 == names.size() ? " and " : ", ";
    out += fmt::format("`{}`", names[i]);
  }
  if (shown < names.size()) out += fmt::format(" and {} more", names.size() - shown);
  return out;
}

}  // namespace plait::lang
