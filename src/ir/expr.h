#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ir/type.h"
#include "support/source.h"

namespace plait::ir {

struct Expr;
struct BufferDecl;
struct VarDecl;

/// Expressions are immutable trees that may share subtrees. Two variables or buffers are the same when the pointers
/// are.
using ExprRef = std::shared_ptr<const Expr>;
using Var = std::shared_ptr<const VarDecl>;
using Buffer = std::shared_ptr<const BufferDecl>;

enum class VarKind {
  dim,     ///< a symbolic extent or stride of a parameter, >= 0
  scalar,  ///< a scalar argument of the kernel
  grid,    ///< a block coordinate, 0 <= v < extent
  loop,    ///< a loop variable
  let,     ///< `x = e`
};

struct VarDecl {
  std::string name;
  DType type = DType::i64;
  VarKind kind = VarKind::let;
  Loc loc;
};

enum class UnaryOp { neg, bit_not, logical_not };

/// Arithmetic: both operands and the result have one type. Comparisons and logical operators give bool.
/// Integers: `div` and `mod` truncate toward zero as in C, overflow wraps, a shift count outside [0, bits) gives 0 (or
/// the sign for `shr` of a negative signed value). `ceil_div` is the smallest integer >= a / b. `min`, `max`: NaN if
/// either operand is NaN; the sign of a zero is unspecified. `logical_and`, `logical_or` do not evaluate the right
/// operand when the left one decides.
enum class BinaryOp {
  add,
  sub,
  mul,
  div,
  mod,
  ceil_div,
  min,
  max,
  bit_and,
  bit_or,
  bit_xor,
  shl,
  shr,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  logical_and,
  logical_or,
};

std::string_view unary_op_token(UnaryOp op);
/// Infix token, or the function name for ceil_div ("ceildiv"), min and max.
std::string_view binary_op_token(BinaryOp op);
bool is_comparison(BinaryOp op);

enum class Intrinsic {
#define PLAIT_INTRINSIC(id, name, arity, kind) id,
#include "ir/intrinsics.def"
#undef PLAIT_INTRINSIC
};
std::string_view intrinsic_name(Intrinsic fn);
int intrinsic_arity(Intrinsic fn);

/// Rounding of a conversion. To a float type the default is nearest_even, to an integer type toward_zero.
enum class Rounding { nearest_even, toward_zero, down, up };

/// Also bool (0 or 1). Values of unsigned types are kept as the same 64 bits.
struct IntLit {
  std::int64_t value = 0;
};
/// Already rounded to the expression's type.
struct FloatLit {
  double value = 0;
};
struct VarRef {
  Var var;
};
/// One element; one index a dimension, each of an integer type.
struct Load {
  Buffer buffer;
  std::vector<ExprRef> index;
};
struct Unary {
  UnaryOp op;
  ExprRef a;
};
struct Binary {
  BinaryOp op;
  ExprRef a, b;
};
/// Only the chosen operand is evaluated.
struct Select {
  ExprRef cond, if_true, if_false;
};
/// Converts to Expr::type by the rules of docs/language.md, "Conversions".
struct Cast {
  ExprRef a;
  Rounding rounding;
  bool saturate = false;
};
/// The bits of `a` read as Expr::type, which has as many bits.
struct Bitcast {
  ExprRef a;
};
struct Call {
  Intrinsic fn;
  std::vector<ExprRef> args;
};

using ExprNode = std::variant<IntLit, FloatLit, VarRef, Load, Unary, Binary, Select, Cast, Bitcast, Call>;

struct Expr {
  DType type;
  Loc loc;
  ExprNode node;
  /// A literal whose type nobody has asked for yet: it takes the other operand's type. On IntLit, FloatLit, and a
  /// Select between two such literals.
  bool weak = false;
};

}  // namespace plait::ir
