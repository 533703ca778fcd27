#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "explain/explain.h"
#include "explain/table.h"

namespace plait::explain {
namespace {

constexpr double kKibi = 1024;

std::string kib(std::int64_t bytes) { return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKibi); }
std::string percent(double part, double whole) { return fmt::format("{:.1f} %", 100 * part / std::max(whole, 1.0)); }
std::string cycles(double value) { return value == 0 ? "-" : fmt::format("{:.0f}", std::ceil(value)); }
std::string line_of(const Loc& loc) {
  return loc.known() ? fmt::format("{}:{}", loc.source->name(), loc.line) : loc.str();
}

std::string head(const Explanation& e) {
  std::string out =
      fmt::format("kernel   {} on {}: {} multiprocessors at {:.0f} MHz\n", e.kernel, e.device, e.sms, e.clock_mhz);
  if (!e.work.empty()) out += fmt::format("work     {}\n", e.work);
  out += fmt::format("launch   {} blocks of {} threads, {} on a multiprocessor at once\n", e.launch, e.threads,
                     e.occupancy);
  return out;
}

constexpr sim::Unit kShown[] = {sim::Unit::tensor, sim::Unit::tma,  sim::Unit::cuda,
                                sim::Unit::sfu,    sim::Unit::smem, sim::Unit::l2};

std::vector<std::string> busy_cells(const Busy& busy) {
  std::vector<std::string> cells;
  for (sim::Unit unit : kShown) cells.push_back(cycles(busy.of(unit)));
  return cells;
}

std::string tasks(const Loop& loop) {
  std::vector<std::string> names = {"task", "role", "unit", "stage", "order", "writes"};
  for (sim::Unit unit : kShown) names.emplace_back(unit_name(unit));
  Table table(names, "lllrrlrrrrrr");
  auto add = [&](std::vector<std::string> row, const Busy& busy) {
    for (std::string& cell : busy_cells(busy)) row.push_back(std::move(cell));
    table.add(std::move(row));
  };
  for (const Task& task : loop.tasks) {
    add({task.name, fmt::format("{}", fmt::join(task.roles, ", ")), task.unit, std::to_string(task.stage),
         std::to_string(task.order), task.copies},
        task.busy);
  }
  add({"all", "", "", "", "", ""}, loop.busy);
  return table.text(2);
}

std::string bounds(const Loop& loop) {
  std::string out = fmt::format("  II at least {} cycles: {}, the unit that is busy longest\n", loop.resource_ii,
                                unit_name(loop.critical));
  if (loop.recurrence_ii > 0)
    out += fmt::format("  II at least {} cycles: an iteration needs the one before, by {}\n", loop.recurrence_ii,
                       loop.recurrence);
  out += fmt::format("  one replica's tasks take {} cycles one after the other\n", loop.sequence);
  if (loop.busy.bytes > 0)
    out += fmt::format(
        "  {:.1f} KiB an iteration: all multiprocessors at once take {} cycles of L2, {} of main memory were nothing "
        "in "
        "L2\n",
        loop.busy.bytes / kKibi, cycles(loop.busy.l2_share), cycles(loop.busy.memory_share));
  for (const Ring& ring : loop.rings) {
    bool enough = ring.depth >= ring.sufficient;
    out += fmt::format("  ring {} {{{}}}: depth {}, {} a slot; copies take {} cycles, so depth {} hides them: {}\n",
                       ring.name, fmt::join(ring.tiles, ", "), ring.depth, kib(ring.slot_bytes), ring.latency,
                       ring.sufficient, enough ? "enough" : fmt::format("{} short", ring.sufficient - ring.depth));
  }
  return out;
}

std::string loop_text(const Loop& loop) {
  return fmt::format("\nloop {}, planner {}; cycles that an iteration of a block keeps units busy\n{}{}", loop.name,
                     loop.planner, tasks(loop), bounds(loop));
}

std::string shared(const Explanation& e) {
  std::string out = fmt::format("\nshared memory: {} of {} ({})\n", kib(e.smem_bytes), kib(e.smem_limit),
                                percent(static_cast<double>(e.smem_bytes), static_cast<double>(e.smem_limit)));
  Table table({"tile", "type", "at", "bytes", "ring"}, "llrrl");
  for (const Tile& tile : e.tiles)
    table.add({tile.name, fmt::format("{}[{}]", tile.type, fmt::join(tile.shape, ", ")), std::to_string(tile.offset),
               std::to_string(tile.bytes), tile.channel});
  if (e.barrier_bytes > 0) table.add({"mbarriers and gaps", "", "", std::to_string(e.barrier_bytes), ""});
  return out + table.text(2);
}

std::string registers(const Explanation& e) {
  std::string out = "\nregisters of a thread\n";
  Table table({"role", "threads", "fragments", "other", "budget", ""}, "lrrrrl");
  for (const RoleUse& role : e.roles) {
    table.add({role.name, fmt::format("{} x {}", role.replicas, role.warps * 32), std::to_string(role.fragments),
               std::to_string(role.other), std::to_string(role.budget), role.moved ? "setmaxnreg" : "as launched"});
  }
  return out + table.text(2);
}

std::string prediction(const Prediction& p, int sms) {
  std::vector<std::string> dims;
  for (const auto& [name, value] : p.dims) dims.push_back(fmt::format("{}={}", name, value));
  std::string out = fmt::format("\npredicted by simulation for {}\n", fmt::join(dims, " "));
  out += fmt::format("  time  {} cycles, {:.1f} us; {} blocks on {} of {} multiprocessors\n", p.run.cycles,
                     p.microseconds, p.run.blocks, p.run.sms, sms);
  std::vector<std::string> busy;
  for (const sim::UnitUse& unit : p.run.units) {
    busy.push_back(fmt::format("{} {}", unit.name, percent(sim::share_of(unit, p.run), 1)));
  }
  return out + fmt::format("  busy  {}\n", fmt::join(busy, ", "));
}

std::string notes(const Explanation& e) {
  if (e.notes.empty()) return "\nno slower way was taken\n";
  std::string out = "\nslower ways that were taken\n";
  for (const Note& note : e.notes) out += fmt::format("  {}: {}\n", line_of(note.loc), note.text);
  return out;
}

}  // namespace

std::string prediction_text(const Explanation& what) {
  return what.prediction ? prediction(*what.prediction, what.sms) : std::string();
}

std::string text(const Explanation& what) {
  std::string out = head(what);
  for (const Loop& loop : what.loops) out += loop_text(loop);
  out += shared(what) + registers(what);
  return out + prediction_text(what) + notes(what);
}

}  // namespace plait::explain
