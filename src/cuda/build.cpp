#include "cuda/build.h"

#include <fmt/format.h>

#include "cuda/architecture.h"
#include "machine/load.h"
#include "roles/parse.h"
#include "roles/verify.h"
#include "support/jit.h"
#include "support/json.h"

namespace plait::cuda {
namespace {

/// The oldest architecture that NVRTC 13 compiles for.
constexpr int kOldestCompiled = 75;

/// The architecture that the caller names, else that of the program's device.
Result<std::string> choose_architecture(const roles::Program& program, const std::string& named) {
  Diagnostics found;
  if (!named.empty()) {
    auto known = parse_architecture(named);
    if (known && known->number >= kOldestCompiled) return named;
    if (known) {
      found.error(Rule::cuda_arch, program.loc, fmt::format("code for {} is not made any more", named),
                  fmt::format("name sm_{} or a later one", kOldestCompiled));
      return found;
    }
    found.error(Rule::gpu_architecture, program.loc, fmt::format("there is no architecture '{}'", named),
                "name one as NVRTC does, e.g. sm_80, sm_89 or sm_90a");
    return found;
  }
  auto device = machine::load_device(program.device);
  if (!device) return device.diagnostics();
  if (device->target == machine::Target::cuda) return device->arch;
  found.error(Rule::gpu_architecture, program.loc,
              fmt::format("device '{}' has no NVIDIA architecture", program.device),
              "name the architecture, e.g. --arch sm_90a, or write the program for an NVIDIA device: h200, h100, a100");
  return found;
}

Result<Code> compile_module(const emit::cuda::Module& module, const BuildOptions& options, const Loc& loc) {
  if (options.source_only) return Code{};
  if (Diagnostics no = options.ahead ? Diagnostics() : check_jit(module.entry, loc); no.has_errors()) return no;
  auto compiler = nvrtc();
  if (!compiler) return compiler.diagnostics();
  return compile(**compiler, module, options.compile, loc);
}

}  // namespace

void StepClock::lap(std::string_view name) {
  auto now = std::chrono::steady_clock::now();
  steps_.push_back({name, std::chrono::duration<double, std::milli>(now - last_).count()});
  last_ = now;
}

Result<Built> build(roles::Program program, const BuildOptions& options, Diagnostics warnings) {
  Built built;
  StepClock clock(built.steps);
  auto architecture = choose_architecture(program, options.architecture);
  if (!architecture) return architecture.diagnostics();
  auto module = emit::cuda::emit(program, *architecture);
  if (!module) return module.diagnostics();
  if (!options.source.empty()) module->source = options.source;
  clock.lap("emit");
  auto code = compile_module(*module, options, program.loc);
  if (!code) return code.diagnostics();
  clock.lap("nvrtc");
  warnings.append(code->warnings);
  code->warnings = std::move(warnings);
  built.kernel = std::make_shared<const Kernel>(program, std::move(*module), std::move(*code));
  return built;
}

Result<Built> build(const SourceRef& text, const lang::Bindings& bindings, const BuildOptions& options) {
  std::vector<Step> steps;
  StepClock clock(steps);
  auto program = roles::parse(text, bindings);
  if (!program) return program.diagnostics();
  clock.lap("parse");
  auto device = machine::load_device(program->device);
  if (!device) return device.diagnostics();
  Diagnostics found = roles::verify(*program, roles::limits_of(*device));
  if (found.has_errors()) return found;
  clock.lap("verify");
  auto built = build(std::move(*program), options, std::move(found));
  if (!built) return built.diagnostics();
  built->steps.insert(built->steps.begin(), steps.begin(), steps.end());
  return built;
}

std::string report_json(const Built& built) {
  const emit::cuda::Module& module = built.kernel->module();
  const Code& code = built.kernel->code();
  Json report;
  report["name"] = built.kernel->program().name;
  report["entry"] = module.entry;
  report["architecture"] = module.arch;
  report["threads"] = module.threads;
  report["cluster"] = module.cluster;
  report["smem_bytes"] = module.smem_bytes;
  report["registers"] = code.report.registers;
  report["stack_bytes"] = code.report.stack_bytes;
  report["spill_store_bytes"] = code.report.spill_store_bytes;
  report["spill_load_bytes"] = code.report.spill_load_bytes;
  report["cubin_bytes"] = static_cast<std::int64_t>(code.cubin.size());
  report["compiler"] = code.compiler;
  Json steps = Json::Object();
  for (const Step& step : built.steps) steps[step.name] = step.ms;
  report["ms"] = std::move(steps);
  report["warnings"] = std::get<Json>(Json::parse(code.warnings.to_json()));
  report["log"] = code.report.log;
  return report.dump(2);
}

}  // namespace plait::cuda
