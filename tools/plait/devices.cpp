#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "command.h"
#include "device_program.h"
#include "device_report.h"

namespace plait::cli {
namespace {

/// The value of a line of /proc/cpuinfo; empty where there is none.
std::string cpu_info(const std::string& key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    std::size_t colon = line.find(": ");
    return colon == std::string::npos ? "" : line.substr(colon + 2);
  }
  return {};
}

/// Those instruction sets that decide which code the host target emits.
std::vector<std::string> vector_features() {
  std::istringstream flags(cpu_info("flags"));
  std::vector<std::string> found;
  for (std::string flag; flags >> flag;) {
    for (const char* known :
         {"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_bf16", "avx512_fp16", "amx_tile"}) {
      if (flag == known && std::find(found.begin(), found.end(), flag) == found.end()) found.push_back(flag);
    }
  }
  return found;
}

/// The processor that the CPU target compiles for.
struct ThisMachine {
  std::string model = cpu_info("model name");
  std::int64_t threads = std::max(std::thread::hardware_concurrency(), 1u);
  std::vector<std::string> features = vector_features();
};

constexpr const char* kInterpreter = "interpreter: the serial meaning of a program, every access checked";

std::string summary_line(const machine::Device& device) {
  const machine::Memory* main = device.memory(machine::MemoryKind::global);
  std::string memory =
      main == nullptr ? "" : fmt::format("{:.0f} GB, {:g} GB/s", main->capacity.value / 1e9, main->bandwidth.value);
  return fmt::format("{:<10} {:<6} {:<10} {:>5}  {:>5g} MHz  {:<18} {}\n", device.name, machine::name_of(device.target),
                     device.arch, device.compute_units.value, device.clock.value, memory, device.description);
}

Outcome list_devices() {
  Outcome outcome;
  std::vector<Report> reports;
  outcome.text = fmt::format("{:<10} {:<6} {:<10} {:>5}  {:>9}  {:<18} {}\n", "NAME", "TARGET", "ARCH", "UNITS",
                             "CLOCK", "MAIN MEMORY", "MODEL");
  ThisMachine here;
  for (const std::string& name : machine::device_names()) {
    auto device = machine::load_device(name);
    if (!device) {
      outcome.diagnostics.append(device.diagnostics());
      continue;
    }
    outcome.text += summary_line(*device);
    Report report = device_summary(*device);
    if (name == "host") {
      report.set("processor", here.model);
      report.set("threads", here.threads);
      report.set("processor_features", here.features);
    }
    reports.push_back(report);
  }
  Report interp;
  interp.set("device", "interp");
  interp.set("description", kInterpreter);
  reports.push_back(interp);
  outcome.report.set("devices", reports);
  outcome.text += fmt::format("{:<10} {}\n", "interp", kInterpreter);
  outcome.text += fmt::format(
      "\nThis machine: {}, {} threads, {}.\n", here.model.empty() ? "unknown processor" : here.model, here.threads,
      here.features.empty() ? "no vector extensions" : fmt::format("{}", fmt::join(here.features, " ")));
  outcome.text +=
      "`plait devices NAME` shows each figure of a model with its source; PATH.json in place of NAME checks a model of "
      "your own.\n";
  return outcome;
}

Outcome show_device(const std::string& name) {
  auto device = machine::load_device(name);
  if (!device) return failed(device.diagnostics());
  Outcome outcome;
  outcome.text = device_text(*device);
  outcome.report.set("model", device_report(*device));
  return outcome;
}

}  // namespace

void add_devices(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "devices", "List the devices that --device takes, or show the model of one");
  auto name = std::make_shared<std::string>();
  add_device(sub, "DEVICE", *name, "a device's name, or the path of a machine model (PATH.json)");
  sub.chosen(
      [&command, name] { command.action = [name] { return name->empty() ? list_devices() : show_device(*name); }; });
}

}  // namespace plait::cli
