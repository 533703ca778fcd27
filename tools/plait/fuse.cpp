#include "fuse/fuse.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "fuse_report.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

/// Options that would say nothing are refused.
void check_fuse_use(const FuseFlags& flags) {
  if (!flags.emit.empty() && flags.simulate) throw UsageError{"--sim: it compares values, --emit writes the program"};
  if (flags.emit.empty()) {
    if (!flags.output.empty()) throw UsageError{"--output: it is for --emit"};
    if (!flags.roles.architecture.empty()) throw UsageError{"--arch: it is for --emit source, ptx and cubin"};
    if (flags.roles.allow_serialized) throw UsageError{"--allow-serialized: it is for --emit source, ptx and cubin"};
  }
  if (!flags.simulate && (flags.interleavings != 1 || flags.sms != 0 || flags.seed != 0))
    throw UsageError{"--seed, --seeds and --sms: they are for --sim"};
  for (const std::string& path : flags.paths) {
    std::error_code absent;
    if (!flags.output.empty() && std::filesystem::equivalent(flags.output, path, absent))
      throw UsageError{fmt::format("--output: {} is the program itself", flags.output)};
  }
}

void emit_fused(const FuseInput& input, const fuse::Fused& fused, const FuseFlags& flags, Outcome& outcome) {
  DeviceProgram program;
  program.program = fused.program;
  program.kernel_name = fused.program.name;
  program.device = input.device;
  auto made = compile_roles(std::move(program), flags.emit, flags.roles);
  if (!made) return outcome.diagnostics.append(made.diagnostics());
  outcome.diagnostics = made->warnings;
  outcome.report.set("kernel", made->name);
  outcome.report.set("emit", flags.emit);
  std::string output = flags.output.empty() && flags.emit == "cubin" ? made->name + ".cubin" : flags.output;
  if (output.empty() || output == "-") {
    if (flags.emit != "cubin") outcome.report.set("text", made->content);
    outcome.text = std::move(made->content);
    return;
  }
  auto staged = runtime::StagedFile::stage(output, {made->content});
  if (!staged) return outcome.diagnostics.append(staged.diagnostics());
  outcome.diagnostics.append(staged->commit());
  outcome.report.set("output", output);
  outcome.report.set("bytes", static_cast<std::int64_t>(made->content.size()));
}

Outcome fuse_programs(const FuseFlags& flags) {
  check_fuse_use(flags);
  auto input = load_fuse(flags);
  if (!input) return failed(input.diagnostics());
  bool known = std::all_of(input->sides.begin(), input->sides.end(),
                           [](const FuseSide& side) { return side.dims.size() == side.subject.kernel.dims.size(); });
  if (flags.simulate && !known) throw UsageError{"--sim: give every dim of both, e.g. --dim M=64"};
  auto fused = fuse::fuse(input->sides[0].subject, input->sides[1].subject, input->device);
  if (!fused) return failed(fused.diagnostics());
  Outcome outcome;
  if (!flags.emit.empty()) {
    emit_fused(*input, *fused, flags, outcome);
  } else if (flags.simulate) {
    simulate_fusion(*input, *fused, flags, outcome);
  } else {
    report_fusion(*input, *fused, outcome);
  }
  return outcome;
}

}  // namespace

void add_fuse(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "fuse",
                            "Make one kernel of two tile programs, whose independent work fills each other's idle "
                            "units; without --emit tell what it is and what it saves");
  auto flags = std::make_shared<FuseFlags>();
  auto file = [&](const char* name, std::size_t i) {
    sub.add(name, flags->paths[i], "tile program").required().each([&command](const std::string& path) {
      command.program = path;
    });
  };
  file("FIRST", 0);
  file("SECOND", 1);
  sub.add("--first-kernel", flags->kernels[0], "kernel of FIRST; needed where it has several");
  sub.add("--second-kernel", flags->kernels[1], "kernel of SECOND");
  add_assignments(sub, "-D", flags->bindings,
                  "value of a compile-time parameter of both kernels, of one as -D KERNEL.NAME=VALUE");
  add_device(sub, "--device", flags->device, "machine model of the GPU (default: h200)");
  add_planner_flag(sub, flags->planner);
  sub.add("--schedule", flags->schedules, "schedule of the kernel that it names, text or JSON").repeated();
  add_assignments(sub, "--blocks", flags->blocks,
                  "how many blocks of a kernel one block of the fused kernel stands for, e.g. --blocks rmsnorm=2 "
                  "(default: as many as its schedule lets a multiprocessor hold)");
  add_assignments(sub, "--dim", flags->dims, "value of a dim of both kernels, of one as --dim KERNEL.M=4096");
  add_assignments(sub, "--scalar", flags->scalars, "value of a scalar argument, likewise");
  sub.add("--emit", flags->emit, "roles, source (CUDA C++), ptx or cubin")
      .check(word_check("form", {"roles", "source", "ptx", "cubin"}));
  sub.add("-o,--output", flags->output, "file to write (default: standard output; a cubin goes to KERNEL.cubin)");
  add_roles_flags(sub, flags->roles);
  sub.flag("--sim", flags->simulate, "simulate: its bytes are those of each program alone, under all interleavings");
  sub.add("--seed", flags->seed, "--sim: seed of drawn inputs (default 0)")
      .check(integer_check(0, std::numeric_limits<std::uint64_t>::max()));
  sub.add("--seeds", flags->interleavings, "--sim: interleavings to run (default 1)").check(integer_check(1, 10'000));
  sub.add("--sms", flags->sms, "--sim: multiprocessors (default: those of the machine)").check(integer_check(1, 4096));
  sub.chosen([flags, &command] { command.action = [flags] { return fuse_programs(*flags); }; });
}

}  // namespace plait::cli
