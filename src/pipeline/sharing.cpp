#include <fmt/format.h>

#include <algorithm>

#include "analysis/lives.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"
#include "roles/arena.h"

// Tiles that stand in the same bytes of shared memory, one after the other.
namespace plait::pipeline {

using namespace ir;

namespace {

struct Tile {
  const BufferDecl* buffer;
  roles::Smem* place;
  analysis::Life life;
  std::int64_t bytes;
};

/// Tiles that lie at one place: no two live at the same time.
using Sharers = std::vector<const Tile*>;

std::int64_t bytes_of(const Sharers& group) {
  std::int64_t bytes = 0;
  for (const Tile* tile : group) bytes = std::max(bytes, tile->bytes);
  return bytes;
}

/// As many groups as tiles live at once (intervals, in the order in which they begin); of those that are free, the one
/// that fits best.
std::vector<Sharers> groups_of(std::vector<Tile>& tiles) {
  std::stable_sort(tiles.begin(), tiles.end(),
                   [](const Tile& a, const Tile& b) { return a.life.first < b.life.first; });
  std::vector<Sharers> groups;
  for (const Tile& tile : tiles) {
    Sharers* best = nullptr;
    auto misfit = [&](const Sharers& group) { return std::abs(bytes_of(group) - tile.bytes); };
    for (Sharers& group : groups) {
      bool fits = std::none_of(group.begin(), group.end(), [&](const Tile* t) { return t->life.overlaps(tile.life); });
      if (fits && (best == nullptr || misfit(group) < misfit(*best))) best = &group;
    }
    (best != nullptr ? *best : groups.emplace_back()).push_back(&tile);
  }
  return groups;
}

}  // namespace

/// Bytes that rings take with their present depths.
std::int64_t Lowering::ring_bytes() const {
  std::int64_t bytes = 0;
  for (const Ring& ring : rings_.all()) bytes += ring.depth * ring.slot_bytes();
  return bytes;
}

/// Where a block has not enough memory, buffers that only the role that computes fills and uses get common places, as
/// far as their lives allow; with_barriers() then treats those of one place as one.
void Lowering::share_homes(std::int64_t limit) {
  if (staged_bytes_ + ring_bytes() <= limit) return;
  analysis::Lives lives(kernel_);
  std::vector<Tile> tiles;
  for (auto& [buffer, smem] : tiles_) {
    auto life = locals_.contains(buffer) ? std::nullopt : lives.of(*buffer);
    if (life) tiles.push_back({buffer, &smem, *life, roles::smem_bytes(*smem)});
  }
  for (auto& [buffer, smem] : scratch_)
    tiles.push_back({buffer, &smem, scratch_life(lives, buffer), roles::smem_bytes(*smem)});
  std::sort(tiles.begin(), tiles.end(),
            [](const Tile& a, const Tile& b) { return (*a.place)->buffer->name < (*b.place)->buffer->name; });
  std::int64_t next = 0;
  for (const Sharers& group : groups_of(tiles)) {
    if (group.size() < 2) continue;
    std::string others;
    for (const Tile* tile : group) {
      staged_bytes_ -= tile->bytes;
      *tile->place = b_.put_at(*tile->place, next);
      const BufferDecl* own = (*tile->place)->buffer.get();
      together_[own] = (*group.front()->place)->buffer.get();
      others += fmt::format("{}`{}`", others.empty() ? "" : ", ", own->name);
    }
    walk(kernel_.body, [&](const Stmt& stmt) {
      const auto* alloc = std::get_if<Alloc>(&stmt.node);
      auto is = [&](const Tile* tile) { return alloc != nullptr && tile->buffer == alloc->buffer.get(); };
      if (std::none_of(group.begin(), group.end(), is)) return;
      for (const Tile* tile : group) mates_[tile->buffer].insert(alloc->buffer);
    });
    staged_bytes_ += bytes_of(group);
    next = (next + bytes_of(group) + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
    remarks_.push_back({kernel_.loc, fmt::format("{} share {} bytes of shared memory, one after the other: a block has "
                                                 "not enough for each of them",
                                                 others, bytes_of(group))});
  }
}

/// A fragment has its copy in memory during the statements that need one.
analysis::Life Lowering::scratch_life(const analysis::Lives& lives, const BufferDecl* fragment) const {
  std::optional<analysis::Life> life;
  walk(kernel_.body, [&](const Stmt& stmt) {
    auto atom = placed_.atoms.find(&stmt);
    if (atom == placed_.atoms.end() || !std::holds_alternative<place::ThreadsAtom>(atom->second)) return;
    Touched use = touched(stmt);
    auto uses = [&](const std::set<Buffer>& list) {
      return std::any_of(list.begin(), list.end(), [&](const Buffer& b) { return b.get() == fragment; });
    };
    if (!uses(use.reads) && !uses(use.writes)) return;
    analysis::Life own = lives.of(stmt);
    life = life ? analysis::Life{std::min(life->first, own.first), std::max(life->last, own.last)} : own;
  });
  PLAIT_ASSERT(life.has_value(), "memory for a fragment that no statement needs there");
  return *life;
}

/// What else a statement touches by touching these: other tiles at their places.
Touched Lowering::with_shared(Touched use) const {
  for (auto* list : {&use.reads, &use.writes}) {
    std::set<Buffer> more;
    for (const Buffer& buffer : *list) {
      auto found = mates_.find(buffer.get());
      if (found != mates_.end()) more.insert(found->second.begin(), found->second.end());
    }
    list->insert(more.begin(), more.end());
  }
  return use;
}

}  // namespace plait::pipeline
