#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "sim/copy.h"
#include "sim/exit.h"
#include "sim/mbarrier.h"

namespace plait::sim {
namespace {

/// The box of a map at a place of its tensor.
class Box {
 public:
  Box(const MapCode& map, const ir::TensorView& view, std::vector<std::int64_t> at)
      : box_(map.box), view_(view), at_(std::move(at)) {}

  /// Elements [first, end) of an inner row lie in the tensor, from element `offset` of it on; none outside.
  struct Row {
    std::int64_t first = 0, end = 0, offset = 0;
  };
  Row row(std::int64_t number) const {
    std::size_t rank = view_.shape.size();
    std::int64_t offset = 0;
    for (std::size_t d = rank - 1; d-- > 0;) {
      std::int64_t index = at_[d] + number % box_.extents[d];
      number /= box_.extents[d];
      if (index < 0 || index >= view_.shape[d]) return {};
      offset += index * view_.strides[d];
    }
    std::int64_t begin = at_[rank - 1];
    std::int64_t first = std::clamp<std::int64_t>(-begin, 0, box_.extents.back());
    std::int64_t end = std::clamp<std::int64_t>(view_.shape[rank - 1] - begin, first, box_.extents.back());
    return {first, end, offset + begin};
  }

 private:
  const layout::TmaBox& box_;
  const ir::TensorView& view_;
  std::vector<std::int64_t> at_;
};

/// A box copy under way.
struct BoxCopy {
  Issue issue;
  const MapCode* map = nullptr;
  const SmemCode* smem = nullptr;
  int smem_number = 0;
  layout::SmemTile::Position place{};
  std::vector<std::int64_t> at;
};

bool boxes_fit(Machine& m, const Warp& w, const BoxCopy& copy) {
  auto error = layout::box_place_error(copy.map->box, copy.smem->tile, copy.place.row, copy.place.column);
  if (!error) return true;
  m.fail(Rule::sim_align, w.site,
         fmt::format("the box of {} at {} {}", copy.map->decl->name, copy.smem->decl->buffer->name, *error));
  return false;
}

std::optional<BoxCopy> box_copy(Machine& m, Warp& w, int lane, const SmemPlace& place, int map,
                                const std::vector<Reg>& at) {
  BoxCopy copy;
  copy.map = &m.code().maps[static_cast<std::size_t>(map)];
  copy.smem = &m.code().smem[static_cast<std::size_t>(place.smem)];
  copy.smem_number = place.smem;
  copy.at = indices(w, lane, at);
  auto position = smem_position(m, w, lane, place, {copy.map->box.rows(), copy.map->box.extents.back()});
  if (!position) return {};
  copy.place = *position;
  if (!boxes_fit(m, w, copy)) return {};
  copy.issue = {w.clock.release(LaneMask{1} << lane), w.site, &w.block, w.first_thread + lane};
  return copy;
}

/// Checks the tensor's part of a run; the run's bytes that lie outside of the tensor take no part.
void access_tensor(Machine& m, const AsyncAccess& by, const MapCode& map, const Box::Row& row, Kind kind) {
  std::int64_t bits = map.box.bits;
  if (row.first >= row.end) return;
  Bytes bytes{nullptr, map.tensor, (row.offset + row.first) * bits / 8, (row.end - row.first) * bits / 8};
  async_access(m, by, bytes, kind);
}

/// The bytes of a box go to a block's shared memory.
void write_tile(Machine& m, const BoxCopy& copy, Block& target, const AsyncAccess& by) {
  const ir::TensorView view = ir::byte_view(m.tensor(copy.map->tensor));
  Box box(*copy.map, view, copy.at);
  const auto* data = static_cast<const std::uint8_t*>(view.data);
  std::int64_t bits = copy.map->box.bits, inner = copy.map->box.extents.back();
  for_each_run(*copy.smem, copy.place, copy.map->box.rows(), inner,
               [&](std::int64_t begin, std::int64_t bytes, std::int64_t number, std::int64_t column) {
                 Box::Row row = box.row(number);
                 if (column == 0) access_tensor(m, by, *copy.map, row, Kind::read);
                 async_access(m, by, {&target, copy.smem_number, begin, bytes}, Kind::write);
                 std::uint8_t* to = target.smem.data() + begin;
                 std::memset(to, 0, static_cast<std::size_t>(bytes));
                 std::int64_t length = bytes * 8 / bits;
                 std::int64_t first = std::clamp(row.first - column, std::int64_t{0}, length);
                 std::int64_t end = std::clamp(row.end - column, first, length);
                 std::memcpy(to + first * bits / 8, data + (row.offset + column + first) * bits / 8,
                             static_cast<std::size_t>((end - first) * bits / 8));
               });
}

/// A load arrives in one block.
void land(Machine& m, const BoxCopy& copy, Block& target, int mbar_number) {
  --target.loads_in_flight;
  if (target.exited) return;
  Mbarrier& mbar = target.mbars[static_cast<std::size_t>(mbar_number)];
  mbar.last_load = static_cast<Clock>(mbar.phase + 1);
  if (m.checks()) write_tile(m, copy, target, {copy.issue, mbar.memory, mbar.last_load});
  m.use(target.sm, Unit::smem, m.now(), static_cast<double>(copy.map->box.bytes()) / m.costs().smem_bytes);
  User user{*copy.issue.block, copy.issue.thread, copy.issue.site, copy.issue.view};
  complete_bytes(m, target, mbar_number, user, copy.map->box.bytes(), m.now());
}

/// The blocks of the cluster that a load writes to; none after a report.
std::vector<Block*> targets(Machine& m, Warp& w, int lane, Reg multicast) {
  if (!multicast.valid()) return {&w.block};
  std::vector<Block*> blocks;
  auto mask = static_cast<std::uint64_t>(value_of(w, multicast, lane).i) & 0xffffU;
  if (mask == 0 || mask >> m.cluster_size() != 0) {
    m.fail(Rule::sim_bounds, w.site,
           fmt::format("the multicast mask {:#x} names blocks that a cluster of {} has not", mask, m.cluster_size()));
    return {};
  }
  for (int rank = 0; rank < m.cluster_size(); ++rank) {
    if ((mask >> rank & 1U) != 0) blocks.push_back(w.block.cluster->blocks[static_cast<std::size_t>(rank)].get());
  }
  return blocks;
}

/// When a copy that is issued now has passed through the units that move it.
std::int64_t transfer(Machine& m, const Warp& w, const BoxCopy& copy, bool write) {
  auto bytes = static_cast<double>(copy.map->box.bytes());
  std::uint64_t place = 0;
  for (std::int64_t index : copy.at) place = mix_place(place, index);
  std::int64_t issued = m.use(w.block.sm, Unit::tma, w.time, bytes / m.costs().tma_bytes);
  std::int64_t moved = m.move(w.block.sm, traffic_key(copy.map->tensor, place), bytes, w.time, write);
  std::int64_t done = std::max(issued, moved) + m.latency(write ? m.costs().tma_store : m.costs().tma_load);
  m.trace_copy(w.time, done);
  return done;
}

void load(Machine& m, Warp& w, int lane, const act::TmaLoad& a) {
  int mbar = mbar_number(m, w, lane, a.mbar);
  if (mbar < 0) return;
  auto made = box_copy(m, w, lane, a.dst, a.map, a.at);
  if (!made) return;
  auto copy = std::make_shared<const BoxCopy>(std::move(*made));
  std::int64_t done = transfer(m, w, *copy, false);
  for (Block* target : targets(m, w, lane, a.multicast)) {
    if (target != &w.block && !touch_remote(m, w, *target)) continue;
    if (!ready_to_use(m, *target, mbar, {w.block, copy->issue.thread, w.site, copy->issue.view}, true)) continue;
    ++target->loads_in_flight;
    ++target->mbars[static_cast<std::size_t>(mbar)].in_flight;
    target->mbars[static_cast<std::size_t>(mbar)].load_site = w.site;
    m.at(done, [&m, copy, target, mbar] { land(m, *copy, *target, mbar); });
  }
}

/// The bytes of a box on their way from shared memory to the tensor.
struct BoxBytes {
  std::vector<std::uint8_t> data;
};

void read_box(Machine& m, const BoxCopy& copy, const AsyncAccess& by, BoxBytes& bytes) {
  Block& block = *copy.issue.block;
  m.use(block.sm, Unit::smem, m.now(), static_cast<double>(copy.map->box.bytes()) / m.costs().smem_bytes);
  if (block.exited || !m.checks()) return;
  std::int64_t inner_bytes = copy.map->box.inner_bytes(), bits = copy.map->box.bits;
  bytes.data.resize(static_cast<std::size_t>(copy.map->box.bytes()));
  for_each_run(*copy.smem, copy.place, copy.map->box.rows(), copy.map->box.extents.back(),
               [&](std::int64_t begin, std::int64_t count, std::int64_t row, std::int64_t column) {
                 async_access(m, by, {&block, copy.smem_number, begin, count}, Kind::read);
                 std::memcpy(bytes.data.data() + row * inner_bytes + column * bits / 8, block.smem.data() + begin,
                             static_cast<std::size_t>(count));
               });
}

void write_box(Machine& m, const BoxCopy& copy, const AsyncAccess& by, const BoxBytes& bytes) {
  if (bytes.data.empty()) return;
  const ir::TensorView view = ir::byte_view(m.tensor(copy.map->tensor));
  Box box(*copy.map, view, copy.at);
  std::int64_t bits = copy.map->box.bits;
  for (std::int64_t number = 0; number < copy.map->box.rows(); ++number) {
    Box::Row row = box.row(number);
    access_tensor(m, by, *copy.map, row, Kind::write);
    std::memcpy(static_cast<std::uint8_t*>(view.data) + (row.offset + row.first) * bits / 8,
                bytes.data.data() + number * copy.map->box.inner_bytes() + row.first * bits / 8,
                static_cast<std::size_t>((row.end - row.first) * bits / 8));
  }
}

void store(Machine& m, Warp& w, int lane, const act::TmaStore& a) {
  auto made = box_copy(m, w, lane, a.src, a.map, a.at);
  if (!made) return;
  BulkGroups& groups = bulk_groups(w, lane);
  groups.last_site = w.site;
  ++groups.groups.back().reads;
  ++groups.groups.back().writes;
  Clock group = groups.committed() + 1;
  auto copy = std::make_shared<const BoxCopy>(std::move(*made));
  auto bytes = std::make_shared<BoxBytes>();
  std::int64_t done = transfer(m, w, *copy, true);
  m.at(w.time + (done - w.time) / 2, [&m, &w, lane, copy, bytes, group, component = groups.read] {
    read_box(m, *copy, {copy->issue, component, group}, *bytes);
    finish_bulk_read(m, w, lane, group);
  });
  m.at(done, [&m, &w, lane, copy, bytes, group, component = groups.write] {
    write_box(m, *copy, {copy->issue, component, group}, *bytes);
    finish_bulk_write(m, w, lane, group);
  });
}

template <typename Fn>
Step for_each_lane(Machine& m, Warp& w, Fn fn) {
  w.time += m.latency(m.costs().tma_issue);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(w.mask, lane)) fn(lane);
  }
  return Step::next;
}

}  // namespace

Step run(Machine& m, Warp& w, const act::TmaLoad& a) {
  return for_each_lane(m, w, [&](int lane) { load(m, w, lane, a); });
}
Step run(Machine& m, Warp& w, const act::TmaStore& a) {
  return for_each_lane(m, w, [&](int lane) { store(m, w, lane, a); });
}
Step run(Machine&, Warp&, const act::Prefetch&) { return Step::next; }

}  // namespace plait::sim
