#pragma once

#include "fuse/barriers.h"
#include "fuse/copier.h"
#include "fuse/merge.h"
#include "fuse/names.h"

namespace plait::fuse {

/// One of the two programs while they are merged.
struct Side {
  const Part& part;
  std::string prefix;  ///< for names that both programs use
  ProgramNames names;
  NamedBarriers barriers;
  Copier head = {};                          ///< with the declarations that all its blocks share
  roles::ExprRef blocks = {};                ///< that it is launched with alone
  std::vector<roles::ExprRef> extents = {};  ///< of that launch

  const roles::Program& program() const { return part.program; }
  int threads() const { return roles::thread_count(part.program) * part.blocks; }
  std::int64_t smem_bytes() const;
  /// How often each of the program's roles stands in a block, and how many blocks each is the work of.
  int roles() const { return is_replicated() ? 1 : part.blocks; }
  int times() const { return is_replicated() ? part.blocks : 1; }
  bool is_replicated() const;
  /// For messages: `rmsnorm`, `2 blocks of rmsnorm`.
  std::string text() const;
};

/// Whether several blocks of the program can be replicas of its role, which have no more to do with each other than
/// blocks have: they share nothing that is counted by block.
bool is_replicable(const roles::Program& program);

/// What stands against running the two in the same blocks, whatever their registers and tiles are.
Diagnostics obstacles(const Side& first, const Side& second, const roles::Limits& limits);
/// What is wrong with the fused program is told by what each of the two needs.
Diagnostics lacking(const roles::Program& fused, const Side& first, const Side& second, const roles::Limits& limits);

/// Cluster barriers that end a body.
std::size_t cluster_barriers_at_end(const roles::Body& body);

}  // namespace plait::fuse
