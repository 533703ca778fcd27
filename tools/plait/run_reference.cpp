#include "run_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <limits>

namespace plait::cli {

Before remember(const RunData& data) {
  Before before;
  before.tensors.resize(data.tensors.size());
  for (std::size_t i = 0; i < data.tensors.size(); ++i) {
    if (data.params[i]->kind == ir::ParamKind::inout) before.tensors[i] = data.tensors[i].clone();
  }
  return before;
}

namespace {

/// The tensor parameters of an instantiated kernel in the form of Reference::signature.
std::string tensor_signature(const ir::Kernel& kernel) {
  std::vector<std::string> tensors;
  for (const ir::Param& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    std::vector<std::string> extents;
    for (const ir::ExprRef& extent : param.buffer->shape) extents.push_back(ir::print(*extent));
    tensors.push_back(fmt::format("{}[{}]", param.buffer->name, fmt::join(extents, ", ")));
  }
  return fmt::format("{}", fmt::join(tensors, ", "));
}

/// A signature with the values of compile-time parameters in the place of their names between brackets.
std::string instantiate(const std::string& signature, const lang::Bindings& bindings) {
  std::string out;
  for (std::size_t i = 0; i < signature.size();) {
    std::size_t end = i;
    while (end < signature.size() &&
           (std::isalnum(static_cast<unsigned char>(signature[end])) != 0 || signature[end] == '_'))
      ++end;
    std::string word = signature.substr(i, end - i);
    // A name in front of a bracket is a tensor's.
    auto value = end < signature.size() && signature[end] == '[' ? bindings.end() : bindings.find(word);
    out += value == bindings.end() ? word : value->second;
    if (end == i) out += signature[end++];
    i = end;
  }
  return out;
}

}  // namespace

const reference::Reference* matching_reference(const Session& session) {
  const reference::Reference* reference = reference::find_reference(session.kernel_name);
  if (reference == nullptr) return nullptr;
  lang::Bindings bindings = runtime::effective_bindings(session.program.file, session.kernel_name, session.bindings);
  return instantiate(reference->signature, bindings) == tensor_signature(session.kernel) ? reference : nullptr;
}

reference::ReferenceCall reference_call(const Session& session, const RunData& data, const Before& before,
                                        std::map<std::string, std::vector<double>>& tensors, bool with_values) {
  lang::Bindings bindings = runtime::effective_bindings(session.program.file, session.kernel_name, session.bindings);
  reference::ReferenceCall call{tensors, {}, {}, {}, {}, std::move(bindings)};
  for (std::size_t i = 0; i < data.params.size(); ++i) {
    const std::string& name = data.params[i]->buffer->name;
    bool is_inout = data.params[i]->kind == ir::ParamKind::inout;
    const ir::TensorView& start = is_inout ? before.tensors[i].view() : data.tensors[i].view();
    call.shapes[name] = start.shape;
    call.dtypes[name] = std::string(ir::dtype_name(start.type));
    if (!with_values) continue;
    std::vector<double>& values = tensors[name];
    values = runtime::to_doubles(start);
    if (data.params[i]->kind == ir::ParamKind::out)
      std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
  }
  std::size_t next = 0;
  for (const ir::Param& param : session.kernel.params) {
    if (param.kind != ir::ParamKind::scalar) continue;
    const ir::ScalarValue& value = data.bound.scalars[next++];
    call.scalars[param.scalar->name] = ir::is_float(value.type) ? value.f : static_cast<double>(value.i);
  }
  for (std::size_t i = 0; i < session.kernel.dims.size(); ++i)
    call.dims[session.kernel.dims[i]->name] = data.bound.dims[i];
  return call;
}

}  // namespace plait::cli
