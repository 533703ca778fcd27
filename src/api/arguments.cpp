#include "arguments.h"

#include "handles.h"

namespace plait::api {

namespace {

constexpr std::int32_t kMaxRank = 64;

/// Nothing where the struct is used wrongly.
std::optional<runtime::TensorArg> read_tensor(const plait_tensor& tensor) {
  auto type = from_c(tensor.dtype);
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

}  // namespace

std::optional<lang::Bindings> read_bindings(const plait_binding* bindings, size_t count) {
  lang::Bindings values;
  if (bindings == nullptr && count > 0) return std::nullopt;
  for (size_t i = 0; i < count; ++i) {
    if (bindings[i].name == nullptr || bindings[i].value == nullptr) return std::nullopt;
    if (!values.emplace(bindings[i].name, bindings[i].value).second) return std::nullopt;
  }
  return values;
}

const std::string& parameter_name(const ir::Param& param) {
  return param.kind == ir::ParamKind::scalar ? param.scalar->name : param.buffer->name;
}

plait_parameter describe(const ir::Param& param) {
  bool is_scalar = param.kind == ir::ParamKind::scalar;
  plait_parameter parameter{};
  parameter.name = parameter_name(param).c_str();
  parameter.kind = is_scalar                          ? PLAIT_PARAMETER_SCALAR
                   : param.kind == ir::ParamKind::in  ? PLAIT_PARAMETER_IN
                   : param.kind == ir::ParamKind::out ? PLAIT_PARAMETER_OUT
                                                      : PLAIT_PARAMETER_INOUT;
  parameter.dtype = to_c(is_scalar ? param.scalar->type : param.buffer->type);
  parameter.rank = is_scalar ? 0 : static_cast<std::int32_t>(param.buffer->shape.size());
  parameter.has_default = is_scalar && param.default_value != nullptr ? 1 : 0;
  return parameter;
}

plait_status read_arguments(const ir::Kernel& kernel, const plait_argument* arguments, size_t count,
                            runtime::Args& args, Diagnostics& found) {
  if (arguments == nullptr && count > 0) return PLAIT_BAD_ARGUMENT;
  for (size_t i = 0; i < count; ++i) {
    const plait_argument& argument = arguments[i];
    if (argument.name == nullptr && i >= kernel.params.size()) {
      found.error(Rule::unknown_argument, kernel.loc,
                  "the call has more arguments than kernel " + kernel.name + " has parameters");
      return PLAIT_REJECTED;
    }
    std::string name = argument.name != nullptr ? argument.name : parameter_name(kernel.params[i]);
    bool is_new = args.tensors.count(name) == 0 && args.scalars.count(name) == 0;
    if (!is_new) {
      found.error(Rule::unknown_argument, kernel.loc, "argument " + name + " is given twice",
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

}  // namespace plait::api
