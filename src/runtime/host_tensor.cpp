#include "runtime/host_tensor.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>

#include "ir/numeric.h"
#include "runtime/extent.h"

namespace plait::runtime {
namespace {

constexpr std::align_val_t kAlignment{64};

/// The bit pattern of a poisoned element; a quiet NaN whose payload arithmetic does not produce.
std::uint64_t poison_bits(ir::DType type, Poison kind) {
  if (kind == Poison::second) return 0x5a5a5a5a5a5a5a5a;
  switch (type) {
    case ir::DType::f64:
      return 0x7ff8a5a5a5a5a5a5;
    case ir::DType::f32:
      return 0x7fe5a5a5;
    case ir::DType::tf32:
      return 0x7fe5a000;
    case ir::DType::bf16:
      return 0x7fe5;
    case ir::DType::f16:
      return 0x7fa5;
    case ir::DType::e5m2:
    case ir::DType::e4m3:
      return 0x7f;
    case ir::DType::bool_:
    case ir::DType::i1:
    case ir::DType::i2:
    case ir::DType::i4:
    case ir::DType::i8:
    case ir::DType::i16:
    case ir::DType::i32:
    case ir::DType::i64:
    case ir::DType::u1:
    case ir::DType::u2:
    case ir::DType::u4:
    case ir::DType::u8:
    case ir::DType::u16:
    case ir::DType::u32:
    case ir::DType::u64:
    case ir::DType::e2m1:
      break;
  }
  return 0xa5a5a5a5a5a5a5a5;
}

/// Bits of one element; those of a packed type from the low end of its byte on.
std::uint64_t element_bits(const ir::TensorView& view, std::int64_t offset) {
  const int bits = ir::dtype_bits(view.type);
  const auto* data = static_cast<const std::uint8_t*>(view.data);
  if (bits < 8) {
    std::int64_t bit = offset * bits;
    return (static_cast<std::uint64_t>(data[bit / 8]) >> (bit % 8)) & ((1u << bits) - 1);
  }
  std::uint64_t value = 0;
  std::memcpy(&value, data + offset * (bits / 8), static_cast<std::size_t>(bits / 8));
  return value;
}

std::int64_t read_number(const char* path) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

void HostTensor::Free::operator()(std::byte* p) const { ::operator delete[](p, kAlignment); }

HostTensor::HostTensor(ir::DType type, Layout layout) {
  view_ = {nullptr, type, std::move(layout.shape), std::move(layout.strides)};
  bytes_ = span_bytes(view_).value();
  // At least one byte, so that an empty tensor has an address too.
  auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes_, 1));
  memory_.reset(static_cast<std::byte*>(::operator new[](size, kAlignment)));
  std::memset(memory_.get(), 0, size);
  view_.data = memory_.get();
}

HostTensor HostTensor::clone() const {
  HostTensor copy(view_.type, {view_.shape, view_.strides});
  std::memcpy(copy.data(), data(), static_cast<std::size_t>(bytes_));
  return copy;
}

ElementWalk::ElementWalk(const ir::TensorView& view) : view_(view), index_(view.shape.size(), 0) {
  done_ = std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
}

void ElementWalk::next() {
  for (std::size_t d = index_.size(); d-- > 0;) {
    offset_ += view_.strides[d];
    if (++index_[d] < view_.shape[d]) return;
    offset_ -= view_.strides[d] * view_.shape[d];
    index_[d] = 0;
  }
  done_ = true;
}

double load_number(const ir::TensorView& view, std::int64_t offset) {
  if (ir::is_float(view.type)) return ir::load_float(view.type, view.data, offset);
  std::int64_t value = ir::load_int(view.type, view.data, offset);
  return view.type == ir::DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(value))
                                     : static_cast<double>(value);
}

void store_number(const ir::TensorView& view, std::int64_t offset, double value) {
  if (ir::is_float(view.type)) {
    ir::store_float(view.type, view.data, offset, ir::round_to(view.type, value));
  } else if (ir::is_bool(view.type)) {
    ir::store_int(view.type, view.data, offset, value != 0 ? 1 : 0);
  } else {
    ir::store_int(view.type, view.data, offset, ir::float_to_int(view.type, value));
  }
}

std::vector<double> to_doubles(const ir::TensorView& view) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(element_count(view.shape).value()));
  for (ElementWalk walk(view); !walk.done(); walk.next()) values.push_back(load_number(view, walk.offset()));
  return values;
}

bool is_contiguous(const ir::TensorView& view) {
  auto packed = contiguous_strides(view.shape);
  if (!packed) return false;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    if (view.shape[i] > 1 && view.strides[i] != (*packed)[i]) return false;
  }
  return true;
}

void poison(HostTensor& tensor, Poison kind) {
  std::uint64_t bits = poison_bits(tensor.view().type, kind);
  const std::int64_t size = std::max(ir::dtype_bits(tensor.view().type) / 8, 1);
  for (std::int64_t at = 0; at < tensor.bytes(); at += size) {
    std::memcpy(tensor.data() + at, &bits, static_cast<std::size_t>(size));
  }
}

std::vector<std::int64_t> poisoned_elements(const HostTensor& tensor, Poison kind) {
  const ir::TensorView& view = tensor.view();
  const int bits = ir::dtype_bits(view.type);
  const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const std::uint64_t pattern = poison_bits(view.type, kind);
  std::vector<std::int64_t> left;
  std::int64_t number = 0;
  for (ElementWalk walk(view); !walk.done(); walk.next(), ++number) {
    // A packed element sees the part of the repeated byte that lies at its place.
    int place = bits < 8 ? static_cast<int>(walk.offset() * bits % 8) : 0;
    if (element_bits(view, walk.offset()) == ((pattern >> place) & mask)) left.push_back(number);
  }
  return left;
}

std::int64_t available_memory() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream info("/proc/meminfo");
  std::string key;
  std::int64_t kib = 0;
  while (info >> key >> kib) {
    if (key == "MemAvailable:") available = kib * 1024;
    info.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::int64_t limit = read_number("/sys/fs/cgroup/memory.max");
  std::int64_t used = read_number("/sys/fs/cgroup/memory.current");
  if (limit != std::numeric_limits<std::int64_t>::max() && used < limit) available = std::min(available, limit - used);
  return available;
}

}  // namespace plait::runtime
