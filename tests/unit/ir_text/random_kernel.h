#pragma once

#include <random>

#include "ir/build.h"

namespace plait::ir {

/// Makes kernels that are well formed but make no sense: every operator, function, cast and type, over literals,
/// scalars, loop variables and elements. The same seed gives the same kernel.
class RandomKernel {
 public:
  explicit RandomKernel(std::uint64_t seed) : random_(seed) {}

  Kernel make();

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<int>(list.size())))];
  }
  std::string fresh(const std::string& stem) { return stem + std::to_string(++names_); }

  DType any_type() { return pick(all_dtypes()); }
  /// A random expression of exactly this type.
  ExprRef expr(DType type, int depth);
  ExprRef leaf(DType type);
  ExprRef literal(DType type);
  ExprRef comparison(int depth);
  ExprRef boolean(int depth);
  ExprRef number(DType type, int depth);
  ExprRef converted(DType type, int depth);
  ExprRef index() { return expr(DType::i64, 2); }

  Buffer add_buffer(Scope scope, DType type, int rank);
  Region region(const Buffer& buffer, const std::vector<std::int64_t>& extents);
  StmtNode store(bool atomic);
  StmtNode tile_op();
  StmtNode loop(int depth);
  StmtNode statement(int depth);
  Body body(int depth);

  std::mt19937_64 random_;
  int names_ = 0;
  std::vector<Var> vars_;
  std::vector<Buffer> buffers_;
  Diagnostics diags_;
};

}  // namespace plait::ir
