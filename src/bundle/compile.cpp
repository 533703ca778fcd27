#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "bundle/alignments.h"
#include "bundle/bundle.h"
#include "cuda/architecture.h"
#include "cuda/nvrtc.h"
#include "lang/elaborate.h"
#include "roles/parse.h"
#include "runtime/frontend.h"
#include "syntax/tree.h"

namespace plait::bundle {
namespace {

/// One kernel to derive, and where in the bundle it goes.
struct Derivation {
  std::size_t kernel = 0, device = 0;
  place::Assumptions takes;
  bool is_first = false;  ///< of its kernel and device: what is refused of it is refused altogether
};

class Compiler {
 public:
  Compiler(std::string name, const std::vector<jit::Request>& requests, const std::vector<machine::Device>& devices,
           int threads)
      : programs_(requests), devices_(devices), threads_(threads) {
    bundle_.name = std::move(name);
  }

  Result<Bundle> run() {
    sort_devices();
    for (const jit::Request& program : programs_) plan(program);
    if (found_.has_errors()) return std::move(found_);
    derive();
    if (found_.has_errors()) return std::move(found_);
    compile_codes();
    if (found_.has_errors()) return std::move(found_);
    return std::move(bundle_);
  }

 private:
  void sort_devices();
  void plan(const jit::Request& program);
  void plan_tile(const jit::Request& program);
  void want(const jit::Request& program, place::Assumptions takes, std::size_t device, bool is_first);
  void derive();
  void refused(const Derivation& of, const Diagnostics& why);
  void take(const Derivation& of, jit::Compiled compiled);
  std::size_t code_of(std::size_t kernel, std::size_t device, const std::shared_ptr<const cuda::Kernel>& compiled);
  void compile_codes();

  const std::vector<jit::Request>& programs_;
  std::vector<machine::Device> devices_;
  int threads_;
  Diagnostics found_;
  Bundle bundle_;
  std::vector<jit::Request> requests_;
  std::vector<Derivation> derivations_;  ///< one a request
};

/// A device takes the first code that runs on it, which is to be the latest.
void Compiler::sort_devices() {
  auto rank = [](const machine::Device& device) {
    auto architecture = cuda::parse_architecture(device.arch);
    return architecture ? std::pair(architecture->number, architecture->is_specific) : std::pair(0, false);
  };
  std::stable_sort(devices_.begin(), devices_.end(), [&](const auto& a, const auto& b) { return rank(a) > rank(b); });
  for (const machine::Device& device : devices_) bundle_.architectures.push_back(device.arch);
}

void Compiler::want(const jit::Request& program, place::Assumptions takes, std::size_t device, bool is_first) {
  jit::Request request = program;
  request.device = devices_[device];
  request.build.architecture = devices_[device].arch;
  request.build.ahead = request.build.source_only = true;
  if (bundle_.kernels.back().is_tile) request.assumptions = takes;
  requests_.push_back(std::move(request));
  derivations_.push_back({bundle_.kernels.size() - 1, device, std::move(takes), is_first});
}

void Compiler::plan_tile(const jit::Request& program) {
  auto file = syntax::parse(program.source);
  auto name = file ? runtime::choose_kernel(*file, program.kernel) : file.diagnostics();
  auto kernel = name ? lang::elaborate(*file, *name, program.bindings) : name.diagnostics();
  if (!kernel) return found_.append(kernel.diagnostics());
  bundle_.kernels.push_back({kernel->name, true, 0, {}});
  bool is_first = true;
  for (place::Assumptions& takes : alignments(*kernel, program.dims)) {
    for (std::size_t device = 0; device < devices_.size(); ++device) want(program, takes, device, is_first);
    is_first = false;
  }
}

void Compiler::plan(const jit::Request& program) {
  if (!roles::is_role_text(program.source->text())) {
    plan_tile(program);
  } else {
    auto read = roles::parse(program.source, program.bindings);
    if (!read) return found_.append(read.diagnostics());
    bundle_.kernels.push_back({read->name, false, 0, {}});
    for (std::size_t device = 0; device < devices_.size(); ++device) want(program, {}, device, true);
  }
  if (found_.has_errors()) return;
  BundledKernel& made = bundle_.kernels.back();
  made.devices.resize(devices_.size());
  for (std::size_t i = 0; i + 1 < bundle_.kernels.size(); ++i) {
    if (bundle_.kernels[i].name == made.name)
      found_.error(Rule::bundle_name, {program.source, 0, 0, 1},
                   fmt::format("the bundle has a kernel {} already", made.name),
                   "rename one of the two, or put them into bundles of their own");
  }
}

void Compiler::refused(const Derivation& of, const Diagnostics& why) {
  if (of.is_first) return found_.append(why);
  const Diagnostic& first = why.list().front();
  std::vector<std::string> tensors;
  std::set<std::string> names(of.takes.unaligned.begin(), of.takes.unaligned.end());
  names.insert(of.takes.ragged.begin(), of.takes.ragged.end());
  for (const std::string& name : names) tensors.push_back(fmt::format("{} at {}", name, granule_of(of.takes, name)));
  bundle_.remarks.push_back(fmt::format("{} {}: calls with {} bytes are refused: {}: {}",
                                        bundle_.kernels[of.kernel].name, bundle_.architectures[of.device],
                                        fmt::join(tensors, ", "), first.loc.str(), first.message));
}

/// Kernels of the same CUDA C++ share their code.
std::size_t Compiler::code_of(std::size_t kernel, std::size_t device,
                              const std::shared_ptr<const cuda::Kernel>& compiled) {
  std::size_t own = 0;
  for (std::size_t i = 0; i < bundle_.codes.size(); ++i) {
    const Code& code = bundle_.codes[i];
    if (code.device == device && code.kernel->module().source == compiled->module().source) return i;
    if (code.device == device && code.kernel->program().name == compiled->program().name) ++own;
  }
  std::string file = fmt::format("{}.{}.{}.cubin", bundle_.kernels[kernel].name, bundle_.architectures[device], own);
  bundle_.codes.push_back({std::move(file), device, {}, compiled});
  return bundle_.codes.size() - 1;
}

void Compiler::take(const Derivation& of, jit::Compiled compiled) {
  BundledKernel& kernel = bundle_.kernels[of.kernel];
  kernel.tile_requires = compiled.tile_requires;
  std::size_t code = code_of(of.kernel, of.device, compiled.built.kernel);
  kernel.devices[of.device].variants.push_back({of.takes, std::move(compiled.built.kernel), code});
}

void Compiler::derive() {
  auto results = jit::compile_all(requests_, threads_);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      take(derivations_[i], std::move(*results[i]));
    } else {
      refused(derivations_[i], results[i].diagnostics());
    }
  }
}

/// What was derived is compiled as it is, so that what launches have to know is of the very same program.
void Compiler::compile_codes() {
  auto nvrtc = cuda::nvrtc();
  if (!nvrtc) return found_.append(nvrtc.diagnostics());
  std::vector<std::optional<Result<cuda::Code>>> results(bundle_.codes.size());
  jit::for_all(results.size(), threads_, [&](std::size_t i) {
    const cuda::Kernel& kernel = *bundle_.codes[i].kernel;
    results[i] = cuda::compile(**nvrtc, kernel.module(), programs_.front().build.compile, kernel.program().loc);
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!*results[i]) {
      found_.append(results[i]->diagnostics());
      continue;
    }
    bundle_.codes[i].cubin = std::move((*results[i])->cubin);
    bundle_.warnings.append(bundle_.codes[i].kernel->code().warnings);
    bundle_.warnings.append((*results[i])->warnings);
  }
}

}  // namespace

Result<Bundle> compile(std::string name, const std::vector<jit::Request>& requests,
                       const std::vector<machine::Device>& devices, int threads) {
  return Compiler(std::move(name), requests, devices, threads).run();
}

}  // namespace plait::bundle
