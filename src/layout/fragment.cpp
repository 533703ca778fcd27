#include "layout/fragment.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using ir::DType;
using Error = std::optional<std::string>;

/// Extents beyond any register file, so that counts stay far from overflow.
constexpr std::int64_t kMaxSide = 1 << 20;

std::int64_t product(const std::vector<Digit>& digits) {
  std::int64_t result = 1;
  for (const Digit& digit : digits) result *= digit.extent;
  return result;
}

Coord sum(const std::vector<Digit>& digits, std::int64_t number) {
  Coord at;
  for (const Digit& digit : digits) {
    std::int64_t value = number % digit.extent;
    number /= digit.extent;
    at.row += value * digit.step.row;
    at.column += value * digit.step.column;
  }
  return at;
}

bool replicates(const Digit& digit) { return digit.step == Coord{} && digit.extent > 1; }

/// Steps of rows and of columns each form a number system: the value of a digit is a quotient modulo its extent.
std::int64_t digit_value(const Digit& digit, Coord at) {
  if (digit.step.row != 0) return at.row / digit.step.row % digit.extent;
  if (digit.step.column != 0) return at.column / digit.step.column % digit.extent;
  return 0;
}

std::int64_t number_of(const std::vector<Digit>& digits, Coord at) {
  std::int64_t number = 0, weight = 1;
  for (const Digit& digit : digits) {
    number += digit_value(digit, at) * weight;
    weight *= digit.extent;
  }
  return number;
}

Digit along_row(std::int64_t extent, std::int64_t step) { return {extent, {0, step}}; }
Digit down(std::int64_t extent, std::int64_t step) { return {extent, {step, 0}}; }

/// Columns of an operand in one register of 4 bytes.
std::int64_t operand_grain(DType type) { return 32 / ir::dtype_bits(type); }

/// Lanes 4 along a row, 8 down; then warps.
std::vector<Digit> matrix_threads(std::int64_t grain, std::int64_t warps) {
  std::vector<Digit> digits = {along_row(4, grain), down(8, 1)};
  if (warps > 1) digits.push_back(down(warps, 16));
  return digits;
}

FragmentMap accumulator(const FragmentSpec& spec, std::int64_t warps) {
  std::int64_t height = 16 * warps;
  return {spec.rows,
          spec.columns,
          matrix_threads(2, warps),
          {along_row(2, 1), down(2, 8), along_row(spec.columns / 8, 8), down(spec.rows / height, height)}};
}

FragmentMap left_operand(const FragmentSpec& spec, std::int64_t warps) {
  std::int64_t grain = operand_grain(spec.type), height = 16 * warps;
  return {spec.rows,
          spec.columns,
          matrix_threads(grain, warps),
          {along_row(grain, 1), down(2, 8), along_row(spec.columns / (4 * grain), 4 * grain),
           down(spec.rows / height, height)}};
}

FragmentMap right_operand(const FragmentSpec& spec) {
  std::int64_t grain = operand_grain(spec.type);
  return {spec.rows,
          spec.columns,
          matrix_threads(grain, 1),
          {along_row(grain, 1), along_row(spec.columns / (4 * grain), 4 * grain), down(spec.rows / 8, 8)}};
}

FragmentMap vector_fragment(const FragmentSpec& spec) {
  std::int64_t groups = spec.threads / spec.lanes, span = spec.lanes * spec.vec;
  return {spec.rows,
          spec.columns,
          {along_row(spec.lanes, spec.vec), down(groups, 1)},
          {along_row(spec.vec, 1), along_row(spec.columns / span, span), down(spec.rows / groups, groups)}};
}

Error multiple(const char* what, std::int64_t value, std::int64_t unit, const char* kind) {
  if (value > 0 && value % unit == 0) return {};
  return fmt::format("has {} {}; {} takes a multiple of {}", value, what, kind, unit);
}

Error shape_error(const FragmentSpec& spec, std::int64_t rows, std::int64_t columns, const char* kind) {
  if (Error error = multiple("rows", spec.rows, rows, kind)) return error;
  return multiple("columns", spec.columns, columns, kind);
}

Error accumulator_error(const FragmentSpec& spec, std::int64_t rows, const char* kind) {
  if (ir::dtype_bits(spec.type) < 8)
    return fmt::format("is of {}; {} takes types of 8 bits and more", ir::dtype_name(spec.type), kind);
  return shape_error(spec, rows, 8, kind);
}

bool is_operand_type(DType type) {
  static constexpr DType types[] = {DType::f16,  DType::bf16, DType::tf32, DType::e4m3,
                                    DType::e5m2, DType::i8,   DType::u8};
  return std::find(std::begin(types), std::end(types), type) != std::end(types);
}

/// `bytes`: of K that one instruction takes at least.
Error operand_error(const FragmentSpec& spec, std::int64_t rows, std::int64_t bytes, const char* kind) {
  if (!is_operand_type(spec.type)) {
    return fmt::format("is of {}; {} takes f16, bf16, tf32, e4m3, e5m2, i8 and u8", ir::dtype_name(spec.type), kind);
  }
  return shape_error(spec, rows, bytes * 8 / ir::dtype_bits(spec.type), kind);
}

bool power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

Error vector_error(const FragmentSpec& spec) {
  if (!power_of_two(spec.vec) || spec.vec > 128)
    return fmt::format("has vec {}; a power of two up to 128 is taken", spec.vec);
  if (!power_of_two(spec.lanes) || spec.lanes > kMaxSide)
    return fmt::format("has lanes {}; a power of two is taken", spec.lanes);
  if (spec.threads <= 0 || spec.threads % spec.lanes != 0)
    return fmt::format("has lanes {}, which does not divide the {} threads that hold it", spec.lanes, spec.threads);
  std::int64_t span = spec.lanes * spec.vec, groups = spec.threads / spec.lanes;
  if (spec.columns % span != 0)
    return fmt::format("has {} columns; lanes {} with vec {} take a multiple of {}", spec.columns, spec.lanes, spec.vec,
                       span);
  if (spec.rows % groups != 0)
    return fmt::format("has {} rows; {} threads with lanes {} take a multiple of {}", spec.rows, spec.threads,
                       spec.lanes, groups);
  return {};
}

}  // namespace

FragmentMap::FragmentMap(std::int64_t rows, std::int64_t columns, std::vector<Digit> thread_digits,
                         std::vector<Digit> element_digits)
    : rows_(rows), columns_(columns) {
  auto real = [](const Digit& digit) { return digit.extent > 1; };
  std::copy_if(thread_digits.begin(), thread_digits.end(), std::back_inserter(thread_digits_), real);
  std::copy_if(element_digits.begin(), element_digits.end(), std::back_inserter(element_digits_), real);
  threads_ = product(thread_digits_);
  elements_ = product(element_digits_);
  PLAIT_ASSERT(threads_ * elements_ == rows_ * columns_ * replication(), "a fragment map covers its shape");
}

std::int64_t FragmentMap::replication() const {
  std::int64_t copies = 1;
  for (const Digit& digit : thread_digits_) copies *= replicates(digit) ? digit.extent : 1;
  return copies;
}

Coord FragmentMap::coord(std::int64_t thread, std::int64_t element) const {
  PLAIT_ASSERT(thread >= 0 && thread < threads_ && element >= 0 && element < elements_, "a place of the fragment");
  Coord a = sum(thread_digits_, thread), b = sum(element_digits_, element);
  return {a.row + b.row, a.column + b.column};
}

Place FragmentMap::owner(Coord coord) const {
  PLAIT_ASSERT(coord.row >= 0 && coord.row < rows_ && coord.column >= 0 && coord.column < columns_,
               "a coordinate of the fragment");
  return {number_of(thread_digits_, coord), number_of(element_digits_, coord)};
}

std::vector<Place> FragmentMap::owners(Coord coord) const {
  std::vector<Place> places = {owner(coord)};
  std::int64_t weight = 1;
  for (const Digit& digit : thread_digits_) {
    std::size_t known = places.size();
    for (std::int64_t copy = 1; replicates(digit) && copy < digit.extent; ++copy) {
      for (std::size_t i = 0; i < known; ++i) places.push_back({places[i].thread + copy * weight, places[i].element});
    }
    weight *= digit.extent;
  }
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.thread < b.thread; });
  return places;
}

Error fragment_error(const FragmentSpec& spec) {
  if (spec.rows < 1 || spec.columns < 1 || spec.rows > kMaxSide || spec.columns > kMaxSide)
    return fmt::format("has shape [{}, {}]; extents are 1 to {}", spec.rows, spec.columns, kMaxSide);
  switch (spec.kind) {
    case FragmentKind::wgmma_acc:
      return accumulator_error(spec, 64, "wgmma_acc");
    case FragmentKind::wgmma_a:
      return operand_error(spec, 64, 32, "wgmma_a");
    case FragmentKind::mma_acc:
      return accumulator_error(spec, 16, "mma_acc");
    case FragmentKind::mma_a:
      return operand_error(spec, 16, 16, "mma_a");
    case FragmentKind::mma_b:
      return operand_error(spec, 8, 16, "mma_b");
    case FragmentKind::vector:
      return vector_error(spec);
  }
  return "has no kind";
}

FragmentMap fragment_map(const FragmentSpec& spec) {
  Error error = fragment_error(spec);
  PLAIT_ASSERT(!error, "fragment " + error.value_or(""));
  switch (spec.kind) {
    case FragmentKind::wgmma_acc:
      return accumulator(spec, 4);
    case FragmentKind::wgmma_a:
      return left_operand(spec, 4);
    case FragmentKind::mma_acc:
      return accumulator(spec, 1);
    case FragmentKind::mma_a:
      return left_operand(spec, 1);
    case FragmentKind::mma_b:
      return right_operand(spec);
    case FragmentKind::vector:
      return vector_fragment(spec);
  }
  throw InternalError("a fragment without kind");
}

FragmentMap rows_map(const FragmentMap& of) {
  std::vector<Digit> threads, elements;
  for (Digit digit : of.thread_digits()) threads.push_back({digit.extent, {digit.step.row, 0}});
  for (Digit digit : of.element_digits()) {
    if (digit.step.row != 0) elements.push_back({digit.extent, {digit.step.row, 0}});
  }
  return {of.rows(), 1, std::move(threads), std::move(elements)};
}

FragmentMap columns_map(const FragmentMap& of) {
  std::vector<Digit> threads, elements;
  for (Digit digit : of.thread_digits()) threads.push_back({digit.extent, {0, digit.step.column}});
  for (Digit digit : of.element_digits()) {
    if (digit.step.column != 0) elements.push_back({digit.extent, {0, digit.step.column}});
  }
  return {1, of.columns(), std::move(threads), std::move(elements)};
}

std::int64_t registers(std::int64_t elements, ir::DType type) { return (elements * ir::dtype_bits(type) + 31) / 32; }

}  // namespace plait::layout
