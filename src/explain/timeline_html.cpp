#include <fmt/format.h>

#include "explain/palette.h"
#include "support/json.h"

namespace plait::explain {

namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title>
<style>
body{margin:0;font:13px Helvetica,Arial,sans-serif;color:#222;background:#fff}
h1{font-size:16px;margin:10px 14px 2px}p{margin:2px 14px 8px;color:#666}
#legend{margin:0 14px 8px;display:flex;flex-wrap:wrap;gap:4px 14px}
#legend span{display:flex;align-items:center;gap:5px;cursor:pointer}
#legend i{width:12px;height:12px;display:inline-block}
#legend .off{opacity:.3}
#tip{position:fixed;display:none;background:#222;color:#fff;padding:5px 8px;border-radius:4px;pointer-events:none;white-space:pre}
canvas{display:block}
</style></head><body>
<h1>@TITLE@</h1>
<p>Wheel zooms at the pointer, dragging moves, a double click shows all; a click in the legend hides the other tasks.</p>
<div id="legend"></div><canvas id="c"></canvas><div id="tip"></div>
<script>
const data = )html";

constexpr std::string_view kScript = R"html(;
const left = 92, right = 16, top0 = 44, heights = {role: 30, copies: 16, unit: 20}, gap = 10;
const canvas = document.getElementById('c'), tip = document.getElementById('tip'), g = canvas.getContext('2d');
let from = 0, to = data.end, only = -1, drag = null, rows = [], width = 0, height = 0;

function place() {
  let y = top0;
  rows = data.lanes.map((lane, i) => {
    if (i && lane.kind !== data.lanes[i - 1].kind) y += gap;
    const row = {lane, y, h: heights[lane.kind]};
    y += row.h + 3;
    return row;
  });
  width = document.body.clientWidth;
  height = y + 8;
  const dense = window.devicePixelRatio || 1;
  canvas.width = width * dense; canvas.height = height * dense;
  canvas.style.width = width + 'px'; canvas.style.height = height + 'px';
  g.setTransform(dense, 0, 0, dense, 0, 0);
}
const x = cycle => left + (width - left - right) * (cycle - from) / (to - from);
const cycleAt = px => from + (to - from) * (px - left) / (width - left - right);
const us = cycles => (cycles / data.mhz).toFixed(3) + ' µs';
const hatch = (() => {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const t = tile.getContext('2d');
  t.fillStyle = '#f3f4f6'; t.fillRect(0, 0, 6, 6);
  t.strokeStyle = '#cfd4dc'; t.lineWidth = 1.5;
  for (const o of [-6, 0, 6]) { t.beginPath(); t.moveTo(o, 6); t.lineTo(o + 6, 0); t.stroke(); }
  return g.createPattern(tile, 'repeat');
})();

function step(least) {
  for (let p = 1e-4;; p *= 10) for (const d of [1, 2, 5]) if (d * p >= least) return d * p;
}
function ticks(y, span, offset, text) {
  const by = step(span / 10);
  for (let v = Math.ceil(offset / by) * by; v <= offset + span; v += by) text(v, by, y);
}
function draw() {
  g.clearRect(0, 0, width, height);
  g.font = '11px Helvetica,Arial,sans-serif';
  g.save(); g.beginPath(); g.rect(left, 0, width - left - right, height); g.clip();
  for (const [name, b, e] of data.phases) {
    if (e < from || b > to) continue;
    g.fillStyle = {steady: '#e7f2e4', prologue: '#fdf0dd', epilogue: '#eae6f3'}[name];
    g.fillRect(x(b), 24, x(e) - x(b), height - 24);
    g.fillStyle = '#444';
    const a = Math.max(x(b), left), z = Math.min(x(e), width - right);
    if (z - a > g.measureText(name).width + 4) g.fillText(name, (a + z - g.measureText(name).width) / 2, 37);
  }
  g.fillStyle = '#777';
  const mark = (at, text, y) => { g.fillRect(at, y - 10, 1, 14); g.fillText(text, at + 3, y); };
  ticks(10, to - from, from, (v, by, y) => mark(x(v), String(Math.round(v)), y));
  ticks(21, (to - from) / data.mhz, from / data.mhz,
        (v, by, y) => mark(x(v * data.mhz), v.toFixed(Math.max(0, Math.min(4, Math.ceil(-Math.log10(by))))) + ' µs', y));
  for (const {lane, y, h} of rows) {
    g.fillStyle = '#f7f8fa88'; g.fillRect(left, y, width, h);
    for (const [b, e, task, run, waits] of lane.spans) {
      if (e < from || b > to) continue;
      const a = x(b), w = Math.max(x(e) - a, 0.5);
      g.globalAlpha = only >= 0 && task !== only ? 0.15 : 1;
      g.fillStyle = waits ? hatch : task < 0 ? '#c9ced6' : data.tasks[task].colour;
      g.fillRect(a, y, w, h);
      if (w > 3 && !waits) { g.fillStyle = '#fff'; g.fillRect(a + w - 0.5, y, 0.5, h); }
      if (waits || task < 0 || w < 20) continue;
      for (const text of [data.tasks[task].name + ' #' + run, data.tasks[task].name, '#' + run]) {
        const tw = g.measureText(text).width;
        if (tw + 6 > w) continue;
        const shown = Math.max(a, left), end = Math.min(a + w, width - right);
        g.fillStyle = data.tasks[task].loop ? '#fff' : '#222';
        g.fillText(text, Math.max(shown + 3, (shown + end - tw) / 2), y + h / 2 + 4);
        break;
      }
    }
    g.globalAlpha = 1;
  }
  g.restore();
  g.fillStyle = '#222'; g.textAlign = 'right';
  for (const {lane, y, h} of rows) g.fillText(lane.name, left - 8, y + h / 2 + 4);
  g.textAlign = 'left';
}
function show(a, b) {
  const least = 20, span = Math.max(Math.min(b - a, data.end), least);
  from = Math.max(0, Math.min(a, data.end - span)); to = from + span;
  draw();
}
canvas.addEventListener('wheel', e => {
  e.preventDefault();
  const at = cycleAt(e.offsetX), f = Math.exp(e.deltaY * 0.0015);
  show(at - (at - from) * f, at + (to - at) * f);
}, {passive: false});
canvas.addEventListener('mousedown', e => { drag = {x: e.clientX, from, to}; });
window.addEventListener('mouseup', () => { drag = null; });
canvas.addEventListener('dblclick', () => show(0, data.end));
canvas.addEventListener('mouseleave', () => { tip.style.display = 'none'; });
canvas.addEventListener('mousemove', e => {
  if (drag) {
    const by = (e.clientX - drag.x) * (drag.to - drag.from) / (width - left - right);
    return show(drag.from - by, drag.to - by);
  }
  const row = rows.find(r => e.offsetY >= r.y && e.offsetY < r.y + r.h), at = cycleAt(e.offsetX);
  const hit = row && e.offsetX >= left && row.lane.spans.find(([b, end]) => b <= at && at < end);
  tip.style.display = hit ? 'block' : 'none';
  if (!hit) return;
  const [b, end, task, run, waits] = hit;
  tip.textContent = (task < 0 ? 'counters and loops' : data.tasks[task].name + ' #' + run) + (waits ? ' waits' : '') +
      '\ncycles ' + b + ' to ' + end + ', ' + (end - b) + ' long (' + us(end - b) + ')';
  tip.style.left = Math.min(e.clientX + 12, width - 260) + 'px'; tip.style.top = e.clientY + 14 + 'px';
});
data.tasks.forEach((task, i) => {
  if (!data.lanes.some(l => l.spans.some(s => s[2] === i && !s[4]))) return;
  const entry = document.createElement('span'), box = document.createElement('i');
  box.style.background = task.colour;
  entry.append(box, task.name);
  entry.onclick = () => {
    only = only === i ? -1 : i;
    document.querySelectorAll('#legend span').forEach(s => s.classList.toggle('off', only >= 0 && s !== entry));
    draw();
  };
  document.getElementById('legend').append(entry);
});
window.addEventListener('resize', () => { place(); draw(); });
place(); draw();
</script></body></html>
)html";

std::string_view kind_name(LaneKind kind) {
  switch (kind) {
    case LaneKind::role:
      return "role";
    case LaneKind::unit:
      return "unit";
    case LaneKind::copies:
      return "copies";
  }
  return {};
}

/// Nothing in it ends the script that it stands in.
std::string in_script(const Json& json) {
  std::string text = json.dump(), out;
  for (char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

void replace_all(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

}  // namespace

std::string html(const Timeline& timeline) {
  std::vector<std::string> colours = colours_of(timeline);
  Json::List tasks, lanes, phases;
  for (std::size_t i = 0; i < timeline.tasks.size(); ++i)
    tasks.emplace_back(
        Json::Object{{"name", timeline.tasks[i].name}, {"colour", colours[i]}, {"loop", timeline.tasks[i].in_loop}});
  for (const Lane& lane : timeline.lanes) {
    Json::List spans;
    for (const Span& s : lane.spans) spans.emplace_back(Json::List{s.begin, s.end, s.task, s.run, s.waiting ? 1 : 0});
    lanes.emplace_back(Json::Object{{"kind", kind_name(lane.kind)}, {"name", lane.name}, {"spans", std::move(spans)}});
  }
  for (const Phase& phase : timeline.phases) phases.emplace_back(Json::List{phase.name, phase.begin, phase.end});
  Json data = Json::Object{
      {"end", timeline.end}, {"mhz", timeline.clock_mhz}, {"tasks", tasks}, {"lanes", lanes}, {"phases", phases}};
  std::string head(kHead);
  std::string dims = timeline.dims.empty() ? "" : ", " + timeline.dims;
  replace_all(head, "@TITLE@", xml(fmt::format("{} on {}{}", timeline.kernel, timeline.device, dims)));
  return head + in_script(data) + std::string(kScript);
}

}  // namespace plait::explain
