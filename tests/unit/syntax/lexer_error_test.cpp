#include "helpers.h"

namespace plait::syntax {
namespace {

/// Errors of a function that returns `text`, in which line 2 is the line of the text and column 10 its first.
std::string of_expr(const std::string& text) { return errors_of("def f():\n  return " + text + "\n"); }

TEST(LexerErrors, Tab) {
  EXPECT_EQ(errors_of("def f():\n\tx = 1\n\treturn x\n"),
            "2:1 tab in the indentation [indentation] fix: indent with spaces, two for each level\n");
  EXPECT_EQ(errors_of("def f():\n  x = 1\n  \ty = 1\n  return x\n"),
            "3:3 tab in the indentation [indentation] fix: indent with spaces, two for each level\n");
  EXPECT_EQ(errors_of("def f(a,\n\tb):\n  return\ta\t# c\n"), "no error");
}

TEST(LexerErrors, DedentToNoBlock) {
  EXPECT_EQ(errors_of("def f(x):\n  if x:\n      y = 1\n    z = 2\n  return 1\n"),
            "4:5 this line is indented by 4 spaces, which fits no block above it [indentation] fix: indent it by 2 or "
            "by 6 spaces\n");
}

TEST(LexerErrors, NulByte) {
  std::string text = "def f():\n  return 1 + 2\n";
  text[20] = '\0';
  EXPECT_EQ(errors_of(text),
            "2:12 the text contains a NUL byte [source-text] fix: give a text file, not a binary one\n");
  EXPECT_EQ(errors_of(std::string("# a\0b\n", 6)),
            "1:4 the text contains a NUL byte [source-text] fix: give a text file, not a binary one\n");
  EXPECT_EQ(errors_of(std::string("\0\0\0\n\0", 5)),
            "1:1 the text contains a NUL byte [source-text] fix: give a text file, not a binary one\n");
}

TEST(LexerErrors, Encoding) {
  EXPECT_EQ(of_expr("\xe9 + \xe9"),
            "2:10 the byte 0xe9 is not UTF-8 [source-text] fix: save the file as plain UTF-8 text\n");
  EXPECT_EQ(of_expr("\xc0\x80"),
            "2:10 the byte 0xc0 is not UTF-8 [source-text] fix: save the file as plain UTF-8 text\n");
  EXPECT_EQ(of_expr("\xed\xa0\x80"),
            "2:10 the byte 0xed is not UTF-8 [source-text] fix: save the file as plain UTF-8 text\n");
  EXPECT_EQ(of_expr("a \xc3\x97 b"),
            "2:12 unexpected character '\xc3\x97' (U+00D7) [syntax] fix: outside of strings and comments a program is "
            "ASCII\n");
}

TEST(LexerErrors, LoneCarriageReturn) {
  EXPECT_EQ(errors_of("def f():\r  return 1\r"),
            "1:9 a carriage return without a line feed [source-text] fix: end lines with LF or CRLF\n");
  EXPECT_EQ(errors_of("# a\rdef f():\n"),
            "1:4 a carriage return without a line feed [source-text] fix: end lines with LF or CRLF\n");
}

TEST(LexerErrors, UnknownCharacters) {
  EXPECT_EQ(of_expr("!a"), "2:10 '!' is no operator [syntax] fix: write not x, or a != b\n");
  EXPECT_EQ(of_expr("a ? b : c"), "2:12 there is no '?:' [syntax] fix: write select(condition, a, b)\n");
  EXPECT_EQ(of_expr("A.shape"),
            "2:11 '.' is no operator: names have no members [syntax] fix: put the digits next to the point if a float "
            "is meant, as in 0.5\n");
  EXPECT_EQ(of_expr("'a'"),
            "2:10 strings stand in double quotes [syntax] fix: write \"text\"\n"
            "2:12 strings stand in double quotes [syntax] fix: write \"text\"\n");
  EXPECT_EQ(of_expr("a + \\"),
            "2:14 a backslash does not join lines [syntax] fix: put the expression in parentheses: inside brackets a "
            "statement goes on\n");
  EXPECT_EQ(of_expr("$a"), "2:10 unexpected character '$' [syntax] fix: take it out\n");
  EXPECT_EQ(of_expr("a\x01"), "2:11 unexpected control character 0x01 [syntax] fix: take it out\n");
  EXPECT_EQ(errors_of("def f() {\n  return 1\n}\n"),
            "1:9 blocks are made by indentation, not by braces [syntax] fix: end the header with ':' and indent the "
            "lines below it\n"
            "3:1 blocks are made by indentation, not by braces [syntax] fix: take the brace out\n");
}

TEST(LexerErrors, Integers) {
  EXPECT_EQ(of_expr("18446744073709551616"),
            "2:10 the integer 18446744073709551616 does not fit 64 bits [number-literal] fix: the largest is "
            "18446744073709551615; write a "
            "float with '.0' or an exponent\n");
  EXPECT_EQ(of_expr("0x1_0000_0000_0000_0000"),
            "2:10 the integer 0x1_0000_0000_0000_0000 does not fit 64 bits [number-literal] fix: the largest is "
            "0xffffffffffffffff\n");
  EXPECT_EQ(of_expr("007"),
            "2:10 the integer 007 begins with 0 [number-literal] fix: leave out the leading zeros; there are no octal "
            "numbers\n");
  EXPECT_EQ(of_expr("0b102"),
            "2:10 '2' is no digit of the binary number 0b102 [number-literal] fix: write the number as 12, 0x1f, "
            "0b101, 1_000, 1.5 or 1e-5\n");
  EXPECT_EQ(of_expr("0xfg"),
            "2:10 'g' is no digit of the hexadecimal number 0xfg [number-literal] fix: write the number as 12, 0x1f, "
            "0b101, 1_000, 1.5 or 1e-5\n");
  EXPECT_EQ(of_expr("0x"),
            "2:10 the number 0x has no digits [number-literal] fix: write the number as 12, 0x1f, 0b101, 1_000, 1.5 or "
            "1e-5\n");
  EXPECT_EQ(of_expr("3rd"),
            "2:10 '3rd' is neither a number nor a name [number-literal] fix: a name begins with a letter or '_'; put "
            "an operator or a space behind a number\n");
  for (const char* bad : {"1_", "1__0", "0x_1", "0x1_"}) {
    EXPECT_EQ(of_expr(bad), std::string("2:10 '_' in the number ") + bad +
                                " does not stand between two digits [number-literal] fix: write it as in 1_000\n");
  }
}

TEST(LexerErrors, Floats) {
  EXPECT_EQ(of_expr(".5"), "2:10 the number .5 has no digit before its point [number-literal] fix: write 0.5\n");
  EXPECT_EQ(of_expr("1."), "2:10 the number 1. has no digit behind its point [number-literal] fix: write 1.0\n");
  EXPECT_EQ(of_expr("1.e3"), "2:10 the number 1.e3 has no digit behind its point [number-literal] fix: write 1.0e3\n");
  EXPECT_EQ(of_expr("1e"),
            "2:10 the exponent of 1e has no digits [number-literal] fix: write the number as 12, 0x1f, 0b101, 1_000, "
            "1.5 or 1e-5\n");
  EXPECT_EQ(of_expr("1.5f"),
            "2:10 '1.5f' is no number [number-literal] fix: a float is written 1.5 or 1e-5; types are given by casts "
            "such as f16(1.5)\n");
  EXPECT_EQ(of_expr("1.2.3"),
            "2:10 '1.2.3' is no number [number-literal] fix: a float is written 1.5 or 1e-5; types are given by casts "
            "such as f16(1.5)\n");
  EXPECT_EQ(
      of_expr("1e999"),
      "2:10 the float 1e999 does not fit f64 [number-literal] fix: write inf for infinity, 0.0 for nothing at all\n");
  EXPECT_EQ(
      of_expr("1e-999"),
      "2:10 the float 1e-999 does not fit f64 [number-literal] fix: write inf for infinity, 0.0 for nothing at all\n");
  EXPECT_EQ(of_expr("01.5"), "2:10 the number 01.5 begins with 0 [number-literal] fix: leave out the leading zeros\n");
  EXPECT_EQ(
      of_expr("1_.5"),
      "2:10 '_' in the number 1_.5 does not stand between two digits [number-literal] fix: write it as in 1_000\n");
}

TEST(LexerErrors, Strings) {
  EXPECT_EQ(errors_of(in_kernel("  print(\"x)\n  pass\n")),
            "3:9 the string that begins here has no end on this line [string-literal] fix: close the string with a "
            "double quote on the same line\n");
  EXPECT_EQ(errors_of(in_kernel("  print(\"x\\")),
            "3:9 the string that begins here has no end on this line [string-literal] fix: close the string with a "
            "double quote on the same line\n");
  EXPECT_EQ(errors_of(in_kernel("  print(\"a \\q b\")\n")),
            "3:12 unknown escape in a string [string-literal] fix: the escapes are \\n \\t \\r \\\\ \\\" and \\x with "
            "two hexadecimal digits; "
            "print writes {{ as {\n");
  EXPECT_EQ(errors_of(in_kernel("  print(\"a \\xg0\")\n")).substr(0, 32), "3:12 unknown escape in a string ");
}

TEST(LexerErrors, Brackets) {
  EXPECT_EQ(of_expr("(a + b"), "2:10 '(' is never closed [bracket] fix: close the bracket, or take it out\n");
  EXPECT_EQ(of_expr("a + b)"), "2:15 ')' closes nothing [bracket] fix: take it out, or open a bracket before it\n");
  EXPECT_EQ(of_expr("f(a[1)]"),
            "2:15 ')' cannot close '[' [bracket] fix: close the '[' first\n"
            "  note 2:13 '[' was opened here\n"
            "2:16 ']' closes nothing [bracket] fix: take it out, or open a bracket before it\n");
  EXPECT_EQ(of_expr("f((a]"),
            "2:14 ']' cannot close '(' [bracket] fix: close the '(' first\n  note 2:12 '(' was opened here\n");
}

TEST(LexerErrors, AStatementWordShowsThatABracketIsOpen) {
  EXPECT_EQ(errors_of(in_kernel("  copy(a[1, b\n  for i in rang(3):\n    pass\n")),
            "3:9 '[' is never closed [bracket] fix: close the bracket, or take it out\n"
            "4:12 unknown kind of loop 'rang' [syntax] fix: write one of range, unrolled, vectorized, parallel, "
            "pipelined, persistent\n");
  EXPECT_EQ(errors_of("def f(a, b:\n  return 1\nkernel g(n: i32\n  grid bx = 1\n"),
            "1:6 '(' is never closed [bracket] fix: close the bracket, or take it out\n"
            "3:9 '(' is never closed [bracket] fix: close the bracket, or take it out\n");
}

TEST(LexerErrors, TooLarge) {
  EXPECT_EQ(errors_of(std::string((std::size_t{64} << 20) + 1, ' ')),
            "1:1 the text has 67108865 bytes, more than 67108864 [source-text] fix: split the file\n");
}

}  // namespace
}  // namespace plait::syntax
