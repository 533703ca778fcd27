#include "sim/access.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/copy.h"

namespace plait::sim {
namespace {

/// Who made an access, in words.
std::string describe_source(const Machine& m, const Cluster& cluster, Component component) {
  const Source& source = cluster.sources[component];
  const Block& block = *cluster.blocks[static_cast<std::size_t>(source.rank)];
  switch (source.kind) {
    case Source::Kind::thread:
    case Source::Kind::copies:
    case Source::Kind::bulk_read:
    case Source::Kind::bulk_write:
      return describe_thread(m, block, source.number);
    case Source::Kind::loads:
      return "a copy that completes on " + describe_mbar(m, block, source.number);
    case Source::Kind::wgmma: {
      std::string who = describe_thread(m, block, source.number);
      return who.substr(who.find(" of ") + 4);
    }
  }
  return {};
}

/// "A_s[1, 64, 0]", "C[3, 8]"
std::string describe_bytes(const Machine& m, const Bytes& bytes, std::int64_t byte) {
  if (bytes.block == nullptr) {
    const TensorCode& tensor = m.code().tensors[static_cast<std::size_t>(bytes.buffer)];
    std::int64_t element = byte / told_bytes(tensor.view.type);
    std::vector<std::int64_t> index;
    for (std::size_t d = 0; d < tensor.view.shape.size(); ++d) {
      std::int64_t stride = tensor.view.strides[d];
      index.push_back(stride == 0 ? 0 : element / stride);
      if (stride != 0) element %= stride;
    }
    return fmt::format("{}[{}]", tensor.decl->name, fmt::join(index, ", "));
  }
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(bytes.buffer)];
  const std::string& name = smem.decl->buffer->name;
  auto at = smem.tile.position(byte - smem.base);
  if (!at) return name;
  std::vector<std::int64_t> index;
  std::int64_t copy = at->copy;
  for (auto lead = smem.lead.rbegin(); lead != smem.lead.rend(); ++lead) {
    index.insert(index.begin(), copy % *lead);
    copy /= *lead;
  }
  if (smem.has_rows) index.push_back(at->row);
  index.push_back(at->column);
  return fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

/// Reports a conflict of `who`'s access by the statement `site`.
void report(Machine& m, std::int32_t site, const std::string& who, const Bytes& bytes, Kind kind,
            const Conflict& conflict) {
  Rule rule = conflict.unwritten                  ? Rule::sim_unwritten
              : conflict.order == Order::unfenced ? Rule::sim_proxy
                                                  : Rule::sim_race;
  if (m.told(rule, site)) return;
  std::string what = describe_bytes(m, bytes, conflict.byte);
  const std::string& word = m.site(site).word;
  const char* verb = kind == Kind::write ? "writes" : kind == Kind::update ? "updates" : "reads";
  if (conflict.unwritten) {
    m.fail(rule, site, fmt::format("{} by {} reads {}, which nothing has written", word, who, what));
    return;
  }
  const Access& other = conflict.earlier;
  std::string other_word = m.site(other.site).word;
  std::string other_who = describe_source(m, m.cluster(other.cluster), other.component);
  const char* other_verb = conflict.earlier_writes ? "writes" : "reads";
  if (conflict.order == Order::unfenced) {
    Diagnostic& d =
        m.fail(Rule::sim_proxy, site,
               fmt::format("{} by {} {} {}, which {} at {} by {} {} without a fence proxy_async behind it", word, who,
                           verb, what, other_word, place_of(m, other.site), other_who, other_verb));
    m.note(d, other.site, "the access that lacks the fence");
    return;
  }
  Diagnostic& d = m.fail(Rule::sim_race, site,
                         fmt::format("{} by {} {} {}, and nothing orders that with {} at {} by {}, which {} it", word,
                                     who, verb, what, other_word, place_of(m, other.site), other_who, other_verb));
  m.note(d, other.site, "the other access");
}

bool record(Machine& m, const Bytes& bytes, Kind kind, Access access, const OrderOf& order, Conflict& conflict) {
  Shadow* shadow = bytes.block != nullptr ? &*bytes.block->shadow : m.tensor_shadow(bytes.buffer);
  if (shadow == nullptr || bytes.count == 0) return true;
  access.atomic = kind == Kind::update;
  if (kind == Kind::update && !shadow->is_written(bytes.begin)) {
    conflict.unwritten = true;
    conflict.byte = bytes.begin;
    return false;
  }
  if (kind == Kind::write || kind == Kind::update)
    return shadow->write(bytes.begin, bytes.count, access, order, conflict);
  bool fine = shadow->read(bytes.begin, bytes.count, access, order, conflict);
  return fine || (kind == Kind::fetch && conflict.unwritten);
}

}  // namespace

bool lane_access(Machine& m, Warp& w, int lane, const Bytes& bytes, Kind kind) {
  return lane_access_as(m, w, lane, w.clock.thread(lane), w.clock.now(), bytes, kind);
}

bool lane_access_as(Machine& m, Warp& w, int lane, Component component, Clock clock, const Bytes& bytes, Kind kind) {
  if (!m.checks()) return true;
  std::uint16_t cluster = w.block.cluster->id;
  auto order = [&](const Access& earlier) {
    bool seen = earlier.cluster == cluster ? w.clock.sees(lane, earlier.component, earlier.clock)
                                           : w.clock.sees(lane, earlier.cluster, earlier.component, earlier.clock);
    return seen ? Order::before : Order::racing;
  };
  Conflict conflict;
  if (record(m, bytes, kind, {component, clock, w.site, cluster}, order, conflict)) return true;
  report(m, w.site, describe_thread(m, w.block, w.first_thread + lane), bytes, kind, conflict);
  return false;
}

bool are_written(const Bytes& bytes) {
  const Shadow& shadow = *bytes.block->shadow;
  for (std::int64_t byte = bytes.begin; byte < bytes.begin + bytes.count; byte += shadow.granule()) {
    if (!shadow.is_written(byte)) return false;
  }
  return true;
}

bool async_access(Machine& m, const AsyncAccess& by, const Bytes& bytes, Kind kind) {
  if (!m.checks()) return true;
  const Cluster& cluster = *by.issue.block->cluster;
  bool generic = is_generic(cluster.sources[by.component].kind);
  auto order = [&](const Access& earlier) {
    if (earlier.cluster != cluster.id) return Order::racing;
    bool crosses = !generic && is_generic(cluster.sources[earlier.component].kind);
    const View& view = by.issue.view;
    if (crosses && view.fenced.get(earlier.component) >= earlier.clock) return Order::before;
    if (view.memory.get(earlier.component) < earlier.clock) return Order::racing;
    return crosses ? Order::unfenced : Order::before;
  };
  Conflict conflict;
  if (record(m, bytes, kind, {by.component, by.clock, by.issue.site, cluster.id}, order, conflict)) return true;
  report(m, by.issue.site, describe_thread(m, *by.issue.block, by.issue.thread), bytes, kind, conflict);
  return false;
}

// ---- Words ---------------------------------------------------------------------------------------------------------

std::string describe_thread(const Machine& m, const Block& block, int thread) {
  for (const RoleCode& role : m.code().roles) {
    int size = role.warps * kLanes, number = thread - role.first_thread;
    if (number < 0 || number >= role.replicas * size) continue;
    std::string text = fmt::format("thread {} of {}", number % size, role.name);
    if (role.replicas > 1) text += fmt::format(" replica {}", number / size);
    return block.number > 0 || m.cluster_size() > 1 ? fmt::format("{} in block {}", text, block.number) : text;
  }
  return fmt::format("thread {}", thread);
}

std::string describe_warp(const Machine& m, const Warp& w) {
  std::string text = fmt::format("warp {} of {}", w.index, w.code.name);
  if (w.code.replicas > 1) text += fmt::format(" replica {}", w.replica_number);
  return w.block.number > 0 || m.cluster_size() > 1 ? fmt::format("{} in block {}", text, w.block.number) : text;
}

std::string describe_mbar(const Machine& m, const Block& block, int number) {
  for (const MbarCode& mbar : m.code().mbars) {
    if (number < mbar.first || number >= mbar.first + mbar.decl->size) continue;
    std::string text = fmt::format("{}[{}]", mbar.decl->name, number - mbar.first);
    return m.cluster_size() > 1 ? fmt::format("{} of block {}", text, block.number) : text;
  }
  return {};
}

std::string place_of(const Machine& m, std::int32_t site) { return m.site(site).loc.str(); }

// ---- Places --------------------------------------------------------------------------------------------------------

std::optional<layout::SmemTile::Position> smem_position(Machine& m, const Warp& w, int lane, const SmemPlace& place,
                                                        layout::Coord extent) {
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(place.smem)];
  std::vector<std::int64_t> index = indices(w, lane, place.index);
  std::int64_t copy = 0;
  bool inside = true;
  for (std::size_t d = 0; d < smem.lead.size(); ++d) {
    inside = inside && index[d] >= 0 && index[d] < smem.lead[d];
    copy = copy * smem.lead[d] + index[d];
  }
  std::int64_t row = smem.has_rows ? index[index.size() - 2] : 0, column = index.back();
  inside = inside && row >= 0 && column >= 0 && row + extent.row <= smem.tile.rows &&
           column + extent.column <= smem.tile.columns;
  if (inside) return layout::SmemTile::Position{copy, row, column};
  std::string covers =
      extent == layout::Coord{1, 1} ? "" : fmt::format(" with {} x {} elements", extent.row, extent.column);
  m.fail(Rule::sim_bounds, w.site,
         fmt::format("{} by {} is at {}[{}]{}, outside of the tile", m.site(w.site).word,
                     describe_thread(m, w.block, w.first_thread + lane), smem.decl->buffer->name,
                     fmt::join(index, ", "), covers));
  return {};
}

int mbar_number(Machine& m, const Warp& w, int lane, const MbarPlace& place) {
  const MbarCode& mbar = m.code().mbars[static_cast<std::size_t>(place.mbar)];
  std::int64_t index = value_of(w, place.index, lane).i;
  if (index >= 0 && index < mbar.decl->size) return mbar.first + static_cast<int>(index);
  m.fail(Rule::sim_bounds, w.site,
         fmt::format("{} by {} names {}[{}]; there are {}", m.site(w.site).word,
                     describe_thread(m, w.block, w.first_thread + lane), mbar.decl->name, index, mbar.decl->size));
  return -1;
}

std::optional<std::int64_t> tensor_offset(const ir::TensorView& view, const std::vector<std::int64_t>& index) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    if (index[d] < 0 || index[d] >= view.shape[d]) return {};
    offset += index[d] * view.strides[d];
  }
  return offset;
}

std::vector<std::int64_t> indices(const Warp& w, int lane, const std::vector<Reg>& regs) {
  std::vector<std::int64_t> index;
  index.reserve(regs.size());
  for (Reg reg : regs) index.push_back(value_of(w, reg, lane).i);
  return index;
}

Value load_value(ir::DType type, const void* data, std::int64_t element) {
  return ir::is_float(type) ? interp::float_value(ir::load_float(type, data, element))
                            : interp::int_value(ir::load_int(type, data, element));
}

void store_value(ir::DType type, void* data, std::int64_t element, Value value) {
  if (ir::is_float(type)) {
    ir::store_float(type, data, element, value.f);
  } else {
    ir::store_int(type, data, element, value.i);
  }
}

}  // namespace plait::sim
