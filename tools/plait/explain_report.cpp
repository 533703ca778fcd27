#include "explain_report.h"

namespace plait::cli {
namespace {

Report busy_report(const explain::Busy& busy) {
  Report out;
  for (int i = 0; i < sim::kOwnUnits; ++i) {
    auto unit = static_cast<sim::Unit>(i);
    out.set(explain::unit_name(unit), busy.of(unit));
  }
  out.set("l2_share", busy.l2_share);
  out.set("memory_share", busy.memory_share);
  out.set("bytes", static_cast<std::int64_t>(busy.bytes));
  return out;
}

Report task_report(const explain::Task& task) {
  Report out;
  out.set("task", task.name);
  out.set("line", std::int64_t{task.loc.line});
  out.set("roles", task.roles);
  out.set("unit", task.unit);
  out.set("stage", std::int64_t{task.stage});
  out.set("order", std::int64_t{task.order});
  out.set("writes", task.copies);
  out.set("busy", busy_report(task.busy));
  return out;
}

Report loop_report(const explain::Loop& loop) {
  Report out;
  out.set("loop", loop.name);
  out.set("planner", loop.planner);
  std::vector<Report> tasks, rings;
  for (const explain::Task& task : loop.tasks) tasks.push_back(task_report(task));
  out.set("tasks", tasks);
  out.set("busy", busy_report(loop.busy));
  out.set("critical", std::string(explain::unit_name(loop.critical)));
  out.set("resource_ii", loop.resource_ii);
  out.set("recurrence_ii", loop.recurrence_ii);
  out.set("recurrence", loop.recurrence);
  out.set("sequence", loop.sequence);
  for (const explain::Ring& ring : loop.rings) {
    Report entry;
    entry.set("ring", ring.name);
    entry.set("tiles", ring.tiles);
    entry.set("depth", ring.depth);
    entry.set("slot_bytes", ring.slot_bytes);
    entry.set("latency", ring.latency);
    entry.set("sufficient_depth", ring.sufficient);
    rings.push_back(std::move(entry));
  }
  out.set("rings", rings);
  return out;
}

Report memory_report(const explain::Explanation& what) {
  Report out;
  out.set("bytes", what.smem_bytes);
  out.set("limit", what.smem_limit);
  std::vector<Report> tiles;
  for (const explain::Tile& tile : what.tiles) {
    Report entry;
    entry.set("tile", tile.name);
    entry.set("type", tile.type);
    entry.set("shape", tile.shape);
    entry.set("at", tile.offset);
    entry.set("bytes", tile.bytes);
    entry.set("ring", tile.channel);
    tiles.push_back(std::move(entry));
  }
  out.set("tiles", tiles);
  return out;
}

Report prediction_report(const explain::Prediction& prediction) {
  Report out, dims, busy;
  for (const auto& [name, value] : prediction.dims) dims.set(name, value);
  out.set("dims", dims);
  out.set("cycles", prediction.run.cycles);
  out.set("microseconds", prediction.microseconds);
  out.set("blocks", prediction.run.blocks);
  for (const sim::UnitUse& unit : prediction.run.units) {
    busy.set(unit.name, sim::share_of(unit, prediction.run));
  }
  out.set("busy", busy);
  return out;
}

}  // namespace

void describe(const explain::Explanation& what, Report& report) {
  report.set("kernel", what.kernel);
  report.set("device", what.device);
  report.set("work", what.work);
  report.set("launch", what.launch);
  report.set("threads", std::int64_t{what.threads});
  report.set("occupancy", std::int64_t{what.occupancy});
  std::vector<Report> loops, roles, notes;
  for (const explain::Loop& loop : what.loops) loops.push_back(loop_report(loop));
  report.set("loops", loops);
  report.set("shared", memory_report(what));
  for (const explain::RoleUse& role : what.roles) {
    Report entry;
    entry.set("role", role.name);
    entry.set("replicas", std::int64_t{role.replicas});
    entry.set("warps", std::int64_t{role.warps});
    entry.set("fragment_registers", role.fragments);
    entry.set("other_registers", role.other);
    entry.set("budget", role.budget);
    roles.push_back(std::move(entry));
  }
  report.set("roles", roles);
  if (what.prediction) report.set("prediction", prediction_report(*what.prediction));
  for (const explain::Note& note : what.notes) {
    Report entry;
    entry.set("file", note.loc.known() ? note.loc.source->name() : std::string());
    entry.set("line", std::int64_t{note.loc.line});
    entry.set("text", note.text);
    notes.push_back(std::move(entry));
  }
  report.set("notes", notes);
}

void describe(const explain::Layouts& layouts, Report& report) {
  std::vector<Report> tiles, fragments;
  for (const explain::SharedLayout& shared : layouts.shared) {
    Report entry;
    entry.set("tile", shared.smem->buffer->name);
    entry.set("shape", ir::static_shape(*shared.smem->buffer));
    entry.set("swizzle", std::int64_t{shared.tile.span});
    entry.set("panels", shared.tile.panels());
    entry.set("bytes", shared.tile.bytes());
    std::vector<Report> uses;
    for (const explain::BankUse& use : shared.uses) {
      Report access;
      access.set("statement", use.word);
      access.set("line", std::int64_t{use.loc.line});
      access.set("accesses", use.instructions);
      access.set("conflicts", use.conflicts);
      uses.push_back(std::move(access));
    }
    entry.set("uses", uses);
    tiles.push_back(std::move(entry));
  }
  for (const explain::RegisterLayout& layout : layouts.fragments) {
    Report entry;
    entry.set("fragment", layout.fragment->buffer->name);
    entry.set("role", layout.role);
    entry.set("layout", explain::home_text(layout));
    entry.set("shape", ir::static_shape(*layout.fragment->buffer));
    entry.set("elements", layout.map.elements_per_thread());
    entry.set("registers", layout.registers);
    fragments.push_back(std::move(entry));
  }
  Report out;
  out.set("tiles", tiles);
  out.set("fragments", fragments);
  report.set("layouts", out);
}

void describe(const explain::NpuExplanation& npu, Report& report) {
  std::vector<Report> loops, memories;
  for (const explain::NpuLoop& loop : npu.loops) {
    Report one;
    one.set("loop", loop.name);
    one.set("planner", loop.planner);
    one.set("least_interval", loop.interval);
    one.set("critical", loop.critical);
    one.set("sequence", loop.sequence);
    std::vector<Report> tasks;
    for (const explain::NpuTask& task : loop.tasks) {
      Report entry, busy;
      entry.set("task", task.name);
      entry.set("role", task.role);
      entry.set("unit", task.unit);
      entry.set("stage", static_cast<std::int64_t>(task.stage));
      entry.set("order", static_cast<std::int64_t>(task.order));
      entry.set("latency", task.latency);
      for (const auto& [unit, cycles] : task.busy) busy.set(machine::name_of(unit), cycles);
      entry.set("busy", busy);
      entry.set("source", task.source);
      tasks.push_back(std::move(entry));
    }
    one.set("tasks", tasks);
    loops.push_back(std::move(one));
  }
  for (const npu::MemoryUse& use : npu.memory) {
    Report one;
    one.set("memory", std::string(machine::name_of(use.kind)));
    one.set("bytes", use.need);
    one.set("limit", use.limit);
    memories.push_back(std::move(one));
  }
  report.set("loops", loops);
  report.set("memories", memories);
  report.set("vector_cores", static_cast<std::int64_t>(npu.vector_cores));
}

}  // namespace plait::cli
