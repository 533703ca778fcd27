#include <fmt/format.h>

#include "random/generator.h"

namespace plait::test {

namespace {

bool is_float(const std::string& type) { return type[0] == 'f' || type[0] == 'b' || type[0] == 'e' || type[0] == 't'; }
bool is_unsigned(const std::string& type) { return type[0] == 'u'; }

}  // namespace

std::string Generator::literal(const std::string& type) {
  if (is_float(type))
    return fmt::format("{}({})", type, rng_.pick({"0.0", "1.0", "-1.5", "2.0", "0.25", "-3.0", "7.0"}));
  if (is_unsigned(type)) return fmt::format("{}({})", type, rng_.between(0, 9));
  return fmt::format("{}({})", type, rng_.between(-8, 7));
}

std::string Generator::converted(const std::string& to, const std::string& from, const std::string& text) {
  return to == from ? text : fmt::format("{}({})", to, text);
}

/// A conversion that says how it rounds or what it does with values that are too large.
std::string Generator::adverbial_cast(const std::string& to, const std::string& from, const std::string& text) {
  const char* rounding = rng_.pick({"nearest_even", "toward_zero", "down", "up"});
  const bool rounds = is_float(from) && rng_.chance(60);
  const bool saturates = !rounds || rng_.chance(30);
  return fmt::format("{}({}{}{})", to, text, rounds ? fmt::format(", round={}", rounding) : "",
                     saturates ? ", saturate=true" : "");
}

std::string Generator::guarded(const std::string& type) {
  const std::string at = indices_.empty() || rng_.chance(40) ? uniform() : rng_.pick(indices_).first;
  const std::string row = uniform();
  if (rng_.chance(50))
    return converted(type, "f32", fmt::format("select({0} >= 0 and {0} < N, bias[{0}], f32(0.0))", at));
  const std::string inside = fmt::format("{0} >= 0 and {0} < M and {1} >= 0 and {1} < N", row, at);
  return converted(
      type, out_type_,
      fmt::format("select({2}, D[{0}, {1}], {3}({4}))", row, at, inside, out_type_, is_float(out_type_) ? "0.0" : "0"));
}

std::optional<std::string> Generator::element(const std::string& type) {
  std::vector<std::string> found;
  for (const Tile& tile : tiles_) {
    if (tile.name == own_) {
      std::string own = tile.name + "[";
      for (std::size_t d = 0; d < indices_.size(); ++d) own += (d == 0 ? "" : ", ") + indices_[d].first;
      found.push_back(converted(type, tile.type, own + "]"));
      continue;
    }
    std::string index;
    for (const int extent : tile.shape) {
      std::vector<std::string> fits{std::to_string(rng_.between(0, extent - 1))};
      for (const auto& [name, count] : indices_) {
        if (count <= extent) fits.insert(fits.end(), 3, name);
        if (count == extent) fits.push_back(fmt::format("{} - 1 - {}", extent, name));
        fits.push_back(fmt::format("({} + {}) % {}", name, rng_.between(0, 5), extent));
      }
      index += (index.empty() ? "" : ", ") + rng_.pick(fits);
    }
    found.push_back(converted(type, tile.type, fmt::format("{}[{}]", tile.name, index)));
  }
  if (found.empty()) return std::nullopt;
  return rng_.pick(found);
}

std::string Generator::small_whole(const std::string& type, const std::string& text) {
  if (!is_float(type)) return text;
  const std::string clamped = fmt::format("floor(min(max({}, -6.0), 6.0))", text);
  return fmt::format("select(isnan({}), {}(0.0), {})", text, type, clamped);
}

std::string Generator::uniform() {
  std::vector<std::string> choices{row_block_, column_block_, std::to_string(rng_.between(0, 6)), "n"};
  choices.insert(choices.end(), loops_.begin(), loops_.end());
  choices.insert(choices.end(), loops_.begin(), loops_.end());
  choices.insert(choices.end(), lets_.begin(), lets_.end());
  return rng_.pick(choices);
}

std::string Generator::leaf(const std::string& type) {
  if (rng_.chance(60)) {
    if (std::optional<std::string> found = element(type)) return *found;
  }
  if (rng_.chance(25)) return guarded(type);
  if (rng_.chance(30)) return converted(type, "f32", "alpha");
  if (rng_.chance(60)) {
    const std::string value = indices_.empty() || rng_.chance(30) ? uniform() : rng_.pick(indices_).first;
    return converted(type, "", value);
  }
  return literal(type);
}

std::string Generator::expr(const std::string& type, int depth) {
  if (depth == 0 || rng_.chance(15)) return leaf(type);
  if (rng_.chance(12)) {
    const std::string cond = condition(depth - 1);
    const std::string a = expr(type, depth - 1), b = expr(type, depth - 1);
    return fmt::format("select({}, {}, {})", cond, a, b);
  }
  if (rng_.chance(8)) {
    const std::string via = rng_.pick({"f32", "i32", "i64", "f16", "i8", "u8", "f64", "bf16"});
    const std::string value = expr(via, depth - 1);
    return via != type && rng_.chance(40) ? adverbial_cast(type, via, value) : converted(type, via, value);
  }
  return is_float(type) ? float_expr(type, depth) : int_expr(type, depth);
}

std::string Generator::infix(const std::string& type, const std::string& op, int depth) {
  const std::string a = expr(type, depth), b = expr(type, depth);
  return fmt::format("({} {} {})", a, op, b);
}

std::string Generator::applied(const std::string& type, const std::string& fn, int arity, int depth) {
  std::string args;
  for (int n = 0; n < arity; ++n) args += (n == 0 ? "" : ", ") + expr(type, depth);
  return fmt::format("{}({})", fn, args);
}

std::string Generator::float_expr(const std::string& type, int depth) {
  const auto choice = rng_.between(0, 9);
  if (choice < 3) return infix(type, rng_.pick({"+", "-", "*"}), depth - 1);
  if (choice < 5) return applied(type, rng_.pick({"max", "min", "larger"}), 2, depth - 1);
  if (choice == 5) return applied(type, "fma", 3, depth - 1);
  if (choice == 6) return fmt::format("(-{})", expr(type, depth - 1));
  if (choice == 7 && type == "f32") return fmt::format("bitcast(f32, {})", expr("i32", depth - 1));
  if (choice < 9) return applied(type, rng_.pick({"floor", "ceil", "trunc", "abs"}), 1, depth - 1);
  const std::string a = expr(type, depth - 1), b = expr(type, depth - 1);
  return fmt::format("({} / (abs({}) + {}(1.0)))", a, b, type);
}

std::string Generator::int_expr(const std::string& type, int depth) {
  const auto choice = rng_.between(0, 9);
  if (choice < 3) return infix(type, rng_.pick({"+", "-", "*"}), depth - 1);
  if (choice < 5) return applied(type, rng_.pick({"max", "min", "larger"}), 2, depth - 1);
  if (choice == 5) return infix(type, rng_.pick({"&", "|", "^"}), depth - 1);
  if (choice == 6 && type == "i32") return fmt::format("bitcast(i32, {})", expr("u32", depth - 1));
  if (choice == 6) return fmt::format("(~{})", expr(type, depth - 1));
  const std::string a = expr(type, depth - 1), small = std::to_string(rng_.between(1, 7));
  if (choice == 7) return fmt::format("ceildiv({}, {}({}))", a, type, small);
  return fmt::format("({} {} {}({}))", a, rng_.pick({"<<", ">>", "/", "%"}), type, small);
}

std::string Generator::condition(int depth) {
  if (depth > 0 && rng_.chance(20)) {
    const std::string a = condition(depth - 1), b = condition(depth - 1);
    return fmt::format("({} {} {})", a, rng_.pick({"and", "or"}), b);
  }
  if (rng_.chance(10)) return fmt::format("not ({})", condition(0));
  const std::string type = rng_.pick({"f32", "i32", "i64", "u8", "f16"});
  const std::string a = leaf(type), b = leaf(type);
  return fmt::format("{} {} {}", a, rng_.pick({"==", "!=", "<", "<=", ">", ">="}), b);
}

}  // namespace plait::test
