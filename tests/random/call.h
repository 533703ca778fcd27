#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace plait::test {

using Dims = std::map<std::string, std::int64_t>;

/// Value of an integer expression over dims and literals.
std::int64_t evaluate(const ir::ExprRef& expr, const Dims& dims);

/// Memory and arguments for one call of a kernel: every tensor at the extents and strides that the dims give, zeroed.
class Call {
 public:
  /// Precondition: `dims` has every dim of the kernel, and memory for the tensors can be had.
  Call(const ir::Kernel& kernel, const Dims& dims);
  Call(Call&&) = default;
  Call& operator=(Call&&) = default;

  /// Sets the elements of a tensor in row-major order; integers too.
  Call& set(const std::string& param, const std::vector<double>& values);
  Call& set_scalar(const std::string& param, double value);
  /// The elements in row-major order.
  std::vector<double> get(const std::string& param) const;
  const ir::TensorView& view(const std::string& param) const;
  ir::TensorView& view(const std::string& param);

  const ir::BoundArgs& args() const { return args_; }

 private:
  struct Tensor {
    std::string name;
    std::vector<std::byte> memory;
  };
  std::vector<Tensor> tensors_;
  std::vector<std::string> scalars_;
  ir::BoundArgs args_;
};

}  // namespace plait::test
