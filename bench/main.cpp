// plait-bench: measures plait against OpenBLAS, oneDNN and memcpy in one run and writes the record as JSON.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "cases.h"
#include "peers.h"
#include "plait/plait.hpp"

namespace {

using nlohmann::json;

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

json machine() {
  json about = {{"cpu", cpu_model()}, {"cores", std::thread::hardware_concurrency()}};
  for (const char* name : {"OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "DNNL_MAX_CPU_ISA"}) {
    if (const char* value = std::getenv(name)) about["environment"][name] = value;
  }
  return about;
}

/// Load of the last minute; a busy machine gives rough ratios, so the record says so.
double load_average() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return 0;
  if (load > 0.5)
    fmt::print("note: load average {:.1f}: others are using this machine, and the ratios will be rough\n", load);
  return load;
}

int run(int argc, char** argv) {
  CLI::App app("Measures plait against the libraries it was built with.");
  plait::bench::Settings settings;
  std::string output;
  app.add_option("--output", output, "where the record is written, as JSON");
  app.add_option("--repeats", settings.repeats, "runs of each side")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--only", settings.only, "only cases whose name contains this");
  CLI11_PARSE(app, argc, argv);
  json record = {{"command", std::vector<std::string>(argv, argv + argc)},
                 {"plait", plait_version()},
                 {"build", PLAIT_BUILD_TYPE},
                 {"machine", machine()},
                 {"peers", plait::bench::describe_peers()}};
  fmt::print("{}, {} cores; peers {}\n", record["machine"]["cpu"].get<std::string>(),
             record["machine"]["cores"].get<int>(), record["peers"].dump());
  record["load"] = load_average();
  record["cases"] = plait::bench::run_cases(settings);
  if (output.empty()) return 0;
  std::ofstream file(output);
  file << record.dump(2) << "\n";
  if (file.flush()) return 0;
  fmt::print(stderr, "error: cannot write {}\n", output);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
