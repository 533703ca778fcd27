#include "cuda/kernel.h"

#include <fmt/format.h>

#include <chrono>

#include "cuda/architecture.h"
#include "cuda/errors.h"
#include "roles/head.h"
#include "roles/signature.h"

namespace plait::cuda {
namespace {

/// The largest cluster that every device with clusters can run.
constexpr int kPortableCluster = 8;

Diagnostics check_device(const emit::cuda::Module& module, const Code& code, const DeviceInfo& device, const Loc& loc) {
  Diagnostics found;
  if (code.cubin.empty()) {
    found.error(Rule::gpu_compile, loc, fmt::format("{} was not compiled: only its source was asked for", module.entry),
                "compile without `source_only`");
    return found;
  }
  auto architecture = parse_architecture(module.arch);
  if (!architecture || !runs_on(*architecture, device)) {
    found.error(Rule::gpu_architecture, loc,
                fmt::format("{} is compiled for {}, but device {} ({}) is sm_{}{}", module.entry, module.arch,
                            device.number, device.name, device.major, device.minor));
  }
  if (module.threads > device.max_threads) {
    found.error(Rule::gpu_limit, loc,
                fmt::format("a block of {} has {} threads, the device runs at most {}", module.entry, module.threads,
                            device.max_threads));
  }
  if (module.smem_bytes > device.max_smem) {
    found.error(Rule::gpu_limit, loc,
                fmt::format("a block of {} takes {} bytes of shared memory, the device has {}", module.entry,
                            module.smem_bytes, device.max_smem));
  }
  return found;
}

}  // namespace

CallForm call_form(const roles::Program& program) { return {roles::head_of(program), pieces(program)}; }

Kernel::Kernel(const roles::Program& program, emit::cuda::Module module, Code code)
    : Kernel(call_form(program), roles::print(program), std::move(module), std::move(code)) {}

Kernel::Kernel(CallForm form, std::string text, emit::cuda::Module module, Code code)
    : form_(std::move(form)),
      text_(std::move(text)),
      module_(std::move(module)),
      code_(std::move(code)),
      signature_(roles::call_signature(form_.head)) {}

Result<std::shared_ptr<const LoadedKernel>> Kernel::load(const Context& context) const {
  std::lock_guard lock(mutex_);
  if (auto found = loaded_.find(context.id); found != loaded_.end()) return found->second;
  Diagnostics wrong = check_device(module_, code_, context.device, form_.head.loc);
  if (wrong.has_errors()) return wrong;
  const Driver& driver = *context.driver;
  auto start = std::chrono::steady_clock::now();
  std::string what = fmt::format("loading {}", module_.entry);
  ModuleHandle module = nullptr;
  if (Status status = driver.load_module(&module, code_.cubin.data()); status != Status::ok)
    return check(driver, status, what, form_.head.loc);
  auto kernel = std::make_shared<LoadedKernel>(driver, module);
  Status status = driver.function(&kernel->function, module, module_.entry.c_str());
  auto step = [&](auto call, auto... args) {
    if (status == Status::ok) status = call(args...);
  };
  step(driver.set_function_attribute, kernel->function, FunctionAttribute::max_dynamic_smem_bytes,
       static_cast<int>(module_.smem_bytes));
  if (module_.cluster > kPortableCluster)
    step(driver.set_function_attribute, kernel->function, FunctionAttribute::non_portable_cluster, 1);
  step(driver.function_attribute, &kernel->registers, FunctionAttribute::registers, kernel->function);
  step(driver.function_attribute, &kernel->local_bytes, FunctionAttribute::local_bytes, kernel->function);
  if (status != Status::ok) return check(driver, status, what, form_.head.loc);
  kernel->load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::shared_ptr<const LoadedKernel> ready = std::move(kernel);
  loaded_.emplace(context.id, ready);
  return ready;
}

}  // namespace plait::cuda
