// Selection and counting: the largest elements of a row, a histogram.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/access.h"

namespace plait::reference {
namespace {

/// Larger first: NaN above every number (by sign, as their bits are ordered), 0 above -0, equal values by index.
bool comes_before(double a, double b) {
  bool a_nan = std::isnan(a), b_nan = std::isnan(b);
  if (a_nan || b_nan) {
    auto rank = [](double x, bool nan) { return nan ? (std::signbit(x) ? -1 : 1) : 0; };
    return rank(a, a_nan) > rank(b, b_nan);
  }
  if (a != b) return a > b;
  return !std::signbit(a) && std::signbit(b);
}

void topk(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N"), top = int_param(call, "top");
  for (std::int64_t i = 0; i < m; ++i) {
    const double* row = tensor(call, "X").data() + i * n;
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    // Of equals, the smaller index first: a stable sort, whose header clang refuses as it uses what C++17 deprecates.
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      if (comes_before(row[a], row[b])) return true;
      return !comes_before(row[b], row[a]) && a < b;
    });
    for (std::int64_t t = 0; t < top; ++t) {
      auto at = static_cast<std::size_t>(i * top + t);
      tensor(call, "values")[at] = row[order[static_cast<std::size_t>(t)]];
      tensor(call, "indices")[at] = static_cast<double>(order[static_cast<std::size_t>(t)]);
    }
  }
}

void histogram(const ReferenceCall& call) {
  Tensor& counts = tensor(call, "counts");
  for (double x : tensor(call, "X")) ++counts[static_cast<std::size_t>(x)];
}

}  // namespace

void add_selection(std::vector<Reference>& all) {
  all.push_back({"topk", topk, nullptr, {{"f32", 0.0}}, "X[M, N], values[M, top], indices[M, top]"});
  all.push_back({"histogram", histogram, nullptr, {}, "X[N], counts[256]"});
}

}  // namespace plait::reference
