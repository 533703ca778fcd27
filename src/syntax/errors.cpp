#include "syntax/errors.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace plait::syntax {

Diagnostic& Errors::add(Rule rule, Loc loc, std::string message, std::string fix) {
  if (full()) return scrap_;
  list_.push_back({rule, std::move(loc), std::move(message), std::move(fix), {}, Severity::error});
  return list_.back();
}

Diagnostics Errors::merge(const Errors& a, const Errors& b) {
  std::vector<const Diagnostic*> all;
  for (const Diagnostic& d : a.list_) all.push_back(&d);
  for (const Diagnostic& d : b.list_) all.push_back(&d);
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return std::tie(all[i]->loc.line, all[i]->loc.column, i) < std::tie(all[j]->loc.line, all[j]->loc.column, j);
  });
  Diagnostics out;
  for (std::size_t i = 0; i < std::min(order.size(), kMax); ++i) out.add(*all[order[i]]);
  return out;
}

Loc Errors::loc(int line, int column, std::size_t length) const {
  constexpr std::size_t kLongest = 1 << 20;
  if (line > 0 && static_cast<std::size_t>(line) <= lines_.size()) return lines_[static_cast<std::size_t>(line) - 1];
  return {source_, line, column, static_cast<int>(std::clamp<std::size_t>(length, 1, kLongest))};
}

}  // namespace plait::syntax
