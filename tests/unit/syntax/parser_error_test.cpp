#include "helpers.h"

namespace plait::syntax {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

/// Errors of a statement in a kernel; it stands on line 3, indented by two.
std::string of_stmt(const std::string& text) { return errors_of(in_kernel("  " + text + "\n")); }
std::string of_expr(const std::string& text) { return errors_of("def f():\n  return " + text + "\n"); }
/// Errors of a kernel header up to and without the colon.
std::string of_header(const std::string& text) { return errors_of(text + ":\n  grid bx = 1\n"); }

const std::string kForm = "see docs/language.md for the form of this statement\n";

TEST(ParserErrors, MissingColon) {
  EXPECT_EQ(of_stmt("for i in range(3)\n    pass"),
            "3:20 expected ':' behind the for header, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(of_stmt("if x\n    pass"),
            "3:7 expected ':' behind the if condition, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(of_stmt("while x  # c\n    pass"),
            "3:10 expected ':' behind the while condition, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(of_stmt("task()\n    pass"),
            "3:9 expected ':' behind the task header, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(of_stmt("if x:\n    pass\n  else\n    pass"),
            "5:7 expected ':' behind else, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(errors_of("kernel f(A: in f32[M])\n  grid bx = 1\n"),
            "1:23 expected ':' behind the kernel header, found end of line [syntax] fix: end the header with ':'\n");
  EXPECT_EQ(errors_of("def f()\n  return 1"),
            "1:8 expected ':' behind the function header, found end of line [syntax] fix: end the header with ':'\n");
}

TEST(ParserErrors, Blocks) {
  EXPECT_EQ(of_stmt("if x:\n  pass"),
            "4:3 expected an indented block behind the if condition, found 'pass' [indentation] fix: indent its "
            "statements by two more spaces; "
            "write pass for an empty block\n");
  EXPECT_EQ(errors_of("def f():\n"),
            "2:1 expected an indented block behind the function header, found end of file [indentation] fix: indent "
            "its statements by two "
            "more spaces; write pass for an empty block\n");
  EXPECT_EQ(
      of_stmt("if x: pass"),
      "3:9 expected end of line behind ':', found 'pass' [syntax] fix: write the body on the lines below, indented\n");
  EXPECT_EQ(of_stmt("pass\n    pass"),
            "4:5 this line is indented deeper than the one above it, which opens no block [indentation] fix: begin it "
            "in the column of the "
            "statements around it\n");
  EXPECT_EQ(errors_of("  def f():\n    return 1\n"),
            "1:3 the first line of a kernel or function is indented [indentation] fix: begin it in the first column\n");
}

TEST(ParserErrors, Expressions) {
  EXPECT_EQ(of_expr("a < b < c"), "2:16 comparisons do not chain [syntax] fix: write a < b and b < c\n");
  EXPECT_EQ(of_expr("a == b != c"), "2:17 comparisons do not chain [syntax] fix: write a < b and b < c\n");
  EXPECT_EQ(of_expr("a == not b"),
            "2:15 'not' binds weaker than the operator before it [syntax] fix: put it in parentheses: (not x)\n");
  EXPECT_EQ(of_expr("-not b"),
            "2:11 'not' binds weaker than the operator before it [syntax] fix: put it in parentheses: (not x)\n");
  EXPECT_EQ(of_expr("a +"), "2:13 expected an expression, found end of line [syntax] fix: " + kForm);
  EXPECT_EQ(of_expr("a b"), "2:12 expected end of line, found name 'b' [syntax] fix: " + kForm);
  EXPECT_EQ(of_expr("(a b)"), "2:13 expected ',' or ')' behind the expression, found name 'b' [syntax] fix: " + kForm);
  EXPECT_EQ(of_expr("()"), "2:11 expected an expression, found ')' [syntax] fix: " + kForm);
  EXPECT_EQ(of_expr("[]"),
            "2:11 expected an element of the list, found ']' [syntax] fix: a list has at least one element\n");
  EXPECT_EQ(of_expr("f(a,)"), "2:14 expected an expression, found ')' [syntax] fix: " + kForm);
  EXPECT_EQ(of_expr("f(a=1, 2)"),
            "2:17 an argument without a name stands behind one with a name [syntax] fix: write the arguments without "
            "names first\n");
  EXPECT_EQ(of_expr("f(for=1)"),
            "2:12 'for' is a reserved word and names no argument [reserved-name] fix: choose another name\n");
  EXPECT_EQ(of_expr("A[]"),
            "2:12 expected an index, found ']' [syntax] fix: write one index for each dimension, or the bare name for "
            "the whole buffer\n");
  EXPECT_EQ(of_expr("A[0:8:2]"), "2:15 a range has no step [syntax] fix: write begin:end\n");
  EXPECT_EQ(
      of_expr("A[i][j]"),
      "2:14 only a name can be indexed [syntax] fix: write A[i, j] for an element of a buffer of two dimensions\n");
  EXPECT_EQ(of_expr("2(a)"), "2:11 only a name can be called [syntax] fix: put an operator before the parenthesis\n");
  EXPECT_EQ(of_expr("\"a\""),
            "2:10 a string is no value [syntax] fix: strings stand in print, and as messages of assert and require\n");
  EXPECT_EQ(of_expr("range"), "2:10 expected an expression, found 'range' [syntax] fix: 'range' is a reserved word\n");
}

TEST(ParserErrors, HabitsOfOtherLanguages) {
  EXPECT_EQ(of_expr("a && b"), "2:13 expected an expression, found '&' [syntax] fix: write a and b\n");
  EXPECT_EQ(of_expr("a || b"), "2:13 expected an expression, found '|' [syntax] fix: write a or b\n");
  EXPECT_EQ(of_expr("a ** b"), "2:13 expected an expression, found '*' [syntax] fix: write pow(a, b)\n");
  EXPECT_THAT(of_expr("a // b"),
              StartsWith("2:13 expected an expression, found '/' [syntax] fix: write a / b, which truncates"));
  EXPECT_EQ(of_expr("a /* b */"), "2:13 expected an expression, found '*' [syntax] fix: a comment begins with '#'\n");
  EXPECT_EQ(of_expr("+a"), "2:10 expected an expression, found '+' [syntax] fix: leave out the unary '+'\n");
  EXPECT_EQ(of_expr("a if b else c"),
            "2:12 expected end of line, found 'if' [syntax] fix: write select(condition, a, b) for a choice between "
            "values\n");
  EXPECT_EQ(of_stmt("pass; pass"), "3:7 expected end of line, found ';' [syntax] fix: write one statement a line\n");
  EXPECT_EQ(of_stmt("if x:\n    pass\n  else if y:\n    pass"),
            "5:8 expected ':' behind else, found 'if' [syntax] fix: write elif\n");
  EXPECT_EQ(of_stmt("let x = 1"),
            "3:3 expected a statement, found name 'let' [syntax] fix: a value is defined by x = e alone\n");
  EXPECT_EQ(of_stmt("x: int = 1"),
            "3:4 expected '=' behind name 'x', found ':' [syntax] fix: a value is defined by x = e, a buffer by x = "
            "local f32[16]\n");
  EXPECT_EQ(errors_of("fn f(x):\n  return x\n"),
            "1:1 expected 'kernel' or 'def' at the start of the line, found name 'fn' [syntax] fix: a function begins "
            "with def\n");
}

TEST(ParserErrors, AssignmentInAnExpression) {
  const std::string fix = "'=' defines a name or stores to an element and is no expression; write == to compare\n";
  EXPECT_EQ(of_stmt("if a = b:\n    pass"), "3:8 expected ':' behind the if condition, found '=' [syntax] fix: " + fix);
  EXPECT_EQ(of_stmt("a = b = c"), "3:9 expected end of line, found '=' [syntax] fix: " + fix);
  EXPECT_EQ(of_expr("(a = b)"), "2:13 expected ',' or ')' behind the expression, found '=' [syntax] fix: " + fix);
}

TEST(ParserErrors, Stores) {
  EXPECT_EQ(of_stmt("x += 1"),
            "3:5 '+=' changes an element, and name 'x' is not indexed [syntax] fix: a name is defined once: write "
            "x[...] += e for a buffer, or a new name\n");
  EXPECT_EQ(of_stmt("A[0]"), "3:7 an element alone is no statement [syntax] fix: write A[...] = e to store into it\n");
  EXPECT_EQ(of_stmt("A[0] + 1"),
            "3:8 expected '=' or one of += -= *= /= &= |= ^= behind the element, found '+' [syntax] fix: write A[...] "
            "= e to store into it\n");
  EXPECT_EQ(of_stmt("f(x) = 1"),
            "3:8 a call cannot be assigned to [syntax] fix: write A[...] = e to store into an element\n");
  EXPECT_EQ(of_stmt("f(x) + 1"),
            "3:8 expected end of line behind the call, found '+' [syntax] fix: leave out the unary '+'\n");
  EXPECT_EQ(of_stmt("x ="), "3:6 expected an expression, found end of line [syntax] fix: " + kForm);
}

TEST(ParserErrors, UnknownStatements) {
  EXPECT_EQ(of_stmt("fro i in range(3):\n    pass"),
            "3:3 expected a statement, found name 'fro' [syntax] fix: did you mean 'for'?\n");
  EXPECT_EQ(of_stmt("whlie x:\n    break"),
            "3:3 expected a statement, found name 'whlie' [syntax] fix: did you mean 'while'?\n");
  EXPECT_EQ(of_stmt("brek"), "3:3 expected a statement, found name 'brek' [syntax] fix: did you mean 'break'?\n");
  EXPECT_EQ(of_stmt("syncthreads"),
            "3:3 name 'syncthreads' alone is no statement [syntax] fix: write syncthreads() to call a function\n");
  EXPECT_EQ(of_stmt("foo, bar = 1"),
            "3:6 expected '=', '[' or '(' behind name 'foo', found ',' [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("3"), "3:3 expected a statement, found number 3 [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("shared f16[3]"), "3:3 a buffer without a name [syntax] fix: write name = shared f16[64, 64]\n");
  EXPECT_EQ(of_stmt("parallel(3)"), "3:3 'parallel' outside a for header [syntax] fix: write for i in parallel(n):\n");
  EXPECT_EQ(of_stmt("elif x:\n    pass"),
            "3:3 'elif' without an if before it [syntax] fix: put it in the column of its if, behind the block\n");
  EXPECT_EQ(of_stmt("def g():\n    return 1"),
            "3:3 'def' inside a block [syntax] fix: begin kernels and functions in the first column\n");
  EXPECT_EQ(
      of_stmt("return"),
      "3:9 expected the value to return, found end of line [syntax] fix: write return e, or leave the statement out\n");
  EXPECT_EQ(of_stmt("option 3"),
            "3:10 expected the name of an option, found number 3 [syntax] fix: write option fast_math\n");
  EXPECT_EQ(of_stmt("break 3"), "3:9 expected end of line, found number 3 [syntax] fix: " + kForm);
}

TEST(ParserErrors, Loops) {
  const std::string kinds = "write one of range, unrolled, vectorized, parallel, pipelined, persistent\n";
  EXPECT_EQ(of_stmt("for i in rang(3):\n    pass"), "3:12 unknown kind of loop 'rang' [syntax] fix: " + kinds);
  EXPECT_EQ(of_stmt("for i in 3:\n    pass"),
            "3:12 expected the kind of the loop behind 'in', found number 3 [syntax] fix: " + kinds);
  EXPECT_EQ(of_stmt("for i range(3):\n    pass"),
            "3:9 expected 'in' behind the loop variables, found 'range' [syntax] fix: 'range' is a reserved word\n");
  EXPECT_EQ(of_stmt("for i in range 3:\n    pass"),
            "3:18 expected '(' behind 'range', found number 3 [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("for in range(3):\n    pass"),
            "3:7 expected a loop variable, found the reserved word 'in' [reserved-name] fix: choose another name\n");
  EXPECT_EQ(of_stmt("for f32 in range(3):\n    pass"),
            "3:7 expected a loop variable, found the reserved word 'f32' [reserved-name] fix: choose another name\n");
  EXPECT_EQ(of_stmt("task:\n    pass"),
            "3:7 expected '(' behind 'task', found ':' [syntax] fix: write task(latency=500, ii=64):\n");
}

TEST(ParserErrors, Buffers) {
  EXPECT_EQ(of_stmt("x = shared"),
            "3:13 expected an element type such as f16 behind 'shared', found end of line [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("x = shared f16"),
            "3:17 expected '[' and the extents of the buffer, found end of line [syntax] fix: write shared f16[64, "
            "64]; one element is [1]\n");
  EXPECT_EQ(of_stmt("x = shared f16[]"),
            "3:18 expected an extent, found ']' [syntax] fix: every buffer and tensor has at least one dimension; "
            "write [1] for one element\n");
  EXPECT_EQ(of_stmt("x = local f16[3] padding 3"),
            "3:20 expected layout, pad, strides or end of line behind the buffer, found name 'padding' [syntax] fix: " +
                kForm);
  EXPECT_EQ(of_stmt("x = local f16[3] pad 3 pad 3"), "3:26 a second pad clause [syntax] fix: keep one of them\n");
  EXPECT_EQ(of_stmt("x = local f16[3] strides 1"),
            "3:28 expected a list of strides, found number 1 [syntax] fix: write strides [lda, 1]\n");
  EXPECT_EQ(of_stmt("x = local f16[3] strides (1)"),
            "3:28 the strides are not a list [syntax] fix: write strides [lda, 1]; a single stride is strides [s]\n");
  EXPECT_EQ(of_stmt("range = local f16[3]"),
            "3:3 'range' outside a for header [syntax] fix: write for i in range(n):\n");
  EXPECT_EQ(
      of_stmt("f16 = local f16[3]"),
      "3:3 expected the name to define, found the reserved word 'f16' [reserved-name] fix: choose another name\n");
}

TEST(ParserErrors, PrintAndMessages) {
  EXPECT_EQ(
      of_stmt("print(x)"),
      "3:9 expected the text to print, in double quotes, found name 'x' [syntax] fix: write print(\"x = {}\", x)\n");
  EXPECT_EQ(of_stmt("print \"x\""), "3:9 expected '(' behind 'print', found a string [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("print(\"x\", end=1)"), "3:14 print has no named arguments [syntax] fix: give the value alone\n");
  EXPECT_EQ(of_stmt("assert x, y"),
            "3:13 expected the message in double quotes, found name 'y' [syntax] fix: " + kForm);
  EXPECT_EQ(of_stmt("require x \"y\""), "3:13 expected end of line, found a string [syntax] fix: " + kForm);
}

TEST(ParserErrors, Grid) {
  const std::string fix = "begin the body with a line such as: grid bx = ceildiv(N, 128), by = ceildiv(M, 128)\n";
  EXPECT_EQ(errors_of("kernel f():\n  pass\n"), "1:8 kernel 'f' has no grid [grid-statement] fix: " + fix);
  EXPECT_EQ(errors_of("kernel f():\n  pass\n  grid bx = 1\n"),
            "3:3 the grid statement is not the first of the kernel [grid-statement] fix: move it to the line below the "
            "header\n");
  EXPECT_EQ(of_stmt("grid bx = 1"),
            "3:3 a second grid statement [grid-statement] fix: name all axes in the first one\n");
  EXPECT_EQ(
      errors_of("def f():\n  grid bx = 1\n"),
      "2:3 a function has no grid [grid-statement] fix: take it out: the kernel that calls the function has one\n");
  EXPECT_EQ(errors_of("kernel f():\n  if true:\n    grid bx = 1\n"),
            "3:5 the grid statement is not the first of the kernel [grid-statement] fix: move it to the line below the "
            "header\n");
  EXPECT_EQ(errors_of("kernel f():\n  bx = 4, by = 2\n"),
            "2:3 the axes of the grid stand without the word grid [grid-statement] fix: write grid bx = ...\n");
  EXPECT_EQ(errors_of("kernel f():\n  grid a = 1, b = 2, c = 3, d = 4\n"),
            "2:29 a grid has at most three axes [grid-statement] fix: fold two axes into one\n");
  EXPECT_EQ(errors_of("kernel f():\n  grid(4)\n"),
            "2:7 expected the name of a grid axis, found '(' [syntax] fix: " + kForm);
  EXPECT_EQ(errors_of("kernel f():\n  grid bx\n"),
            "2:10 expected '=' behind the grid axis 'bx', found end of line [syntax] fix: write grid bx = ceildiv(N, "
            "128), by = ceildiv(M, 128)\n");
  EXPECT_EQ(errors_of("kernel f():\n  gird bx = 1\n  pass\n"),
            "2:3 expected a statement, found name 'gird' [syntax] fix: did you mean 'grid'?\n");
}

TEST(ParserErrors, KernelHeaders) {
  EXPECT_EQ(of_header("kernel (A: in f32[M])"),
            "1:8 expected the name of the kernel, found '(' [syntax] fix: " + kForm);
  EXPECT_EQ(of_header("kernel f"),
            "1:9 expected '(' behind the name of the kernel, found ':' [syntax] fix: write kernel name(A: in f32[N], "
            "B: out f32[N]):\n");
  EXPECT_EQ(
      of_header("kernel for()"),
      "1:8 expected the name of the kernel, found the reserved word 'for' [reserved-name] fix: choose another name\n");
  EXPECT_EQ(of_header("kernel f(A)"),
            "1:11 expected ':' behind the parameter 'A', found ')' [syntax] fix: a tensor is written A: in f16[M, K], "
            "a scalar argument alpha: f32\n");
  EXPECT_EQ(of_header("kernel f(A: f16[M])"),
            "1:16 the tensor 'A' is neither in, out nor inout [syntax] fix: write A: in f16[...] if it is only read\n");
  EXPECT_EQ(of_header("kernel f(A: in f16)"),
            "1:19 expected '[' and the shape of the tensor, found ')' [syntax] fix: a scalar argument is written "
            "without in, out or inout\n");
  EXPECT_EQ(of_header("kernel f(A: in f16[M] = 3)"),
            "1:23 the tensor 'A' has a default value [syntax] fix: only scalar arguments have one\n");
  EXPECT_EQ(of_header("kernel f(A: in [M])"),
            "1:16 expected an element type such as f16 behind 'in', found '[' [syntax] fix: " + kForm);
  EXPECT_EQ(of_header("kernel f(n = 3)"),
            "1:12 expected ':' behind the parameter 'n', found '=' [syntax] fix: compile-time parameters stand behind "
            "a ';'; a scalar argument is written alpha: f32 = 1.0\n");
  EXPECT_EQ(
      of_header("kernel f(; n)"),
      "1:12 the compile-time parameter 'n' has neither a kind nor a default [syntax] fix: write n = 128 or n: int\n");
  EXPECT_EQ(
      of_header("kernel f(; n: i32)"),
      "1:15 unknown kind 'i32' of the compile-time parameter 'n' [syntax] fix: write one of int, float, bool, type\n");
  EXPECT_EQ(of_header("kernel f(; A: in f32[M])"),
            "1:15 the tensor 'A' stands behind the ';' [syntax] fix: move it before the ';'\n");
  EXPECT_EQ(of_header("kernel f(; A: out f32[M])"),
            "1:15 the tensor 'A' stands behind the ';' [syntax] fix: move it before the ';'\n");
  EXPECT_EQ(of_header("kernel f(; n = 1; m = 2)"),
            "1:17 a second ';' in the kernel header [syntax] fix: separate compile-time parameters by commas\n");
  EXPECT_EQ(of_header("kernel f(A: in f32[M] B: in f32[M])"),
            "1:23 expected ',' or ')' behind the parameter, found name 'B' [syntax] fix: " + kForm);
  EXPECT_EQ(errors_of("def f(a; b):\n  return 1\n"),
            "1:8 a function's parameters are of one sort, without ';' [syntax] fix: separate them by commas\n");
  EXPECT_EQ(
      errors_of("def f(a: f32):\n  return 1\n"),
      "1:10 unknown kind 'f32' of the compile-time parameter 'a' [syntax] fix: write one of int, float, bool, type\n");
}

TEST(ParserErrors, LinesThatBelongToNothing) {
  EXPECT_EQ(errors_of("x = 1\ny = 2\n  z = 3\nkernl f():\n  pass\ndef g():\n  return 1\nx = 2\n"),
            "1:1 expected 'kernel' or 'def' at the start of the line, found name 'x' [syntax] fix: statements stand "
            "inside a kernel or "
            "function, indented below its header\n"
            "8:1 expected 'kernel' or 'def' at the start of the line, found name 'x' [syntax] fix: statements stand "
            "inside a kernel or "
            "function, indented below its header\n");
  EXPECT_EQ(errors_of("kernl f():\n  pass\n"),
            "1:1 expected 'kernel' or 'def' at the start of the line, found name 'kernl' [syntax] fix: did you mean "
            "'kernel'?\n");
}

TEST(ParserErrors, AnOpenBracketOnAnotherLineIsNamed) {
  EXPECT_EQ(of_stmt("copy(a,\n       b c)"),
            "4:10 expected ',' or ')' behind the argument, found name 'c' [syntax] fix: " + kForm +
                "  note 3:7 '(' was opened here\n");
}

TEST(ParserErrors, SeveralAreFoundAtOnceInOrder) {
  EXPECT_EQ(of_stmt("x = .5\n  y = (1\n  for i in rang(2):\n    z = 1 +\n  if x\n    w = a < b < c\n  pass"),
            "3:7 the number .5 has no digit before its point [number-literal] fix: write 0.5\n"
            "4:7 '(' is never closed [bracket] fix: close the bracket, or take it out\n"
            "5:12 unknown kind of loop 'rang' [syntax] fix: write one of range, unrolled, vectorized, parallel, "
            "pipelined, persistent\n"
            "6:12 expected an expression, found end of line [syntax] fix: " +
                kForm +
                "7:7 expected ':' behind the if condition, found end of line [syntax] fix: end the header with ':'\n"
                "8:15 comparisons do not chain [syntax] fix: write a < b and b < c\n");
}

TEST(ParserErrors, AtMostTwenty) {
  std::string body;
  for (int i = 0; i < 50; ++i) body += "  x = 1 +\n  y = .5\n";
  EXPECT_EQ(parse_text(in_kernel(body)).diagnostics().list().size(), 20U);
}

TEST(ParserErrors, Nesting) {
  auto nested = [](int n) {
    return std::string(static_cast<std::size_t>(n), '(') + "a" + std::string(static_cast<std::size_t>(n), ')');
  };
  EXPECT_EQ(of_expr(nested(400)), "no error");
  EXPECT_EQ(of_expr(nested(401)),
            "2:410 the expression is nested more than 200 deep [nesting-limit] fix: give parts of it names of their "
            "own, or move them into a function\n");
  auto sum = [](int n) {
    std::string text = "a";
    for (int i = 1; i < n; ++i) text += " + a";
    return text;
  };
  EXPECT_EQ(of_expr(sum(200)), "no error");
  EXPECT_THAT(of_expr(sum(201)), HasSubstr("the expression is nested more than 200 deep [nesting-limit]"));
  for (const char* opener : {"f(", "[", "A[", "-", "~", "not ", "(a, ", "a + ("}) {
    std::string text;
    for (int i = 0; i < 100000; ++i) text += opener;
    EXPECT_THAT(of_expr(text), HasSubstr("is nested more than 200 deep [nesting-limit]")) << opener;
  }
}

TEST(ParserErrors, BlockNesting) {
  auto blocks = [](int n) {
    std::string text = "def f(x):\n";
    for (int i = 1; i <= n; ++i) text += std::string(static_cast<std::size_t>(i), ' ') + (i < n ? "if x:\n" : "pass\n");
    return text + " return x\n";
  };
  EXPECT_EQ(errors_of(blocks(100)), "no error");
  EXPECT_EQ(errors_of(blocks(101)),
            "102:102 blocks are nested more than 100 deep [nesting-limit] fix: give parts of it names of their own, or "
            "move them into a function\n");
  EXPECT_EQ(errors_of(blocks(1000)),
            "102:102 blocks are nested more than 100 deep [nesting-limit] fix: give parts of it names of their own, or "
            "move them into a function\n");
}

}  // namespace
}  // namespace plait::syntax
