#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "runtime/extent.h"
#include "sim/copy.h"
#include "sim/mbarrier.h"

namespace plait::sim {

BulkGroups& bulk_groups(Warp& w, int lane) {
  auto [entry, added] = w.bulk.try_emplace(lane);
  if (added) {
    Cluster& cluster = *w.block.cluster;
    entry->second.read = cluster.add_source({Source::Kind::bulk_read, w.block.rank, w.first_thread + lane});
    entry->second.write = cluster.add_source({Source::Kind::bulk_write, w.block.rank, w.first_thread + lane});
  }
  return entry->second;
}

namespace {

/// Lets a warp look again whether the group that it waits for is done.
void look_again(Machine& m, Warp& w) {
  if (w.status == Status::bulk_groups) m.wake(w, m.now());
}

/// One bulk copy of neighbouring bytes.
struct Span {
  Bytes shared, global;
};

std::optional<Span> span_of(Machine& m, const Warp& w, int lane, const SmemPlace& tile, const TensorPlace& tensor,
                            std::int64_t count) {
  auto position = smem_position(m, w, lane, tile, {1, 1});
  if (!position) return {};
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(tile.smem)];
  const ir::TensorView& view = m.tensor(tensor.tensor);
  std::string who = fmt::format("{} by {}", m.site(w.site).word, describe_thread(m, w.block, w.first_thread + lane));
  auto offset = tensor_offset(view, indices(w, lane, tensor.index));
  std::int64_t from = offset.value_or(0) * ir::dtype_bits(view.type) / 8;
  std::int64_t begin = smem_byte(smem, *position);
  bool inside = count >= 0 && begin + count <= smem.base + smem.tile.bytes();
  if (!inside || !offset || from + count > runtime::span_bytes(view).value_or(0)) {
    m.fail(Rule::sim_bounds, w.site,
           fmt::format("{} moves {} bytes, which leave {}", who, count,
                       inside ? m.code().tensors[static_cast<std::size_t>(tensor.tensor)].decl->name
                              : smem.decl->buffer->name));
    return {};
  }
  if (count % 16 != 0 || begin % 16 != 0 || from % 16 != 0) {
    m.fail(
        Rule::sim_align, w.site,
        fmt::format("{} moves {} bytes between byte {} of the tensor and byte {} of shared memory; all are multiples "
                    "of 16",
                    who, count, from, begin));
    return {};
  }
  return Span{{nullptr, tile.smem, begin, count}, {nullptr, tensor.tensor, from, count}};
}

std::int64_t transfer(Machine& m, const Warp& w, const Bytes& global, bool write) {
  auto count = static_cast<double>(global.count);
  std::uint64_t key = traffic_key(global.buffer, static_cast<std::uint64_t>(global.begin));
  std::int64_t issued = m.use(w.block.sm, Unit::tma, w.time, count / m.costs().tma_bytes);
  std::int64_t moved = m.move(w.block.sm, key, count, w.time, write);
  std::int64_t done = std::max(issued, moved) + m.latency(write ? m.costs().tma_store : m.costs().tma_load);
  m.trace_copy(w.time, done);
  return done;
}

std::uint8_t* global_bytes(Machine& m, const Bytes& bytes) {
  return static_cast<std::uint8_t*>(m.tensor(bytes.buffer).data) + bytes.begin;
}

void land(Machine& m, const Issue& issue, Span span, Block& block, int mbar_number) {
  --block.loads_in_flight;
  if (block.exited) return;
  Mbarrier& mbar = block.mbars[static_cast<std::size_t>(mbar_number)];
  mbar.last_load = static_cast<Clock>(mbar.phase + 1);
  AsyncAccess by{issue, mbar.memory, mbar.last_load};
  span.shared.block = &block;
  async_access(m, by, span.global, Kind::read);
  async_access(m, by, span.shared, Kind::write);
  if (m.checks()) {
    std::memcpy(block.smem.data() + span.shared.begin, global_bytes(m, span.global),
                static_cast<std::size_t>(span.shared.count));
  }
  m.use(block.sm, Unit::smem, m.now(), static_cast<double>(span.shared.count) / m.costs().smem_bytes);
  complete_bytes(m, block, mbar_number, {block, issue.thread, issue.site, issue.view}, span.shared.count, m.now());
}

void load(Machine& m, Warp& w, int lane, const act::BulkLoad& a) {
  int mbar = mbar_number(m, w, lane, a.mbar);
  auto span = span_of(m, w, lane, a.dst, a.src, value_of(w, a.bytes, lane).i);
  if (mbar < 0 || !span) return;
  auto issue = std::make_shared<const Issue>(
      Issue{w.clock.release(LaneMask{1} << lane), w.site, &w.block, w.first_thread + lane});
  if (!ready_to_use(m, w.block, mbar, {w.block, issue->thread, w.site, issue->view}, true)) return;
  ++w.block.loads_in_flight;
  ++w.block.mbars[static_cast<std::size_t>(mbar)].in_flight;
  w.block.mbars[static_cast<std::size_t>(mbar)].load_site = w.site;
  m.at(transfer(m, w, span->global, false),
       [&m, &w, issue, span = *span, mbar] { land(m, *issue, span, w.block, mbar); });
}

void store(Machine& m, Warp& w, int lane, const act::BulkStore& a) {
  auto span = span_of(m, w, lane, a.src, a.dst, value_of(w, a.bytes, lane).i);
  if (!span) return;
  span->shared.block = &w.block;
  auto issue = std::make_shared<const Issue>(
      Issue{w.clock.release(LaneMask{1} << lane), w.site, &w.block, w.first_thread + lane});
  BulkGroups& groups = bulk_groups(w, lane);
  groups.last_site = w.site;
  ++groups.groups.back().reads;
  ++groups.groups.back().writes;
  Clock group = groups.committed() + 1;
  auto data = std::make_shared<std::vector<std::uint8_t>>();
  std::int64_t done = transfer(m, w, span->global, true);
  m.at(w.time + (done - w.time) / 2, [&m, &w, lane, issue, data, span = *span, group, component = groups.read] {
    if (!w.block.exited && m.checks()) {
      async_access(m, {*issue, component, group}, span.shared, Kind::read);
      auto from = w.block.smem.begin() + span.shared.begin;
      data->assign(from, from + span.shared.count);
    }
    finish_bulk_read(m, w, lane, group);
  });
  m.at(done, [&m, &w, lane, issue, data, span = *span, group, component = groups.write] {
    if (!data->empty()) {
      async_access(m, {*issue, component, group}, span.global, Kind::write);
      std::memcpy(global_bytes(m, span.global), data->data(), data->size());
    }
    finish_bulk_write(m, w, lane, group);
  });
}

template <typename Fn>
void for_each_lane(const Warp& w, Fn fn) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (has(w.mask, lane)) fn(lane);
  }
}

/// Whether the groups up to `group` have read their sources (and written, unless `read`).
bool are_done(const BulkGroups& groups, Clock group, bool read) {
  return std::all_of(groups.groups.begin(), groups.groups.begin() + group,
                     [&](const BulkGroups::Group& g) { return g.reads == 0 && (read || g.writes == 0); });
}

}  // namespace

void finish_bulk_read(Machine& m, Warp& w, int lane, Clock group) {
  --bulk_groups(w, lane).groups[group - 1].reads;
  look_again(m, w);
}

void finish_bulk_write(Machine& m, Warp& w, int lane, Clock group) {
  --bulk_groups(w, lane).groups[group - 1].writes;
  look_again(m, w);
}

Step run(Machine& m, Warp& w, const act::BulkLoad& a) {
  w.time += m.latency(m.costs().tma_issue);
  for_each_lane(w, [&](int lane) { load(m, w, lane, a); });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::BulkStore& a) {
  w.time += m.latency(m.costs().tma_issue);
  for_each_lane(w, [&](int lane) { store(m, w, lane, a); });
  return Step::next;
}

Step run(Machine&, Warp& w, const act::BulkCommit&) {
  for_each_lane(w, [&](int lane) { bulk_groups(w, lane).groups.emplace_back(); });
  return Step::next;
}

/// Looked at again whenever a store of the warp moves on.
Step run(Machine&, Warp& w, const act::BulkWait& a) {
  bool done = true;
  for_each_lane(w, [&](int lane) {
    BulkGroups& groups = bulk_groups(w, lane);
    Clock committed = groups.committed(), pending = static_cast<Clock>(a.pending);
    Clock target = committed > pending ? committed - pending : 0;
    if (!are_done(groups, target, a.read)) {
      done = false;
      w.wait_lane = lane;
      return;
    }
    if (target == 0) return;
    w.clock.learn(lane, groups.read, target);
    if (!a.read) w.clock.learn(lane, groups.write, target);
  });
  if (done) return Step::next;
  w.status = Status::bulk_groups;
  --w.pc;  // blocked moves on; this statement is looked at again
  return Step::blocked;
}

}  // namespace plait::sim
