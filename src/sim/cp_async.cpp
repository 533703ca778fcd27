#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "sim/copy.h"

namespace plait::sim {
namespace {

/// One piece of a copy: bytes of shared memory from a tensor, or zeros.
struct Piece {
  std::int64_t to = 0;
  std::int64_t from = -1;  ///< byte of the tensor, -1: outside
};

/// The place of a piece that a lane names: elements from the tensor's first one on. Nothing where it leaves the
/// tensor's memory.
std::optional<std::int64_t> place_of_piece(const ir::TensorView& view, const std::vector<std::int64_t>& index,
                                           std::int64_t count) {
  std::int64_t offset = 0, last = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (view.shape[d] == 0) return {};
    offset += index[d] * view.strides[d];
    last += (view.shape[d] - 1) * view.strides[d];
  }
  if (offset < 0 || offset + count - 1 > last) return {};
  return offset;
}

/// The pieces of one lane: its own one, or every threads-th one of the tile, row by row.
std::vector<Piece> pieces(Machine& m, Warp& w, int lane, const act::CpAsync& a) {
  std::vector<Piece> list;
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.dst.smem)];
  const ir::TensorView& view = m.tensor(a.src.tensor);
  auto at = smem_position(m, w, lane, a.dst, {a.rows, a.columns});
  if (!at) return list;
  if (view.strides.back() != 1) {
    m.fail(Rule::sim_align, w.site,
           fmt::format("cp_async moves neighbours, and the last stride of {} is {}",
                       m.code().tensors[static_cast<std::size_t>(a.src.tensor)].decl->name, view.strides.back()));
    return list;
  }
  std::vector<std::int64_t> index = indices(w, lane, a.src.index);
  const bool alone = a.where.has_value(), wanted = alone && value_of(w, *a.where, lane).i != 0;
  std::int64_t per_piece = a.piece * 8 / smem.tile.bits, per_row = a.columns / per_piece;
  std::int64_t threads = std::int64_t{w.code.warps} * kLanes;
  std::int64_t first = alone ? 0 : std::int64_t{w.index} * kLanes + lane;
  for (std::int64_t i = first; i < a.rows * per_row; i += threads) {
    std::int64_t row = i / per_row, column = i % per_row * per_piece;
    std::vector<std::int64_t> element = index;
    element.back() += column;
    if (element.size() > 1) element[element.size() - 2] += row;
    Piece piece{smem_byte(smem, {at->copy, at->row + row, at->column + column})};
    std::optional<std::int64_t> offset;
    if (!alone) offset = tensor_offset(view, element);
    if (wanted) offset = place_of_piece(view, element, per_piece);
    if (wanted && !offset) {
      m.fail(Rule::out_of_bounds, w.site,
             fmt::format("{} copies {} elements from {}[{}] on; its shape is [{}]",
                         describe_thread(m, w.block, w.first_thread + lane), per_piece,
                         m.code().tensors[static_cast<std::size_t>(a.src.tensor)].decl->name, fmt::join(element, ", "),
                         fmt::join(view.shape, ", ")));
      return {};
    }
    if (offset) piece.from = *offset * ir::dtype_bits(view.type) / 8;
    if (piece.to % a.piece != 0 || (offset && piece.from % a.piece != 0)) {
      m.fail(Rule::sim_align, w.site,
             fmt::format(
                 "a piece of cp_async goes from byte {} of {} to byte {} of shared memory; both are multiples of "
                 "{}",
                 piece.from, m.code().tensors[static_cast<std::size_t>(a.src.tensor)].decl->name, piece.to, a.piece));
      return {};
    }
    list.push_back(piece);
  }
  return list;
}

/// The components of the lanes, made at the first copy.
void prepare(Warp& w) {
  if (!w.copies.components.empty()) return;
  for (int lane = 0; lane < kLanes; ++lane) {
    Source source{Source::Kind::copies, w.block.rank, w.first_thread + lane};
    w.copies.components.push_back(w.block.cluster->add_source(source));
    w.clock.set_copies(lane, w.copies.components.back());
  }
}

void move(Machine& m, Block& block, const act::CpAsync& a, const std::vector<Piece>& list) {
  if (block.exited) return;
  const auto* data = static_cast<const std::uint8_t*>(m.tensor(a.src.tensor).data);
  for (const Piece& piece : list) {
    std::uint8_t* to = block.smem.data() + piece.to;
    if (piece.from < 0) {
      std::memset(to, 0, static_cast<std::size_t>(a.piece));
    } else {
      std::memcpy(to, data + piece.from, static_cast<std::size_t>(a.piece));
    }
  }
}

/// When the warp's part of a copy is done.
std::int64_t transfer(Machine& m, Warp& w, const act::CpAsync& a) {
  std::int64_t bits = m.code().smem[static_cast<std::size_t>(a.dst.smem)].tile.bits;
  std::int64_t bytes = a.where ? a.piece * kLanes : a.rows * a.columns * bits / 8 / w.code.warps;
  w.time += m.latency(bytes / (a.piece * kLanes) * m.costs().instruction);
  auto place = static_cast<std::uint64_t>(w.index);
  for (std::int64_t index : indices(w, 0, a.src.index)) place = mix_place(place, index);
  m.use(w.block.sm, Unit::smem, w.time, static_cast<double>(bytes) / m.costs().smem_bytes);
  std::int64_t done = m.move(w.block.sm, traffic_key(a.src.tensor, place), static_cast<double>(bytes), w.time, false) +
                      m.latency(m.costs().global_load);
  m.trace_copy(w.time, done);
  return done;
}

}  // namespace

Step run(Machine& m, Warp& w, const act::CpAsync& a) {
  if (!whole_warp(m, w)) return Step::next;
  prepare(w);
  w.copies.last_site = w.site;
  Clock group = w.copies.used = w.copies.committed() + 1;
  auto all = std::make_shared<std::vector<Piece>>();
  for (int lane = 0; lane < kLanes && m.checks(); ++lane) {
    Component component = w.copies.components[static_cast<std::size_t>(lane)];
    for (const Piece& piece : pieces(m, w, lane, a)) {
      if (piece.from >= 0)
        lane_access_as(m, w, lane, component, group, {nullptr, a.src.tensor, piece.from, a.piece}, Kind::read);
      lane_access_as(m, w, lane, component, group, {&w.block, a.dst.smem, piece.to, a.piece}, Kind::write);
      all->push_back(piece);
    }
  }
  w.clock.tick();
  std::int64_t done = transfer(m, w, a);
  ++w.copies.under_way.back();
  m.at(done, [&m, &w, &a, all, group] {
    move(m, w.block, a, *all);
    --w.copies.under_way[group - 1];
    if (w.status == Status::copy_groups) m.wake(w, m.now());
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::CpCommit&) {
  if (whole_warp(m, w)) w.copies.under_way.push_back(0);
  return Step::next;
}

/// Looked at again whenever a copy of the warp is done.
Step run(Machine& m, Warp& w, const act::CpWait& a) {
  if (!whole_warp(m, w)) return Step::next;
  Clock committed = w.copies.committed(), pending = static_cast<Clock>(a.pending);
  Clock target = committed > pending ? committed - pending : 0;
  auto begin = w.copies.under_way.begin();
  if (std::any_of(begin, begin + target, [](int under_way) { return under_way > 0; })) {
    w.status = Status::copy_groups;
    --w.pc;  // blocked moves on; this statement is looked at again
    return Step::blocked;
  }
  for (int lane = 0; lane < kLanes && !w.copies.components.empty(); ++lane) w.clock.learn_copies(lane, target);
  return Step::next;
}

}  // namespace plait::sim
