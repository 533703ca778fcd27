// The C interface to kernels: verify, compile, run.
#include "arguments.h"
#include "handles.h"
#include "interp/interp.h"
#include "runtime/bind.h"
#include "runtime/executor.h"
#include "runtime/frontend.h"

using plait::Diagnostics;
using plait::api::guarded;
using plait::api::read_arguments;
using plait::api::read_bindings;
using plait::api::read_options;
namespace ir = plait::ir;
namespace runtime = plait::runtime;

namespace {

plait::Result<ir::Kernel> build(const plait_program& program, const char* kernel,
                                const plait::lang::Bindings& bindings) {
  return runtime::build_kernel(program.file, kernel != nullptr ? kernel : "", bindings);
}

}  // namespace

plait_status plait_program_verify(const plait_program* program, const char* kernel, const plait_binding* bindings,
                                  size_t binding_count, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    auto values = read_bindings(bindings, binding_count);
    if (program == nullptr || !values) return PLAIT_BAD_ARGUMENT;
    auto built = build(*program, kernel, *values);
    if (built) return PLAIT_OK;
    found = built.diagnostics();
    return PLAIT_REJECTED;
  });
}

plait_status plait_kernel_compile(const plait_program* program, const char* kernel, const plait_binding* bindings,
                                  size_t binding_count, const plait_compile_options* options, plait_kernel** compiled,
                                  plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (compiled != nullptr) *compiled = nullptr;
    auto values = read_bindings(bindings, binding_count);
    auto wanted = read_options(options);
    if (program == nullptr || compiled == nullptr || !values || !wanted) return PLAIT_BAD_ARGUMENT;
    auto built = build(*program, kernel, *values);
    if (!built) {
      found = built.diagnostics();
      return PLAIT_REJECTED;
    }
    return plait::api::compile(std::move(*built), wanted->device != nullptr ? wanted->device : "host",
                               wanted->no_checks == 0, compiled, found);
  });
}

plait_status plait_kernel_destroy(plait_kernel* kernel) {
  delete kernel;
  return PLAIT_OK;
}

plait_status plait_kernel_name(const plait_kernel* kernel, const char** name) {
  if (name != nullptr) *name = nullptr;
  if (kernel == nullptr || name == nullptr) return PLAIT_BAD_ARGUMENT;
  *name = kernel->kernel.name.c_str();
  return PLAIT_OK;
}

plait_status plait_kernel_parameter_count(const plait_kernel* kernel, size_t* count) {
  if (count != nullptr) *count = 0;
  if (kernel == nullptr || count == nullptr) return PLAIT_BAD_ARGUMENT;
  *count = kernel->kernel.params.size();
  return PLAIT_OK;
}

plait_status plait_kernel_parameter(const plait_kernel* kernel, size_t index, plait_parameter* parameter) {
  if (parameter != nullptr) *parameter = plait_parameter{};
  if (kernel == nullptr || parameter == nullptr || index >= kernel->kernel.params.size()) return PLAIT_BAD_ARGUMENT;
  return guarded(nullptr, [&](Diagnostics&) {
    *parameter = plait::api::describe(kernel->kernel.params[index]);
    return PLAIT_OK;
  });
}

plait_status plait_kernel_run(const plait_kernel* kernel, const plait_argument* arguments, size_t argument_count,
                              const plait_run_options* options, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    auto wanted = read_options(options);
    if (kernel == nullptr || !wanted || wanted->threads < 0) return PLAIT_BAD_ARGUMENT;
    runtime::Args args;
    if (plait_status status = read_arguments(kernel->kernel, arguments, argument_count, args, found);
        status != PLAIT_OK)
      return status;
    auto bound = runtime::bind(kernel->kernel, args);
    if (!bound) {
      found = bound.diagnostics();
      return PLAIT_REJECTED;
    }
    if (kernel->code) {
      int threads = runtime::shared_byte_output(kernel->kernel) != nullptr ? 1 : wanted->threads;
      found = runtime::execute(*kernel->code, *bound, {threads});
    } else {
      found = plait::interp::interpret(kernel->kernel, *bound);
    }
    return found.has_errors() ? PLAIT_REJECTED : PLAIT_OK;
  });
}
