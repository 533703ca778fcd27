#pragma once

#include "ir/stmt.h"
#include "support/result.h"

namespace plait::ir {

enum class ParamKind { in, out, inout, scalar };

struct Param {
  ParamKind kind;
  Buffer buffer;          ///< in, out, inout
  Var scalar;             ///< scalar
  ExprRef default_value;  ///< scalar: literal, may be null
};

struct Require {
  ExprRef cond;
  std::string message;  ///< may be empty
  Loc loc;
};

/// Blocks of a grid, which also bounds each of its extents; a call that asks for more is refused.
inline constexpr std::int64_t max_blocks = 2'147'483'647;

struct GridAxis {
  Var var;
  ExprRef extent;
};

struct KernelOptions {
  bool fast_math = false;
};

/// One instantiated tile program: compile-time parameters are values, functions are inlined, every expression is typed;
/// dims stay symbolic.
struct Kernel {
  std::string name;
  std::vector<Param> params;
  /// Symbolic extents and strides in the order of their first bare occurrence in the parameters.
  std::vector<Var> dims;
  std::vector<Require> requires_;
  std::vector<GridAxis> grid;  ///< 1 to 3 axes, the first fastest
  std::optional<int> threads;
  KernelOptions options;
  Body body;
  Loc loc;
};

/// Text of the kernel in the language of docs/language.md; parsing and elaborating it gives an equal kernel.
std::string print(const Kernel& kernel);
std::string print(const Expr& expr);
/// One statement, indented by `indent` spaces, with its body.
std::string print(const Stmt& stmt, int indent = 0);

/// Structural equality up to the identity of variables and buffers (their names count); locations do not count.
bool equal(const Kernel& a, const Kernel& b);

}  // namespace plait::ir
