#include "npu/lower/derive.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "npu/lower/lowering.h"
#include "npu/separate.h"
#include "pipeline/default_work.h"
#include "plan/check.h"
#include "plan/limits.h"
#include "plan/ordered.h"
#include "plan/rules.h"
#include "roles/verify.h"

namespace plait::npu {

using namespace ir;

namespace {

/// The body with at most so many stages asked for in each loop.
Body with_stages(const Body& body, int most) {
  Body out;
  for (const StmtRef& stmt : body) {
    const auto* loop = std::get_if<For>(&stmt->node);
    if (loop == nullptr || loop->kind == LoopKind::parallel) {
      out.push_back(stmt);
      continue;
    }
    For made = *loop;
    made.body = with_stages(loop->body, most);
    if (made.pipeline.stages) made.pipeline.stages = std::min(*made.pipeline.stages, most);
    out.push_back(make_stmt(std::move(made), stmt->loc));
  }
  return out;
}

const MemoryUse* over(const std::vector<MemoryUse>& uses) {
  auto found = std::find_if(uses.begin(), uses.end(), [](const MemoryUse& use) { return use.need > use.limit; });
  return found == uses.end() ? nullptr : &*found;
}

int most_stages(const Kernel& kernel) {
  int most = 0;
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop != nullptr && loop->pipeline.order.empty()) most = std::max(most, loop->pipeline.stages.value_or(0));
  });
  return most;
}

/// The need, the limit, and the largest number of stages with which it fits.
Diagnostics over_capacity(const Kernel& kernel, const machine::Device& device, const MemoryUse& use, bool by_rules) {
  std::string fix = "use smaller tiles: even without pipelining the buffers do not fit";
  int asked = by_rules ? most_stages(kernel) : 0;
  if (!by_rules) fix = "give buffers fewer versions, or use smaller tiles";
  for (int n = asked - 1; n >= 0; --n) {
    Kernel fewer = kernel;
    fewer.body = with_stages(kernel.body, n);
    auto plan = plan::plan_by_rules(fewer, device);
    if (!plan) break;
    std::vector<MemoryUse> uses = memory_use(fewer, plan->schedule, device);
    if (over(uses) != nullptr) continue;
    auto own = std::find_if(uses.begin(), uses.end(), [&](const MemoryUse& u) { return u.kind == use.kind; });
    fix = fmt::format("use stages={}, the largest that fits, with {}; or smaller tiles", n, plan::kib(own->need));
    break;
  }
  Diagnostics found;
  found.error(
      Rule::pipeline_capacity, kernel.loc,
      fmt::format("{} needs {} of {}{}; {} has {}", kernel.name, plan::kib(use.need), machine::name_of(use.kind),
                  asked > 0 ? fmt::format(" with stages={}", asked) : "", device.name, plan::kib(use.limit)),
      fix);
  return found;
}

}  // namespace

Diagnostics check_memory(const Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device,
                         bool by_rules) {
  std::vector<MemoryUse> uses = memory_use(kernel, schedule, device);
  const MemoryUse* use = over(uses);
  return use == nullptr ? Diagnostics() : over_capacity(kernel, device, *use, by_rules);
}

namespace {

/// A schedule is somebody's input, or one of several of a planner: what its role program breaks refuses it.
Diagnostics not_carried_out(const Diagnostics& broken, const Kernel& kernel, const plan::Schedule& schedule) {
  Diagnostics found;
  for (const Diagnostic& d : broken.list()) {
    if (d.severity != Severity::error) continue;
    Diagnostic& own = found.error(d.rule, d.loc.known() ? d.loc : kernel.loc,
                                  "the role program of this schedule does not hold: " + d.message,
                                  "give buffers more versions, or statements the order of the program");
    if (schedule.at.loc.known()) own.notes.push_back({schedule.at.loc, "the schedule"});
  }
  return found;
}

/// The role program of a schedule that fits.
Result<Derived> lowered(Derived derived, const machine::Device& device, bool by_rules) {
  Diagnostics full = check_memory(derived.kernel, derived.made.schedule, device, by_rules);
  if (full.has_errors()) return full;
  derived.memory = memory_use(derived.kernel, derived.made.schedule, device);
  Lowering lowering(derived.kernel, derived.made.schedule, device);
  auto program = lowering.run();
  if (!program) return program.diagnostics();
  derived.vector_cores = lowering.vector_cores();
  derived.made.program = std::move(*program);
  Diagnostics broken = roles::verify(derived.made.program, roles::limits_of(device));
  if (broken.has_errors()) return not_carried_out(broken, derived.kernel, derived.made.schedule);
  return derived;
}

}  // namespace

Result<Derived> carry_out(const Kernel& kernel, const std::vector<graph::TaskGraph>& graphs,
                          const machine::Device& device, const plan::Schedule& schedule) {
  Diagnostics found = plan::check(schedule, kernel, graphs, device);
  if (found.has_errors()) return found;
  Derived derived;
  derived.kernel = plan::ordered(kernel, schedule);
  derived.made.schedule = schedule;
  return lowered(std::move(derived), device, false);
}

Result<Derived> derive(const Kernel& written, const machine::Device& device,
                       const std::optional<plan::Schedule>& schedule) {
  auto kernel = separate(written);
  if (!kernel) return kernel.diagnostics();
  if (schedule) return carry_out(*kernel, graph::build(*kernel), device, *schedule);
  auto plan = plan::plan_by_rules(*kernel, device);
  if (!plan) return plan.diagnostics();
  Derived derived;
  derived.kernel = std::move(*kernel);
  derived.made.schedule = std::move(plan->schedule);
  derived.made.schedule.place.work = pipeline::default_work(derived.kernel, device);
  for (const Note& note : plan->reasons) derived.made.remarks.push_back({note.loc, note.message});
  return lowered(std::move(derived), device, true);
}

}  // namespace plait::npu
