#pragma once

#include <optional>
#include <string>

#include "random/rng.h"

namespace plait::test {

/// An on-chip tile of the program that is being written; all its elements are written.
struct Tile {
  std::string name;
  std::string type;
  std::vector<int> shape;
  bool shared = true;
};

/// Writes the text of one random program, statement by statement, keeping it legal by construction.
/// Draws stand in statements of their own, as the order in which arguments are evaluated is the compiler's choice.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : rng_(seed) {}
  std::string write();

 private:
  // Header and frame.
  std::string header();
  std::string dumps() const;
  void choose_sizes();
  void frame();
  void epilogue();

  // Statements of a block.
  void statements(int count);
  void statement();
  void load_tile();
  void load_rows();
  void store_rows();
  void elementwise();
  void scalar_loop();
  void reduce();
  void product();
  void loop();
  void branch();
  void running_sum();
  void transpose();
  void shift_within_tile();
  void count_atomically();
  void add_tile_atomically();
  void counted_while();
  void let();
  void assert_something();

  // Expressions over the indices of a parallel loop, or of the block where `indices` is empty.
  std::string expr(const std::string& type, int depth);
  std::string leaf(const std::string& type);
  std::string float_expr(const std::string& type, int depth);
  std::string int_expr(const std::string& type, int depth);
  std::string infix(const std::string& type, const std::string& op, int depth);
  std::string applied(const std::string& type, const std::string& fn, int arity, int depth);
  std::string condition(int depth);
  std::string literal(const std::string& type);
  std::string converted(const std::string& to, const std::string& from, const std::string& text);
  std::string adverbial_cast(const std::string& to, const std::string& from, const std::string& text);
  /// An element of a tile that the current iteration may read, if any tile has one.
  std::optional<std::string> element(const std::string& type);
  /// A whole number of at most 6 in size made from an element, for sums that must be exact.
  /// A global element that is there, or zero.
  std::string guarded(const std::string& type);
  std::string small_whole(const std::string& type, const std::string& text);
  /// A number that is the same in all iterations: a block index, a loop variable, or a constant.
  std::string uniform();

  Tile& new_tile(const std::string& type, std::vector<int> shape);
  Tile* any_tile(std::size_t rank, const std::string& type = {});
  /// A tile whose elements are small whole numbers, copied from `source`.
  Tile small_copy(Tile source);
  std::string begin(const std::string& block, int tile);
  void line(const std::string& text);
  std::string fresh(const std::string& prefix) { return prefix + std::to_string(++names_); }
  /// Statements inside `header`, which may write tiles but define none that are seen behind it.
  template <typename Fn>
  void nested(const std::string& header, Fn body);

  Rng rng_;
  std::string body_;
  int indent_ = 1;
  int depth_ = 0;
  int names_ = 0;
  int rows_ = 4, columns_ = 4, inner_ = 4;  ///< extents of the tiles
  std::string row_block_ = "by", column_block_ = "bx";
  std::string in_type_ = "f32", acc_type_ = "f32", out_type_ = "f32";
  bool persistent_ = false, strided_ = false, in_pipeline_ = false, break_allowed_ = false;
  std::vector<Tile> tiles_;
  std::vector<Tile> dumped_;                          ///< the tiles at the end of a block
  std::vector<std::string> loops_;                    ///< variables of the serial loops around
  std::vector<std::string> lets_;                     ///< i64 values
  std::vector<std::pair<std::string, int>> indices_;  ///< of the parallel loop around, with their extents
  std::string own_;                                   ///< a tile that this iteration writes at its own indices
};

}  // namespace plait::test
