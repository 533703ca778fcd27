#include "emit/c/num_helpers.h"

#include <string_view>
#include <vector>

namespace plait::emit::c {
namespace {

struct Helper {
  std::string_view name;
  std::vector<std::string_view> calls;
  std::string_view text;
};

/// Each behind those that it calls. `type`: bits, negative for a type without sign.
const std::vector<Helper>& all_helpers() {
  static const std::vector<Helper> all = {
      {"num_fail", {}, R"(
static void num_fail(struct num *n, int failure) {
  if (n->failure == NUM_FINE) n->failure = failure;
}
)"},
      {"num_wrap", {}, R"(
/* The value of the type that is equal modulo a power of two. */
static int64_t num_wrap(struct num *n, int type, int64_t value) {
  int shift = 64 - (type < 0 ? -type : type);
  (void)n;
  if (type < 0) return (int64_t)((uint64_t)value << shift >> shift);
  return (int64_t)((uint64_t)value << shift) >> shift;
}
)"},
      {"num_result", {"num_fail", "num_wrap"}, R"(
/* What an operation gives: types with a sign have to hold it, others wrap. */
static int64_t num_result(struct num *n, int type, int64_t value, int too_large) {
  int64_t wrapped = num_wrap(n, type, value);
  if (type > 0 && (too_large || wrapped != value)) num_fail(n, NUM_OVERFLOW);
  return wrapped;
}
)"},
      {"num_add", {"num_result"}, R"(
static int64_t num_add(struct num *n, int type, int64_t a, int64_t b) {
  int64_t value;
  int too_large = __builtin_add_overflow(a, b, &value);
  return num_result(n, type, value, too_large);
}
)"},
      {"num_sub", {"num_result"}, R"(
static int64_t num_sub(struct num *n, int type, int64_t a, int64_t b) {
  int64_t value;
  int too_large = __builtin_sub_overflow(a, b, &value);
  return num_result(n, type, value, too_large);
}
)"},
      {"num_mul", {"num_result"}, R"(
static int64_t num_mul(struct num *n, int type, int64_t a, int64_t b) {
  int64_t value;
  int too_large = __builtin_mul_overflow(a, b, &value);
  return num_result(n, type, value, too_large);
}
)"},
      {"num_div", {"num_fail", "num_result"}, R"(
static int64_t num_div(struct num *n, int type, int64_t a, int64_t b) {
  if (b == 0) {
    num_fail(n, NUM_DIVISION);
    return 0;
  }
  if (type < 0) return (int64_t)((uint64_t)a / (uint64_t)b);
  if (b == -1) return num_result(n, type, (int64_t)(0 - (uint64_t)a), a == INT64_MIN);
  return a / b;
}
)"},
      {"num_mod", {"num_fail"}, R"(
static int64_t num_mod(struct num *n, int type, int64_t a, int64_t b) {
  if (b == 0) {
    num_fail(n, NUM_DIVISION);
    return 0;
  }
  if (type < 0) return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}
)"},
      {"num_ceil_div", {"num_div", "num_mod"}, R"(
static int64_t num_ceil_div(struct num *n, int type, int64_t a, int64_t b) {
  int64_t rest = num_mod(n, type, a, b);
  int up = rest != 0 && (type < 0 || (a < 0) == (b < 0));
  return num_div(n, type, a, b) + up;
}
)"},
      {"num_less", {}, R"(
static int num_less(int type, int64_t a, int64_t b) {
  return type < 0 ? (uint64_t)a < (uint64_t)b : a < b;
}
)"},
      {"num_min", {"num_less"}, R"(
static int64_t num_min(struct num *n, int type, int64_t a, int64_t b) {
  (void)n;
  return num_less(type, b, a) ? b : a;
}
)"},
      {"num_max", {"num_less"}, R"(
static int64_t num_max(struct num *n, int type, int64_t a, int64_t b) {
  (void)n;
  return num_less(type, a, b) ? b : a;
}
)"},
      {"num_shift_left", {"num_wrap"}, R"(
static int64_t num_shift_left(struct num *n, int type, int64_t a, int64_t count) {
  int bits = type < 0 ? -type : type;
  return count < 0 || count >= bits ? 0 : num_wrap(n, type, (int64_t)((uint64_t)a << count));
}
)"},
      {"num_shift_right", {}, R"(
static int64_t num_shift_right(struct num *n, int type, int64_t a, int64_t count) {
  int bits = type < 0 ? -type : type;
  (void)n;
  if (count < 0 || count >= bits) return type > 0 && a < 0 ? -1 : 0;
  return type < 0 ? (int64_t)((uint64_t)a >> count) : a >> count;
}
)"},
      {"num_cast", {"num_result"}, R"(
static int64_t num_cast(struct num *n, int type, int64_t value) { return num_result(n, type, value, 0); }
)"},
      {"num_abs", {"num_result"}, R"(
static int64_t num_abs(struct num *n, int type, int64_t a) {
  if (type < 0 || a >= 0) return a;
  return num_result(n, type, (int64_t)(0 - (uint64_t)a), a == INT64_MIN);
}
)"},
      {"num_float_min", {}, R"(
/* NaN where one of them is. */
static double num_float_min(double a, double b) { return a != a ? a : b != b || b < a ? b : a; }
)"},
      {"num_float_max", {}, R"(
/* NaN where one of them is. */
static double num_float_max(double a, double b) { return a != a ? a : b != b || a < b ? b : a; }
)"},
  };
  return all;
}

}  // namespace

std::string num_helpers(const std::set<std::string>& names) {
  std::set<std::string_view> wanted(names.begin(), names.end());
  const auto& all = all_helpers();
  for (auto helper = all.rbegin(); helper != all.rend(); ++helper) {
    if (wanted.contains(helper->name)) wanted.insert(helper->calls.begin(), helper->calls.end());
  }
  std::string out =
      "/* Arithmetic of launches: the first operation without a value is noted. `type`: its bits, negative where it "
      "has\n"
      " * no sign. */\n"
      "enum { NUM_FINE, NUM_OVERFLOW, NUM_DIVISION };\n"
      "struct num {\n  int failure;\n};\n";
  for (const Helper& helper : all) {
    if (wanted.contains(helper.name)) out += helper.text;
  }
  return out;
}

}  // namespace plait::emit::c
