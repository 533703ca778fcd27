// The C interface to kernels: verify, compile, run.
#include <algorithm>
#include <cstring>

#include "handles.h"
#include "interp/interp.h"
#include "runtime/bind.h"
#include "runtime/executor.h"
#include "runtime/frontend.h"

using plait::Diagnostics;
using plait::api::guarded;
namespace ir = plait::ir;
namespace runtime = plait::runtime;

namespace {

constexpr std::int32_t kMaxRank = 64;

std::optional<plait::lang::Bindings> read_bindings(const plait_binding* bindings, size_t count) {
  plait::lang::Bindings values;
  if (bindings == nullptr && count > 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    if (bindings[i].name == nullptr || bindings[i].value == nullptr) return std::nullopt;
    if (!values.emplace(bindings[i].name, bindings[i].value).second) return std::nullopt;
  }
  return values;
}

/// Options as the caller's version of the struct has them, members it lacks zero; nullopt for a size that no version
/// has.
template <typename Options>
std::optional<Options> read_options(const Options* given) {
  Options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(size_t) || given->size > 4096) return std::nullopt;
  std::memcpy(static_cast<void*>(&options), given, std::min(given->size, sizeof(Options)));
  return options;
}

const std::string& parameter_name(const ir::Param& param) {
  return param.kind == ir::ParamKind::scalar ? param.scalar->name : param.buffer->name;
}

/// Nothing where the struct is used wrongly.
std::optional<runtime::TensorArg> read_tensor(const plait_tensor& tensor) {
  auto type = plait::api::from_c(tensor.dtype);
  if (!type || tensor.rank < 0 || tensor.rank > kMaxRank || (tensor.rank > 0 && tensor.shape == nullptr))
    return std::nullopt;
  runtime::TensorArg arg;
  arg.view.data = tensor.data;
  arg.view.type = *type;
  arg.view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  if (tensor.strides != nullptr) arg.view.strides.assign(tensor.strides, tensor.strides + tensor.rank);
  arg.bytes = tensor.bytes;
  if (tensor.device != nullptr) arg.device = tensor.device;
  return arg;
}

/// A scalar takes its parameter's type where it is of the right kind; else it keeps its own, which the checks of the
/// call then report.
ir::ScalarValue read_scalar(const plait_argument& argument, const ir::Kernel& kernel, const std::string& name) {
  bool is_float = argument.kind == PLAIT_ARGUMENT_FLOAT;
  ir::ScalarValue value{is_float ? ir::DType::f64 : ir::DType::i64, is_float ? 0 : argument.integer,
                        is_float ? argument.floating : 0};
  for (const ir::Param& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar && param.scalar->name == name &&
        ir::is_float(param.scalar->type) == is_float)
      value.type = param.scalar->type;
  }
  return value;
}

plait_status read_arguments(const ir::Kernel& kernel, const plait_argument* arguments, size_t count,
                            runtime::Args& args, Diagnostics& found) {
  if (arguments == nullptr && count > 0) return PLAIT_BAD_ARGUMENT;
  for (size_t i = 0; i < count; ++i) {
    const plait_argument& argument = arguments[i];
    if (argument.name == nullptr && i >= kernel.params.size()) {
      found.error(plait::Rule::unknown_argument, kernel.loc,
                  "the call has more arguments than kernel " + kernel.name + " has parameters");
      return PLAIT_REJECTED;
    }
    std::string name = argument.name != nullptr ? argument.name : parameter_name(kernel.params[i]);
    bool is_new = args.tensors.count(name) == 0 && args.scalars.count(name) == 0;
    if (!is_new) {
      found.error(plait::Rule::unknown_argument, kernel.loc, "argument " + name + " is given twice",
                  "give each argument once");
      return PLAIT_REJECTED;
    }
    if (argument.kind == PLAIT_ARGUMENT_TENSOR) {
      auto tensor = read_tensor(argument.tensor);
      if (!tensor) return PLAIT_BAD_ARGUMENT;
      args.tensors[name] = std::move(*tensor);
    } else if (argument.kind == PLAIT_ARGUMENT_INTEGER || argument.kind == PLAIT_ARGUMENT_FLOAT) {
      args.scalars[name] = read_scalar(argument, kernel, name);
    } else {
      return PLAIT_BAD_ARGUMENT;
    }
  }
  return PLAIT_OK;
}

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
    const ir::Param& param = kernel->kernel.params[index];
    bool is_scalar = param.kind == ir::ParamKind::scalar;
    parameter->name = parameter_name(param).c_str();
    parameter->kind = is_scalar                          ? PLAIT_PARAMETER_SCALAR
                      : param.kind == ir::ParamKind::in  ? PLAIT_PARAMETER_IN
                      : param.kind == ir::ParamKind::out ? PLAIT_PARAMETER_OUT
                                                         : PLAIT_PARAMETER_INOUT;
    parameter->dtype = plait::api::to_c(is_scalar ? param.scalar->type : param.buffer->type);
    parameter->rank = is_scalar ? 0 : static_cast<std::int32_t>(param.buffer->shape.size());
    parameter->has_default = is_scalar && param.default_value != nullptr ? 1 : 0;
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
