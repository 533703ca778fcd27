#pragma once

#include <cstddef>
#include <memory>

#include "runtime/bind.h"

namespace plait::runtime {

/// A tensor that owns its memory: 64-byte aligned, zeroed, one span of strides.
class HostTensor {
 public:
  HostTensor() = default;
  /// Throws std::bad_alloc. Precondition: the span fits in 64 bits (layouts_for has checked it).
  HostTensor(ir::DType type, Layout layout);

  const ir::TensorView& view() const { return view_; }
  std::int64_t bytes() const { return bytes_; }
  std::byte* data() const { return memory_.get(); }
  TensorArg arg() const { return {view_, bytes_, "host"}; }
  /// A tensor of the same layout with the same bytes.
  HostTensor clone() const;

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  ir::TensorView view_;
  std::int64_t bytes_ = 0;
  std::unique_ptr<std::byte[], Free> memory_;
};

/// Walks the elements of a tensor in row-major order and tells where each lies.
class ElementWalk {
 public:
  explicit ElementWalk(const ir::TensorView& view);
  bool done() const { return done_; }
  std::int64_t offset() const { return offset_; }  ///< in elements from `data`
  const std::vector<std::int64_t>& index() const { return index_; }
  void next();

 private:
  const ir::TensorView& view_;
  std::vector<std::int64_t> index_;
  std::int64_t offset_ = 0;
  bool done_ = false;
};

/// Elements in row-major order as doubles.
std::vector<double> to_doubles(const ir::TensorView& view);
double load_number(const ir::TensorView& view, std::int64_t offset);
/// Converts as the language does: rounds to a float type, takes an integer as it is.
void store_number(const ir::TensorView& view, std::int64_t offset, double value);
/// Whether rows follow one another without gaps, last dimension fastest.
bool is_contiguous(const ir::TensorView& view);

/// What the memory of an output holds before a run, to show where nothing was written. `first`: NaN, which also shows
/// in whatever is computed from it, or where the type has none, bytes 0xA5. `second`: bytes 0x5A. A result may happen
/// to look like one of them, but a run from each tells for certain.
enum class Poison { first, second };
void poison(HostTensor& tensor, Poison kind = Poison::first);
/// Row-major numbers of the elements that still look like that.
std::vector<std::int64_t> poisoned_elements(const HostTensor& tensor, Poison kind = Poison::first);

/// Bytes that this process may still take: the machine's or its control group's limit, whichever is less.
std::int64_t available_memory();

}  // namespace plait::runtime
