#include <fmt/format.h>

#include <charconv>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {
namespace {

/// A sum of texts and one number, in bytes or in units of more, of which every term is a whole number.
class Sum {
 public:
  explicit Sum(std::string first, std::int64_t unit = 1) : text_(std::move(first)), unit_(unit) {
    // Bits above the block's own memory are the block's number in its cluster.
    if (unit_ != 1) text_ = fmt::format("({} & 0x3ffff) / {}", text_, unit_);
  }
  /// `index * factor` bytes
  void add(const std::string& index, std::int64_t factor) {
    std::int64_t value = 0;
    auto [end, error] = std::from_chars(index.data(), index.data() + index.size(), value);
    if (error == std::errc() && end == index.data() + index.size()) {
      constant_ += value * factor;
      return;
    }
    bool whole = factor % unit_ == 0;
    if (whole) factor /= unit_;
    text_ += factor == 1 ? " + " + index : fmt::format(" + {} * {}", wrapped(index), factor);
    if (!whole) text_ += fmt::format(" / {}", unit_);
  }
  std::string text() const {
    std::int64_t constant = constant_ / unit_;
    return constant == 0 ? text_ : fmt::format("{} {} {}", text_, constant < 0 ? '-' : '+', std::abs(constant));
  }

  /// Products and quotients go on from left to right; anything weaker needs parentheses.
  static std::string wrapped(const std::string& index) {
    int depth = 0;
    bool weaker = false;
    for (char c : index) {
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      weaker = weaker || (depth == 0 && std::string_view("+-?<>=&|^").find(c) != std::string_view::npos);
    }
    return weaker ? "(" + index + ")" : index;
  }

 private:
  std::string text_;
  std::int64_t unit_;
  std::int64_t constant_ = 0;
};

struct Shape {
  std::int64_t rows = 1, columns = 1;
  std::vector<std::int64_t> copies;
  std::int64_t size = 1;  ///< bytes of an element
};

Shape shape_of(const roles::SmemDecl& smem) {
  std::vector<std::int64_t> all = ir::static_shape(*smem.buffer);
  Shape shape;
  shape.columns = all.back();
  all.pop_back();
  if (!all.empty()) {
    shape.rows = all.back();
    all.pop_back();
  }
  shape.copies = all;
  shape.size = ir::dtype_bits(smem.buffer->type) / 8;
  return shape;
}

std::string bracketed(const std::string& a, const std::string& b) {
  if (a == "0") return b;
  if (b == "0") return a;
  return a + " + " + b;
}

/// Address of the copy that the leading indices choose.
Sum copy_address(Emitter& e, const roles::SmemRef& ref, const Shape& shape, Elements* elements, std::int64_t unit = 1) {
  Sum sum(Emitter::name(ref.smem->buffer->name), unit);
  std::int64_t bytes = panel_bytes(*ref.smem);
  if (ref.smem->swizzle != roles::Swizzle::none) {
    std::int64_t span = roles::swizzle_span(ref.smem->swizzle);
    bytes *= (shape.columns * shape.size + span - 1) / span;
  }
  for (std::size_t d = shape.copies.size(); d-- > 0;) {
    sum.add(expr_text(e, ref.index[d], Level::product, elements), bytes);
    bytes *= shape.copies[d];
  }
  return sum;
}

/// Adds row and column of an element, the swizzle apart.
void add_place(Sum& sum, const roles::SmemDecl& smem, const Shape& shape, const std::string& row,
               const std::string& column) {
  sum.add(row, row_pitch(smem));
  std::int64_t span = roles::swizzle_span(smem.swizzle);
  if (smem.swizzle == roles::Swizzle::none || shape.columns * shape.size <= span) {
    sum.add(column, shape.size);
    return;
  }
  std::int64_t per_panel = span / shape.size;
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(column.data(), column.data() + column.size(), value);
  if (error == std::errc() && end == column.data() + column.size()) {
    sum.add(std::to_string(value / per_panel), panel_bytes(smem));
    sum.add(std::to_string(value % per_panel), shape.size);
    return;
  }
  std::string whole = Sum::wrapped(column);
  sum.add(fmt::format("{} / {}", whole, per_panel), panel_bytes(smem));
  sum.add(fmt::format("{} % {}", whole, per_panel), shape.size);
}

}  // namespace

std::int64_t row_pitch(const roles::SmemDecl& smem) {
  Shape shape = shape_of(smem);
  if (smem.swizzle != roles::Swizzle::none) return roles::swizzle_span(smem.swizzle);
  return (shape.columns + smem.buffer->pad) * shape.size;
}

std::int64_t panel_bytes(const roles::SmemDecl& smem) { return shape_of(smem).rows * row_pitch(smem); }

std::string tile_address(Emitter& e, const roles::SmemRef& ref, std::int64_t unit) {
  Shape shape = shape_of(*ref.smem);
  Sum sum = copy_address(e, ref, shape, nullptr, unit);
  std::size_t rank = ref.index.size();
  std::string row = rank >= 2 ? expr_text(e, ref.index[rank - 2], Level::product) : "0";
  add_place(sum, *ref.smem, shape, row, expr_text(e, ref.index[rank - 1], Level::product));
  return sum.text();
}

std::string element_address(Emitter& e, const roles::SmemRef& ref, const std::string& row, const std::string& column,
                            Elements* elements) {
  Shape shape = shape_of(*ref.smem);
  Sum sum = copy_address(e, ref, shape, elements);
  std::size_t rank = ref.index.size();
  std::string first_row = rank >= 2 ? expr_text(e, ref.index[rank - 2], Level::sum, elements) : "0";
  std::string first_column = expr_text(e, ref.index[rank - 1], Level::sum, elements);
  add_place(sum, *ref.smem, shape, bracketed(first_row, row), bracketed(first_column, column));
  if (ref.smem->swizzle == roles::Swizzle::none) return sum.text();
  return fmt::format("{}<{}>({})", e.helper("swizzled"), roles::swizzle_span(ref.smem->swizzle), sum.text());
}

std::string mbar_address(Emitter& e, const roles::MbarRef& ref) {
  Sum sum(Emitter::name(ref.mbar->name));
  constexpr int mbar_bytes = 8;
  sum.add(expr_text(e, ref.index, Level::product), mbar_bytes);
  return sum.text();
}

}  // namespace plait::emit::cuda
