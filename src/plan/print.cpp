#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/schedule.h"

namespace plait::plan {

std::string_view name_of(WorkKind kind) {
  switch (kind) {
    case WorkKind::plain:
      return "plain";
    case WorkKind::persistent:
      return "persistent";
    case WorkKind::dynamic:
      return "dynamic";
    case WorkKind::stream_k:
      return "stream_k";
  }
  return "";
}

std::string_view name_of(TileOrder order) {
  switch (order) {
    case TileOrder::rows:
      return "rows";
    case TileOrder::grouped:
      return "grouped";
    case TileOrder::hilbert:
      return "hilbert";
    case TileOrder::longest_first:
      return "longest_first";
    case TileOrder::paired:
      return "paired";
  }
  return "";
}

std::string_view name_of(Axis axis) {
  switch (axis) {
    case Axis::rows:
      return "rows";
    case Axis::columns:
      return "columns";
  }
  return "";
}

std::string_view name_of(Instruction instruction) {
  switch (instruction) {
    case Instruction::wgmma:
      return "wgmma";
    case Instruction::mma:
      return "mma";
    case Instruction::fma:
      return "fma";
    case Instruction::tma:
      return "tma";
    case Instruction::cp_async:
      return "cp_async";
    case Instruction::vector:
      return "vector";
    case Instruction::scalar:
      return "scalar";
  }
  return "";
}

std::string_view name_of(Operand operand) {
  switch (operand) {
    case Operand::shared:
      return "shared";
    case Operand::registers:
      return "registers";
  }
  return "";
}

std::string_view name_of(StoreVia via) {
  switch (via) {
    case StoreVia::tma:
      return "tma";
    case StoreVia::vector:
      return "vector";
    case StoreVia::direct:
      return "direct";
  }
  return "";
}

std::string shape_text(const Atom& atom) {
  return fmt::format("m{}n{}k{}, A {}, B {}", atom.m, atom.n, atom.k, name_of(atom.a), name_of(atom.b));
}

bool has_shape(Instruction instruction) { return instruction == Instruction::wgmma || instruction == Instruction::mma; }

namespace {

std::string size_text(std::int64_t bytes) {
  constexpr std::int64_t kKibi = 1024;
  return bytes % kKibi == 0 ? fmt::format("{} KiB", bytes / kKibi) : fmt::format("{} B", bytes);
}

std::string text_of(const Work& work) {
  std::string out = fmt::format("work {}", name_of(work.kind));
  if (work.order == TileOrder::grouped) {
    out += fmt::format(", order grouped({})", work.group);
  } else if (work.order != TileOrder::rows) {
    out += fmt::format(", order {}", name_of(work.order));
  }
  if (work.cluster_x != 1 || work.cluster_y != 1)
    out += fmt::format(", cluster ({}, {})", work.cluster_x, work.cluster_y);
  if (work.heads != 1) out += fmt::format(", heads {}", work.heads);
  if (work.split_k != 1) out += fmt::format(", split_k {}", work.split_k);
  if (work.occupancy != 1) out += fmt::format(", occupancy {}", work.occupancy);
  return out;
}

std::string text_of(const Role& role) {
  std::string out = fmt::format("role {}: warps {}", role.name, role.warps);
  if (role.replicas != 1) out += fmt::format(", replicas {} over {}", role.replicas, name_of(role.over));
  if (role.regs) out += fmt::format(", regs {}", *role.regs);
  return out;
}

std::string text_of(const Atom& atom) {
  std::string out = fmt::format("{}: {}", graph::text_of(atom.stmt), name_of(atom.instruction));
  if (!has_shape(atom.instruction)) return out;
  out += " " + shape_text(atom);
  return atom.swapped ? out + ", swapped" : out;
}

std::string text_of(const Staging& staging) {
  if (staging.via == StoreVia::direct) return fmt::format("stage {} direct", staging.buffer);
  return fmt::format("stage {} through {}, {} store", staging.buffer, size_text(staging.bytes), name_of(staging.via));
}

std::string text_of(const Slot& slot) {
  std::string out = graph::text_of(slot.stmt) + ":";
  if (!slot.role.empty()) out += fmt::format(" role {},", slot.role);
  out += fmt::format(" unit {}, stage {}, order {}", machine::name_of(slot.unit), slot.stage, slot.order);
  return slot.in_flight != 0 ? fmt::format("{}, in flight {}", out, slot.in_flight) : out;
}

class Printer {
 public:
  std::string print(const Schedule& schedule) {
    out_ = fmt::format("schedule {} device {}\n", schedule.kernel, schedule.device);
    if (schedule.place != Place{}) place(schedule.place);
    for (const LoopPlan& plan : schedule.loops) loop(plan);
    for (const RegionPlan& plan : schedule.regions) region(plan);
    return std::move(out_);
  }

 private:
  void line(const std::string& text) { out_ += "  " + text + "\n"; }

  void place(const Place& place) {
    out_ += "place:\n";
    if (place.work != Work{}) line(text_of(place.work));
    for (const Role& role : place.roles) line(text_of(role));
    for (const Atom& atom : place.atoms) line(text_of(atom));
    for (const Staging& staging : place.stagings) line(text_of(staging));
  }

  void loop(const LoopPlan& plan) {
    out_ += fmt::format("loop {}: planner {}", graph::text_of(plan.loop), plan.planner);
    if (plan.ii) out_ += fmt::format(", ii {}", *plan.ii);
    out_ += "\n";
    for (const Slot& slot : plan.slots) line(text_of(slot));
    for (const Ring& ring : plan.rings)
      line(fmt::format("ring {{{}}}: depth {}", fmt::join(ring.buffers, ", "), ring.depth));
    for (const Versions& versions : plan.versions)
      line(fmt::format("versions {}: {}", versions.buffer, versions.count));
    for (const Token& token : plan.tokens)
      line(fmt::format("token {} -> {}", graph::text_of(token.from), graph::text_of(token.to)));
  }

  void region(const RegionPlan& plan) {
    out_ += fmt::format("region {}: planner {}", graph::text_of(plan.region), plan.planner);
    if (plan.makespan) out_ += fmt::format(", makespan {}", *plan.makespan);
    out_ += "\n";
    for (const RegionPlan::Entry& entry : plan.order) line(graph::text_of(entry.stmt));
  }

  std::string out_;
};

}  // namespace

std::string print(const Schedule& schedule) { return Printer().print(schedule); }

}  // namespace plait::plan
