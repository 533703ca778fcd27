#pragma once

#include <string>

#include "reference/reference.h"

namespace plait::reference {

using Tensor = std::vector<double>;

/// A tensor of the call by name; the kernel's own text guarantees that it exists.
Tensor& tensor(const ReferenceCall& call, const std::string& name);
std::int64_t dim(const ReferenceCall& call, const std::string& name);
std::int64_t int_param(const ReferenceCall& call, const std::string& name);
bool bool_param(const ReferenceCall& call, const std::string& name);

/// C[m, n] = Σ_k A[m, k]·B[k, n] in f64, with A and B given by base and strides in elements.
struct Matrix {
  const double* data;
  std::int64_t row_stride, column_stride;
};
void multiply(std::int64_t m, std::int64_t n, std::int64_t k, Matrix a, Matrix b, double* c);

void add_matmul(std::vector<Reference>& all);
void add_row_operations(std::vector<Reference>& all);
void add_sequence(std::vector<Reference>& all);
void add_attention_bwd(std::vector<Reference>& all);
void add_selection(std::vector<Reference>& all);

}  // namespace plait::reference
