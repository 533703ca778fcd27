#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "ir/evaluate.h"
#include "sim/copy.h"
#include "sim/fragments.h"

namespace plait::sim {
namespace {

constexpr std::int64_t kVectorBytes = 16;

/// Neighbouring elements of a lane that one access moves.
struct Run {
  int lane = 0;
  std::int32_t element = 0;  ///< the first
  std::int64_t count = 1;
  std::int64_t row = 0, column = 0;  ///< of the first
};

/// The accesses of the lanes that run: elements in pieces of at most 16 bytes.
template <typename Fn>
void for_each_piece(const Warp& w, const FragmentCode& f, Fn fn) {
  std::int64_t bytes = std::max(ir::dtype_bits(f.decl->buffer->type) / 8, 1);
  std::int64_t count = std::min(f.run, kVectorBytes / bytes);
  bool by_row = f.decl->kind == roles::FragmentKind::rows;
  for (std::size_t e = 0; e < f.offset.size(); e += static_cast<std::size_t>(count)) {
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!has(w.mask, lane)) continue;
      const layout::Coord& base = f.thread_coord[static_cast<std::size_t>(w.index * kLanes + lane)];
      Run run{lane, static_cast<std::int32_t>(e), count, base.row + f.element_coord[e].row,
              base.column + f.element_coord[e].column};
      if (by_row) run.column = std::exchange(run.row, 0);  // lies along the last dimension
      fn(run);
    }
  }
}

/// Time of an access to shared memory by all lanes.
void charge_shared(Machine& m, Warp& w, const FragmentCode& f) {
  double bytes = static_cast<double>(f.offset.size()) * kLanes * ir::dtype_bits(f.decl->buffer->type) / 8;
  m.use(w.block.sm, Unit::smem, w.time, bytes / m.costs().smem_bytes);
  w.time += m.latency(m.costs().smem_access);
}

/// The same of a tensor: each instruction moves a piece of each lane.
void charge_tensor(Machine& m, Warp& w, const FragmentCode& f, const TensorPlace& place, bool write) {
  double bytes = static_cast<double>(f.run * kLanes) * ir::dtype_bits(f.decl->buffer->type) / 8;
  std::uint64_t at = static_cast<std::uint64_t>(w.index);
  for (std::int64_t index : indices(w, 0, place.index)) at = mix_place(at, index);
  std::int64_t end = w.time;
  for (std::size_t e = 0; e < f.offset.size(); e += static_cast<std::size_t>(f.run)) {
    std::uint64_t key = traffic_key(place.tensor, at * 4096 + e);
    end = std::max(end, m.move(w.block.sm, key, bytes, w.time, write));
  }
  w.time = write ? w.time + m.latency(m.costs().global_store) : end + m.latency(m.costs().global_load);
}

bool aligned(Machine& m, const Warp& w, const Run& run, std::int64_t byte, std::int64_t bytes,
             const std::string& name) {
  if (byte % bytes == 0) return true;
  m.fail(Rule::sim_align, w.site,
         fmt::format("{} by {} moves {} bytes at once from byte {} of {}", m.site(w.site).word,
                     describe_thread(m, w.block, w.first_thread + run.lane), bytes, byte, name));
  return false;
}

/// The tensor's elements of one access.
struct TensorRun {
  std::optional<std::int64_t> offset;  ///< of the first element, nothing where all lie outside
  std::int64_t inside = 0;             ///< the first ones of them
};

TensorRun tensor_run(const ir::TensorView& view, std::vector<std::int64_t> index, const Run& run) {
  index.back() += run.column;
  if (index.size() > 1) index[index.size() - 2] += run.row;
  auto offset = tensor_offset(view, index);
  if (!offset) return {};
  return {offset, std::min(run.count, view.shape.back() - index.back())};
}

template <typename Fn>
void tensor_access(Machine& m, Warp& w, const FragmentCode& f, const TensorPlace& place, Kind kind, Fn fn) {
  const ir::TensorView& view = m.tensor(place.tensor);
  const std::string& name = m.code().tensors[static_cast<std::size_t>(place.tensor)].decl->name;
  std::int64_t bits = ir::dtype_bits(view.type);
  if (f.run > 1 && view.strides.back() != 1) {
    m.fail(Rule::sim_align, w.site,
           fmt::format("{} moves {} neighbours at once, and the last stride of {} is {}", m.site(w.site).word, f.run,
                       name, view.strides.back()));
    return;
  }
  for_each_piece(w, f, [&](const Run& run) {
    TensorRun at = tensor_run(view, indices(w, run.lane, place.index), run);
    if (at.offset) {
      std::int64_t byte = *at.offset * bits / 8, bytes = std::max<std::int64_t>(run.count * bits / 8, 1);
      if (!aligned(m, w, run, byte, bytes, name)) return;
      lane_access(m, w, run.lane, {nullptr, place.tensor, byte, std::max<std::int64_t>(at.inside * bits / 8, 1)}, kind);
    }
    fn(run, at, view);
  });
}

template <typename Fn>
void shared_access(Machine& m, Warp& w, const FragmentCode& f, const SmemPlace& place, Kind kind, Fn fn) {
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(place.smem)];
  bool by_row = f.decl->kind == roles::FragmentKind::rows;
  layout::Coord extent = by_row ? layout::Coord{1, f.rows} : layout::Coord{f.rows, f.columns};
  std::int64_t bytes_each = smem.tile.bits / 8;
  std::array<std::optional<layout::SmemTile::Position>, kLanes> at;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(w.mask, lane)) at[static_cast<std::size_t>(lane)] = smem_position(m, w, lane, place, extent);
  }
  for_each_piece(w, f, [&](const Run& run) {
    const auto& start = at[static_cast<std::size_t>(run.lane)];
    if (!start) return;
    std::int64_t begin = smem_byte(smem, {start->copy, start->row + run.row, start->column + run.column});
    if (!aligned(m, w, run, begin, run.count * bytes_each, smem.decl->buffer->name)) return;
    Bytes bytes{&w.block, place.smem, begin, run.count * bytes_each};
    lane_access(m, w, run.lane, bytes, kind);
    fn(run, bytes, smem.decl->buffer->type);
  });
}

/// Calls fn(slot, i) for the elements of a piece.
template <typename Fn>
void for_each_slot(const Warp& w, const FragmentCode& f, const Run& run, Fn fn) {
  for (std::int64_t i = 0; i < run.count; ++i)
    fn(element_slot(w, f, run.lane, run.element + static_cast<std::int32_t>(i)), i);
}

}  // namespace

Step run(Machine& m, Warp& w, const act::LoadTensor& a) {
  const FragmentCode& f = fragment_code_of(w, a.dst);
  charge_tensor(m, w, f, a.src, false);
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.dst);
  FragmentStore& store = fragment_store(w, a.dst);
  tensor_access(m, w, f, a.src, Kind::read, [&](const Run& run, const TensorRun& at, const ir::TensorView& view) {
    for_each_slot(w, f, run, [&](std::size_t slot, std::int64_t i) {
      bool inside = at.offset && i < at.inside;
      put(f, store, slot, inside ? load_value(view.type, view.data, *at.offset + i) : a.pad);
    });
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::StoreTensor& a) {
  const FragmentCode& f = fragment_code_of(w, a.src);
  charge_tensor(m, w, f, a.dst, true);
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.src);
  FragmentStore& store = fragment_store(w, a.src);
  tensor_access(m, w, f, a.dst, Kind::write, [&](const Run& run, const TensorRun& at, const ir::TensorView& view) {
    for_each_slot(w, f, run, [&](std::size_t slot, std::int64_t i) {
      check_written(m, w, a.src, store, slot, run.lane);
      if (!at.offset || i >= at.inside) return;
      Value value = interp::convert(f.decl->buffer->type, view.type, get(f, store, slot));
      store_value(view.type, view.data, *at.offset + i, value);
    });
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::LoadShared& a) {
  const FragmentCode& f = fragment_code_of(w, a.dst);
  charge_shared(m, w, f);
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.dst);
  FragmentStore& store = fragment_store(w, a.dst);
  shared_access(m, w, f, a.src, Kind::fetch, [&](const Run& run, const Bytes& bytes, ir::DType type) {
    bool known = are_written(bytes);
    const std::uint8_t* from = w.block.smem.data() + bytes.begin;
    for_each_slot(w, f, run, [&](std::size_t slot, std::int64_t i) {
      put(f, store, slot, interp::convert(type, f.decl->buffer->type, load_value(type, from, i)));
      if (!known) store.content[slot] = Content::unknown;
    });
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::StoreShared& a) {
  const FragmentCode& f = fragment_code_of(w, a.src);
  charge_shared(m, w, f);
  if (!m.checks()) return Step::next;
  use_registers(m, w, a.src);
  FragmentStore& store = fragment_store(w, a.src);
  shared_access(m, w, f, a.dst, Kind::write, [&](const Run& run, const Bytes& bytes, ir::DType type) {
    std::uint8_t* to = w.block.smem.data() + bytes.begin;
    for_each_slot(w, f, run, [&](std::size_t slot, std::int64_t i) {
      check_written(m, w, a.src, store, slot, run.lane);
      store_value(type, to, i, interp::convert(f.decl->buffer->type, type, get(f, store, slot)));
    });
  });
  return Step::next;
}

// ---- Single elements -----------------------------------------------------------------------------------------------

namespace {

/// Where an element of a tensor lies; nothing after a report where it lies outside.
std::optional<std::int64_t> tensor_element(Machine& m, const Warp& w, int lane, int tensor,
                                           const std::vector<Reg>& regs) {
  std::vector<std::int64_t> index = indices(w, lane, regs);
  auto offset = tensor_offset(m.tensor(tensor), index);
  if (offset) return offset;
  m.fail(Rule::out_of_bounds, w.site,
         fmt::format("{} accesses {}[{}]; its shape is [{}]", describe_thread(m, w.block, w.first_thread + lane),
                     m.code().tensors[static_cast<std::size_t>(tensor)].decl->name, fmt::join(index, ", "),
                     fmt::join(m.tensor(tensor).shape, ", ")));
  return {};
}

Bytes element_bytes(const ir::TensorView& view, int tensor, std::int64_t offset) {
  std::int64_t bytes = told_bytes(view.type);
  return {nullptr, tensor, offset * bytes, bytes};
}

bool same_bits(ir::DType type, Value a, Value b) {
  return ir::is_float(type) ? ir::encode_float(type, a.f) == ir::encode_float(type, b.f) : a.i == b.i;
}

/// Lanes of one statement that write one element: allowed where they write the same value.
class WrittenPlaces {
 public:
  /// Whether the lane is the first to write there.
  bool first(Machine& m, const Warp& w, int lane, ir::DType type, std::int64_t place, Value value) {
    for (const auto& [other_place, other] : places_) {
      if (other_place != place) continue;
      if (!same_bits(type, other, value)) {
        m.fail(Rule::sim_race, w.site,
               fmt::format("lanes of {} write different values to one element, {} among them", describe_warp(m, w),
                           describe_thread(m, w.block, w.first_thread + lane)));
      }
      return false;
    }
    places_.emplace_back(place, value);
    return true;
  }

 private:
  std::vector<std::pair<std::int64_t, Value>> places_;
};

/// Runs a load in each lane that takes part, or once where all want the same element.
template <typename Fn>
void load_lanes(Evaluation& e, const ExprInstr& in, Fn fn) {
  Value* dst = e.file + in.dst;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(e.mask, lane)) continue;
    auto value = fn(lane);
    if (!value) {
      e.failed = true;
      return;
    }
    dst[in.lanes == 1 ? 0 : lane] = *value;
  }
}

}  // namespace

void run_load_tensor(Evaluation& e, const ExprInstr& in) {
  const ElementCode& element = e.machine.code().elements[static_cast<std::size_t>(in.extra)];
  const ir::TensorView& view = e.machine.tensor(element.buffer);
  load_lanes(e, in, [&](int lane) -> std::optional<Value> {
    auto offset = tensor_element(e.machine, e.warp, lane, element.buffer, element.index);
    if (!offset) return {};
    lane_access(e.machine, e.warp, lane, element_bytes(view, element.buffer, *offset), Kind::read);
    return load_value(view.type, view.data, *offset);
  });
  e.warp.time += e.machine.latency(e.machine.costs().global_load);
}

void run_load_shared(Evaluation& e, const ExprInstr& in) {
  const ElementCode& element = e.machine.code().elements[static_cast<std::size_t>(in.extra)];
  const SmemCode& smem = e.machine.code().smem[static_cast<std::size_t>(element.buffer)];
  load_lanes(e, in, [&](int lane) -> std::optional<Value> {
    auto at = smem_position(e.machine, e.warp, lane, {element.buffer, element.index}, {1, 1});
    if (!at) return {};
    std::int64_t begin = smem_byte(smem, *at);
    lane_access(e.machine, e.warp, lane, {&e.warp.block, element.buffer, begin, smem.tile.bits / 8}, Kind::read);
    return load_value(smem.decl->buffer->type, e.warp.block.smem.data() + begin, 0);
  });
  e.warp.time += e.machine.latency(e.machine.costs().smem_access);
}

Step run(Machine& m, Warp& w, const act::PutTensor& a) {
  occupy(m, w, a.work);
  const ir::TensorView& view = m.tensor(a.dst.tensor);
  WrittenPlaces places;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    auto offset = tensor_element(m, w, lane, a.dst.tensor, a.dst.index);
    Value value = value_of(w, a.value, lane);
    if (!offset || !places.first(m, w, lane, view.type, *offset, value)) continue;
    lane_access(m, w, lane, element_bytes(view, a.dst.tensor, *offset), Kind::write);
    store_value(view.type, view.data, *offset, value);
  }
  w.time += m.latency(m.costs().global_store);
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::PutShared& a) {
  occupy(m, w, a.work);
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.dst.smem)];
  ir::DType type = smem.decl->buffer->type;
  WrittenPlaces places;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    auto at = smem_position(m, w, lane, a.dst, {1, 1});
    if (!at) continue;
    std::int64_t begin = smem_byte(smem, *at);
    Value value = value_of(w, a.value, lane);
    if (!places.first(m, w, lane, type, begin, value)) continue;
    lane_access(m, w, lane, {&w.block, a.dst.smem, begin, smem.tile.bits / 8}, Kind::write);
    store_value(type, w.block.smem.data() + begin, 0, value);
  }
  w.time += m.latency(m.costs().smem_access);
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::PutPiece& a) {
  const ir::TensorView& view = m.tensor(a.dst.tensor);
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.src.smem)];
  const std::int64_t elements = a.piece * 8 / smem.tile.bits;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    auto at = smem_position(m, w, lane, a.src, {1, elements});
    auto first = tensor_element(m, w, lane, a.dst.tensor, a.dst.index);
    if (!at || !first) continue;
    std::vector<std::int64_t> last = indices(w, lane, a.dst.index);
    last.back() += elements - 1;
    const std::int64_t from = smem_byte(smem, *at), to = *first * smem.tile.bits / 8;
    if (!tensor_offset(view, last) || view.strides.back() != 1 || from % a.piece != 0 || to % a.piece != 0) {
      m.fail(Rule::sim_align, w.site,
             fmt::format("a piece of {} bytes goes from byte {} of shared memory to byte {} of {}, whose rows are no "
                         "multiples of it or end within",
                         a.piece, from, to, m.code().tensors[static_cast<std::size_t>(a.dst.tensor)].decl->name));
      return Step::next;
    }
    lane_access(m, w, lane, {&w.block, a.src.smem, from, a.piece}, Kind::read);
    lane_access(m, w, lane, {nullptr, a.dst.tensor, to, a.piece}, Kind::write);
    std::memcpy(static_cast<std::uint8_t*>(view.data) + to, w.block.smem.data() + from,
                static_cast<std::size_t>(a.piece));
  }
  w.time += m.latency(m.costs().smem_access + m.costs().global_store);
  return Step::next;
}

/// Lanes one after the other; no order of theirs is promised.
Step run(Machine& m, Warp& w, const act::Atomic& a) {
  occupy(m, w, a.work);
  const ir::TensorView& view = m.tensor(a.dst.tensor);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    auto offset = tensor_element(m, w, lane, a.dst.tensor, a.dst.index);
    if (!offset) continue;
    lane_access(m, w, lane, element_bytes(view, a.dst.tensor, *offset), Kind::update);
    if (m.checks()) m.order().atomic(w, lane, a.dst.tensor, *offset);
    Value old = load_value(view.type, view.data, *offset);
    store_value(view.type, view.data, *offset, interp::combine(a.op, view.type, old, value_of(w, a.value, lane)));
    w.file[static_cast<std::size_t>(a.result.at + (a.result.per_lane ? lane : 0))] = old;
  }
  w.time += m.latency(m.costs().atomic);
  return Step::next;
}

/// Lanes that meet at one element go one after the other, each as long as the unit takes for one.
Step run(Machine& m, Warp& w, const act::AtomicShared& a) {
  occupy(m, w, a.work);
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.dst.smem)];
  ir::DType type = smem.decl->buffer->type;
  std::unordered_map<std::int64_t, int> met;
  int rounds = 1;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!has(w.mask, lane)) continue;
    auto at = smem_position(m, w, lane, a.dst, {1, 1});
    if (!at) continue;
    std::int64_t begin = smem_byte(smem, *at);
    rounds = std::max(rounds, ++met[begin]);
    lane_access(m, w, lane, {&w.block, a.dst.smem, begin, smem.tile.bits / 8}, Kind::update);
    std::uint8_t* place = w.block.smem.data() + begin;
    Value old = load_value(type, place, 0);
    store_value(type, place, 0, interp::combine(a.op, type, old, value_of(w, a.value, lane)));
    w.file[static_cast<std::size_t>(a.result.at + (a.result.per_lane ? lane : 0))] = old;
  }
  m.use(w.block.sm, Unit::smem, w.time, static_cast<double>(rounds));
  w.time += m.latency(m.costs().smem_access);
  return Step::next;
}

}  // namespace plait::sim
