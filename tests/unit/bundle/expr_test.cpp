#include "emit/c/expr.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>

#include "lang/elaborate.h"
#include "runtime/eval.h"
#include "syntax/tree.h"

namespace plait::emit::c {
namespace {

ir::Kernel kernel_of(const std::string& requires_text) {
  std::string text =
      "kernel k(X: out f32[M], a: i64, b: i64, c: i32, d: i32, e: i8, p: u64, q: u64, r: u32, s: u8, x: f32, y: f32, "
      "z: "
      "f64, t: bool):\n  grid g = 1\n" +
      requires_text;
  auto file = syntax::parse(std::make_shared<SourceFile>("test.tile", text));
  EXPECT_TRUE(file) << file.diagnostics().render();
  auto kernel = lang::elaborate(*file, "k", {});
  EXPECT_TRUE(kernel) << kernel.diagnostics().render();
  return *kernel;
}

/// What is compared: the left side of each condition.
constexpr const char* kExpressions[] = {
    "a + b",
    "a - b",
    "a * b",
    "a / b",
    "a % b",
    "ceildiv(a, b)",
    "min(a, b)",
    "max(a, b)",
    "a & b",
    "a | b",
    "a ^ b",
    "a << b",
    "a >> b",
    "-a",
    "~a",
    "abs(a)",
    "c + d",
    "c * d",
    "c / d",
    "ceildiv(c, d)",
    "c << d",
    "c >> d",
    "-c",
    "abs(c)",
    "e * e",
    "-e",
    "p + q",
    "p * q",
    "p / q",
    "p % q",
    "ceildiv(p, q)",
    "min(p, q)",
    "max(p, q)",
    "p >> q",
    "p << q",
    "~p",
    "r - r - 1",
    "r * r",
    "s + s",
    "~s",
    "i32(a)",
    "i8(c)",
    "u8(a)",
    "u32(a)",
    "i64(p)",
    "u64(a)",
    "i64(r)",
    "i32(t)",
    "x + y",
    "x * y",
    "x / y",
    "min(x, y)",
    "max(x, y)",
    "-x",
    "z * z",
    "f64(x) * z",
    "f32(z)",
    "f32(a)",
    "f64(p)",
    "f32(p)",
    "select(a < b, a / b, b)",
    "select(p < q, p, q)",
    "select(t and b != 0 and a / b > 1, a, b)",
    "select(x < y or not t, c, d)",
};

/// The types of the right sides, which only make conditions of them.
std::string conditions() {
  std::string out;
  for (const char* e : kExpressions) out += fmt::format("  require ({0}) == ({0})\n", e);
  return out;
}

struct Values {
  std::map<std::string, std::int64_t> i;
  std::map<std::string, double> f;
};

std::vector<Values> value_sets() {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  const std::int64_t wide[] = {0, 1, -1, 7, -7, 3, 40, most, least, 1LL << 32};
  const double floats[] = {0.0, 1.5, -2.25, 1e30, 0.1, std::nan("")};
  std::vector<Values> sets;
  int n = 0;
  for (std::int64_t a : wide) {
    for (std::int64_t b : wide) {
      Values v;
      v.i = {{"a", a},
             {"b", b},
             {"c", static_cast<std::int32_t>(a)},
             {"d", static_cast<std::int32_t>(b)},
             {"e", static_cast<std::int8_t>(a)},
             {"p", a},
             {"q", b},
             {"r", static_cast<std::uint32_t>(a)},
             {"s", static_cast<std::uint8_t>(a)},
             {"t", n % 2}};
      v.f = {
          {"x", static_cast<float>(floats[n % 6])}, {"y", static_cast<float>(floats[n / 6 % 6])}, {"z", floats[n % 5]}};
      sets.push_back(v);
      ++n;
    }
  }
  return sets;
}

std::string expected(const ir::Kernel& kernel) {
  std::string out;
  for (const Values& v : value_sets()) {
    runtime::Env env;
    for (const ir::Param& param : kernel.params) {
      if (param.kind != ir::ParamKind::scalar) continue;
      bool floating = ir::is_float(param.scalar->type);
      env[param.scalar.get()] = {param.scalar->type, floating ? 0 : v.i.at(param.scalar->name),
                                 floating ? v.f.at(param.scalar->name) : 0};
    }
    for (const ir::Require& r : kernel.requires_) {
      const ir::ExprRef& e = std::get<ir::Binary>(r.cond->node).a;
      runtime::Evaluated value = runtime::evaluate(*e, env);
      if (!value.value) {
        out += value.failure == runtime::EvalFailure::overflow ? "overflow\n" : "division\n";
      } else if (ir::is_float(e->type)) {
        out += std::isnan(value.value->f) ? "nan\n" : fmt::format("{:.17g}\n", value.value->f);
      } else {
        out += fmt::format("{}\n", value.value->i);
      }
    }
  }
  return out;
}

std::string program(const ir::Kernel& kernel) {
  HostExprs exprs;
  std::string body;
  for (const ir::Require& r : kernel.requires_) {
    const ir::ExprRef& e = std::get<ir::Binary>(r.cond->node).a;
    body += ir::is_float(e->type) ? fmt::format("  {{ double value = {}; told_float(n, value); }}\n", exprs.text(e))
                                  : fmt::format("  {{ int64_t value = {}; told(n, value); }}\n", exprs.text(e));
  }
  EXPECT_FALSE(exprs.refused().has_errors()) << exprs.refused().render();
  std::string out =
      "#include <math.h>\n#include <stdint.h>\n#include <stdio.h>\n" + exprs.helpers() +
      "static int failed(struct num *n) {\n  int failure = n->failure;\n  n->failure = 0;\n"
      "  if (failure) puts(failure == NUM_OVERFLOW ? \"overflow\" : \"division\");\n  return failure;\n}\n"
      "static void told(struct num *n, int64_t v) { if (!failed(n)) printf(\"%lld\\n\", (long long)v); }\n"
      "static void told_float(struct num *n, double v) {\n  if (failed(n)) return;\n"
      "  if (isnan(v)) puts(\"nan\"); else printf(\"%.17g\\n\", v);\n}\n"
      "static void all(int64_t v_a, int64_t v_b, int64_t v_c, int64_t v_d, int64_t v_e, int64_t v_p, int64_t v_q, "
      "int64_t v_r, int64_t v_s, double v_x, double v_y, double v_z, int64_t v_t) {\n"
      "  struct num state = {0}, *n = &state;\n" +
      body + "}\nint main(void) {\n";
  auto whole = [](std::int64_t v) { return fmt::format("(int64_t)UINT64_C({})", static_cast<std::uint64_t>(v)); };
  auto real = [](double v) { return std::isnan(v) ? std::string("(double)NAN") : fmt::format("{:.17g}", v); };
  for (const Values& v : value_sets()) {
    out += "  all(";
    for (const char* name : {"a", "b", "c", "d", "e", "p", "q", "r", "s"}) out += whole(v.i.at(name)) + ", ";
    for (const char* name : {"x", "y", "z"}) out += real(v.f.at(name)) + ", ";
    out += whole(v.i.at("t")) + ");\n";
  }
  return out + "  return 0;\n}\n";
}

TEST(HostExprs, ComputesWhatTheLibraryComputes) {
  ir::Kernel kernel = kernel_of(conditions());
  std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "plait_host_exprs";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "all.c") << program(kernel);
  std::string compile = fmt::format(
      "cc -std=c11 -O1 -Wall -Wextra -Werror -fsanitize=undefined -fno-sanitize-recover=all {0}/all.c -o {0}/all",
      folder.string());
  ASSERT_EQ(std::system(compile.c_str()), 0);
  FILE* pipe = ::popen((folder / "all").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string got;
  char part[4096];
  while (std::size_t n = std::fread(part, 1, sizeof part, pipe)) got.append(part, n);
  EXPECT_EQ(::pclose(pipe), 0);
  EXPECT_EQ(got, expected(kernel));
  EXPECT_NE(got.find("overflow"), std::string::npos);
  EXPECT_NE(got.find("division"), std::string::npos);
}

TEST(HostExprs, RefusesWhatCDoesNotHave) {
  ir::Kernel kernel = kernel_of("  require exp(x) == 1.0\n  require f16(x) == f16(y)\n  require i32(x) == 1\n");
  HostExprs exprs;
  for (const ir::Require& r : kernel.requires_) exprs.text(r.cond);
  std::string text = exprs.refused().render();
  EXPECT_NE(text.find("the function exp [bundle-value]"), std::string::npos) << text;
  EXPECT_NE(text.find("a conversion from f32 to f16 [bundle-value]"), std::string::npos) << text;
  EXPECT_NE(text.find("a conversion from f32 to i32 [bundle-value]"), std::string::npos) << text;
}

}  // namespace
}  // namespace plait::emit::c
