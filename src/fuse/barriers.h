#pragma once

#include <map>
#include <set>

#include "roles/program.h"
#include "roles/verify.h"

namespace plait::fuse {

inline constexpr int kNamedBarriers = 15;  ///< 1…15; 0 is sync_threads'

/// Whether the statement is a barrier over one warp: it needs no number.
bool is_warp_barrier(const roles::StmtNode& stmt);

/// The named barriers of a program, over more than a warp. Statements whose numbers depend on the replica, or on what
/// is not known, take a run of them.
struct NamedBarriers {
  struct Run {
    int first = 0, last = 0;
    int count() const { return last - first + 1; }
  };
  std::vector<Run> runs;                 ///< apart from each other, ascending
  std::map<const roles::Stmt*, Run> of;  ///< the run, of `runs`, that a statement is in
  bool block = false;                    ///< also sync_threads in a role
  int count() const;
};
NamedBarriers named_barriers(const roles::Program& program, const roles::Limits& limits);

/// What each run is moved by so that it stands clear of `taken`, which it is then part of; by run as in `runs`. With
/// `times` as many runs, one behind the other, are there for each. Runs stay where they are if they can. Nothing: there
/// are not as many.
std::optional<std::vector<int>> place(const NamedBarriers& barriers, int times, std::set<int>& taken);
/// The same of one barrier, by its number.
std::optional<int> place_one(int times, std::set<int>& taken);

}  // namespace plait::fuse
