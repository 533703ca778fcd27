#pragma once

#include "runtime/host_tensor.h"

namespace plait::runtime {

/// Largest error that passes, relative to max(|want|, rms of its row, rms of the wanted tensor), for results rounded to
/// `type`: docs/numerics.md. 0: exact.
double default_tolerance(ir::DType type);

/// The least precise float type that the kernel rounds a computed value to on its way into an output of type `output`:
/// tolerances follow it.
ir::DType coarsest_rounding(const ir::Kernel& kernel, ir::DType output);

struct Comparison {
  double max_abs_err = 0;
  double max_rel_err = 0;  ///< relative to max(|want|, rms of row and tensor)
  double limit = 0;        ///< what max_rel_err may be
  std::int64_t failures = 0;
  std::int64_t elements = 0;
  std::int64_t worst = -1;  ///< row-major number of the worst failing element
  double worst_got = 0, worst_want = 0;
  bool ok() const { return failures == 0; }
};

/// Compares all elements, row-major; `want` is converted to the tensor's type first. An integer or bool is right where
/// a number that `limit` allows in the place of `want` is converted to it. NaN matches NaN, an infinity only itself.
/// Elements for which `skip` is true (may be empty) do not take part.
Comparison compare(const ir::TensorView& got, const std::vector<double>& want, double limit,
                   const std::vector<bool>& skip = {});

/// Indices of a row-major element number.
std::vector<std::int64_t> index_of(std::int64_t number, const std::vector<std::int64_t>& shape);

}  // namespace plait::runtime
