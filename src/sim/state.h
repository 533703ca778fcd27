#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "sim/code.h"
#include "sim/costs.h"
#include "sim/shadow.h"

/// What a running simulation consists of.
namespace plait::sim {

struct Block;
struct Cluster;

/// Whose accesses a component of the memory clocks counts.
struct Source {
  enum class Kind {
    thread,
    copies,      ///< cp.async groups of a thread
    bulk_read,   ///< groups of bulk stores of a thread: their sources
    bulk_write,  ///< the same: their destinations
    loads,       ///< copies that complete on an mbarrier
    wgmma,       ///< groups of a replica
  };
  Kind kind = Kind::thread;
  int rank = 0;    ///< block in the cluster
  int number = 0;  ///< thread of the block, mbarrier, or first thread of the replica
};
/// Accesses through the ordinary path, which TMA and wgmma see only behind a proxy fence.
inline bool is_generic(Source::Kind kind) { return kind == Source::Kind::thread || kind == Source::Kind::copies; }

struct Mbarrier {
  bool initialised = false;
  std::int64_t count = 0;
  std::int64_t phase = 0;                          ///< the number of complete ones
  std::int64_t pending = 0;                        ///< arrivals that the phase still waits for
  std::int64_t bytes = 0;                          ///< bytes that it still waits for
  bool has_bytes = false, last_has_bytes = false;  ///< some were expected or came in this phase, in the one before
  Component memory = 0, time = 0;
  Component init_thread = 0;
  Clock init = 0, init_fenced = 0;  ///< of that thread; 0: not yet
  std::int32_t init_site = 0, last_site = 0;
  View arriving, released;
  struct Moment {  ///< of a warp
    Component warp;
    Clock clock;
    std::int32_t site;
  };
  std::vector<Moment> passed;                   ///< the waits that met the last complete phase
  std::vector<Moment> arrivals, last_arrivals;  ///< of this phase and of the one before
  std::vector<Warp*> waiting;
  std::int64_t in_flight = 0;  ///< copies under way that will complete on it
  std::int32_t load_site = 0;  ///< the last one of them
  Clock last_load = 0;         ///< phases that are complete once the last one has landed and counted; 0: none yet
};

struct NamedBarrier {
  std::int64_t threads = 0, arrived = 0;
  Clock generation = 0;  ///< complete meetings
  Component time = 0;
  View joined;
  std::int32_t site = 0;
  std::vector<Warp*> waiting;
};

struct ClusterBarrier {
  std::int64_t arrived = 0;  ///< warps
  std::int64_t generation = 0;
  View joined, released;
  std::vector<Warp*> waiting;
};

enum class Content : std::uint8_t {
  none,  ///< never written
  value,
  unknown,  ///< read from shared memory that nothing had written
};
struct FragmentStore {
  std::vector<float> narrow;
  std::vector<Value> wide;
  std::vector<Content> content;
};

/// One wgmma of a warpgroup; it begins once all warps have issued it.
struct WgmmaOp {
  const act::Wgmma* action = nullptr;
  std::int32_t site = 0;
  layout::SmemTile::Position a{}, b{};
  bool clear = false;
  int warps = 0;  ///< that issued it
  View known;     ///< by all of them
  View time;      ///< by any of them
  Clock group = 0;
};

/// Tasks that a replica has issued.
struct Tasks {
  struct Until {
    std::int64_t read = 0, written = 0;
  };
  struct Access {
    Until cube, others;  ///< by tasks of the cube unit, of others
  };
  std::map<int, std::map<std::int64_t, Access>> data;  ///< by buffer and copy; copy -1: all
  std::int64_t started = 0;
  std::int64_t done = 0;  ///< all of them
};

struct Replica {
  const RoleCode* code = nullptr;
  int first_thread = 0;  ///< of the block
  std::vector<FragmentStore> fragments;
  Component wgmma = 0;
  std::deque<WgmmaOp> ops;  ///< not yet begun by all warps; the first is number `ops_begun`
  std::int64_t ops_begun = 0;
  std::int64_t last_end = 0;     ///< cycle at which the last one completes
  std::vector<int> unfinished;   ///< wgmma of each group that are not complete; group 1 first
  std::vector<View> group_time;  ///< what is in the past once the group is complete
  std::int32_t last_site = 0;
  std::vector<Warp*> waiting;
  Tasks tasks;
};

/// Bulk stores of one thread.
struct BulkGroups {
  struct Group {
    int reads = 0, writes = 0;  ///< under way
  };
  Component read = 0, write = 0;
  std::vector<Group> groups = {{}};  ///< the last one is open
  std::int32_t last_site = 0;
  Clock committed() const { return static_cast<Clock>(groups.size() - 1); }
};
/// cp.async of the lanes of one warp.
struct CopyGroups {
  std::vector<Component> components;  ///< one a lane, made at first use
  std::vector<int> under_way = {0};   ///< of each group, the last one open
  Clock used = 0;                     ///< the last group that has a copy
  std::int32_t last_site = 0;
  Clock committed() const { return static_cast<Clock>(under_way.size() - 1); }
};

/// What a warp does, or waits for.
enum class Status {
  ready,
  mbarrier,
  named_barrier,
  cluster_barrier,
  bulk_groups,
  copy_groups,
  wgmma_groups,
  done,
};

struct Frame {
  LaneMask outer = 0, rest = 0;
};

/// 64 rows of a fragment, as one warp sees its part.
struct Section {
  Clock group = 0;        ///< of the last wgmma that uses it
  std::int32_t site = 0;  ///< that wgmma
  bool touched = true;    ///< by other statements, since the last fence wgmma
};

/// The task whose statements a warp runs.
struct TaskState {
  std::int64_t issued = 0;                     ///< cycle
  bool measured = false;                       ///< it takes as long as its statements,
  std::array<std::int64_t, kUnits> free_at{};  ///< which find the units as they leave them
};

/// One wait on an mbarrier by some lanes.
struct PendingWait {
  int mbar = 0;
  bool parity = false;
  LaneMask lanes = 0;
};

struct Warp {
  Warp(Block& of, const RoleCode& role, WarpClock warp_clock) : block(of), code(role), clock(std::move(warp_clock)) {}

  Block& block;
  const RoleCode& code;
  WarpClock clock;
  Replica* replica = nullptr;
  int replica_number = 0;
  int index = 0;         ///< in the replica
  int first_thread = 0;  ///< of the block
  std::int32_t pc = 0, site = 0;
  LaneMask mask = kAllLanes;
  std::vector<Frame> frames;
  std::vector<Value> file;
  std::int64_t time = 0;
  Status status = Status::ready;
  std::deque<PendingWait> waits;
  std::int64_t wait_target = 0;  ///< group, or generation of the cluster barrier
  bool wait_read = false;        ///< bulk groups: until sources were read
  int wait_lane = 0, wait_barrier = 0;

  std::vector<std::vector<Section>> sections;  ///< of each fragment
  bool wgmma_fenced = false;                   ///< ever
  std::int64_t wgmma_issued = 0;
  Clock wgmma_committed = 0, wgmma_awaited = 0;
  std::map<int, BulkGroups> bulk;  ///< by lane
  CopyGroups copies;
  std::map<int, KnownClusters> published, met;  ///< by lane: at its last `fence gpu`; by its atomics since
  bool cluster_arrived = false;
  std::int64_t cluster_generation = 0;
  std::int32_t cluster_site = 0;  ///< of the last arrival
  std::optional<TaskState> task;
  std::int64_t tasks_issued = 0;
  std::int64_t traced = 0;  ///< statements told to the trace
};

/// A touch of a block by another block of its cluster.
struct RemoteTouch {
  Clock clock = 0;  ///< of the other warp's `time`
  std::int32_t site = 0;
};

struct Block {
  Cluster* cluster = nullptr;
  int rank = 0;
  std::int64_t number = 0;  ///< linear
  std::array<std::int64_t, 3> at{};
  int sm = 0;
  std::vector<std::uint8_t> smem;
  std::optional<Shadow> shadow;
  std::vector<Mbarrier> mbars;
  std::array<NamedBarrier, 16> barriers;
  std::vector<Replica> replicas;
  std::vector<std::unique_ptr<Warp>> warps;
  int running = 0;  ///< warps
  bool exited = false;
  View final;                               ///< what its threads together knew when they ended
  std::map<Component, RemoteTouch> remote;  ///< by warp of another block
  std::int64_t loads_in_flight = 0;
};

struct Cluster {
  std::uint16_t id = 0;  ///< in the records of accesses; unique where there are any
  std::size_t number = 0;
  std::vector<std::unique_ptr<Block>> blocks;
  std::vector<Source> sources;  ///< of the memory components
  Component time_components = 0;
  ClusterBarrier barrier;
  std::int64_t warps = 0, exited_warps = 0;

  Component add_source(Source source) {
    sources.push_back(source);
    return static_cast<Component>(sources.size() - 1);
  }
};

/// What an asynchronous operation knew when it was issued, and for whom it works.
struct Issue {
  View view;
  std::int32_t site = 0;
  Block* block = nullptr;
  int thread = 0;  ///< of the block
};

}  // namespace plait::sim
