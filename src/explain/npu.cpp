#include "explain/npu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "explain/table.h"
#include "ir/visit.h"
#include "npu/costs.h"
#include "npu/uses.h"

namespace plait::explain {
namespace {

/// The loops, with the costs that the simulator is given.
class NpuExplainer {
 public:
  NpuExplainer(const npu::Derived& derived, const machine::Device& device)
      : device_(device), homes_(derived.kernel.body), rows_(derived.kernel, homes_, device) {}

  NpuLoop loop(const graph::TaskGraph& graph, const plan::LoopPlan& plan) const {
    NpuLoop out;
    out.name = graph::text_of(graph.loop);
    out.planner = plan.planner;
    for (const graph::Node& node : graph.nodes) {
      const plan::Slot* slot = plan.find(node.name);
      if (slot != nullptr) out.tasks.push_back(task(node, *slot, plan));
    }
    std::stable_sort(out.tasks.begin(), out.tasks.end(),
                     [](const auto& a, const auto& b) { return a.order < b.order; });
    for (const NpuTask& task : out.tasks) {
      out.sequence += task.latency;
      for (const auto& [unit, cycles] : task.busy) out.busy[unit] += cycles;
    }
    for (const auto& [unit, cycles] : out.busy) {
      if (cycles <= out.interval) continue;
      out.interval = cycles;
      out.critical = machine::name_of(unit);
    }
    return out;
  }

 private:
  NpuTask task(const graph::Node& node, const plan::Slot& slot, const plan::LoopPlan& plan) const {
    NpuTask out;
    out.name = graph::text_of(node.name);
    out.role = npu::core_of(*node.stmt, homes_) == npu::Core::cube ? "aic" : "aiv";
    out.unit = machine::name_of(npu::unit_of(*node.stmt, homes_));
    out.stage = slot.stage;
    out.order = slot.order;
    for (const graph::Use& use : node.writes) {
      if (use.buffer->scope == ir::Scope::global) continue;
      int copies = plan.copies(use.buffer->name);
      out.copies += fmt::format("{}{}{}", out.copies.empty() ? "" : ", ", use.buffer->name,
                                copies > 1 ? fmt::format(" x{}", copies) : "");
    }
    if (auto cost = npu::cost_of(node, homes_, device_, rows_.shares(*node.stmt))) {
      out.latency = cost->latency;
      out.busy = std::move(cost->busy);
      out.source = std::move(cost->source);
    }
    return out;
  }

  const machine::Device& device_;
  npu::Homes homes_;
  npu::Rows rows_;
};

std::string loop_text(const NpuLoop& loop) {
  std::vector<std::string> head = {"task", "role", "unit", "stage", "order", "writes", "latency"};
  std::string right = "lllrrlr";
  for (const auto& [unit, cycles] : loop.busy) {
    head.emplace_back(machine::name_of(unit));
    right += 'r';
  }
  head.emplace_back("cost");
  Table table(head, right + "l");
  auto add = [&](std::vector<std::string> row, const std::map<machine::UnitKind, std::int64_t>& busy,
                 const std::string& source) {
    for (const auto& [unit, cycles] : loop.busy)
      row.push_back(busy.contains(unit) ? std::to_string(busy.at(unit)) : "-");
    row.push_back(source);
    table.add(std::move(row));
  };
  for (const NpuTask& task : loop.tasks)
    add({task.name, task.role, task.unit, std::to_string(task.stage), std::to_string(task.order), task.copies,
         std::to_string(task.latency)},
        task.busy, task.source);
  add({"all", "", "", "", "", "", std::to_string(loop.sequence)}, loop.busy, "");
  return fmt::format(
      "\nloop {}, planner {}; cycles of an iteration: latencies, and how long units are busy\n{}  II at least {} "
      "cycles: {}, the unit that is busy longest\n  the tasks take {} cycles one after the other\n",
      loop.name, loop.planner, table.text(2), loop.interval, loop.critical, loop.sequence);
}

std::string memory_text(const NpuExplanation& npu) {
  std::string out = "\nmemories of a core\n";
  Table memories({"memory", "taken", "of", ""}, "lrrr");
  for (const npu::MemoryUse& use : npu.memory)
    memories.add({std::string(machine::name_of(use.kind)), std::to_string(use.need), std::to_string(use.limit),
                  fmt::format("{:.1f} %", 100.0 * static_cast<double>(use.need) / static_cast<double>(use.limit))});
  out += memories.text(2) + "\nbuffers\n";
  Table buffers({"buffer", "type", "memory", "copies"}, "lllr");
  for (const NpuBuffer& buffer : npu.buffers)
    buffers.add({buffer.name, fmt::format("{}[{}]", buffer.type, fmt::join(buffer.shape, ", ")), buffer.memory,
                 std::to_string(buffer.copies)});
  return out + buffers.text(2);
}

}  // namespace

NpuExplanation explain(const npu::Derived& derived, const machine::Device& device) {
  NpuExplanation out;
  out.memory = derived.memory;
  out.vector_cores = derived.vector_cores;
  NpuExplainer explainer(derived, device);
  for (const graph::TaskGraph& graph : graph::build(derived.kernel)) {
    const plan::LoopPlan* plan = derived.made.schedule.find(graph.loop);
    if (plan != nullptr) out.loops.push_back(explainer.loop(graph, *plan));
  }
  npu::Homes homes(derived.kernel.body);
  ir::walk(derived.kernel.body, [&](const ir::Stmt& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
    if (alloc == nullptr || !npu::uses_of(alloc->buffer, derived.kernel.body).any()) return;
    NpuBuffer buffer;
    buffer.name = alloc->buffer->name;
    buffer.type = ir::dtype_name(alloc->buffer->type);
    buffer.shape = ir::static_shape(*alloc->buffer);
    buffer.memory = machine::name_of(homes.of(alloc->buffer));
    for (const plan::LoopPlan& loop : derived.made.schedule.loops)
      buffer.copies = std::max(buffer.copies, loop.copies(buffer.name));
    out.buffers.push_back(std::move(buffer));
  });
  for (const place::Remark& remark : derived.made.remarks) out.notes.push_back({remark.loc, remark.text});
  return out;
}

std::string text(const NpuExplanation& npu, const Explanation& whole) {
  std::string out = fmt::format("kernel   {} on {}: {} cores at {:.0f} MHz\nlaunch   {} blocks\nroles    ",
                                whole.kernel, whole.device, whole.sms, whole.clock_mhz, whole.launch);
  std::vector<std::string> roles;
  for (const RoleUse& role : whole.roles)
    roles.push_back(role.replicas > 1 ? fmt::format("{} x{}, by rows", role.name, role.replicas) : role.name);
  out += fmt::format("{}\n", fmt::join(roles, "; "));
  for (const NpuLoop& loop : npu.loops) out += loop_text(loop);
  out += memory_text(npu) + prediction_text(whole);
  if (npu.notes.empty()) return out;
  out += "\nwhat is otherwise than asked for\n";
  for (const Note& note : npu.notes) out += fmt::format("  {}: {}\n", note.loc.line, note.text);
  return out;
}

}  // namespace plait::explain
