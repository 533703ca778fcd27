#include "pipeline/lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/barriers.h"
#include "pipeline/pipeline.h"
#include "roles/arena.h"
#include "roles/builtin_names.h"
#include "roles/verify.h"
#include "roles/visit.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

/// What callers name: tensors, scalars and dims.
std::set<std::string> caller_names(const Kernel& kernel) {
  std::set<std::string> names;
  for (const Param& param : kernel.params) names.insert(param.buffer ? param.buffer->name : param.scalar->name);
  for (const Var& dim : kernel.dims) names.insert(dim->name);
  return names;
}

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

Lowering::Lowering(const place::Placed& placed, const plan::Schedule& schedule, Rings rings, const Pieces* pieces)
    : placed_(placed),
      schedule_(schedule),
      kernel_(placed.kernel),
      rings_(std::move(rings)),
      names_(graph::name_statements(placed.kernel)),
      b_(placed.kernel.name, placed.device.name),
      scalars_(placed.kernel),
      fresh_(caller_names(placed.kernel)),
      work_(kernel_, schedule.place.work, pieces, b_, scalars_, fresh_),
      next_barrier_(placed.replicas + 1),
      sums_(find_sums(placed)) {
  find_computed_lets();
  b_.taken(fresh_.of_head());
  for (const roles::BuiltinName& builtin : roles::builtin_names()) fresh_.take((b_.builtins().*builtin.var)->name);
  scalars_.elements([this](const Load& load, const Values& index) { return read(load.buffer, index); });
}

// ---- What both roles do --------------------------------------------------------------------------------------------

void Lowering::begin_role() {
  fresh_.begin_role();
  counters_.clear();
  counter_vars_.clear();
  for (std::size_t r = 0; r < channels_.size(); ++r) {
    counter_vars_.push_back(b_.var(fresh(channels_.size() == 1 ? "n" : "n_" + channels_[r]->name), DType::u32, 0));
    counters_.emplace_back(counter_vars_.back());
  }
}

/// A block's memory is there until no other fills it or arrives in it.
void Lowering::leave_cluster() {
  if (work_.cluster().blocks == 1) return;
  b_.add(roles::ClusterArrive{});
  b_.add(roles::ClusterWait{});
}

/// Whether every role knows the value: it comes from no buffer on chip.
bool Lowering::is_uniform_let(const Let& node) const { return !computed_.contains(node.var.get()); }

/// Lets whose values come from buffers on chip, by way of other lets too.
void Lowering::find_computed_lets() {
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* node = std::get_if<Let>(&stmt.node);
    if (node == nullptr) return;
    walk(node->value, [&](const Expr& e) {
      const auto* load = std::get_if<Load>(&e.node);
      const auto* ref = std::get_if<VarRef>(&e.node);
      bool on_chip = load != nullptr && load->buffer->scope != Scope::global;
      if (on_chip || (ref != nullptr && computed_.contains(ref->var.get()))) computed_.insert(node->var.get());
    });
  });
}

void Lowering::let(const Let& node) {
  Value value = scalars_.convert(node.value);
  auto kept = registers_.find(node.var.get());
  if (kept != registers_.end()) return b_.set(kept->second, converted(node.var->type, value));
  scalars_.bind(node.var, b_.let(fresh(node.var->name), value));
  scalars_.add_let(node);
}

Value Lowering::slot(std::size_t ring, int behind) const {
  Value n = behind == 0 ? counter(ring) : counter(ring) - behind;
  return n % rings_.all()[ring].depth;
}

roles::ChannelRef Lowering::item(std::size_t ring, int behind) const {
  return at(channels_[ring], behind == 0 ? counter(ring) : counter(ring) - behind);
}

roles::SmemRef Lowering::tile(const Buffer& buffer, const Values& index) {
  Values full = index;
  if (auto ring = rings_.ring_of(buffer)) full.insert(full.begin(), slot(*ring, lead_));
  return at(tiles_.at(buffer.get()), full);
}

void Lowering::advance(const std::vector<std::size_t>& rings) {
  for (std::size_t ring : rings) b_.set(counter_vars_[ring], counter(ring) + 1);
}

// ---- All of it -----------------------------------------------------------------------------------------------------

/// Registers of a thread: as the schedule says, else what is left of the file when the role that loads has its share.
int Lowering::registers(std::string_view role) const {
  for (const plan::Role& asked : schedule_.place.roles) {
    if (asked.name == role && asked.regs) return *asked.regs;
  }
  if (role == "load") return kLoadRegisters;
  auto file = placed_.device.limits->registers_per_unit.integer();
  std::int64_t threads = std::int64_t{placed_.replicas} * placed_.warps * 32;
  std::int64_t each = (file - 128 * registers("load")) / threads / 8 * 8;
  return static_cast<int>(std::min<std::int64_t>(each, 240));
}

Diagnostics Lowering::check(const roles::Program& program) const {
  Diagnostics found;
  roles::Limits limits = roles::limits_of(placed_.device);
  std::int64_t bytes = roles::arena(program).bytes;
  if (bytes > limits.smem_block) {
    std::string rings;
    for (const Ring& ring : rings_.all())
      rings += fmt::format("{}{} slots of {}", rings.empty() ? "" : ", ", ring.depth, ring.name);
    found.error(Rule::pipeline_capacity, kernel_.loc,
                fmt::format("a block needs {} bytes of shared memory, and {} has {} ({})", bytes, placed_.device.name,
                            limits.smem_block, rings));
    return found;
  }
  Diagnostics broken = roles::verify(program, limits);
  for (const Diagnostic& d : broken.list()) {
    if (d.severity != Severity::error) continue;
    PLAIT_ASSERT(d.rule == Rule::fragment_registers, "a derived role program is wrong:\n" + broken.render());
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
  bool loads = !channels_.empty();
  if (loads) load_role();
  math_role();
  if (diags_.has_errors()) return diags_;
  roles::Program program = b_.build();
  std::set<const BufferDecl*> apart = tensors_apart();
  for (const auto& [stmt, staging] : stagings_) apart.insert(staging.smem->buffer.get());
  program.roles.back().body = with_barriers({program.roles.back(), kMeeting, apart}, program.builtins);
  if (meets_in_turns(program.roles.back().body))
    refuse_schedule(schedule_.at.loc, "a token in a loop in which all threads that compute meet");
  if (diags_.has_errors()) return diags_;
  program.params = kernel_.params;
  program.dims = kernel_.dims;
  program.requires_ = kernel_.requires_;
  for (const Var& dim : scalars_.narrowed()) {
    program.requires_.push_back(
        {Value(dim) <= Value(Scalars::kMostExtent), "larger extents take 64-bit arithmetic", kernel_.loc});
  }
  Value blocks = kernel_.grid.front().extent;
  std::size_t axes = work_.counts().size();
  for (std::size_t d = 1; d < axes; ++d) blocks = blocks * Value(kernel_.grid[d].extent);
  if (axes > 1) program.requires_.push_back({blocks <= Value(max_blocks), "the grid has too many blocks", kernel_.loc});
  program.loc = kernel_.loc;
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
