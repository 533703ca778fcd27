#include "roles.h"

#include <fmt/format.h>

#include "device_program.h"
#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "roles/verify.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

Result<roles::Program> load(const ProgramOptions& options) {
  if (!options.kernel.empty()) throw UsageError{"--kernel: a .roles file holds one program"};
  lang::Bindings bindings = parse_assignments(options.bindings, "-D");
  auto source = read_program(options.path);
  if (!source) return source.diagnostics();
  return roles::parse(*source, bindings);
}

/// What is wrong with the program on a machine, by default the one that it names.
Diagnostics verified(const roles::Program& program, const std::string& named) {
  auto device = device_of(program, named);
  return device ? roles::verify(program, roles::limits_of(*device)) : device.diagnostics();
}

}  // namespace

Outcome check_roles(const ProgramOptions& options, const std::string& device) {
  Outcome outcome;
  outcome.report.set("file", options.path);
  auto program = load(options);
  if (!program) return failed(program.diagnostics());
  outcome.diagnostics = verified(*program, device);
  if (outcome.diagnostics.has_errors()) return outcome;
  std::int64_t bytes = roles::arena(roles::lower_channels(*program)).bytes;
  auto threads = std::int64_t{roles::thread_count(*program)};
  outcome.text = fmt::format("{}: {} is right: {} threads, {} bytes of shared memory a block\n", options.path,
                             program->name, threads, bytes);
  Report entry;
  entry.set("kernel", program->name);
  entry.set("ok", true);
  entry.set("threads", threads);
  entry.set("smem_bytes", bytes);
  outcome.report.set("kernels", std::vector<Report>{entry});
  return outcome;
}

Outcome print_roles(const ProgramOptions& options, const std::string& device, bool channels) {
  auto program = load(options);
  if (!program) return failed(program.diagnostics());
  Outcome outcome;
  if (channels) {
    outcome.diagnostics = verified(*program, device);
    if (outcome.diagnostics.has_errors()) return outcome;
    *program = roles::lower_channels(*program);
  }
  outcome.text = roles::print(*program);
  outcome.report.set("kernel", program->name);
  outcome.report.set("text", outcome.text);
  return outcome;
}

}  // namespace plait::cli
