#include "syntax/errors.h"

#include <algorithm>
#include <tuple>

namespace plait::syntax {

Diagnostic& Errors::add(Rule rule, Loc loc, std::string message, std::string fix) {
  if (full()) return scrap_;
  list_.push_back({rule, std::move(loc), std::move(message), std::move(fix), {}, Severity::error});
  return list_.back();
}

Diagnostics Errors::merge(const Errors& a, const Errors& b) {
  std::vector<Diagnostic> all = a.list_;
  all.insert(all.end(), b.list_.begin(), b.list_.end());
  std::stable_sort(all.begin(), all.end(), [](const Diagnostic& x, const Diagnostic& y) {
    return std::tie(x.loc.line, x.loc.column) < std::tie(y.loc.line, y.loc.column);
  });
  Diagnostics out;
  for (std::size_t i = 0; i < std::min(all.size(), kMax); ++i) out.add(all[i]);
  return out;
}

Loc Errors::loc(int line, int column, std::size_t length) const {
  constexpr std::size_t kLongest = 1 << 20;
  return {source_, line, column, static_cast<int>(std::clamp<std::size_t>(length, 1, kLongest))};
}

}  // namespace plait::syntax
