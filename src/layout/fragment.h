#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/type.h"

/// How the elements of a fragment lie in the registers of the threads that hold it.
namespace plait::layout {

struct Coord {
  std::int64_t row = 0;
  std::int64_t column = 0;
  bool operator==(const Coord&) const = default;
};

/// One copy of an element: `element` counts the elements of one thread in the order in which they stand in its
/// registers (16-bit elements two a register, 8-bit ones four, the first in the lowest bits).
struct Place {
  std::int64_t thread = 0;
  std::int64_t element = 0;
  bool operator==(const Place&) const = default;
};

/// One digit of a thread's or an element's number, and what each step of it adds to the coordinate. A digit that adds
/// nothing replicates.
struct Digit {
  std::int64_t extent = 1;
  Coord step;
  bool operator==(const Digit&) const = default;
};

enum class FragmentKind {
  wgmma_acc,  ///< [64·i, 8·j] over 128 threads
  wgmma_a,    ///< [64·i, K] over 128 threads
  mma_acc,    ///< [16·i, 8·j] over 32 threads
  mma_a,      ///< [16·i, K] over 32 threads
  mma_b,      ///< [8·j (n), K] over 32 threads
  vector,     ///< [rows, columns]: `lanes` threads along a row, each with `vec` neighbours, again behind them; then the
              ///< next rows
};

struct FragmentSpec {
  FragmentKind kind = FragmentKind::vector;
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  ir::DType type = ir::DType::f32;
  std::int64_t vec = 1;        ///< vector
  std::int64_t lanes = 32;     ///< vector
  std::int64_t threads = 128;  ///< vector; the other kinds have their own number
};

/// The map (thread, element) -> coordinate. It is a sum: coord(t, e) = coord(t, 0) + coord(0, e), and each part is a
/// sum over the digits of t or e, the first digit being the fastest.
class FragmentMap {
 public:
  FragmentMap(std::int64_t rows, std::int64_t columns, std::vector<Digit> thread_digits,
              std::vector<Digit> element_digits);

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t threads() const { return threads_; }
  std::int64_t elements_per_thread() const { return elements_; }
  /// Threads that hold each element.
  std::int64_t replication() const;
  const std::vector<Digit>& thread_digits() const { return thread_digits_; }
  const std::vector<Digit>& element_digits() const { return element_digits_; }

  Coord coord(std::int64_t thread, std::int64_t element) const;
  /// The first thread that holds the element, and where.
  Place owner(Coord coord) const;
  /// All threads that hold it, ascending.
  std::vector<Place> owners(Coord coord) const;

  bool operator==(const FragmentMap&) const = default;

 private:
  std::int64_t rows_, columns_;
  std::vector<Digit> thread_digits_, element_digits_;
  std::int64_t threads_ = 1, elements_ = 1;
};

/// Why there is no such fragment, in words that follow its name, e.g. "has 60 rows; wgmma_acc takes a multiple of 64".
std::optional<std::string> fragment_error(const FragmentSpec& spec);
/// The map of a fragment without fragment_error.
FragmentMap fragment_map(const FragmentSpec& spec);
/// One value a row of `of`, held by every thread that holds part of the row, rows ascending; one column.
FragmentMap rows_map(const FragmentMap& of);
/// The same a column of `of`; one row.
FragmentMap columns_map(const FragmentMap& of);

/// 32-bit registers that `elements` of a type take in one thread.
std::int64_t registers(std::int64_t elements, ir::DType type);

}  // namespace plait::layout
