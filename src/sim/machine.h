#pragma once

#include <functional>
#include <queue>
#include <set>

#include "sim/global_order.h"
#include "sim/simulate.h"
#include "sim/state.h"
#include "sim/traffic.h"

namespace plait::sim {

/// A running simulation: the clusters of blocks, what will happen when, the units of each multiprocessor, and what was
/// found wrong.
class Machine {
 public:
  Machine(const Code& code, const Launch& launch, int cluster_size, const Options& options);
  Outcome run();

  const Code& code() const { return code_; }
  /// False where only time is asked for: no values, no checks.
  bool checks() const { return options_.checks; }
  const Costs& costs() const { return options_.costs; }
  std::int64_t now() const { return now_; }
  std::uint64_t random();

  // What goes wrong.
  Diagnostic& fail(Rule rule, std::int32_t site, std::string message, std::string fix = {});
  /// Points at another statement that plays a part; once each.
  void note(Diagnostic& diagnostic, std::int32_t site, std::string message) const;
  /// Whether the rule was reported at this statement.
  bool told(Rule rule, std::int32_t site) const { return told_.count({rule, site}) > 0; }
  bool stopped() const { return stop_; }
  void stop() { stop_ = true; }
  const Site& site(std::int32_t number) const { return code_.sites[static_cast<std::size_t>(number)]; }

  // Time.
  /// A latency of about `cycles`: exactly that, or drawn at random.
  std::int64_t latency(std::int64_t cycles);
  /// Keeps a unit of a multiprocessor busy for `cycles` from `from` or when it is free; gives the end.
  /// `core`: of an NPU's vector cores, where each has such a unit.
  std::int64_t use(int sm, Unit unit, std::int64_t from, double cycles, int core = 0);
  /// Moves bytes between a multiprocessor and a piece of a tensor (traffic_key); gives the end.
  std::int64_t move(int sm, std::uint64_t key, double bytes, std::int64_t from, bool write);
  /// Statements of a task take no time of units, and of the warp's that which the task is measured by.
  void charge(Warp& warp) {
    charge_ = !warp.task ? Charge::all : warp.task->measured ? Charge::time : Charge::nothing;
    task_ = warp.task ? &*warp.task : nullptr;
  }
  void at(std::int64_t time, std::function<void()> event);
  /// Tells the trace that a copy of the statement that runs is under way.
  void trace_copy(std::int64_t begin, std::int64_t end) {
    if (options_.trace) tell(TraceEvent::Kind::copy, Unit::tma, begin, end);
  }
  /// Lets a warp that waits go on.
  void wake(Warp& warp, std::int64_t time);

  // Memory.
  ir::TensorView& tensor(int number) { return tensors_[static_cast<std::size_t>(number)]; }
  /// Null for tensors that the program only reads.
  Shadow* tensor_shadow(int number) { return shadows_[static_cast<std::size_t>(number)].get(); }
  const Cluster& cluster(int id) const { return *clusters_[static_cast<std::size_t>(id)]; }
  GlobalOrder& order() { return order_; }
  int cluster_size() const { return cluster_size_; }

  /// The warp has run its role to the end.
  void finish(Warp& warp);

 private:
  struct Event {
    std::int64_t time;
    std::uint64_t order;  ///< among those of one time
    Warp* warp;           ///< runs on; else
    std::int32_t action;  ///< in actions_
    bool operator<(const Event& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Sm {
    std::array<std::array<std::int64_t, kUnits>, kMostVectorCores> free_at{};
    int blocks = 0;
  };

  /// For whom something is done.
  struct Actor {
    std::int64_t block = 0, step = 0;
    int sm = 0, role = 0, replica = 0, index = 0;
    std::int32_t site = 0;
  };
  void act_for(Warp& warp);
  void tell(TraceEvent::Kind kind, Unit unit, std::int64_t begin, std::int64_t end);

  void push(std::int64_t time, Warp* warp, std::int32_t action);
  void start_clusters();
  bool start_cluster();
  void start_block(Cluster& cluster, int rank, int sm);
  void start_warp(Block& block, int role, int replica, int index);
  void free_ended();
  void fill_builtins(Warp& warp) const;
  void step(Warp& warp);
  void run_events();
  void check_outputs();
  Outcome outcome();

  const Code& code_;
  const Launch& launch_;
  const Options& options_;
  int cluster_size_;
  std::uint64_t random_state_;
  std::int64_t now_ = 0, end_ = 0, steps_ = 0;
  std::int64_t latest_ = 0;  ///< time of the last event there is or was
  enum class Charge { all, time, nothing } charge_ = Charge::all;
  TaskState* task_ = nullptr;  ///< unless all is charged
  std::uint64_t events_ = 0;
  bool stop_ = false;
  Diagnostics diags_;
  std::set<std::pair<Rule, std::int32_t>> told_;
  std::priority_queue<Event> queue_;
  std::vector<std::function<void()>> actions_;
  std::vector<std::int32_t> free_actions_;
  Actor actor_;                ///< while traced
  std::vector<Actor> actors_;  ///< the same of actions_
  std::vector<ir::TensorView> tensors_;
  std::vector<std::unique_ptr<Shadow>> shadows_;
  GlobalOrder order_;
  std::vector<std::unique_ptr<Cluster>> clusters_;  ///< null: ended, and of no use any more
  struct Ended {
    std::int64_t until;  ///< events touch it up to then
    std::size_t cluster;
  };
  std::deque<Ended> ended_;
  std::int64_t next_block_ = 0;
  std::vector<Sm> sms_;
  std::array<std::int64_t, kUnits> busy_{};
  Traffic traffic_;
  std::vector<bool> executed_;
};

/// How a warp goes on behind a statement.
enum class Step {
  next,     ///< with the next one
  jumped,   ///< where pc points
  blocked,  ///< when it is woken, with the next one
  ended,
};

}  // namespace plait::sim
