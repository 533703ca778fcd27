#include "runtime/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "ir/numeric.h"
#include "runtime/extent.h"
#include "runtime/files.h"

namespace plait::runtime {
namespace {

using ir::DType;

static_assert(std::endian::native == std::endian::little,
              "tensors are written in the machine's order, .npy files little-endian");

/// The type that numpy itself gives the elements; nothing for raw bytes and widths that only extension types have.
std::optional<DType> natural_type(const NpyHeader& header) {
  auto by_width = [&](DType one, DType two, DType four, DType eight) {
    if (header.item_bytes == 1) return one;
    if (header.item_bytes == 2) return two;
    return header.item_bytes == 4 ? four : eight;
  };
  if (header.kind == 'b') return DType::bool_;
  if (header.kind == 'i') return by_width(DType::i8, DType::i16, DType::i32, DType::i64);
  if (header.kind == 'u') return by_width(DType::u8, DType::u16, DType::u32, DType::u64);
  if (header.kind == 'f' && header.item_bytes > 1) return by_width(DType::f16, DType::f16, DType::f32, DType::f64);
  return std::nullopt;
}

bool holds_bits_of(const NpyHeader& header, DType type) {
  int bits = ir::dtype_bits(type);
  if (header.item_bytes * 8 != std::max(bits, 8)) return false;
  if (natural_type(header) == type) return true;
  if (header.kind == 'f') return type == DType::tf32 || (bits == 8 && ir::is_float(type));
  return header.kind != 'b';
}

Result<DType> element_type(const NpyHeader& header, std::optional<DType> raw_type, const std::string& path) {
  Diagnostics diags;
  std::optional<DType> natural = natural_type(header);
  if (!raw_type && natural) return *natural;
  std::string stored = fmt::format("{}{}", header.kind, header.item_bytes);
  if (!raw_type) {
    diags.error(Rule::npy_dtype, file_loc(path),
                fmt::format("the elements are raw bytes ('{}'), whose meaning the file does not say", stored),
                "say what they are, e.g. --dtype NAME=bf16");
    return diags;
  }
  if (holds_bits_of(header, *raw_type)) return *raw_type;
  diags.error(Rule::npy_dtype, file_loc(path),
              fmt::format("elements stored as '{}' do not hold the bits of {}", stored, ir::dtype_name(*raw_type)),
              fmt::format("save them as unsigned integers of {} bits", std::max(ir::dtype_bits(*raw_type), 8)));
  return diags;
}

void swap_bytes(std::byte* data, std::int64_t count, int width) {
  for (std::int64_t i = 0; i < count; ++i) std::reverse(data + i * width, data + (i + 1) * width);
}

/// Elements from column-major file order into row-major order.
void gather_columns(const std::byte* from, std::byte* to, const std::vector<std::int64_t>& shape, int width) {
  ir::TensorView columns{nullptr, DType::u8, shape, std::vector<std::int64_t>(shape.size())};
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    columns.strides[i] = stride;
    stride *= shape[i];
  }
  for (ElementWalk walk(columns); !walk.done(); walk.next(), to += width) {
    std::memcpy(to, from + walk.offset() * width, static_cast<std::size_t>(width));
  }
}

/// Values that memory of these types never holds: bool other than 0 and 1, tf32 with more than 10 fraction bits.
void make_canonical(const HostTensor& tensor, std::int64_t count) {
  DType type = tensor.view().type;
  if (type == DType::bool_) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (tensor.data()[i] != std::byte{0}) tensor.data()[i] = std::byte{1};
    }
  }
  if (type == DType::tf32) {
    for (std::int64_t i = 0; i < count; ++i) {
      double value = ir::load_float(DType::f32, tensor.data(), i);
      ir::store_float(type, tensor.data(), i, ir::round_to(type, value));
    }
  }
}

/// Checks that the file has exactly the bytes its header names.
Diagnostics check_size(const NpyHeader& header, std::int64_t file_bytes, const std::string& path) {
  Diagnostics diags;
  auto count = element_count(header.shape);
  auto bytes = count ? checked_mul(*count, header.item_bytes) : std::nullopt;
  std::int64_t have = file_bytes - static_cast<std::int64_t>(header.data_offset);
  if (!bytes) {
    diags.error(Rule::npy_format, file_loc(path),
                fmt::format("shape ({}) names more bytes than 64 bits count", fmt::join(header.shape, ", ")));
  } else if (*bytes != have) {
    diags.error(Rule::npy_format, file_loc(path),
                fmt::format("shape ({}) of {}-byte elements needs {} bytes, the file has {} behind its header",
                            fmt::join(header.shape, ", "), header.item_bytes, *bytes, have));
  }
  return diags;
}

}  // namespace

Result<HostTensor> read_npy(const std::string& path, std::optional<DType> raw_type) {
  Diagnostics diags;
  auto file = InputFile::open(path);
  if (!file) return file.diagnostics();
  auto head = file->read_text(0, 65536 + 12);
  if (!head) return head.diagnostics();
  auto header = parse_npy_header(*head, path);
  if (!header) return header.diagnostics();
  auto type = element_type(*header, raw_type, path);
  if (!type) return type.diagnostics();
  if (diags = check_size(*header, file->size(), path); diags.has_errors()) return diags;

  const int bits = ir::dtype_bits(*type);
  std::vector<std::int64_t> shape = header->shape;
  if (bits < 8) {
    auto last = shape.empty() ? std::nullopt : checked_mul(shape.back(), 8 / bits);
    if (last) shape.back() = *last;
    if (!last || !element_count(shape)) {
      diags.error(Rule::npy_format, file_loc(path),
                  fmt::format("packed {} elements need a last dimension to be packed along", ir::dtype_name(*type)));
      return diags;
    }
  }
  std::int64_t items = *element_count(header->shape);
  HostTensor tensor(*type, {shape, *contiguous_strides(shape)});
  auto read = file->read(static_cast<std::int64_t>(header->data_offset), tensor.data(), items * header->item_bytes);
  if (read.has_errors()) return read;
  if (header->byte_order == '>' && header->item_bytes > 1) swap_bytes(tensor.data(), items, header->item_bytes);
  if (header->fortran_order && header->shape.size() > 1 && items > 0) {
    HostTensor rows(*type, {shape, *contiguous_strides(shape)});
    gather_columns(tensor.data(), rows.data(), header->shape, header->item_bytes);
    tensor = std::move(rows);
  }
  make_canonical(tensor, items);
  return tensor;
}

std::string npy_data(const ir::TensorView& view) {
  HostTensor packed;
  const ir::TensorView* source = &view;
  if (!is_contiguous(view)) {
    packed = HostTensor(view.type, {view.shape, *contiguous_strides(view.shape)});
    std::int64_t to = 0;
    for (ElementWalk walk(view); !walk.done(); walk.next(), ++to) {
      if (ir::is_float(view.type)) {
        ir::store_float(view.type, packed.data(), to, ir::load_float(view.type, view.data, walk.offset()));
      } else {
        ir::store_int(view.type, packed.data(), to, ir::load_int(view.type, view.data, walk.offset()));
      }
    }
    source = &packed.view();
  }
  std::int64_t count = *element_count(view.shape);
  const int bits = ir::dtype_bits(view.type);
  std::string data(static_cast<const char*>(source->data), static_cast<std::size_t>(*packed_bytes(count, bits)));
  // Nothing of the memory behind the last element goes to the file.
  if (int used = static_cast<int>(count * bits % 8); used != 0)
    data.back() = static_cast<char>(data.back() & ((1 << used) - 1));
  return data;
}

}  // namespace plait::runtime
