#pragma once

#include <deque>
#include <set>

#include "roles/program.h"

namespace plait::roles {

using Fragments = std::set<const ir::BufferDecl*>;

/// Fragments that wgmma may be working on at a place of a role.
struct UnderWay {
  Fragments open;                ///< of wgmma that is not committed
  std::deque<Fragments> groups;  ///< of committed groups, oldest first
  bool operator==(const UnderWay&) const = default;

  bool locked(const ir::BufferDecl* fragment) const;
  Fragments locked() const;
  bool idle() const { return open.empty() && groups.empty(); }
  void commit();
  void await(int pending);
  /// What either of two paths may have left; their newest groups stand for each other.
  void join(const UnderWay& other);
};

}  // namespace plait::roles
