#include <fmt/format.h>

#include <algorithm>

#include "sim/fragments.h"
#include "sim/multiply.h"
#include "sim/operand.h"

namespace plait::sim {
namespace {

constexpr int kWarpgroup = 4;  ///< warps
constexpr std::int64_t kRows = 64, kStepBytes = 32;

/// Extents of one instruction.
struct Shape {
  std::int64_t n = 0, k = 0;
};

Shape shape_of(const Warp& w, const Machine& m, const act::Wgmma& a) {
  const SmemCode& b = m.code().smem[static_cast<std::size_t>(a.b.smem)];
  return {fragment_code_of(w, a.acc.fragment).columns, kStepBytes * 8 / b.tile.bits};
}

layout::Coord stored(std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? layout::Coord{columns, rows} : layout::Coord{rows, columns};
}

/// Locks registers from now on; they must not have been touched since the last fence.
void lock(Machine& m, Warp& w, const FragmentPlace& place) {
  if (!m.checks()) return;
  Section& section = w.sections[static_cast<std::size_t>(place.fragment)][static_cast<std::size_t>(place.row / kRows)];
  if (section.touched || !w.wgmma_fenced) {
    m.fail(Rule::sim_wgmma_fence, w.site,
           fmt::format("{} runs wgmma on {}, {}", describe_warp(m, w),
                       fragment_code_of(w, place.fragment).decl->buffer->name,
                       w.wgmma_fenced ? "which other statements used since the last fence wgmma"
                                      : "and no fence wgmma stands before it"));
    w.wgmma_fenced = true;
    section.touched = false;
  }
  section.group = w.wgmma_committed + 1;
  section.site = w.site;
}

/// The condition for all lanes; nothing after a report where they differ.
std::optional<bool> clears(Machine& m, const Warp& w, const act::Wgmma& a) {
  if (!a.clear.valid()) return false;
  LaneMask lanes = lanes_where(w, a.clear);
  if (lanes == 0 || lanes == kAllLanes) return lanes != 0;
  m.fail(Rule::sim_warpgroup, w.site, fmt::format("`clear` differs between lanes of {}", describe_warp(m, w)));
  return {};
}

/// The next instruction of the warpgroup; its first warp adds it.
WgmmaOp& next_op(Warp& w) {
  Replica& r = *w.replica;
  auto number = static_cast<std::size_t>(w.wgmma_issued - r.ops_begun);
  ++w.wgmma_issued;
  if (number == r.ops.size()) {
    r.ops.emplace_back();
    Clock group = w.wgmma_committed + 1;
    if (r.unfinished.size() < group) r.unfinished.resize(group);
    if (r.group_time.size() < group) r.group_time.resize(group);
    ++r.unfinished[group - 1];
  }
  return r.ops[number];
}

/// The first warp says what the instruction is; the others agree. False after a report.
bool agree(Machine& m, const Warp& w, WgmmaOp& op, const WgmmaOp& mine) {
  if (op.warps == 0) {
    op = mine;
    return true;
  }
  if (op.action == mine.action && op.a == mine.a && op.b == mine.b && op.clear == mine.clear && op.group == mine.group)
    return true;
  Diagnostic& d = m.fail(Rule::sim_warpgroup, w.site,
                         fmt::format("{} runs this wgmma where another warp of its warpgroup runs the one at {}, with "
                                     "other operands or in another group",
                                     describe_warp(m, w), place_of(m, op.site)));
  m.note(d, op.site, "the other wgmma");
  return false;
}

void check_accumulator(Machine& m, const Warp& w, const WgmmaOp& op, const FragmentPlace& place, std::int64_t columns) {
  const FragmentCode& f = fragment_code_of(w, place.fragment);
  FragmentStore& store = w.replica->fragments[static_cast<std::size_t>(place.fragment)];
  for (std::int64_t row = place.row; row < place.row + kRows; ++row) {
    auto begin = store.content.begin() + row * f.columns + place.column;
    auto bad = std::find_if(begin, begin + columns, [](Content content) { return content != Content::value; });
    if (bad == begin + columns) continue;
    report_unwritten(m, op.site, "the warpgroup", f, *bad);
    return;
  }
}

/// Reads of the operands in shared memory.
void access_operand(Machine& m, const Warp& w, const Issue& issue, Clock group, int smem_number,
                    const layout::SmemTile::Position& at, layout::Coord extent) {
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(smem_number)];
  for_each_run(smem, at, extent.row, extent.column,
               [&](std::int64_t begin, std::int64_t bytes, std::int64_t, std::int64_t) {
                 async_access(m, {issue, w.replica->wgmma, group}, {&w.block, smem_number, begin, bytes}, Kind::read);
               });
}

std::vector<float> register_operand(const FragmentCode& f, const FragmentStore& store, const FragmentPlace& place,
                                    std::int64_t k) {
  std::vector<float> out;
  for (std::int64_t i = 0; i < kRows; ++i) {
    auto row = store.narrow.begin() + (place.row + i) * f.columns + place.column;
    out.insert(out.end(), row, row + k);
  }
  return out;
}

void compute(Machine& m, Warp& w, const WgmmaOp& op, const Shape& s) {
  const act::Wgmma& a = *op.action;
  const FragmentCode& f = fragment_code_of(w, a.acc.fragment);
  FragmentStore& acc = fragment_store(w, a.acc.fragment);
  std::int64_t begin = a.acc.row * f.columns, end = begin + kRows * f.columns;
  if (op.clear) std::fill(acc.narrow.begin() + begin, acc.narrow.begin() + end, 0.0F);
  std::fill(acc.content.begin() + begin, acc.content.begin() + end, Content::value);
  const SmemCode& b = m.code().smem[static_cast<std::size_t>(a.b.smem)];
  layout::Coord a_extent = stored(kRows, s.k, a.trans_a), b_extent = stored(s.k, s.n, a.trans_b);
  std::vector<float> left = a.a_registers
                                ? register_operand(fragment_code_of(w, a.a_registers->fragment),
                                                   fragment_store(w, a.a_registers->fragment), *a.a_registers, s.k)
                                : tile_floats(w.block, m.code().smem[static_cast<std::size_t>(a.a.smem)], op.a,
                                              a_extent.row, a_extent.column, a.trans_a);
  std::vector<float> right = tile_floats(w.block, b, op.b, b_extent.row, b_extent.column, a.trans_b);
  multiply(kRows, s.n, s.k, left.data(), right.data(), acc.narrow.data() + begin, f.columns);
}

/// The tensor core runs the instruction.
void complete(Machine& m, Warp& w, const WgmmaOp& op) {
  Replica& r = *w.replica;
  if (!w.block.exited && m.checks()) {
    const act::Wgmma& a = *op.action;
    Shape s = shape_of(w, m, a);
    Issue issue{op.known, op.site, &w.block, r.first_thread};
    if (!a.a_registers) access_operand(m, w, issue, op.group, a.a.smem, op.a, stored(kRows, s.k, a.trans_a));
    access_operand(m, w, issue, op.group, a.b.smem, op.b, stored(s.k, s.n, a.trans_b));
    if (a.a_registers) check_accumulator(m, w, op, *a.a_registers, s.k);
    if (!op.clear) check_accumulator(m, w, op, a.acc, s.n);
    compute(m, w, op, s);
  }
  --r.unfinished[op.group - 1];
  std::vector<Warp*> waiting = std::move(r.waiting);
  r.waiting.clear();
  for (Warp* warp : waiting) m.wake(*warp, m.now());
}

/// All warps have issued the instruction: it goes to the tensor core.
void begin(Machine& m, Warp& w, const Shape& s) {
  Replica& r = *w.replica;
  auto op = std::make_shared<const WgmmaOp>(std::move(r.ops.front()));
  r.ops.pop_front();
  ++r.ops_begun;
  r.group_time[op->group - 1].join(op->time);
  double products = static_cast<double>(kRows * s.n) * (kStepBytes / 2.0);  // of 16-bit operands: K by bytes
  double bytes = static_cast<double>((op->action->a_registers ? 0 : kRows) + s.n) * kStepBytes;
  std::int64_t end = m.use(w.block.sm, Unit::tensor, w.time, products / m.costs().tensor_fma);
  end = std::max(end, m.use(w.block.sm, Unit::smem, end - static_cast<std::int64_t>(bytes / m.costs().smem_bytes),
                            bytes / m.costs().smem_bytes));
  r.last_end = std::max(r.last_end + 1, end + m.latency(m.costs().wgmma));  // in order of issue
  m.at(r.last_end, [&m, &w, op] { complete(m, w, *op); });
}

}  // namespace

Step run(Machine& m, Warp& w, const act::Wgmma& a) {
  if (!whole_warp(m, w)) return Step::next;
  Shape s = shape_of(w, m, a);
  WgmmaOp mine;
  mine.action = &a;
  mine.site = w.site;
  mine.group = w.wgmma_committed + 1;
  auto clear = clears(m, w, a);
  layout::Coord a_extent = stored(kRows, s.k, a.trans_a), b_extent = stored(s.k, s.n, a.trans_b);
  auto b = smem_position(m, w, 0, a.b, b_extent);
  auto left = a.a_registers ? layout::SmemTile::Position{} : smem_position(m, w, 0, a.a, a_extent);
  if (!clear || !b || !left) return Step::next;
  mine.clear = *clear;
  mine.a = *left;
  mine.b = *b;
  lock(m, w, a.acc);
  if (a.a_registers) lock(m, w, *a.a_registers);
  w.replica->last_site = w.site;
  WgmmaOp& op = next_op(w);
  if (!agree(m, w, op, mine)) return Step::next;
  if (op.warps == 0) {
    op.known = w.clock.common();
  } else {
    op.known.meet(w.clock.common());
  }
  op.time.time.join(w.clock.look(0).time);
  w.clock.tick();
  w.time += m.latency(m.costs().wgmma_issue);
  if (++op.warps == kWarpgroup) begin(m, w, s);
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::WgmmaCommit&) {
  if (!whole_warp(m, w)) return Step::next;
  Replica& r = *w.replica;
  ++w.wgmma_committed;
  if (r.unfinished.size() < w.wgmma_committed) r.unfinished.resize(w.wgmma_committed);
  if (r.group_time.size() < w.wgmma_committed) r.group_time.resize(w.wgmma_committed);
  return Step::next;
}

/// Looked at again whenever an instruction of the warpgroup is complete.
Step run(Machine& m, Warp& w, const act::WgmmaAwait& a) {
  if (!whole_warp(m, w)) return Step::next;
  Replica& r = *w.replica;
  auto pending = static_cast<Clock>(a.pending);
  Clock target = w.wgmma_committed > pending ? w.wgmma_committed - pending : 0;
  auto groups = r.unfinished.begin();
  if (std::any_of(groups, groups + target, [](int unfinished) { return unfinished > 0; })) {
    w.status = Status::wgmma_groups;
    w.wait_target = target;
    r.waiting.push_back(&w);
    --w.pc;  // blocked moves on; this statement is looked at again
    return Step::blocked;
  }
  if (target <= w.wgmma_awaited) return Step::next;
  View done;
  for (Clock group = w.wgmma_awaited; group < target; ++group) done.time.join(r.group_time[group].time);
  done.memory.raise(r.wgmma, target);
  w.clock.acquire(kAllLanes, done);
  w.wgmma_awaited = target;
  return Step::next;
}

}  // namespace plait::sim
