#include "layout/layout_text.h"

#include <fmt/format.h>

#include <optional>

namespace plait::layout {
namespace {

constexpr int kDeepest = 32;
/// One half of a layout: an integer or a tuple.
struct Tree {
  std::int64_t value = 0;
  std::vector<Tree> modes;
  std::size_t at = 0;  ///< byte where it stands
};

class Parser {
 public:
  explicit Parser(SourceRef source) : source_(std::move(source)), text_(source_->text()) {}

  std::optional<Layout> layout() {
    auto extents = tree(0);
    if (!extents || !expect(':')) return {};
    auto strides = tree(0);
    if (!strides || !joined(*extents, *strides)) return {};
    if (!within(*extents, *strides)) return {};
    return build(*extents, *strides);
  }

  std::optional<SwizzledLayout> swizzled() {
    SwizzledLayout result;
    if (skip_word("xor")) {
      auto numbers = tree(0);
      if (!numbers || !swizzle(*numbers, result.swizzle) || !compose_sign()) return {};
      auto start = integer();
      if (!start || !compose_sign()) return {};
      result.start = *start;
    }
    auto parsed = layout();
    if (!parsed) return {};
    result.layout = std::move(*parsed);
    return result;
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size() || fail(at_, "something stands behind the layout");
  }

  const Diagnostics& diagnostics() const { return diagnostics_; }

 private:
  bool fail(std::size_t at, const std::string& message) {
    Loc loc;
    loc.source = source_;
    loc.line = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
      ++loc.column;
      if (text_[i] == '\n') loc = Loc{source_, loc.line + 1, 0};
    }
    ++loc.column;
    diagnostics_.error(Rule::layout_text, loc, message);
    return false;
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }

  bool skip(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  bool skip_word(std::string_view word) {
    skip_space();
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  bool expect(char c) { return skip(c) || fail(at_, fmt::format("'{}' is missing", c)); }
  bool compose_sign() { return skip('o') || fail(at_, "'o' is missing"); }

  std::optional<std::int64_t> integer() {
    skip_space();
    std::size_t begin = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = value * 10 + (text_[at_] - '0');
      if (value > largest_index / 16) {
        fail(begin, "the number is larger than 58 bits hold");
        return {};
      }
    }
    if (at_ > begin) return value;
    fail(at_, "an integer is missing");
    return {};
  }

  std::optional<Tree> tree(int depth) {
    skip_space();
    Tree result;
    result.at = at_;
    if (!skip('(')) {
      auto value = integer();
      if (!value) return {};
      result.value = *value;
      return result;
    }
    if (depth >= kDeepest) {
      fail(result.at, fmt::format("tuples are nested more than {} deep", kDeepest));
      return {};
    }
    do {
      auto mode = tree(depth + 1);
      if (!mode) return {};
      result.modes.push_back(std::move(*mode));
    } while (skip(','));
    if (!expect(')')) return {};
    return result;
  }

  /// Both halves have one form, and extents are at least 1.
  bool joined(const Tree& extents, const Tree& strides) {
    if (extents.modes.size() != strides.modes.size())
      return fail(strides.at, "the strides have not the form of the extents");
    if (extents.modes.empty() && extents.value < 1) return fail(extents.at, "an extent is at least 1");
    for (std::size_t i = 0; i < extents.modes.size(); ++i) {
      if (!joined(extents.modes[i], strides.modes[i])) return false;
    }
    return true;
  }

  bool within(const Tree& extents, const Tree& strides) {
    size_ = 1;
    largest_ = 0;
    return count(extents, strides) || fail(extents.at, "the layout's size or largest offset is beyond 62 bits");
  }

  bool count(const Tree& extents, const Tree& strides) {
    if (extents.modes.empty()) {
      std::int64_t reach = 0;
      bool wide = __builtin_mul_overflow(size_, extents.value, &size_) || size_ > largest_index ||
                  __builtin_mul_overflow(extents.value - 1, strides.value, &reach) || reach > largest_index - largest_;
      largest_ += wide ? 0 : reach;
      return !wide;
    }
    for (std::size_t i = 0; i < extents.modes.size(); ++i) {
      if (!count(extents.modes[i], strides.modes[i])) return false;
    }
    return true;
  }

  static Layout build(const Tree& extents, const Tree& strides) {
    if (extents.modes.empty()) return {extents.value, strides.value};
    std::vector<Layout> modes;
    for (std::size_t i = 0; i < extents.modes.size(); ++i) modes.push_back(build(extents.modes[i], strides.modes[i]));
    return Layout(std::move(modes));
  }

  bool swizzle(const Tree& numbers, Swizzle& result) {
    bool flat = numbers.modes.size() == 3;
    for (const Tree& number : numbers.modes) flat = flat && number.modes.empty() && number.value <= 60;
    if (!flat) return fail(numbers.at, "a swizzle is xor(bits,base,shift)");
    result.bits = static_cast<int>(numbers.modes[0].value);
    result.base = static_cast<int>(numbers.modes[1].value);
    result.shift = static_cast<int>(numbers.modes[2].value);
    if (result.shift < result.bits || result.bits + result.base + result.shift > 60)
      return fail(numbers.at, "a swizzle exchanges no bit with one that it changes, all within 60 bits");
    return true;
  }

  SourceRef source_;
  const std::string& text_;
  std::size_t at_ = 0;
  std::int64_t size_ = 1, largest_ = 0;
  Diagnostics diagnostics_;
};

}  // namespace

Result<Layout> parse_layout(const SourceRef& text) {
  Parser parser(text);
  auto layout = parser.layout();
  if (!layout || !parser.at_end()) return parser.diagnostics();
  return std::move(*layout);
}

Result<SwizzledLayout> parse_swizzled_layout(const SourceRef& text) {
  Parser parser(text);
  auto layout = parser.swizzled();
  if (!layout || !parser.at_end()) return parser.diagnostics();
  return std::move(*layout);
}

}  // namespace plait::layout
