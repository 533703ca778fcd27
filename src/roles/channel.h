#pragma once

#include <map>
#include <set>
#include <span>

#include "roles/program.h"

namespace plait::roles {

/// The threads of a replica that run a statement.
enum class Threads {
  one,   ///< within elect
  warp,  ///< within warp N
  all,
};

/// How one role uses one channel.
struct ChannelUse {
  bool acquires = false, publishes = false, receives = false, releases = false;
  bool copies = false;                               ///< TMA and bulk copies complete on it,
  bool multicast = false;                            ///< some of them in several blocks
  bool thread_writes = false, thread_reads = false;  ///< of its tiles, by threads
  bool product_reads = false;                        ///< by wgmma
  bool copy_reads = false;                           ///< by TMA and bulk stores
  std::set<Threads> publish_by, release_by;

  bool writes() const { return acquires || publishes; }
  bool reads() const { return receives || releases; }
  /// Whether all threads that run a statement have to do with its item; otherwise one of them acts for all. Who only
  /// waits could be late by any number of phases.
  bool all_write() const { return thread_writes; }
  bool all_read() const { return thread_reads || product_reads; }
};

/// What the statements of a program make of its channels.
class ChannelPlan {
 public:
  explicit ChannelPlan(const Program& program);

  /// How a role, by its number, uses a channel.
  const ChannelUse& use(std::size_t role, const ChannelDecl& channel) const;
  /// Arrivals of one replica with a publish, those of copies apart.
  std::int64_t publish_arrivals(std::size_t role, const ChannelDecl& channel, Threads by) const;
  std::int64_t release_arrivals(std::size_t role, const ChannelDecl& channel, Threads by) const;
  /// Replicas of the roles that write the channel, or that read it.
  std::int64_t writers(const ChannelDecl& channel) const;
  std::int64_t readers(const ChannelDecl& channel) const;
  /// Arrivals that make an item be there, or its slot free. Precondition: those of a role are the same everywhere.
  std::int64_t full_count(const ChannelDecl& channel) const;
  std::int64_t empty_count(const ChannelDecl& channel) const;
  /// Whether the accesses of threads are to be fenced against those of TMA and wgmma before the statement arrives.
  bool fences_publish(std::size_t role, const ChannelDecl& channel) const;
  bool fences_release(std::size_t role, const ChannelDecl& channel) const;
  /// Whether copies fill slots of several blocks: all of the cluster hear of a release.
  bool multicast(const ChannelDecl& channel) const;

 private:
  using Flag = bool (ChannelUse::*)() const;
  std::int64_t replicas(const ChannelDecl& channel, Flag flag) const;
  bool any(const ChannelDecl& channel, bool ChannelUse::* flag) const;
  std::int64_t threads(std::size_t role, Threads by, bool together) const;

  const Program& program_;
  std::vector<std::map<const ChannelDecl*, ChannelUse>> uses_;  ///< one a role
};

/// Bytes that the copies of `rest`, the statements behind an acquire, bring for its item up to its publish, into one
/// block; nothing where the text alone does not tell. `cluster`: blocks.
std::optional<std::int64_t> copied_bytes(const Acquire& acquire, std::span<const StmtRef> rest, int cluster);

}  // namespace plait::roles
