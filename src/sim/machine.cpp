#include "sim/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "roles/lower_channels.h"
#include "runtime/extent.h"
#include "runtime/host_tensor.h"
#include "sim/exec.h"
#include "sim/exit.h"
#include "sim/tasks.h"

namespace plait::sim {

namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

Machine::Machine(const Code& code, const Launch& launch, int cluster_size, const Options& options)
    : code_(code),
      launch_(launch),
      options_(options),
      cluster_size_(cluster_size),
      random_state_(mixed(options.interleaving)),
      tensors_(launch.tensors),
      sms_(static_cast<std::size_t>(std::max(launch.sms, cluster_size))),
      traffic_(options.costs),
      executed_(code.sites.size(), false) {
  for (std::size_t i = 0; i < code.tensors.size(); ++i) {
    const TensorCode& tensor = code.tensors[i];
    std::int64_t bytes = runtime::span_bytes(tensor.view).value_or(0);
    bytes = bytes * 8 / ir::dtype_bits(tensor.view.type) * told_bytes(tensor.view.type);
    shadows_.push_back(
        tensor.is_in || !options.checks ? nullptr : std::make_unique<Shadow>(bytes, tensor.granule, !tensor.is_blank));
  }
}

std::uint64_t Machine::random() { return mixed(random_state_ += 0x9e3779b97f4a7c15U); }

Diagnostic& Machine::fail(Rule rule, std::int32_t number, std::string message, std::string fix) {
  Diagnostic& diagnostic = diags_.error(rule, site(number).loc, std::move(message), std::move(fix));
  told_.insert({rule, number});
  if (diags_.list().size() >= options_.max_errors) stop_ = true;
  return diagnostic;
}

void Machine::note(Diagnostic& diagnostic, std::int32_t number, std::string message) const {
  const Loc& loc = site(number).loc;
  bool known = std::any_of(diagnostic.notes.begin(), diagnostic.notes.end(),
                           [&](const Note& n) { return n.loc.line == loc.line && n.message == message; });
  if (!known) diagnostic.notes.push_back({loc, std::move(message)});
}

// ---- Time ----------------------------------------------------------------------------------------------------------

std::int64_t Machine::latency(std::int64_t cycles) {
  if (charge_ == Charge::nothing) return 0;
  if (options_.interleaving == 0) return cycles;
  std::uint64_t r = random();
  auto part = static_cast<double>(r >> 11) * 0x1p-53;  // 0 to 1
  double factor = (r & 3U) == 0 ? 0.1 + part : (r & 3U) == 1 ? 2 + 8 * part : 0.5 + part;
  return static_cast<std::int64_t>(static_cast<double>(cycles) * factor);
}

std::int64_t Machine::use(int sm, Unit unit, std::int64_t from, double cycles, int core) {
  auto length = std::llround(cycles);
  auto number = static_cast<std::size_t>(unit);
  if (charge_ == Charge::nothing) return from;
  if (charge_ == Charge::time) return task_->free_at[number] = std::max(task_->free_at[number], from) + length;
  std::int64_t& free_at = sms_[static_cast<std::size_t>(sm)].free_at[static_cast<std::size_t>(core)][number];
  free_at = std::max(free_at, from) + length;
  busy_[number] += length;
  if (options_.trace) tell(TraceEvent::Kind::unit, unit, free_at - length, free_at);
  return free_at;
}

std::int64_t Machine::move(int sm, std::uint64_t key, double bytes, std::int64_t from, bool write) {
  std::int64_t port = use(sm, Unit::l2, from, bytes / costs().l2_bytes);
  return charge_ == Charge::all ? std::max(port, traffic_.move(key, bytes, from, write)) : port;
}

/// What follows, and what it lets happen later, is done for this warp's statement.
void Machine::act_for(Warp& w) {
  actor_ = {w.block.number,   w.traced++, w.block.sm, static_cast<int>(&w.code - code_.roles.data()),
            w.replica_number, w.index,    w.site};
}

void Machine::tell(TraceEvent::Kind kind, Unit unit, std::int64_t begin, std::int64_t end) {
  TraceEvent event;
  event.kind = kind;
  event.unit = unit;
  event.begin = begin;
  event.end = end;
  event.sm = actor_.sm;
  event.block = actor_.block;
  event.role = actor_.role;
  event.replica = actor_.replica;
  event.warp = actor_.index;
  event.step = actor_.step;
  const Site& at = site(actor_.site);
  event.word = at.word;
  event.loc = &at.loc;
  event.origin = &at.origin;
  if (!options_.trace(event)) stop_ = true;
}

void Machine::push(std::int64_t time, Warp* warp, std::int32_t action) {
  std::uint64_t order = options_.interleaving == 0 ? events_++ : random();
  std::int64_t at = std::max(time, now_);
  latest_ = std::max(latest_, at);
  queue_.push({at, order, warp, action});
}

void Machine::at(std::int64_t time, std::function<void()> event) {
  if (free_actions_.empty()) {
    free_actions_.push_back(static_cast<std::int32_t>(actions_.size()));
    actions_.emplace_back();
  }
  std::int32_t number = free_actions_.back();
  free_actions_.pop_back();
  actions_[static_cast<std::size_t>(number)] = std::move(event);
  if (options_.trace) {
    actors_.resize(actions_.size());
    actors_[static_cast<std::size_t>(number)] = actor_;
  }
  push(time, nullptr, number);
}

void Machine::wake(Warp& warp, std::int64_t time) {
  warp.status = Status::ready;
  warp.time = std::max(warp.time, time);
  push(warp.time, &warp, -1);
}

// ---- Blocks --------------------------------------------------------------------------------------------------------

void Machine::start_clusters() {
  while (next_block_ < launch_.blocks() && start_cluster()) {
  }
}

/// Gives back the memory of clusters that have ended, once nothing that they had under way can touch them.
void Machine::free_ended() {
  for (; !ended_.empty() && ended_.front().until < now_; ended_.pop_front()) {
    std::unique_ptr<Cluster>& cluster = clusters_[ended_.front().cluster];
    if (!checks()) {
      cluster.reset();
      continue;
    }
    // Its accesses to tensors may still be told of.
    for (auto& block : cluster->blocks) {
      block->warps.clear();
      block->replicas.clear();
      block->mbars.clear();
      block->remote.clear();
    }
  }
}

/// Each block of a cluster takes a multiprocessor of its own; false where there is no room.
bool Machine::start_cluster() {
  free_ended();
  std::vector<int> free;
  for (std::size_t i = 0; i < sms_.size() && free.size() < static_cast<std::size_t>(cluster_size_); ++i) {
    if (sms_[i].blocks < options_.occupancy) free.push_back(static_cast<int>(i));
  }
  if (free.size() < static_cast<std::size_t>(cluster_size_)) return false;
  auto cluster = std::make_unique<Cluster>();
  cluster->id = static_cast<std::uint16_t>(clusters_.size());
  cluster->number = clusters_.size();
  int warps = code_.threads / kLanes;
  for (int rank = 0; rank < cluster_size_; ++rank) {
    for (int t = 0; t < code_.threads; ++t) cluster->add_source({Source::Kind::thread, rank, t});
  }
  cluster->warps = std::int64_t{warps} * cluster_size_;
  cluster->time_components = static_cast<Component>(cluster->warps);
  clusters_.push_back(std::move(cluster));
  for (int rank = 0; rank < cluster_size_; ++rank)
    start_block(*clusters_.back(), rank, free[static_cast<std::size_t>(rank)]);
  return true;
}

void Machine::start_block(Cluster& cluster, int rank, int sm) {
  auto block = std::make_unique<Block>();
  block->cluster = &cluster;
  block->rank = rank;
  block->number = next_block_++;
  block->at = {block->number % launch_.grid[0], block->number / launch_.grid[0] % launch_.grid[1],
               block->number / launch_.grid[0] / launch_.grid[1]};
  block->sm = sm;
  block->smem.assign(static_cast<std::size_t>(code_.arena), 0xff);  // NaN in every float type
  block->shadow.emplace(checks() ? code_.arena : 0, code_.smem_granule, false);
  block->mbars.resize(static_cast<std::size_t>(code_.mbar_total));
  for (Mbarrier& mbar : block->mbars) mbar.time = cluster.time_components++;
  for (std::size_t i = 0; i < block->mbars.size(); ++i)
    block->mbars[i].memory = cluster.add_source({Source::Kind::loads, rank, static_cast<int>(i)});
  for (NamedBarrier& barrier : block->barriers) barrier.time = cluster.time_components++;
  ++sms_[static_cast<std::size_t>(sm)].blocks;
  cluster.blocks.push_back(std::move(block));
  Block& started = *cluster.blocks.back();
  std::size_t replicas = 0;
  for (const RoleCode& role : code_.roles) replicas += static_cast<std::size_t>(role.replicas);
  started.replicas.resize(replicas);
  for (std::size_t role = 0; role < code_.roles.size(); ++role) {
    for (int replica = 0; replica < code_.roles[role].replicas; ++replica) {
      for (int index = 0; index < code_.roles[role].warps; ++index)
        start_warp(started, static_cast<int>(role), replica, index);
    }
  }
}

void Machine::start_warp(Block& block, int role, int replica, int index) {
  const RoleCode& code = code_.roles[static_cast<std::size_t>(role)];
  int first = code.first_thread + (replica * code.warps + index) * kLanes;
  int number = first / kLanes;
  int threads = code_.threads;
  WarpClock clock(checks(), static_cast<Component>(block.rank * threads + first),
                  static_cast<Component>(block.rank * (threads / kLanes) + number));
  auto warp = std::make_unique<Warp>(block, code, std::move(clock));
  std::size_t slot = static_cast<std::size_t>(replica);
  for (int r = 0; r < role; ++r) slot += static_cast<std::size_t>(code_.roles[static_cast<std::size_t>(r)].replicas);
  Replica& group = block.replicas[slot];
  if (index == 0) {
    group.code = &code;
    group.first_thread = first;
    group.wgmma = block.cluster->add_source({Source::Kind::wgmma, block.rank, first});
    group.fragments.resize(code.fragments.size());
  }
  warp->replica = &group;
  warp->replica_number = replica;
  warp->index = index;
  warp->first_thread = first;
  warp->file = code.file;
  for (const FragmentCode& fragment : code.fragments)
    warp->sections.emplace_back(fragment.section == 0 ? 0 : static_cast<std::size_t>(fragment.size / fragment.section));
  fill_builtins(*warp);
  warp->time = now_ + latency(costs().block_start);
  push(warp->time, warp.get(), -1);
  ++block.running;
  block.warps.push_back(std::move(warp));
}

void Machine::fill_builtins(Warp& warp) const {
  const BuiltinRegs& regs = warp.code.builtins;
  auto set = [&](Reg reg, std::int64_t value) {
    warp.file[static_cast<std::size_t>(reg.at)] = interp::int_value(value);
  };
  set(regs.block, warp.block.number);
  set(regs.blocks, launch_.blocks());
  set(regs.block_x, warp.block.at[0]);
  set(regs.block_y, warp.block.at[1]);
  set(regs.block_z, warp.block.at[2]);
  set(regs.cluster_rank, warp.block.rank);
  set(regs.replica, warp.replica_number);
  set(regs.warp, warp.index);
  for (int lane = 0; lane < kLanes; ++lane) {
    set({regs.lane.at + lane, true}, lane);
    set({regs.thread.at + lane, true}, warp.index * kLanes + lane);
  }
}

void Machine::finish(Warp& warp) {
  Block& block = warp.block;
  warp.status = Status::done;
  block.final.join(warp.clock.release(kAllLanes));
  end_ = std::max(end_, warp.time);
  cluster_exit(*this, warp);
  if (--block.running > 0) return;
  if (checks()) check_exit(*this, block);
  block.exited = true;
  --sms_[static_cast<std::size_t>(block.sm)].blocks;
  bool all =
      std::all_of(block.cluster->blocks.begin(), block.cluster->blocks.end(), [](const auto& b) { return b->exited; });
  if (all) {
    for (auto& b : block.cluster->blocks) {
      b->smem = {};
      b->shadow.reset();
    }
    ended_.push_back({std::max(latest_, now_), block.cluster->number});
  }
  start_clusters();
}

// ---- Running -------------------------------------------------------------------------------------------------------

void Machine::step(Warp& w) {
  while (!stop_) {
    const Instr& instr = w.code.instrs[static_cast<std::size_t>(w.pc)];
    w.site = instr.site;
    std::int64_t ready = instr.touched.empty() ? 0 : data_ready(w, instr.touched);
    if (ready > w.time) {
      w.time = ready;
      return push(ready, &w, -1);
    }
    charge(w);
    std::int64_t began = w.time;
    if (options_.trace) act_for(w);
    executed_[static_cast<std::size_t>(w.site)] = true;
    if (++steps_ > options_.max_steps) {
      fail(Rule::step_limit, w.site, fmt::format("the simulation has run {} statements", options_.max_steps));
      stop_ = true;
      return;
    }
    if (!sim::evaluate(*this, w, instr.code)) {
      stop_ = true;
      return;
    }
    Step step = execute(*this, w, instr);
    if (options_.trace && step != Step::ended) tell(TraceEvent::Kind::statement, Unit::issue, began, w.time);
    if (step == Step::next || step == Step::blocked) ++w.pc;
    if (step == Step::blocked || step == Step::ended) return;
    if (!queue_.empty() && queue_.top().time <= w.time) return push(w.time, &w, -1);
    now_ = std::max(now_, w.time);
  }
}

void Machine::run_events() {
  while (!queue_.empty() && !stop_) {
    Event event = queue_.top();
    queue_.pop();
    now_ = event.time;
    end_ = std::max(end_, now_);
    if (event.warp != nullptr) {
      step(*event.warp);
      continue;
    }
    charge_ = Charge::all;
    std::function<void()> action = std::move(actions_[static_cast<std::size_t>(event.action)]);
    if (options_.trace) actor_ = actors_[static_cast<std::size_t>(event.action)];
    free_actions_.push_back(event.action);
    action();
  }
}

/// Every element of an `out` tensor is written.
void Machine::check_outputs() {
  for (std::size_t i = 0; i < code_.tensors.size(); ++i) {
    const TensorCode& tensor = code_.tensors[i];
    if (!tensor.is_out) continue;
    for (runtime::ElementWalk walk(tensor.view); !walk.done(); walk.next()) {
      if (shadows_[i]->is_written(walk.offset() * told_bytes(tensor.view.type))) continue;
      diags_.error(
          Rule::output_unwritten, tensor.decl->loc,
          fmt::format("element [{}] of {} is never written", fmt::join(walk.index(), ", "), tensor.decl->name));
      break;
    }
  }
}

Outcome Machine::run() {
  start_clusters();
  run_events();
  if (!stop_) report_deadlock(*this, clusters_);
  if (!diags_.has_errors() && checks()) check_outputs();
  return outcome();
}

Outcome Machine::outcome() {
  Outcome result;
  result.diagnostics = std::move(diags_);
  result.cycles = end_;
  static constexpr const char* kNames[kUnits] = {"tensor", "tma",   "cuda",    "sfu",      "smem",  "l2",
                                                 "lsu",    "issue", "vector",  "load",     "store", "cube",
                                                 "mte1",   "mte2",  "fixpipe", "aiv_mte2", "mte3",  "scalar"};
  bool npu = costs().vector_cores > 0;
  for (std::size_t i = 0; i < kUnits; ++i) {
    bool each = npu && is_of_vector_core(static_cast<Unit>(i));
    if ((i < kOwnUnits && !npu) || busy_[i] > 0)
      result.units.push_back({kNames[i], busy_[i], each ? costs().vector_cores : 1});
  }
  result.units.push_back({"memory", traffic_.memory_busy(), 1});
  result.blocks = launch_.blocks();
  result.sms = static_cast<int>(std::min<std::int64_t>(static_cast<std::int64_t>(sms_.size()), launch_.blocks()));
  result.threads = code_.threads;
  result.smem_bytes = code_.arena;
  result.steps = steps_;
  for (std::size_t i = 1; i < executed_.size(); ++i) {
    if (executed_[i]) result.executed.push_back(code_.sites[i].loc);
  }
  return result;
}

namespace {

/// What TMA asks of a tensor's strides.
Diagnostics check_maps(const Code& code) {
  Diagnostics diags;
  for (const MapCode& map : code.maps) {
    const ir::TensorView& view = code.tensors[static_cast<std::size_t>(map.tensor)].view;
    bool fits = view.strides.back() == 1 && view.shape.back() * ir::dtype_bits(view.type) % 8 == 0;
    for (std::size_t d = 0; d + 1 < view.strides.size(); ++d)
      fits = fits && view.strides[d] * ir::dtype_bits(view.type) % 128 == 0;
    if (fits) continue;
    diags.error(Rule::sim_align, map.decl->loc,
                fmt::format("{} is over a tensor with strides [{}]; TMA takes rows of neighbouring elements that begin "
                            "at multiples of 16 bytes",
                            map.decl->name, fmt::join(view.strides, ", ")));
  }
  return diags;
}

/// A launch of so many blocks that their simulation would not end, or not tell them apart.
Diagnostics check_blocks(const roles::Program& program, const Launch& launch, const Options& options) {
  constexpr std::int64_t kMostClusters = std::numeric_limits<std::uint16_t>::max();  // Access::cluster
  constexpr std::int64_t kMostBlocks = std::int64_t{1} << 24;
  Diagnostics diags;
  std::int64_t most = options.checks ? kMostClusters * program.cluster : kMostBlocks;
  if (launch.blocks() > most)
    diags.error(Rule::sim_blocks, program.launch[0]->loc,
                fmt::format("the launch has {} blocks; at most {} are simulated{}", launch.blocks(), most,
                            options.checks ? "" : ", of time alone"),
                options.checks ? "" : "simulate smaller dims");
  return diags;
}

/// What the records of accesses to tensors take has to fit the memory that is left.
Diagnostics check_memory(const roles::Program& program, const Code& code) {
  Diagnostics diags;
  double need = 0;
  for (const TensorCode& tensor : code.tensors) {
    auto bytes = static_cast<double>(runtime::span_bytes(tensor.view).value_or(0));
    if (!tensor.is_in) need += Shadow::bytes_for(bytes, tensor.granule);
  }
  auto have = static_cast<double>(runtime::available_memory());
  if (need > have)
    diags.error(Rule::out_of_memory, program.loc,
                fmt::format("to watch the accesses to its tensors takes {:.1f} GiB, the machine has {:.1f} GiB left",
                            need / 0x1p30, have / 0x1p30),
                "simulate smaller dims, or time alone: --time-only");
  return diags;
}

Diagnostics check_size(const roles::Program& program, const Launch& launch, const Code& code, const Options& options) {
  Diagnostics diags = check_blocks(program, launch, options);
  if (options.checks) diags.append(check_memory(program, code));
  diags.append(check_maps(code));
  return diags;
}

}  // namespace

Outcome simulate(const roles::Program& source, const Launch& launch, const Options& options) {
  const roles::Program program = roles::lower_channels(source);
  Code code = make_code(program, launch);
  Outcome refused;
  refused.diagnostics = check_size(program, launch, code, options);
  if (refused.diagnostics.has_errors()) return refused;
  return Machine(code, launch, program.cluster, options).run();
}

}  // namespace plait::sim
