#include "pipeline/rings.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/row_gather.h"
#include "ir/visit.h"

namespace plait::pipeline {

using namespace ir;

namespace {

const std::vector<std::size_t> kNone;

}  // namespace

std::int64_t Ring::slot_bytes() const {
  constexpr std::int64_t alignment = 1024;
  std::int64_t bytes = 0;
  for (const Buffer& buffer : buffers) {
    std::int64_t bits = dtype_bits(buffer->type);
    for (std::int64_t extent : static_shape(*buffer)) bits *= extent;
    bytes += (bits / 8 + alignment - 1) / alignment * alignment;
  }
  return bytes;
}

namespace {

std::optional<place::CopyWay> way_of(const Stmt& stmt, const place::Placed& placed) {
  auto it = placed.atoms.find(&stmt);
  if (it == placed.atoms.end()) return {};
  const auto* copy = std::get_if<place::CopyAtom>(&it->second);
  return copy == nullptr ? std::nullopt : std::optional(copy->way);
}

}  // namespace

bool is_tma_load(const Stmt& stmt, const place::Placed& placed) {
  return way_of(stmt, placed) == place::CopyWay::tma_load;
}

namespace {

/// Whether the threads that read a tile load it.
bool is_own_load(const Stmt& stmt, const place::Placed& placed) {
  return way_of(stmt, placed) == place::CopyWay::cp_async_load;
}

}  // namespace

bool is_gather(const Stmt& stmt, const place::Placed& placed) {
  return way_of(stmt, placed) == place::CopyWay::gather_load;
}

bool is_load(const Stmt& stmt, const place::Placed& placed) {
  return is_tma_load(stmt, placed) || is_gather(stmt, placed) || is_own_load(stmt, placed);
}

/// Finds them body by body: a tile is loaded and read in one body, so that both roles count the same items.
class RingFinder {
 public:
  RingFinder(const place::Placed& placed, const plan::Schedule& schedule)
      : placed_(placed), schedule_(schedule), names_(graph::name_statements(placed.kernel)) {}

  Rings run() {
    body(placed_.kernel.body, nullptr);
    note(placed_.kernel.body);
    check_outside(placed_.kernel.body, {});
    return std::move(rings_);
  }
  const std::map<const Stmt*, std::string>& obstacles() const { return obstacles_; }

 private:
  struct Load {
    StmtRef copy;
    Buffer buffer;
    std::vector<const Stmt*> readers;
  };

  void body(const Body& body, const plan::LoopPlan* plan);
  bool loads_inside(const Stmt& stmt, const Buffer& buffer) const;
  void users(const Body& body, Load& load);
  void refuse(const Stmt& copy, const std::string& why) { obstacles_.try_emplace(&copy, why); }
  void join(const std::vector<Load>& loads, const plan::LoopPlan* plan);
  std::optional<std::size_t> existing(const std::vector<Load>& loads);
  void note(const Body& body);
  void check_outside(const Body& body, std::set<Buffer> seen);

  const place::Placed& placed_;
  const plan::Schedule& schedule_;
  graph::Names names_;
  Rings rings_;
  std::map<const Stmt*, std::string> obstacles_;
};

/// Whether a body of the statement loads the tile: its items would lie among those of what loads it around it.
bool RingFinder::loads_inside(const Stmt& stmt, const Buffer& buffer) const {
  bool found = false;
  for_each_body_of(stmt, [&](const Body& body) {
    walk(body,
         [&](const Stmt& inner) { found = found || (is_load(inner, placed_) && graph::loaded_tile(inner) == buffer); });
  });
  return found;
}

/// Statements behind the load in its body that use the tile.
void RingFinder::users(const Body& body, Load& load) {
  bool behind = false;
  for (const StmtRef& stmt : body) {
    if (stmt == load.copy) {
      behind = true;
      continue;
    }
    Touched use = touched(*stmt);
    if (!use.reads.contains(load.buffer) && !use.writes.contains(load.buffer)) continue;
    if (behind && !is_load(*stmt, placed_) && !loads_inside(*stmt, load.buffer)) {
      load.readers.push_back(stmt.get());
    } else {
      refuse(*load.copy, fmt::format("`{}` is used at line {} and loaded {}", load.buffer->name, stmt->loc.line,
                                     behind ? "again" : "behind"));
    }
  }
  // Slots are given back by who reads them.
  if (load.readers.empty()) refuse(*load.copy, fmt::format("nothing behind it reads `{}`", load.buffer->name));
}

void RingFinder::body(const Body& body, const plan::LoopPlan* plan) {
  std::vector<Load> loads;
  for (const StmtRef& stmt : body) {
    if (is_load(*stmt, placed_)) {
      loads.push_back({stmt, graph::loaded_tile(*stmt), {}});
      users(body, loads.back());
    }
    const auto* loop = std::get_if<For>(&stmt->node);
    const plan::LoopPlan* inner = loop == nullptr ? nullptr : schedule_.find(names_.at(stmt.get()));
    if (loop != nullptr && loop->kind == LoopKind::parallel) continue;
    for_each_body_of(*stmt, [&](const Body& b) { this->body(b, inner != nullptr ? inner : plan); });
  }
  while (!loads.empty()) {
    std::vector<Load> together, rest;
    const auto way = way_of(*loads.front().copy, placed_);
    for (Load& load : loads) {
      bool same = load.readers == loads.front().readers && way_of(*load.copy, placed_) == way;
      (same || &load == &loads.front() ? together : rest).push_back(load);
    }
    join(together, plan);
    loads = std::move(rest);
  }
}

/// The ring that these buffers have from another loop.
std::optional<std::size_t> RingFinder::existing(const std::vector<Load>& loads) {
  std::optional<std::size_t> found;
  for (const Load& load : loads) {
    auto it = rings_.of_.find(load.buffer.get());
    if (it != rings_.of_.end()) found = it->second;
  }
  if (!found) return found;
  const std::vector<Buffer>& buffers = rings_.rings_[*found].buffers;
  bool same = buffers.size() == loads.size();
  const bool own = rings_.rings_[*found].own, gathered = rings_.rings_[*found].gathered;
  for (const Load& load : loads) {
    same = same && std::find(buffers.begin(), buffers.end(), load.buffer) != buffers.end() &&
           is_own_load(*load.copy, placed_) == own && is_gather(*load.copy, placed_) == gathered;
  }
  for (const Load& load : loads) {
    if (!same) refuse(*load.copy, fmt::format("`{}` is loaded with other tiles elsewhere", load.buffer->name));
  }
  return found;
}

void RingFinder::join(const std::vector<Load>& loads, const plan::LoopPlan* plan) {
  std::optional<std::size_t> ring = existing(loads);
  std::int64_t depth = 1;
  bool planned = false;
  for (const Load& load : loads) {
    if (plan == nullptr || plan->find(names_.at(load.copy.get())) == nullptr) continue;
    planned = true;
    depth = std::max<std::int64_t>(depth, plan->copies(load.buffer->name));
  }
  if (!ring) {
    ring = rings_.rings_.size();
    const Stmt& first = *loads.front().copy;
    Ring made{"", {}, depth, 1, planned, is_own_load(first, placed_), is_gather(first, placed_)};
    for (const Load& load : loads) {
      if (std::find(made.buffers.begin(), made.buffers.end(), load.buffer) == made.buffers.end())
        made.buffers.push_back(load.buffer);
      rings_.of_[load.buffer.get()] = *ring;
    }
    made.name = loads.size() == 1 ? loads.front().buffer->name + "_ring" : "ring";
    rings_.rings_.push_back(std::move(made));
  }
  Ring& known = rings_.rings_[*ring];
  known.depth = std::max(known.depth, depth);
  known.planned = known.planned || planned;
  for (const Load& load : loads) rings_.filled_[load.copy.get()] = *ring;
}

void RingFinder::note(const Body& body) {
  for (const StmtRef& stmt : body) {
    auto rings = [&](const std::set<Buffer>& buffers) {
      std::set<std::size_t> found;
      for (const Buffer& buffer : buffers) {
        auto it = rings_.of_.find(buffer.get());
        if (it != rings_.of_.end()) found.insert(it->second);
      }
      return std::vector<std::size_t>(found.begin(), found.end());
    };
    Touched use = touched(*stmt);
    if (!is_load(*stmt, placed_)) use.reads.insert(use.writes.begin(), use.writes.end());
    rings_.reads_[stmt.get()] = rings(use.reads);
    std::set<std::size_t> fills;
    if (auto own = rings_.filled_by(*stmt)) fills.insert(*own);
    for_each_body_of(*stmt, [&](const Body& inner) {
      note(inner);
      for (const StmtRef& s : inner) {
        const auto& below = rings_.filled_within(*s);
        fills.insert(below.begin(), below.end());
      }
    });
    rings_.fills_[stmt.get()].assign(fills.begin(), fills.end());
  }
}

/// A user must have the load before it, in its own body or one around it.
void RingFinder::check_outside(const Body& body, std::set<Buffer> seen) {
  for (const StmtRef& stmt : body) {
    auto filled = rings_.filled_.find(stmt.get());
    if (filled != rings_.filled_.end()) {
      seen.insert(graph::loaded_tile(*stmt));
      continue;
    }
    for_each_body_of(*stmt, [&](const Body& b) { check_outside(b, seen); });
    Touched use = touched_alone(*stmt);  // conditions and bounds, too
    use.reads.insert(use.writes.begin(), use.writes.end());
    for (const auto& [copy, ring] : rings_.filled_) {
      const Buffer buffer = graph::loaded_tile(*copy);
      if (use.reads.contains(buffer) && !seen.contains(buffer))
        refuse(*copy,
               fmt::format("`{}` is used at line {}, outside of the body that loads it", buffer->name, stmt->loc.line));
    }
  }
}

Result<Rings> Rings::find(const place::Placed& placed, const plan::Schedule& schedule) {
  RingFinder finder(placed, schedule);
  Rings rings = finder.run();
  Diagnostics diags;
  for (const auto& [copy, why] : finder.obstacles()) diags.error(Rule::pipeline_ring, copy->loc, why);
  if (diags.has_errors()) return diags;
  return rings;
}

std::map<const Stmt*, std::string> Rings::obstacles(const place::Placed& placed, const plan::Schedule& schedule) {
  RingFinder finder(placed, schedule);
  finder.run();
  return finder.obstacles();
}

std::optional<std::size_t> Rings::filled_by(const Stmt& stmt) const {
  auto it = filled_.find(&stmt);
  if (it == filled_.end()) return {};
  return it->second;
}

std::optional<std::size_t> Rings::filled_by_loader(const Stmt& stmt) const {
  auto ring = filled_by(stmt);
  return ring && !rings_[*ring].own ? ring : std::nullopt;
}

std::optional<std::size_t> Rings::filled_by_reader(const Stmt& stmt) const {
  auto ring = filled_by(stmt);
  return ring && rings_[*ring].own ? ring : std::nullopt;
}

bool Rings::all_own() const {
  return std::all_of(rings_.begin(), rings_.end(), [](const Ring& ring) { return ring.own; });
}

bool Rings::any_gathered() const {
  return std::any_of(rings_.begin(), rings_.end(), [](const Ring& ring) { return ring.gathered; });
}

const std::vector<std::size_t>& Rings::read_by(const Stmt& stmt) const {
  auto it = reads_.find(&stmt);
  return it == reads_.end() ? kNone : it->second;
}

bool Rings::reads(const Stmt& stmt, std::size_t ring) const {
  const std::vector<std::size_t>& rings = read_by(stmt);
  return std::find(rings.begin(), rings.end(), ring) != rings.end();
}

const std::vector<std::size_t>& Rings::filled_within(const Stmt& stmt) const {
  auto it = fills_.find(&stmt);
  return it == fills_.end() ? kNone : it->second;
}

bool Rings::loads_within(const Stmt& stmt) const {
  const std::vector<std::size_t>& rings = filled_within(stmt);
  return std::any_of(rings.begin(), rings.end(), [&](std::size_t ring) { return !rings_[ring].own; });
}

std::optional<std::size_t> Rings::ring_of(const Buffer& buffer) const {
  auto it = of_.find(buffer.get());
  if (it == of_.end()) return {};
  return it->second;
}

}  // namespace plait::pipeline
