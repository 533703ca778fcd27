#include <fmt/format.h>

#include "pipeline/barriers.h"
#include "pipeline/lowering.h"
#include "pipeline/pipeline.h"
#include "plan/limits.h"
#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "roles/verify.h"
#include "roles/visit.h"

// The whole program, and what it must keep to.
namespace plait::pipeline {

using namespace ir;

namespace {

/// Whether all threads meet in a loop in which replicas take turns: each would wait there for the others.
bool meets_in_turns(const roles::Body& role) {
  auto has = [](const roles::Body& body, const auto& is) {
    bool found = false;
    roles::walk(body, [&](const roles::Stmt& stmt) { found = found || is(stmt); });
    return found;
  };
  auto passes = [](const roles::Stmt& stmt) { return std::holds_alternative<roles::BarrierArrive>(stmt.node); };
  auto meets = [](const roles::Stmt& stmt) {
    const auto* sync = std::get_if<roles::BarrierSync>(&stmt.node);
    return sync != nullptr && as_int(sync->id) == kMeeting;
  };
  return has(role, [&](const roles::Stmt& stmt) {
    const auto* loop = std::get_if<roles::For>(&stmt.node);
    if (loop == nullptr || !has(loop->body, passes) || !has(loop->body, meets)) return false;
    auto around = [&](const roles::Stmt& inner) {
      const auto* other = std::get_if<roles::For>(&inner.node);
      return other != nullptr && has(other->body, passes);
    };
    return !has(loop->body, around);
  });
}

}  // namespace

/// Whether roles hand each other registers. Only accumulators take more than an even share, and who moves registers
/// takes all of the file; elsewhere a thread has what the compiler finds it needs, so that several blocks find room.
bool Lowering::moves_registers() const {
  if (!whole_groups()) return false;
  auto multiplies = [](const auto& placed) {
    return std::holds_alternative<place::GemmAtom>(placed.second) ||
           std::holds_alternative<place::EachGemmAtom>(placed.second);
  };
  auto asks = [](const plan::Role& role) { return role.regs.has_value(); };
  return std::any_of(placed_.atoms.begin(), placed_.atoms.end(), multiplies) ||
         std::any_of(schedule_.place.roles.begin(), schedule_.place.roles.end(), asks);
}

/// Registers of a thread: as the schedule says, else what is left of the file when the role that loads has its share.
int Lowering::registers(std::string_view role) const {
  for (const plan::Role& asked : schedule_.place.roles) {
    if (asked.name == role && asked.regs) return *asked.regs;
  }
  if (role == "load") return rings_.any_gathered() ? kGatherRegisters : kLoadRegisters;
  // A block has what it was launched with: the same for all threads, in steps of 8.
  auto file = placed_.device.limits->registers_per_unit.integer();
  const std::int64_t threads = std::int64_t{placed_.replicas} * placed_.warps * 32, all = threads + kLoadThreads;
  std::int64_t block = file / (all * schedule_.place.work.occupancy) / 8 * 8 * all;
  std::int64_t each = (block - kLoadThreads * registers("load")) / threads / 8 * 8;
  return static_cast<int>(std::min<std::int64_t>(each, 240));
}

std::int64_t Lowering::shared_limit() const {
  return plan::shared_limit(placed_.device, schedule_.place.work.occupancy);
}

/// What so many blocks of a multiprocessor do not leave room for.
Diagnostics Lowering::occupancy_obstacles(const roles::Program& program) const {
  Diagnostics found;
  const plan::Work& work = schedule_.place.work;
  const Loc& asked = work.at.loc.known() ? work.at.loc : kernel_.loc;
  std::int64_t threads = std::int64_t{roles::thread_count(program)} * work.occupancy;
  if (std::int64_t most = placed_.device.limits->threads_per_unit.integer(); work.occupancy > 1 && threads > most) {
    found.error(Rule::place_operation, asked,
                fmt::format("occupancy {}: its blocks have {} threads together; a multiprocessor of {} holds {}",
                            work.occupancy, threads, placed_.device.name, most));
    return found;
  }
  constexpr int kLeastRegisters = 24;
  for (const roles::Role& role : program.roles) {
    if (work.occupancy == 1 || !role.regs || *role.regs >= kLeastRegisters) continue;
    found.error(Rule::place_registers, asked,
                fmt::format("occupancy {}: a thread of role `{}` would have {} registers, and needs {}", work.occupancy,
                            role.name, std::max(*role.regs, 0), kLeastRegisters));
    return found;
  }
  return found;
}

Diagnostics Lowering::check(const roles::Program& program) const {
  Diagnostics found;
  roles::Limits limits = roles::limits_of(placed_.device);
  limits.smem_block = shared_limit();
  if (found = occupancy_obstacles(program); found.has_errors()) return found;
  std::int64_t bytes = roles::arena(roles::lower_channels(program)).bytes;
  if (bytes > limits.smem_block) {
    std::string rings;
    for (const Ring& ring : rings_.all())
      rings += fmt::format("{}{} slots of {}", rings.empty() ? " (" : ", ", ring.depth, ring.name);
    found.error(Rule::pipeline_capacity, kernel_.loc,
                fmt::format("a block needs {} bytes of shared memory, and {} has {}{}", bytes, placed_.device.name,
                            limits.smem_block, rings.empty() ? "" : rings + ")"));
    return found;
  }
  Diagnostics broken = roles::verify(program, limits);
  for (const Diagnostic& d : broken.list()) {
    if (d.severity != Severity::error) continue;
    // What only a user's threads, replicas, occupancy and tokens bring about.
    bool registers = d.rule == Rule::fragment_registers || d.rule == Rule::register_budget;
    bool crowded = d.rule == Rule::role_threads || d.rule == Rule::barrier_id;
    PLAIT_ASSERT(registers || crowded, "a derived role program is wrong:\n" + broken.render());
    if (crowded) {
      found.error(Rule::place_operation, kernel_.loc, d.message, "use fewer threads, replicas or tokens");
      continue;
    }
    found.error(Rule::place_registers, kernel_.loc, d.message, d.fix);
  }
  return found;
}

Result<roles::Program> Lowering::run() {
  if (!carries_out(schedule_)) return diags_;
  const Cluster& cluster = work_.cluster();
  if (cluster.blocks > 1) varying_.emplace(kernel_, cluster.axis);
  head();
  // A role without registers of its own only where it is the only one.
  bool loads = !rings_.all_own();
  if (loads) load_role();
  math_role();
  if (diags_.has_errors()) return diags_;
  roles::Program program = b_.build();
  std::set<const BufferDecl*> apart = tensors_apart();
  for (const auto& [stmt, staging] : stagings_) {
    apart.insert(staging.smem->buffer.get());
    // Each element of its tensor is stored once.
    if (const auto rows = graph::row_scatter(*stmt)) apart.insert(rows->tensor.get());
  }
  program.roles.back().body =
      with_barriers({program.roles.back(), kMeeting, apart, together_, swept_}, program.builtins);
  if (meets_in_turns(program.roles.back().body))
    refuse_schedule(schedule_.at.loc, "a token in a loop in which all threads that compute meet");
  if (diags_.has_errors()) return diags_;
  program.params = kernel_.params;
  program.dims = kernel_.dims;
  program.requires_ = kernel_.requires_;
  for (const Var& dim : kernel_.dims) {
    if (!scalars_.narrowed().contains(dim)) continue;
    program.requires_.push_back(
        {Value(dim) <= Value(Scalars::kMostExtent), "larger extents take 64-bit arithmetic", kernel_.loc});
  }
  for (const ExprRef& cond : scalars_.demands())
    program.requires_.push_back({cond, "more rows take 64-bit arithmetic", kernel_.loc});
  Value blocks = kernel_.grid.front().extent;
  for (std::size_t d = 1; d < work_.axes(); ++d) blocks = blocks * Value(kernel_.grid[d].extent);
  if (work_.axes() > 1)
    program.requires_.push_back({blocks <= Value(max_blocks), "the grid has too many blocks", kernel_.loc});
  program.loc = kernel_.loc;
  program.occupancy = schedule_.place.work.occupancy;
  Diagnostics found = check(program);
  if (found.has_errors()) return found;
  return program;
}

Result<roles::Program> lower(const place::Placed& placed, const plan::Schedule& schedule,
                             std::vector<place::Remark>* remarks, const Pieces* pieces) {
  auto rings = Rings::find(placed, schedule);
  if (!rings) return rings.diagnostics();
  Lowering lowering(placed, schedule, std::move(*rings), pieces);
  auto program = lowering.run();
  if (remarks != nullptr) remarks->insert(remarks->end(), lowering.remarks().begin(), lowering.remarks().end());
  return program;
}

}  // namespace plait::pipeline
