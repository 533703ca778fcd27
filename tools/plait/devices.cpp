#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <sstream>
#include <thread>

#include "command.h"

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

Outcome devices() {
  std::string model = cpu_info("model name");
  if (model.empty()) model = "unknown processor";
  auto threads = static_cast<std::int64_t>(std::max(std::thread::hardware_concurrency(), 1u));
  std::vector<std::string> features = vector_features();
  Report host, interp;
  host.set("device", "host");
  host.set("description", model);
  host.set("threads", threads);
  host.set("features", features);
  interp.set("device", "interp");
  interp.set("description", "interpreter: the serial meaning of a program, every access checked");
  Outcome outcome;
  outcome.report.set("devices", std::vector<Report>{host, interp});
  outcome.text = fmt::format("host     {}, {} threads, {}\n", model, threads,
                             features.empty() ? "no vector extensions" : fmt::format("{}", fmt::join(features, " ")));
  outcome.text += "interp   interpreter: the serial meaning of a program, every access checked\n";
  return outcome;
}

}  // namespace

void add_devices(CLI::App& app, Command& command) {
  CLI::App* sub = add_command(app, command, "devices", "List the devices that --device takes");
  sub->callback([&command] { command.action = devices; });
}

}  // namespace plait::cli
