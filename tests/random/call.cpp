#include "random/call.h"

#include <algorithm>

#include "ir/evaluate.h"
#include "ir/numeric.h"

namespace plait::test {

using ir::ExprRef;

std::int64_t evaluate(const ExprRef& expr, const Dims& dims) {
  if (const auto* literal = std::get_if<ir::IntLit>(&expr->node)) return literal->value;
  if (const auto* var = std::get_if<ir::VarRef>(&expr->node)) return dims.at(var->var->name);
  if (const auto* cast = std::get_if<ir::Cast>(&expr->node)) return evaluate(cast->a, dims);
  const auto* binary = std::get_if<ir::Binary>(&expr->node);
  PLAIT_ASSERT(binary != nullptr, "an extent is made of dims, literals and operators: " + ir::print(*expr));
  const auto value =
      ir::evaluate_int(binary->op, binary->a->type, evaluate(binary->a, dims), evaluate(binary->b, dims));
  PLAIT_ASSERT(value.has_value(), "division by zero in " + ir::print(*expr));
  return *value;
}

namespace {

std::vector<std::int64_t> evaluate_all(const std::vector<ExprRef>& exprs, const Dims& dims) {
  std::vector<std::int64_t> values;
  for (const ExprRef& expr : exprs) values.push_back(evaluate(expr, dims));
  return values;
}

ir::TensorView shape_of(const ir::BufferDecl& decl, const Dims& dims) {
  ir::TensorView view{nullptr, decl.type, evaluate_all(decl.shape, dims), evaluate_all(decl.strides, dims)};
  if (!view.strides.empty()) return view;
  view.strides.assign(view.shape.size(), 1);
  for (std::size_t d = view.shape.size(); d-- > 1;) view.strides[d - 1] = view.strides[d] * view.shape[d];
  return view;
}

/// Calls fn(number, offset) for each element in row-major order.
template <typename Fn>
void for_each_element(const ir::TensorView& view, Fn fn) {
  std::int64_t count = 1;
  for (const std::int64_t extent : view.shape) count *= extent;
  for (std::int64_t number = 0; number < count; ++number) {
    std::int64_t offset = 0, rest = number;
    for (std::size_t d = view.shape.size(); d-- > 0;) {
      offset += rest % view.shape[d] * view.strides[d];
      rest /= view.shape[d];
    }
    fn(static_cast<std::size_t>(number), offset);
  }
}

std::size_t bytes_of(const ir::TensorView& view) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < view.shape.size(); ++d) {
    if (view.shape[d] == 0) return 0;
    last += (view.shape[d] - 1) * view.strides[d];
  }
  return static_cast<std::size_t>(((last + 1) * ir::dtype_bits(view.type) + 7) / 8);
}

}  // namespace

Call::Call(const ir::Kernel& kernel, const Dims& dims) {
  for (const ir::Param& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) {
      scalars_.push_back(param.scalar->name);
      args_.scalars.push_back({param.scalar->type, 0, 0});
      continue;
    }
    ir::TensorView view = shape_of(*param.buffer, dims);
    tensors_.push_back({param.buffer->name, std::vector<std::byte>(bytes_of(view))});
    view.data = tensors_.back().memory.data();
    args_.tensors.push_back(std::move(view));
  }
  for (const ir::Var& dim : kernel.dims) args_.dims.push_back(dims.at(dim->name));
  for (const ir::GridAxis& axis : kernel.grid) args_.grid.push_back(evaluate(axis.extent, dims));
}

ir::TensorView& Call::view(const std::string& param) {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const Tensor& tensor) { return tensor.name == param; });
  PLAIT_ASSERT(found != tensors_.end(), "no tensor parameter " + param);
  return args_.tensors[static_cast<std::size_t>(found - tensors_.begin())];
}

const ir::TensorView& Call::view(const std::string& param) const { return const_cast<Call*>(this)->view(param); }

Call& Call::set(const std::string& param, const std::vector<double>& values) {
  const ir::TensorView& tensor = view(param);
  for_each_element(tensor, [&](std::size_t number, std::int64_t offset) {
    const double value = values.at(number);
    if (ir::is_float(tensor.type)) {
      ir::store_float(tensor.type, tensor.data, offset, ir::round_to(tensor.type, value));
    } else {
      ir::store_int(tensor.type, tensor.data, offset, ir::float_to_int(tensor.type, value));
    }
  });
  return *this;
}

Call& Call::set_scalar(const std::string& param, double value) {
  const auto found = std::find(scalars_.begin(), scalars_.end(), param);
  PLAIT_ASSERT(found != scalars_.end(), "no scalar parameter " + param);
  ir::ScalarValue& scalar = args_.scalars[static_cast<std::size_t>(found - scalars_.begin())];
  scalar.f = value;
  scalar.i = ir::is_float(scalar.type) ? 0 : static_cast<std::int64_t>(value);
  return *this;
}

std::vector<double> Call::get(const std::string& param) const {
  const ir::TensorView& tensor = view(param);
  std::vector<double> values;
  for_each_element(tensor, [&](std::size_t, std::int64_t offset) {
    values.push_back(ir::is_float(tensor.type) ? ir::load_float(tensor.type, tensor.data, offset)
                                               : static_cast<double>(ir::load_int(tensor.type, tensor.data, offset)));
  });
  return values;
}

}  // namespace plait::test
