#include "device_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace plait::cli {
namespace {

using machine::Device;
using machine::Figure;

struct Row {
  std::string name, value, source;
};

/// 52428800 bytes as 50 MiB; other values as they are.
std::string value_text(const Figure& figure) {
  double value = figure.value;
  if (figure.unit == "bytes") {
    const char* units[] = {"B", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    for (; unit + 1 < std::size(units) && value >= 1024; ++unit) value /= 1024;
    return fmt::format("{:.4g} {}", value, units[unit]);
  }
  return fmt::format("{:g} {}", value, figure.unit);
}

Row row(std::string name, const Figure& figure) { return {std::move(name), value_text(figure), figure.source}; }

/// The rows under a heading, aligned in columns.
std::string table(const std::string& heading, const std::vector<Row>& rows) {
  std::size_t names = 0, values = 0;
  for (const Row& r : rows) {
    names = std::max(names, r.name.size());
    values = std::max(values, r.value.size());
  }
  std::string text = rows.empty() ? "" : fmt::format("\n{}\n", heading);
  for (const Row& r : rows) text += fmt::format("  {:<{}}  {:>{}}  {}\n", r.name, names, r.value, values, r.source);
  return text;
}

std::vector<Row> limit_rows(const machine::Limits& limits) {
  return {
#define PLAIT_LIMIT(id, unit, most, what) row(#id, limits.id),
#include "machine/kinds.def"
#undef PLAIT_LIMIT
  };
}

std::vector<Row> memory_rows(const Device& device) {
  std::vector<Row> rows;
  for (const machine::Memory& memory : device.memories) {
    std::string name(machine::name_of(memory.kind));
    rows.push_back(row(name + " capacity", memory.capacity));
    rows.push_back(row(name + " bandwidth", memory.bandwidth));
    rows.push_back(row(name + " latency", memory.latency));
  }
  return rows;
}

std::string type_name(const machine::Unit::Rate& rate) {
  return rate.type ? std::string(ir::dtype_name(*rate.type)) : "all";
}

std::vector<Row> unit_rows(const Device& device) {
  std::vector<Row> rows;
  for (const machine::Unit& unit : device.units) {
    for (const machine::Unit::Rate& rate : unit.rates)
      rows.push_back(row(fmt::format("{} {}", machine::name_of(unit.kind), type_name(rate)), rate.figure));
  }
  return rows;
}

std::vector<Row> cost_rows(const Device& device) {
  std::vector<Row> rows;
  for (const machine::Cost& cost : device.costs) {
    std::string name = fmt::format("{} {}", machine::name_of(cost.kind), cost.variant);
    rows.push_back(row(name + (cost.variant.empty() ? "latency" : " latency"), cost.latency));
    rows.push_back(row(name + (cost.variant.empty() ? "interval" : " interval"), cost.interval));
  }
  return rows;
}

std::vector<Row> npu_rows(const Device& device) {
  std::vector<Row> rows;
  for (const machine::Transfer& transfer : device.transfers) {
    std::string name = fmt::format("{} to {} ({})", machine::name_of(transfer.from), machine::name_of(transfer.to),
                                   machine::name_of(transfer.unit));
    rows.push_back(row(name + " latency", transfer.latency));
    rows.push_back(row(name + " bandwidth", transfer.bandwidth));
    rows.push_back(row(name + " interval", transfer.interval));
  }
  if (device.cube_cost) {
    rows.push_back(row("cube latency", device.cube_cost->latency));
    rows.push_back(row("cube slice", device.cube_cost->slice));
  }
  if (device.vector_cost) {
    rows.push_back(row("vector width", device.vector_cost->width));
    rows.push_back(row("vector bandwidth", device.vector_cost->bandwidth));
    rows.push_back(row("vector overlap", device.vector_cost->overlap));
  }
  return rows;
}

std::vector<std::string> feature_names(const Device& device) {
  std::vector<std::string> names;
  for (machine::Feature feature : device.features) names.emplace_back(machine::name_of(feature));
  return names;
}

Report figure_report(const Figure& figure) {
  Report report;
  report.set("value", figure.value);
  report.set("unit", figure.unit);
  report.set("source", figure.source);
  return report;
}

Report limits_report(const machine::Limits& limits) {
  Report report;
#define PLAIT_LIMIT(id, unit, most, what) report.set(#id, figure_report(limits.id));
#include "machine/kinds.def"
#undef PLAIT_LIMIT
  return report;
}

Report memories_report(const Device& device) {
  Report report;
  for (const machine::Memory& memory : device.memories) {
    Report one;
    one.set("capacity", figure_report(memory.capacity));
    one.set("bandwidth", figure_report(memory.bandwidth));
    one.set("latency", figure_report(memory.latency));
    report.set(machine::name_of(memory.kind), one);
  }
  return report;
}

Report units_report(const Device& device) {
  Report report;
  for (const machine::Unit& unit : device.units) {
    Report one;
    for (const machine::Unit::Rate& rate : unit.rates) one.set(type_name(rate), figure_report(rate.figure));
    report.set(machine::name_of(unit.kind), one);
  }
  return report;
}

std::vector<Report> costs_report(const Device& device) {
  std::vector<Report> reports;
  for (const machine::Cost& cost : device.costs) {
    Report one;
    one.set("op", std::string(machine::name_of(cost.kind)));
    if (!cost.variant.empty()) one.set("variant", cost.variant);
    one.set("latency", figure_report(cost.latency));
    one.set("interval", figure_report(cost.interval));
    reports.push_back(one);
  }
  return reports;
}

void report_npu(const Device& device, Report& report) {
  report.set("vector_cores", figure_report(*device.vector_cores));
  std::vector<Report> transfers;
  for (const machine::Transfer& transfer : device.transfers) {
    Report one;
    one.set("from", std::string(machine::name_of(transfer.from)));
    one.set("to", std::string(machine::name_of(transfer.to)));
    one.set("unit", std::string(machine::name_of(transfer.unit)));
    one.set("latency", figure_report(transfer.latency));
    one.set("bandwidth", figure_report(transfer.bandwidth));
    one.set("interval", figure_report(transfer.interval));
    transfers.push_back(one);
  }
  report.set("transfers", transfers);
  Report cube, vector;
  cube.set("latency", figure_report(device.cube_cost->latency));
  cube.set("slice", figure_report(device.cube_cost->slice));
  report.set("cube_cost", cube);
  vector.set("width", figure_report(device.vector_cost->width));
  vector.set("bandwidth", figure_report(device.vector_cost->bandwidth));
  vector.set("overlap", figure_report(device.vector_cost->overlap));
  report.set("vector_cost", vector);
}

}  // namespace

std::string device_text(const Device& device) {
  std::string text =
      fmt::format("{}: {} ({}, {})\n", device.name, device.description, machine::name_of(device.target), device.arch);
  if (!device.features.empty()) text += fmt::format("features: {}\n", fmt::join(feature_names(device), ", "));
  std::vector<Row> whole = {row("compute units", device.compute_units), row("clock", device.clock)};
  if (device.vector_cores) whole.push_back(row("vector cores of each", *device.vector_cores));
  text += table("Device", whole);
  if (device.limits) text += table("Limits", limit_rows(*device.limits));
  text += table("Memories", memory_rows(device));
  text += table("Units of a compute unit, a cycle", unit_rows(device));
  text += table("Costs", cost_rows(device));
  text += table("Costs of tasks", npu_rows(device));
  return text;
}

Report device_report(const Device& device) {
  Report report;
  report.set("name", device.name);
  report.set("description", device.description);
  report.set("target", std::string(machine::name_of(device.target)));
  report.set("arch", device.arch);
  report.set("features", feature_names(device));
  report.set("compute_units", figure_report(device.compute_units));
  report.set("clock", figure_report(device.clock));
  if (device.limits) report.set("limits", limits_report(*device.limits));
  report.set("memories", memories_report(device));
  report.set("units", units_report(device));
  report.set("costs", costs_report(device));
  if (device.target == machine::Target::npu) report_npu(device, report);
  return report;
}

Report device_summary(const Device& device) {
  Report report;
  report.set("device", device.name);
  report.set("description", device.description);
  report.set("target", std::string(machine::name_of(device.target)));
  report.set("arch", device.arch);
  report.set("features", feature_names(device));
  report.set("compute_units", device.compute_units.integer());
  report.set("clock_mhz", device.clock.value);
  return report;
}

}  // namespace plait::cli
