#include "reference/reference.h"

#include <algorithm>

#include "reference/access.h"
#include "support/diagnostic.h"

namespace plait::reference {

Tensor& tensor(const ReferenceCall& call, const std::string& name) {
  auto it = call.tensors.find(name);
  PLAIT_ASSERT(it != call.tensors.end(), "reference: no tensor " + name);
  return it->second;
}

std::int64_t dim(const ReferenceCall& call, const std::string& name) {
  auto it = call.dims.find(name);
  PLAIT_ASSERT(it != call.dims.end(), "reference: no dim " + name);
  return it->second;
}

std::int64_t int_param(const ReferenceCall& call, const std::string& name) {
  auto it = call.bindings.find(name);
  PLAIT_ASSERT(it != call.bindings.end(), "reference: no parameter " + name);
  return std::stoll(it->second);
}

bool bool_param(const ReferenceCall& call, const std::string& name) {
  auto it = call.bindings.find(name);
  PLAIT_ASSERT(it != call.bindings.end(), "reference: no parameter " + name);
  return it->second == "true";
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, double* c) {
  std::fill(c, c + m * n, 0.0);
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t j = 0; j < n; ++j) {
      row[static_cast<std::size_t>(j)] = b.data[p * b.row_stride + j * b.column_stride];
    }
    for (std::int64_t i = 0; i < m; ++i) {
      double value = a.data[i * a.row_stride + p * a.column_stride];
      double* out = c + i * n;
      for (std::int64_t j = 0; j < n; ++j) out[j] += value * row[static_cast<std::size_t>(j)];
    }
  }
}

const Reference* find_reference(std::string_view kernel_name) {
  static const std::vector<Reference> all = [] {
    std::vector<Reference> list;
    add_matmul(list);
    add_row_operations(list);
    add_sequence(list);
    add_attention_bwd(list);
    add_selection(list);
    return list;
  }();
  auto it = std::find_if(all.begin(), all.end(), [&](const Reference& r) { return r.kernel == kernel_name; });
  return it == all.end() ? nullptr : &*it;
}

}  // namespace plait::reference
