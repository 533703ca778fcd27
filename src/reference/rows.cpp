// Operations on the rows of a matrix: softmax, normalisations, transpose, running sums.
#include <algorithm>
#include <cmath>

#include "reference/access.h"

namespace plait::reference {
namespace {

/// Calls fn(row of X, row of Y) for each row.
template <typename Fn>
void each_row(const ReferenceCall& call, Fn fn) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N");
  for (std::int64_t i = 0; i < m; ++i) fn(tensor(call, "X").data() + i * n, tensor(call, "Y").data() + i * n, n);
}

void softmax(const ReferenceCall& call) {
  each_row(call, [](const double* x, double* y, std::int64_t n) {
    double largest = -INFINITY, sum = 0;
    for (std::int64_t j = 0; j < n; ++j) largest = x[j] > largest || std::isnan(x[j]) ? x[j] : largest;
    for (std::int64_t j = 0; j < n; ++j) sum += std::exp(x[j] - largest);
    for (std::int64_t j = 0; j < n; ++j) y[j] = std::exp(x[j] - largest) / sum;
  });
}

void rmsnorm(const ReferenceCall& call) {
  const Tensor& weight = tensor(call, "W");
  double eps = call.scalars.at("eps");
  each_row(call, [&](const double* x, double* y, std::int64_t n) {
    double squares = 0;
    for (std::int64_t j = 0; j < n; ++j) squares += x[j] * x[j];
    double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::int64_t j = 0; j < n; ++j) y[j] = x[j] * scale * weight[static_cast<std::size_t>(j)];
  });
}

void layernorm(const ReferenceCall& call) {
  const Tensor& weight = tensor(call, "W");
  const Tensor& bias = tensor(call, "bias");
  double eps = call.scalars.at("eps");
  each_row(call, [&](const double* x, double* y, std::int64_t n) {
    double sum = 0, squares = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += x[j];
    double mean = sum / static_cast<double>(n);
    for (std::int64_t j = 0; j < n; ++j) squares += (x[j] - mean) * (x[j] - mean);
    double scale = 1 / std::sqrt(squares / static_cast<double>(n) + eps);
    for (std::int64_t j = 0; j < n; ++j) {
      auto at = static_cast<std::size_t>(j);
      y[j] = (x[j] - mean) * scale * weight[at] + bias[at];
    }
  });
}

void cumsum(const ReferenceCall& call) {
  each_row(call, [](const double* x, double* y, std::int64_t n) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) y[j] = sum += x[j];
  });
}

void transpose(const ReferenceCall& call) {
  std::int64_t m = dim(call, "M"), n = dim(call, "N");
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      tensor(call, "Y")[static_cast<std::size_t>(j * m + i)] = tensor(call, "X")[static_cast<std::size_t>(i * n + j)];
    }
  }
}

}  // namespace

void add_row_operations(std::vector<Reference>& all) {
  all.push_back({"softmax", softmax, nullptr, {}, "X[M, N], Y[M, N]"});
  all.push_back({"rmsnorm", rmsnorm, nullptr, {}, "X[M, N], W[N], Y[M, N]"});
  all.push_back({"layernorm", layernorm, nullptr, {}, "X[M, N], W[N], bias[N], Y[M, N]"});
  all.push_back({"cumsum", cumsum, nullptr, {}, "X[M, N], Y[M, N]"});
  all.push_back({"transpose", transpose, nullptr, {}, "X[M, N], Y[N, M]"});
}

}  // namespace plait::reference
