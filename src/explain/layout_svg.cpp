#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "explain/layouts.h"
#include "explain/xml.h"

namespace plait::explain {
namespace {

constexpr std::int64_t kMostRows = 32, kMostColumns = 32;
constexpr double kLeft = 54, kTop = 66, kCellHeight = 18;

/// A grid of cells with a title, a caption, and numbers at its rows and columns.
class Grid {
 public:
  Grid(std::int64_t rows, std::int64_t columns, double cell) : rows_(rows), columns_(columns), cell_(cell) {}

  void titles(std::string title, std::string caption) {
    title_ = std::move(title);
    caption_ = std::move(caption);
  }
  void cell(std::int64_t row, std::int64_t column, std::string_view fill, std::string_view label,
            std::string_view told) {
    double x = kLeft + static_cast<double>(column) * cell_, y = kTop + static_cast<double>(row) * kCellHeight;
    cells_ += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "stroke=\"#fff\"><title>{}</title>"
        "</rect>\n<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"cell\">{}</text>\n",
        x, y, cell_, kCellHeight, fill, xml(told), x + cell_ / 2, y + 13, xml(label));
  }
  void head(std::int64_t column, std::string_view text) {
    cells_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"head\">{}</text>\n",
                          kLeft + (static_cast<double>(column) + 0.5) * cell_, kTop - 6, xml(text));
  }
  void side(std::int64_t row, std::string_view text) {
    cells_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"side\">{}</text>\n", kLeft - 6,
                          kTop + static_cast<double>(row) * kCellHeight + 13, xml(text));
  }
  std::string svg() const {
    double width = std::max(kLeft + static_cast<double>(columns_) * cell_ + 20,
                            12 + 6.4 * static_cast<double>(std::max(title_.size() * 5 / 4, caption_.size())) + 12);
    double height = kTop + static_cast<double>(rows_) * kCellHeight + 16;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
               "{1:.0f}\">\n<style>text{{font-family:Helvetica,Arial,DejaVu Sans,sans-serif;fill:#222;font-size:11px}}"
               ".title{{font-size:14px;font-weight:bold}}.cell{{font-size:10px;text-anchor:middle}}"
               ".head{{font-size:10px;text-anchor:middle;fill:#666}}.side{{font-size:10px;text-anchor:end;fill:#666}}"
               "</style>\n<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n"
               "<text x=\"12\" y=\"20\" class=\"title\">{2}</text>\n<text x=\"12\" y=\"38\">{3}</text>\n",
               width, height, xml(title_), xml(caption_)) +
           cells_ + "</svg>\n";
  }

 private:
  std::int64_t rows_, columns_;
  double cell_;
  std::string title_, caption_, cells_;
};

/// Pale enough for black text on it.
std::string pale(std::int64_t number, std::int64_t count) {
  double hue = 360.0 * static_cast<double>(number % count) / static_cast<double>(count);
  return fmt::format("hsl({:.0f},60%,{}%)", hue, number / count % 2 == 0 ? 82 : 74);
}

std::string type_text(const ir::Buffer& buffer) {
  return fmt::format("{} {}[{}]", buffer->name, ir::dtype_name(buffer->type),
                     fmt::join(ir::static_shape(*buffer), ", "));
}

std::string part_text(std::int64_t rows, std::int64_t of_rows, std::int64_t columns, std::int64_t of_columns) {
  if (rows == of_rows && columns == of_columns) return {};
  return fmt::format("; shown: the first {} of {} rows, {} of {} columns", rows, of_rows, columns, of_columns);
}

/// Thread and element of each coordinate.
std::string picture(const RegisterLayout& layout) {
  constexpr double kCell = 46;
  constexpr std::int64_t kHues = 16;
  const layout::FragmentMap& map = layout.map;
  std::int64_t rows = std::min(map.rows(), kMostRows), columns = std::min(map.columns(), kMostColumns);
  Grid grid(rows, columns, kCell);
  grid.titles(type_text(layout.fragment->buffer) + " of role " + layout.role,
              fmt::format("{}. t: thread, e: which of its elements{}", home_text(layout),
                          part_text(rows, map.rows(), columns, map.columns())));
  for (std::int64_t c = 0; c < columns; ++c) grid.head(c, std::to_string(c));
  for (std::int64_t r = 0; r < rows; ++r) {
    grid.side(r, std::to_string(r));
    for (std::int64_t c = 0; c < columns; ++c) {
      std::vector<layout::Place> owners = map.owners({r, c});
      if (owners.empty()) continue;
      std::string all;
      for (const layout::Place& p : owners) all += fmt::format(" t{} e{}", p.thread, p.element);
      std::string more = owners.size() > 1 ? "+" : "";
      grid.cell(r, c, pale(owners.front().thread, kHues),
                fmt::format("t{}{} e{}", owners.front().thread, more, owners.front().element),
                fmt::format("[{}, {}]:{}", r, c, all));
    }
  }
  return grid.svg();
}

/// Lines of 128 bytes, all banks once, with the unit of 16 bytes that stands in each place.
std::string picture(const SharedLayout& layout) {
  constexpr double kCell = 112;
  constexpr std::int64_t kUnit = 16, kLine = 128, kUnits = kLine / kUnit;
  const layout::SmemTile& tile = layout.tile;
  std::int64_t lines = (tile.copy_bytes() + kLine - 1) / kLine, shown = std::min(lines, kMostRows);
  std::int64_t per_unit = std::max<std::int64_t>(kUnit * 8 / tile.bits, 1);
  Grid grid(shown, kUnits, kCell);
  std::string part = shown < lines ? fmt::format("; the first {} of {} lines of 128 bytes", shown, lines) : "";
  grid.titles(type_text(layout.smem->buffer),
              fmt::format("{}; row, columns of each 16 bytes{}", home_text(tile), part));
  for (std::int64_t u = 0; u < kUnits; ++u) grid.head(u, fmt::format("banks {}-{}", 4 * u, 4 * u + 3));
  for (std::int64_t line = 0; line < shown; ++line) {
    grid.side(line, std::to_string(line * kLine));
    for (std::int64_t u = 0; u < kUnits; ++u) {
      auto at = tile.position(line * kLine + u * kUnit);
      if (!at || at->copy != 0) continue;
      grid.cell(
          line, u, pale(at->column / per_unit % kUnits, kUnits),
          fmt::format("r{} c{}-{}", at->row, at->column, at->column + per_unit - 1),
          fmt::format("bytes {} to {}: [{}, {}] to [{}, {}]", line * kLine + u * kUnit,
                      line * kLine + (u + 1) * kUnit - 1, at->row, at->column, at->row, at->column + per_unit - 1));
    }
  }
  return grid.svg();
}

}  // namespace

std::optional<std::string> layout_svg(const Layouts& layouts, const std::string& name) {
  for (const SharedLayout& shared : layouts.shared) {
    if (shared.smem->buffer->name == name) return picture(shared);
  }
  for (const RegisterLayout& fragment : layouts.fragments) {
    if (fragment.fragment->buffer->name == name) return picture(fragment);
  }
  return {};
}

}  // namespace plait::explain
