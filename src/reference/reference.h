#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What each kernel of kernels/ computes, as plain mathematics in f64: written from the formula, never from the tile
/// program.
namespace plait::reference {

/// One call of a kernel. Every tensor holds its logical elements in row-major order whatever its strides in memory; an
/// element of a narrow type is the double of the same value (integers and bool too).
struct ReferenceCall {
  /// All tensor parameters: `in` and `inout` hold their values before the call, `out` NaN. `run` writes the results of
  /// `out` and `inout` here.
  std::map<std::string, std::vector<double>>& tensors;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  std::map<std::string, std::string> dtypes;    ///< element type names, e.g. "bf16"
  std::map<std::string, double> scalars;        ///< scalar arguments
  std::map<std::string, std::int64_t> dims;     ///< symbolic extents and strides
  std::map<std::string, std::string> bindings;  ///< compile-time parameters: values given by -D, else literal defaults
};

/// An element passes when |got - want| <= limit * max(|want|, rms of the wanted tensor); `want` is rounded to the
/// tensor's type first. Exact equality where limit is 0. NaN matches NaN, an infinity only itself.
struct Reference {
  std::string kernel;
  std::function<void(const ReferenceCall&)> run;
  /// Floating-point operations of one call, as the field counts them (2·M·N·K for a product); null: none worth telling.
  std::function<double(const ReferenceCall&)> flops;
  /// Limits by element type name where the general ones of docs/numerics.md do not fit; usually empty.
  std::map<std::string, double> tolerance;
  /// The tensor parameters it is for, with their shapes as the kernel's text has them: "A[M, K], B[K, N], C[M, N]". A
  /// kernel of the same name with other parameters is another program.
  std::string signature;
};

/// The reference of the kernel of that name, or null. The pointer stays valid for the life of the process.
const Reference* find_reference(std::string_view kernel_name);

}  // namespace plait::reference
