#pragma once

#include <string_view>

#include "runtime/host_tensor.h"

namespace plait::runtime {

/// What the header of a .npy file says (numpy's NEP 1, versions 1 to 3).
struct NpyHeader {
  char byte_order = '|';  ///< '<', '>', '=' or '|'
  char kind = 'f';        ///< b, i, u, f, or V: raw bytes
  int item_bytes = 4;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

/// Reads the header at the start of `bytes`; any bytes are safe to give. `file` is named in diagnostics.
Result<NpyHeader> parse_npy_header(std::string_view bytes, const std::string& file);

/// Reads an array into row-major order. Without `raw_type` the file's own type counts: bool, i8…i64, u8…u64, f16, f32,
/// f64. With it the elements are the bits of that type: stored as integers or raw bytes of its width (tf32 also as f32
/// numbers, which are rounded; 8-bit floats also as numpy extension types). Types narrower than a byte are packed,
/// lowest bits first, in bytes along the last dimension, so [M, K] of i4 is a byte array [M, K / 2]. A file of another
/// size than its header says is refused before anything is allocated.
Result<HostTensor> read_npy(const std::string& path, std::optional<ir::DType> raw_type = std::nullopt);

/// Header of the file that holds `view`; bf16 as `<u2`, 8-bit floats as `|u1`, tf32 as `<f4`, narrower types as packed
/// `|u1` (in one dimension where the last extent does not fill whole bytes).
std::string npy_header(const ir::TensorView& view);
/// The elements in row-major order as the file holds them.
std::string npy_data(const ir::TensorView& view);

}  // namespace plait::runtime
