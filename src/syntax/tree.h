#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "support/result.h"

/// The text form as written: names unresolved, types unchecked, comments kept. `format` prints it; src/lang gives it a
/// meaning.
namespace plait::syntax {

struct Expr;
using ExprRef = std::shared_ptr<const Expr>;
struct Stmt;
using StmtRef = std::shared_ptr<const Stmt>;
using Block = std::vector<StmtRef>;

/// `name = value` inside a call's parentheses, or a positional argument (name empty).
struct Arg {
  std::string name;
  ExprRef value;
  Loc loc;
};

struct IntLit {
  std::uint64_t value;
  std::string spelling;
};
struct FloatLit {
  double value;
  std::string spelling;
};
struct BoolLit {
  bool value;
};
struct StrLit {
  std::string value;
};
struct Name {
  std::string id;
};
/// Operators by token: "-", "~", "not"; "+", "*", "and", "<=", … Parentheses are not kept: the printer puts them where
/// precedence needs them.
struct Unary {
  std::string op;
  ExprRef a;
};
struct Binary {
  std::string op;
  ExprRef a, b;
};
struct Call {
  std::string callee;
  std::vector<Arg> args;
};
/// `i`, `a:b`, `a:`, `:b` or `:` between brackets.
struct Slice {
  bool is_range = false;
  ExprRef begin, end;
};
struct Index {
  ExprRef base;
  std::vector<Slice> slices;
};
/// `[a, b]` or `(a, b)` as an argument (order, stage, valid, strides).
struct List {
  std::vector<ExprRef> items;
};

struct Expr {
  Loc loc;
  std::variant<IntLit, FloatLit, BoolLit, StrLit, Name, Unary, Binary, Call, Index, List> node;
};

/// `layout swizzle(128)` is Clause{"layout", swizzle(128)}; also pad, strides.
struct Clause {
  std::string keyword;
  ExprRef value;
  Loc loc;
};

/// `x = e`, `A[i] = e`, or with op "+", "-", "*", "/", "max", … for `A[i] += e`.
struct Assign {
  ExprRef target;
  std::string op;
  ExprRef value;
};
/// `A_s = shared f16[128, 64] layout swizzle(128)`
struct Alloc {
  std::string name;
  std::string scope;
  std::string dtype;
  std::vector<ExprRef> shape;
  std::vector<Clause> clauses;
};
/// `for i, j in parallel(8, 8):`; `kind` is range, unrolled, vectorized, parallel, pipelined or persistent.
struct For {
  std::vector<std::string> vars;
  std::vector<Loc> var_locs;
  std::string kind;
  std::vector<Arg> args;
  Block body;
};
struct While {
  ExprRef cond;
  Block body;
};
/// Branches in order: if, elif …; `else_body` may be empty.
struct If {
  struct Branch {
    ExprRef cond;
    Block body;
    std::vector<std::string> leading;  ///< comments before `elif`
    std::string trailing;              ///< comment behind the colon
  };
  std::vector<Branch> branches;
  Block else_body;
  std::vector<std::string> else_leading;
  std::string else_trailing;
};
/// A call as a statement: tile operation, atomic, print, or a function of the file.
struct CallStmt {
  ExprRef call;
};
struct Return {
  ExprRef value;  ///< may be null
};
struct Assert {
  ExprRef cond;
  std::string message;
};
struct Break {};
struct Continue {};
struct Pass {};
/// `task(latency=500, ii=64):`
struct Task {
  std::vector<Arg> args;
  Block body;
};
/// `grid bx = e, by = e`
struct Grid {
  std::vector<std::pair<std::string, ExprRef>> axes;
};
/// `require e` or `require e, "message"`
struct Require {
  ExprRef cond;
  std::string message;
};
struct Threads {
  ExprRef count;
};
/// `option fast_math`
struct Option {
  std::string name;
};

struct Stmt {
  Loc loc;
  std::variant<Assign, Alloc, For, While, If, CallStmt, Return, Assert, Break, Continue, Pass, Task, Grid, Require,
               Threads, Option>
      node;
  std::vector<std::string> leading;         ///< comment lines before it, without '#'; an empty entry is a blank line
  std::string trailing;                     ///< comment at the end of its first line
  std::vector<std::string> following = {};  ///< comment lines between it and the end of its block
};

/// `A: in f16[M, K] strides [lda, 1]`, or `alpha: f32 = 1.0`
struct Param {
  std::string name;
  std::string mode;  ///< "in", "out", "inout"; empty for a scalar
  std::string dtype;
  std::vector<ExprRef> shape;  ///< empty for a scalar
  std::vector<Clause> clauses;
  ExprRef default_value;
  Loc loc;
  std::vector<std::string> leading;  ///< comments on lines before it
  std::string trailing;
};
/// `block_M = 128`, `dtype: type = f16`, `K: int`
struct CompileParam {
  std::string name;
  std::string kind;  ///< "int", "float", "bool", "type", or empty: that of the default
  ExprRef default_value;
  Loc loc;
  std::vector<std::string> leading;
  std::string trailing;
};
struct Kernel {
  std::string name;
  std::vector<Param> params;
  std::vector<CompileParam> compile_params;
  Block body;
};
/// `def f(a, b = 1):` inlined at each call; a body that ends in `return e` makes it usable in expressions.
struct Function {
  std::string name;
  std::vector<CompileParam> params;
  Block body;
};
struct Item {
  Loc loc;
  std::variant<Kernel, Function> node;
  std::vector<std::string> leading;
  std::string trailing;  ///< comment behind the header's colon
};
struct File {
  SourceRef source;
  std::vector<Item> items;
  std::vector<std::string> closing;  ///< comments behind the last item
};

/// Parses a whole text; on error all that was found, at least one diagnostic. Any bytes are safe to give.
Result<File> parse(const SourceRef& source);
/// The canonical text: `format(parse(format(f))) == format(f)`. Comments are kept, those inside the brackets of a
/// statement before it; blank lines are kept as one; statements and headers wider than 100 columns are broken where
/// brackets allow it.
std::string format(const File& file);

}  // namespace plait::syntax
