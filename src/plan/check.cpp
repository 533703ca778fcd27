#include "plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/lives.h"
#include "ir/visit.h"
#include "lang/suggest.h"
#include "plan/limits.h"

namespace plait::plan {
namespace {

constexpr std::int64_t kThreadsPerWarp = 32;
constexpr int kSpareRegisters = 24;
constexpr int kLeastRegisters = 24, kMostRegisters = 256, kRegisterStep = 8;

/// Bytes of an on-chip buffer with its padding.
std::int64_t bytes_of(const ir::BufferDecl& buffer) {
  constexpr std::int64_t kByte = 8;
  std::int64_t elements = 1;
  std::vector<std::int64_t> shape = ir::static_shape(buffer);
  for (std::size_t i = 0; i < shape.size(); ++i) elements *= shape[i] + (i + 1 == shape.size() ? buffer.pad : 0);
  return (elements * ir::dtype_bits(buffer.type) + kByte - 1) / kByte;
}

template <typename F>
void for_each_buffer(const ir::Kernel& kernel, ir::Scope scope, const F& fn) {
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
    if (alloc != nullptr && alloc->buffer->scope == scope) fn(*alloc->buffer);
  });
}

int copies_of(const Schedule& schedule, const ir::BufferDecl& buffer) {
  int most = 1;
  for (const LoopPlan& loop : schedule.loops) most = std::max(most, loop.copies(buffer.name));
  return most;
}

/// The schedule with no buffer in more than `most` copies.
Schedule with_at_most(Schedule schedule, int most) {
  for (LoopPlan& loop : schedule.loops) {
    for (Ring& ring : loop.rings) ring.depth = std::min(ring.depth, most);
    for (Versions& versions : loop.versions) versions.count = std::min(versions.count, most);
  }
  return schedule;
}

class Checker {
 public:
  Checker(const Schedule& schedule, const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
          const machine::Device& device)
      : schedule_(schedule), kernel_(kernel), graphs_(graphs), device_(device) {}

  Diagnostics run() {
    if (!title()) return std::move(diags_);
    place();
    roles();
    loops();
    diags_.append(check_regions(schedule_, kernel_));
    if (!diags_.has_errors()) memory();
    if (!diags_.has_errors()) registers();
    return std::move(diags_);
  }

 private:
  bool title() {
    if (schedule_.kernel != kernel_.name)
      diags_.error(Rule::schedule_kernel, schedule_.at.loc,
                   fmt::format("the schedule is for the kernel '{}', not for '{}'", schedule_.kernel, kernel_.name));
    if (schedule_.device != device_.name)
      diags_.error(Rule::schedule_kernel, schedule_.at.loc,
                   fmt::format("the schedule is for the device '{}', not for '{}'", schedule_.device, device_.name));
    return !diags_.has_errors();
  }

  void place() {
    graph::Names names = graph::name_statements(kernel_);
    std::set<std::string> known, atoms;
    for (const auto& [stmt, name] : names) {
      if (std::holds_alternative<ir::TileOp>(stmt->node)) known.insert(graph::text_of(name));
    }
    std::vector<std::string> list(known.begin(), known.end());
    for (const Atom& atom : schedule_.place.atoms) {
      std::string name = graph::text_of(atom.stmt);
      if (!known.contains(name))
        diags_.error(Rule::schedule_name, atom.at.loc, fmt::format("the kernel has no tile operation '{}'", name),
                     lang::did_you_mean(name, list, "it has " + lang::quoted_list(list)));
      if (!atoms.insert(name).second)
        diags_.error(Rule::schedule_complete, atom.at.loc, fmt::format("'{}' has a second line", name));
      instruction(atom);
    }
    std::vector<std::string> fragments;
    for_each_buffer(kernel_, ir::Scope::fragment, [&](const ir::BufferDecl& b) { fragments.push_back(b.name); });
    for (const Staging& staging : schedule_.place.stagings) {
      if (std::find(fragments.begin(), fragments.end(), staging.buffer) != fragments.end()) continue;
      diags_.error(Rule::schedule_name, staging.at.loc, fmt::format("the kernel has no fragment '{}'", staging.buffer),
                   lang::did_you_mean(staging.buffer, fragments, "it has " + lang::quoted_list(fragments)));
    }
    const Work& work = schedule_.place.work;
    std::int64_t cluster = std::int64_t{work.cluster_x} * work.cluster_y;
    std::int64_t most = device_.limits ? device_.limits->blocks_per_cluster.integer() : 1;
    if (cluster > most)
      diags_.error(Rule::schedule_value, work.at.loc,
                   fmt::format("a cluster of {} blocks; {} has at most {}", cluster, device_.name, most));
    if (work.split_k > 1 && work.kind == WorkKind::stream_k)
      diags_.error(Rule::schedule_value, work.at.loc,
                   fmt::format("split_k {} and stream_k both say into which pieces tiles are cut", work.split_k),
                   "keep one of the two");
  }

  void instruction(const Atom& atom) {
    bool wide = atom.instruction == Instruction::wgmma;
    if (!has_shape(atom.instruction)) return;
    constexpr int kRows = 64, kStep = 8, kMostColumns = 256, kWarpRows = 16, kWarpColumns = 8;
    bool depth = atom.k == 8 || atom.k == 16 || atom.k == 32;
    bool shape = wide ? atom.m == kRows && atom.n % kStep == 0 && atom.n <= kMostColumns
                      : atom.m == kWarpRows && atom.n == kWarpColumns;
    if (shape && depth) return;
    diags_.error(Rule::schedule_value, atom.at.loc,
                 fmt::format("there is no {} m{}n{}k{}", name_of(atom.instruction), atom.m, atom.n, atom.k),
                 wide ? "wgmma has m64, n a multiple of 8 up to 256, and k 8, 16 or 32: 32 bytes of its operands"
                      : "mma has m16n8, and k 8, 16 or 32: 32 bytes of its operands");
  }

  void roles() {
    std::set<std::string> seen;
    std::int64_t threads = 0, registers = 0;
    for (const Role& role : schedule_.place.roles) {
      if (!seen.insert(role.name).second)
        diags_.error(Rule::schedule_complete, role.at.loc, fmt::format("the role '{}' has a second line", role.name));
      std::int64_t own = kThreadsPerWarp * role.warps * role.replicas;
      threads += own;
      registers += own * role.regs.value_or(0);
      bool odd =
          role.regs && (*role.regs < kLeastRegisters || *role.regs > kMostRegisters || *role.regs % kRegisterStep != 0);
      if (odd)
        diags_.error(Rule::schedule_registers, role.at.loc,
                     fmt::format("role '{}' has {} registers, no multiple of {} from {} to {}", role.name, *role.regs,
                                 kRegisterStep, kLeastRegisters, kMostRegisters));
    }
    if (!device_.limits) return;
    Loc loc = schedule_.place.roles.empty() ? schedule_.at.loc : schedule_.place.roles.back().at.loc;
    const Work& work = schedule_.place.work;
    std::int64_t most = device_.limits->threads_per_block.integer();
    if (std::int64_t held = device_.limits->blocks_per_unit.integer(); work.occupancy > held)
      diags_.error(
          Rule::schedule_value, work.at.loc,
          fmt::format("occupancy {}; a multiprocessor of {} holds {} blocks", work.occupancy, device_.name, held));
    if (threads > most)
      diags_.error(Rule::schedule_value, loc,
                   fmt::format("the roles have {} threads; a block of {} has at most {}", threads, device_.name, most));
    std::int64_t unit = device_.limits->threads_per_unit.integer();
    if (threads <= most && threads * work.occupancy > unit)
      diags_.error(Rule::schedule_value, work.at.loc,
                   fmt::format("{} blocks of {} threads; a multiprocessor of {} holds {}", work.occupancy, threads,
                               device_.name, unit));
    std::int64_t file = device_.limits->registers_per_unit.integer();
    if (registers * work.occupancy > file)
      diags_.error(
          Rule::schedule_registers, loc,
          fmt::format("the roles have {} registers{}; {} has {}", registers,
                      work.occupancy > 1 ? fmt::format(", times {} blocks", work.occupancy) : "", device_.name, file));
  }

  void loops() {
    std::vector<std::string> known;
    for (const graph::TaskGraph& graph : graphs_) known.push_back(graph::text_of(graph.loop));
    std::set<std::string> seen;
    for (const LoopPlan& plan : schedule_.loops) {
      std::string name = graph::text_of(plan.loop);
      auto graph =
          std::find_if(graphs_.begin(), graphs_.end(), [&](const graph::TaskGraph& g) { return g.loop == plan.loop; });
      if (!seen.insert(name).second)
        diags_.error(Rule::schedule_complete, plan.at.loc, fmt::format("the loop '{}' has a second part", name));
      if (graph == graphs_.end()) {
        diags_.error(Rule::schedule_name, plan.at.loc, fmt::format("the kernel has no pipelined loop '{}'", name),
                     lang::did_you_mean(name, known, "it has " + lang::quoted_list(known)));
        continue;
      }
      diags_.append(check(plan, *graph, schedule_.place.roles));
    }
  }

  void memory() {
    if (!device_.limits || schedule_.place.work.occupancy > device_.limits->blocks_per_unit.integer()) return;
    std::int64_t need = shared_bytes(schedule_, kernel_), limit = shared_limit(device_, schedule_.place.work.occupancy);
    if (need <= limit) return;
    int most = 1;
    const LoopPlan* widest = nullptr;
    for_each_buffer(kernel_, ir::Scope::shared, [&](const ir::BufferDecl& buffer) {
      for (const LoopPlan& loop : schedule_.loops) {
        if (loop.copies(buffer.name) <= most) continue;
        most = loop.copies(buffer.name);
        widest = &loop;
      }
    });
    std::string fix = "use smaller tiles: even one copy of each buffer does not fit";
    for (int n = most - 1; n >= 1; --n) {
      std::int64_t bytes = shared_bytes(with_at_most(schedule_, n), kernel_);
      if (bytes > limit) continue;
      fix = fmt::format("use a depth of {}, the largest that fits, with {}; or smaller tiles", n, kib(bytes));
      break;
    }
    diags_.error(Rule::schedule_memory, widest == nullptr ? schedule_.at.loc : widest->at.loc,
                 fmt::format("{} needs {} of shared memory with up to {} copies of a buffer; a block of {} can have {}",
                             kernel_.name, kib(need), most, device_.name, kib(limit)),
                 fix);
  }

  /// Bytes of the fragments that a role holds at one time at least: those that one statement uses and those that
  /// iterations hand on.
  std::int64_t fragment_bytes(const Role& role) const {
    std::int64_t most = 0;
    for (const graph::TaskGraph& graph : graphs_) {
      const LoopPlan* plan = schedule_.find(graph.loop);
      if (plan == nullptr) continue;
      auto own = [&](std::size_t node) { return plan->find(graph.nodes[node].name)->role == role.name; };
      std::set<const ir::BufferDecl*> handed_on;
      for (const graph::Edge& edge : graph.edges) {
        bool flows = edge.kind == analysis::DependenceKind::flow && edge.distance.value_or(0) > 0;
        bool fragment = edge.buffer != nullptr && edge.buffer->scope == ir::Scope::fragment;
        if (flows && fragment && own(edge.from)) handed_on.insert(edge.buffer.get());
      }
      for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
        if (!own(i)) continue;
        std::set<const ir::BufferDecl*> held = handed_on;
        for (const auto* uses : {&graph.nodes[i].reads, &graph.nodes[i].writes}) {
          for (const graph::Use& use : *uses) {
            if (use.buffer->scope == ir::Scope::fragment) held.insert(use.buffer.get());
          }
        }
        std::int64_t bytes = 0;
        for (const ir::BufferDecl* buffer : held) bytes += bytes_of(*buffer) * plan->copies(buffer->name);
        most = std::max(most, bytes);
      }
    }
    return most;
  }

  /// What a role holds, dealt out to its threads. More may live at one time: that the role program tells.
  void registers() {
    constexpr std::int64_t kRegisterBytes = 4;
    for (const Role& role : schedule_.place.roles) {
      if (!role.regs) continue;
      std::int64_t threads = kThreadsPerWarp * role.warps * role.replicas;
      std::int64_t each = (fragment_bytes(role) + threads * kRegisterBytes - 1) / (threads * kRegisterBytes);
      if (each == 0 || each + kSpareRegisters <= *role.regs) continue;
      diags_.error(Rule::schedule_registers, role.at.loc,
                   fmt::format("role '{}' has {} registers, but its fragments take {} a thread and {} are to spare",
                               role.name, *role.regs, each, kSpareRegisters));
    }
  }

  const Schedule& schedule_;
  const ir::Kernel& kernel_;
  const std::vector<graph::TaskGraph>& graphs_;
  const machine::Device& device_;
  Diagnostics diags_;
};

/// Shared buffers that copies from global memory fill.
std::set<const ir::BufferDecl*> loaded_buffers(const ir::Kernel& kernel) {
  std::set<const ir::BufferDecl*> found;
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* op = std::get_if<ir::TileOp>(&stmt.node);
    if (op == nullptr || op->kind != ir::OpKind::copy) return;
    if (op->operands[0].buffer->scope == ir::Scope::global) found.insert(op->operands[1].buffer.get());
  });
  return found;
}

/// The most bytes that live at the same time; that is when one of them begins to.
std::int64_t peak_of(const std::vector<std::pair<analysis::Life, std::int64_t>>& tiles) {
  std::int64_t peak = 0;
  for (const auto& [begin, unused] : tiles) {
    std::int64_t bytes = 0;
    for (const auto& [life, own] : tiles) bytes += life.first <= begin.first && begin.first <= life.last ? own : 0;
    peak = std::max(peak, bytes);
  }
  return peak;
}

}  // namespace

std::int64_t shared_bytes(const Schedule& schedule, const ir::Kernel& kernel) {
  // What copies load may be loaded ahead, whatever else lives then; other buffers share memory as far as they can.
  std::set<const ir::BufferDecl*> loaded = loaded_buffers(kernel);
  analysis::Lives lives(kernel);
  std::int64_t bytes = 0;
  std::vector<std::pair<analysis::Life, std::int64_t>> others;
  for_each_buffer(kernel, ir::Scope::shared, [&](const ir::BufferDecl& buffer) {
    std::int64_t own = bytes_of(buffer) * copies_of(schedule, buffer);
    auto life = loaded.contains(&buffer) ? std::nullopt : lives.of(buffer);
    if (life) {
      others.emplace_back(*life, own);
    } else {
      bytes += own;
    }
  });
  bytes += peak_of(others);
  for (const Staging& staging : schedule.place.stagings) bytes += staging.bytes;
  return bytes;
}

Diagnostics check(const Schedule& schedule, const ir::Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
                  const machine::Device& device) {
  return Checker(schedule, kernel, graphs, device).run();
}

std::int64_t shared_limit(const machine::Device& device, int occupancy) {
  const machine::Limits& limits = *device.limits;
  return std::min(limits.smem_per_block.integer(),
                  limits.smem_per_unit.integer() / occupancy - limits.smem_reserved.integer());
}

std::string kib(std::int64_t bytes) {
  constexpr double kKibi = 1024;
  return fmt::format("{:g} KiB", static_cast<double>(bytes) / kKibi);
}

}  // namespace plait::plan
