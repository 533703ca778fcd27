#include <fmt/format.h>

#include <algorithm>

#include "explain/palette.h"

namespace plait::explain {
namespace {

constexpr double kWidth = 1400, kNames = 92, kRight = 24;
constexpr double kTitle = 30, kLegendRow = 20, kPhases = 20, kAxis = 46, kGap = 10;
constexpr double kRoleHeight = 30, kUnitHeight = 20, kCopyHeight = 16;
constexpr double kCharacter = 7;  ///< width of one at the size of labels, in a wide font
constexpr double kTicks = 12;

std::string rect(double x, double y, double width, double height, std::string_view fill, std::string_view more = {}) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\"{}", x, y, width,
                     height, fill, more);
}

std::string label(double x, double y, std::string_view cls, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, cls, xml(text));
}

double text_width(std::string_view text) { return kCharacter * static_cast<double>(text.size()); }

class Picture {
 public:
  explicit Picture(const Timeline& timeline) : t_(timeline), colours_(colours_of(timeline)) {}

  std::string draw() {
    title();
    legend();
    double top = y_;
    y_ += kPhases;
    for (std::size_t i = 0; i < t_.lanes.size(); ++i) {
      if (i > 0 && t_.lanes[i].kind != t_.lanes[i - 1].kind) y_ += kGap;
      lane(t_.lanes[i]);
    }
    std::string lanes = std::move(out_);
    out_.clear();
    phases(top);
    axis(top);
    return head() + out_ + lanes + "</svg>\n";
  }

 private:
  double x(std::int64_t cycle) const {
    return kNames + (kWidth - kNames - kRight) * static_cast<double>(cycle) /
                        static_cast<double>(std::max<std::int64_t>(t_.end, 1));
  }
  std::string head() const;
  void title();
  void legend();
  void lane(const Lane& lane);
  void span(const Span& span, double height);
  void phases(double top);
  void axis(double top);

  const Timeline& t_;
  std::vector<std::string> colours_;
  double y_ = 0;
  std::string out_, above_;
};

std::string Picture::head() const {
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
             "{1:.0f}\">\n<style>text{{font-family:Helvetica,Arial,DejaVu Sans,sans-serif;font-size:11px;fill:#222}}"
             ".title{{font-size:15px;font-weight:bold}}.name{{font-size:12px;text-anchor:end}}"
             ".in{{fill:#fff;text-anchor:middle}}.on{{text-anchor:middle}}.axis{{text-anchor:middle;fill:#555}}.unit{{"
             "fill:#555}}"
             ".phase{{text-anchor:middle;font-size:11px;fill:#444}}</style>\n"
             "<defs><pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
             "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f3f4f6\"/>"
             "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#cfd4dc\" stroke-width=\"2\"/></pattern></defs>\n",
             kWidth, y_ + kAxis) +
         rect(0, 0, kWidth, y_ + kAxis, "#ffffff", "/>\n") + above_;
}

void Picture::title() {
  std::string dims = t_.dims.empty() ? "" : ", " + t_.dims;
  above_ += label(12, 20, "title",
                  fmt::format("{} on {}{}: one multiprocessor{}", t_.kernel, t_.device, dims,
                              t_.cut ? fmt::format(", its first {} cycles", t_.end) : ""));
  y_ = kTitle;
}

void Picture::legend() {
  double at = 12;
  auto entry = [&](std::string_view name, std::string_view fill) {
    double width = 16 + text_width(name) + 14;
    if (at + width > kWidth - 12) {
      at = 12;
      y_ += kLegendRow;
    }
    above_ += rect(at, y_ + 2, 12, 12, fill, "/>\n") + label(at + 16, y_ + 12, "key", name);
    at += width;
  };
  constexpr double kSeen = 1;  // pixels that all spans of a task take
  std::vector<double> wide(t_.tasks.size(), 0);
  for (const Lane& lane : t_.lanes) {
    for (const Span& span : lane.spans) {
      if (span.task >= 0 && !span.waiting) wide[static_cast<std::size_t>(span.task)] += x(span.end) - x(span.begin);
    }
  }
  for (std::size_t i = 0; i < t_.tasks.size(); ++i) {
    if (wide[i] >= kSeen) entry(t_.tasks[i].name, colours_[i]);
  }
  entry("waiting", "url(#wait)");
  y_ += kLegendRow + 8;
}

void Picture::span(const Span& span, double height) {
  double from = x(span.begin), width = x(span.end) - from;
  std::string name = span.task < 0 ? "counters and loops" : t_.tasks[static_cast<std::size_t>(span.task)].name;
  std::string_view fill = span.waiting    ? "url(#wait)"
                          : span.task < 0 ? kPlainColour
                                          : std::string_view(colours_[static_cast<std::size_t>(span.task)]);
  std::string numbered = fmt::format("{} #{}", name, span.run);
  out_ +=
      rect(from, y_, std::max(width, 0.4), height, fill, span.waiting ? "" : " stroke=\"#fff\" stroke-width=\"0.4\"");
  out_ += fmt::format("><title>{}{}: cycles {} to {}, {} long</title></rect>\n", xml(numbered),
                      span.waiting ? " waits" : "", span.begin, span.end, span.end - span.begin);
  if (span.waiting || span.task < 0) return;
  std::string text = text_width(numbered) + 6 <= width ? numbered : text_width(name) + 6 <= width ? name : "";
  if (text.empty()) return;
  bool full = t_.tasks[static_cast<std::size_t>(span.task)].in_loop;
  out_ += label(from + width / 2, y_ + height / 2 + 4, full ? "in" : "on", text);
}

void Picture::lane(const Lane& lane) {
  double height = lane.kind == LaneKind::role ? kRoleHeight : lane.kind == LaneKind::unit ? kUnitHeight : kCopyHeight;
  out_ += label(kNames - 8, y_ + height / 2 + 4, "name", lane.name);
  out_ +=
      rect(kNames, y_, kWidth - kNames - kRight, height, lane.kind == LaneKind::role ? "#f7f8fa" : "#fbfbfc", "/>\n");
  constexpr double kThin = 0.4;  // pixels below which neighbours of one task are drawn as one
  Span held{};
  bool holds = false;
  for (const Span& next : lane.spans) {
    bool same = holds && next.task == held.task && next.waiting == held.waiting;
    if (same && x(next.begin) - x(held.end) < kThin && x(held.end) - x(held.begin) < kThin) {
      held.end = next.end;
      continue;
    }
    if (holds) span(held, height);
    held = next;
    holds = true;
  }
  if (holds) span(held, height);
  y_ += height + 3;
}

void Picture::phases(double top) {
  for (const Phase& phase : t_.phases) {
    double from = x(phase.begin), width = x(phase.end) - from;
    if (width <= 0) continue;
    std::string_view fill = phase.name == "steady" ? "#e7f2e4" : phase.name == "prologue" ? "#fdf0dd" : "#eae6f3";
    out_ += rect(from, top, width, y_ - top, fill, "/>\n");
    if (text_width(phase.name) < width) out_ += label(from + width / 2, top + 13, "phase", phase.name);
  }
}

void Picture::axis(double top) {
  double us = static_cast<double>(t_.end) / t_.clock_mhz;
  out_ += label(12, y_ + 16, "unit", "cycles") + label(12, y_ + 34, "unit", "\u00b5s");
  auto tick = [&](double at, double from, double height, const std::string& text) {
    out_ += fmt::format("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#ccd0d6\"/>\n", at,
                        from, y_ + height);
    out_ += label(at, y_ + height + 11, "axis", text);
  };
  std::int64_t step = round_step(static_cast<double>(t_.end) / kTicks);
  for (std::int64_t cycle = 0; cycle <= t_.end; cycle += step) tick(x(cycle), top + kPhases, 5, std::to_string(cycle));
  // In thousandths of a microsecond.
  std::int64_t nano = round_step(us * 1000 / kTicks);
  for (std::int64_t at = 0; static_cast<double>(at) <= us * 1000; at += nano)
    tick(x(0) + (x(t_.end) - x(0)) * static_cast<double>(at) / (us * 1000), y_ + 20, 23,
         fmt::format("{:g}", static_cast<double>(at) / 1000));
}

}  // namespace

std::string svg(const Timeline& timeline) { return Picture(timeline).draw(); }

}  // namespace plait::explain
