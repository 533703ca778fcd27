#include <fmt/format.h>

#include <algorithm>

#include "sim/fragments.h"

namespace plait::sim {
namespace {

/// Keeps the arithmetic units of the warp's part of the multiprocessor busy.
void compute(Machine& m, Warp& w, double operations, double special) {
  double cycles = operations * kLanes / m.costs().cuda_lanes, slow = special * kLanes / m.costs().sfu_lanes;
  std::int64_t end = m.use(w.block.sm, Unit::cuda, w.time, cycles);
  if (special > 0) end = std::max(end, m.use(w.block.sm, Unit::sfu, w.time, slow));
  w.time = std::max(end, w.time + m.latency(m.costs().instruction));
}

void set_coordinates(Warp& w, const act::Each& a, const FragmentCode& f, std::size_t element) {
  for (std::size_t i = 0; i < a.vars.size(); ++i) {
    // One variable: the row of a fragment of rows, the column of another one of one dim.
    bool is_row = a.vars.size() == 2 ? i == 0 : f.columns == 1 && f.decl->kind == roles::FragmentKind::rows;
    for (int lane = 0; lane < kLanes; ++lane) {
      const layout::Coord& base = f.thread_coord[static_cast<std::size_t>(w.index * kLanes + lane)];
      const layout::Coord& step = f.element_coord[element];
      std::int64_t at = is_row ? base.row + step.row : base.column + step.column;
      w.file[static_cast<std::size_t>(a.vars[i].at + lane)] = interp::int_value(at);
    }
  }
}

void store_element(Warp& w, const act::EachStore& store, const FragmentUse& use, std::size_t element) {
  const FragmentCode& to = fragment_code_of(w, use.fragment);
  FragmentStore& registers = fragment_store(w, use.fragment);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(w.mask, lane))
      put(to, registers, element_slot(w, to, lane, use.element[element]), value_of(w, store.value, lane));
  }
}

ir::BinaryOp operator_of(roles::ReduceOp op) {
  switch (op) {
    case roles::ReduceOp::sum:
      return ir::BinaryOp::add;
    case roles::ReduceOp::max:
      return ir::BinaryOp::max;
    case roles::ReduceOp::min:
      return ir::BinaryOp::min;
  }
  return ir::BinaryOp::add;
}

}  // namespace

void occupy(Machine& m, const Warp& w, const ThreadWork& work) {
  m.use(w.block.sm, Unit::cuda, w.time, work.operations * kLanes / m.costs().cuda_lanes);
  if (work.special > 0) m.use(w.block.sm, Unit::sfu, w.time, work.special * kLanes / m.costs().sfu_lanes);
}

void run_load_fragment(Evaluation& e, const ExprInstr& in) {
  const FragmentUse& use = e.warp.code.fragment_uses[static_cast<std::size_t>(in.extra)];
  const FragmentCode& f = fragment_code_of(e.warp, use.fragment);
  FragmentStore& store = fragment_store(e.warp, use.fragment);
  Value* dst = e.file + in.dst;
  for (int lane = 0; lane < kLanes; ++lane) {
    std::size_t slot = element_slot(e.warp, f, lane, use.element[static_cast<std::size_t>(e.element)]);
    dst[lane] = get(f, store, slot);
    if (has(e.mask, lane) && !check_written(e.machine, e.warp, use.fragment, store, slot, lane))
      store.content[slot] = Content::value;
  }
}

Step run(Machine& m, Warp& w, const act::Each& a) {
  const FragmentCode& domain = fragment_code_of(w, a.domain);
  auto elements = static_cast<double>(domain.offset.size());
  compute(m, w, elements * a.operations, elements * a.special);
  if (!m.checks()) return Step::next;
  for (const act::EachStore& store : a.stores) {
    use_registers(m, w, w.code.fragment_uses[static_cast<std::size_t>(store.use)].fragment);
    for (std::int32_t i = store.code.begin; i < store.code.end; ++i) {
      const ExprInstr& instr = w.code.exprs[static_cast<std::size_t>(i)];
      if (instr.run == run_load_fragment)
        use_registers(m, w, w.code.fragment_uses[static_cast<std::size_t>(instr.extra)].fragment);
    }
  }
  for (std::size_t element = 0; element < domain.offset.size(); ++element) {
    set_coordinates(w, a, domain, element);
    for (const act::EachStore& store : a.stores) {
      Evaluation e{m, w, w.file.data(), w.mask, w.site, static_cast<std::int32_t>(element)};
      const ExprInstr* end = w.code.exprs.data() + store.code.end;
      for (e.next = w.code.exprs.data() + store.code.begin; e.next < end && !e.failed;) {
        const ExprInstr& instr = *e.next++;
        instr.run(e, instr);
      }
      if (e.failed) return Step::next;
      store_element(w, store, w.code.fragment_uses[static_cast<std::size_t>(store.use)], element);
    }
  }
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::RowReduce& a) {
  compute(m, w, static_cast<double>(fragment_code_of(w, a.src).offset.size()), 0);
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.dst);
  use_registers(m, w, a.src);
  const FragmentCode &to = fragment_code_of(w, a.dst), &from = fragment_code_of(w, a.src);
  FragmentStore &sums = fragment_store(w, a.dst), &values = fragment_store(w, a.src);
  ir::DType type = to.decl->buffer->type;
  ir::BinaryOp op = operator_of(a.op);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    for (std::size_t e = 0; e < a.elements.size(); ++e) {
      std::size_t slot = element_slot(w, to, lane, static_cast<std::int32_t>(e));
      if (!check_written(m, w, a.dst, sums, slot, lane)) return Step::next;
      Value sum = get(to, sums, slot);
      for (std::int32_t element : a.elements[e]) {
        std::size_t at = element_slot(w, from, lane, element);
        if (!check_written(m, w, a.src, values, at, lane)) return Step::next;
        sum = interp::combine(op, type, sum, get(from, values, at));
      }
      put(to, sums, slot, sum);
    }
  }
  return Step::next;
}

Step run(Machine&, Warp&, const act::Keep&) { return Step::next; }

Step run(Machine& m, Warp& w, const act::LaneReduce& a) {
  if (!whole_warp(m, w)) return Step::next;
  const FragmentCode& f = fragment_code_of(w, a.fragment);
  double rounds = __builtin_ctz(static_cast<unsigned>(a.lanes));
  compute(m, w, 2 * rounds * static_cast<double>(f.offset.size()), 0);
  w.time += m.latency(m.costs().shuffle * static_cast<std::int64_t>(rounds));
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.fragment);
  FragmentStore& store = fragment_store(w, a.fragment);
  ir::BinaryOp op = operator_of(a.op);
  for (std::size_t e = 0; e < f.offset.size(); ++e) {
    std::array<std::size_t, kLanes> slot{};
    std::array<Value, kLanes> value{};
    for (int lane = 0; lane < kLanes; ++lane) {
      auto i = static_cast<std::size_t>(lane);
      slot[i] = element_slot(w, f, lane, static_cast<std::int32_t>(e));
      if (!check_written(m, w, a.fragment, store, slot[i], lane)) return Step::next;
      value[i] = get(f, store, slot[i]);
    }
    for (std::size_t distance = 1; distance < static_cast<std::size_t>(a.lanes); distance *= 2) {
      std::array<Value, kLanes> old = value;
      for (std::size_t i = 0; i < kLanes; ++i)
        value[i] = interp::combine(op, f.decl->buffer->type, old[i], old[i ^ distance]);
    }
    for (std::size_t i = 0; i < kLanes; ++i) put(f, store, slot[i], value[i]);
  }
  return Step::next;
}

}  // namespace plait::sim
