#include "roles/under_way.h"

#include <algorithm>

namespace plait::roles {
namespace {

constexpr std::size_t kMaxGroups = 64;

}  // namespace

bool UnderWay::locked(const ir::BufferDecl* fragment) const {
  return open.contains(fragment) ||
         std::any_of(groups.begin(), groups.end(), [&](const Fragments& g) { return g.contains(fragment); });
}

Fragments UnderWay::locked() const {
  Fragments all = open;
  for (const Fragments& group : groups) all.insert(group.begin(), group.end());
  return all;
}

void UnderWay::commit() {
  groups.push_back(std::move(open));
  open.clear();
  if (groups.size() <= kMaxGroups) return;
  groups[1].insert(groups[0].begin(), groups[0].end());
  groups.pop_front();
}

void UnderWay::await(int pending) {
  while (groups.size() > static_cast<std::size_t>(std::max(pending, 0))) groups.pop_front();
}

void UnderWay::join(const UnderWay& other) {
  open.insert(other.open.begin(), other.open.end());
  while (groups.size() < other.groups.size()) groups.emplace_front();
  for (std::size_t i = 0; i < other.groups.size(); ++i) {
    Fragments& mine = groups[groups.size() - 1 - i];
    const Fragments& theirs = other.groups[other.groups.size() - 1 - i];
    mine.insert(theirs.begin(), theirs.end());
  }
}

}  // namespace plait::roles
