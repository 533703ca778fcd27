#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/visit.h"
#include "runtime/bind.h"
#include "runtime/eval.h"
#include "runtime/extent.h"

namespace plait::runtime {
namespace {

using Dims = std::map<std::string, std::int64_t>;

/// Computes shapes and strides from dims that were given by name.
class Layouter {
 public:
  Layouter(const ir::Kernel& kernel, const Dims& dims) : kernel_(kernel), dims_(dims) {}

  /// Binds the given dims; reports unknown and negative ones, and those that a shape needs but nobody gave.
  void bind();
  std::vector<std::int64_t> shape(const ir::BufferDecl& buffer);
  std::vector<std::int64_t> strides(const ir::BufferDecl& buffer, const std::vector<std::int64_t>& shape);
  const Diagnostics& diagnostics() const { return diags_; }

 private:
  std::int64_t value(const ir::ExprRef& expr, const std::string& what);
  void report_missing(const std::vector<ir::ExprRef>& exprs, std::vector<std::string>& missing) const;

  const ir::Kernel& kernel_;
  const Dims& dims_;
  Env env_;
  Diagnostics diags_;
};

void Layouter::report_missing(const std::vector<ir::ExprRef>& exprs, std::vector<std::string>& missing) const {
  for (const ir::ExprRef& root : exprs) {
    ir::walk(root, [&](const ir::Expr& e) {
      const auto* ref = std::get_if<ir::VarRef>(&e.node);
      if (ref == nullptr || env_.count(ref->var.get()) > 0) return;
      const std::string& name = ref->var->name;
      if (std::find(missing.begin(), missing.end(), name) == missing.end()) missing.push_back(name);
    });
  }
}

void Layouter::bind() {
  std::vector<std::string> unknown, negative, missing;
  for (const auto& [name, value] : dims_) {
    auto dim = std::find_if(kernel_.dims.begin(), kernel_.dims.end(),
                            [&, &key = name](const ir::Var& v) { return v->name == key; });
    if (dim == kernel_.dims.end()) {
      unknown.push_back(name);
      continue;
    }
    if (value < 0) negative.push_back(fmt::format("{} = {}", name, value));
    env_[dim->get()] = int_value(value);
  }
  for (const ir::Param& param : kernel_.params) {
    if (param.kind != ir::ParamKind::scalar) report_missing(param.buffer->shape, missing);
  }
  if (!unknown.empty()) {
    diags_.error(Rule::unknown_dim, kernel_.loc, unknown_dims_text(kernel_, unknown));
  }
  if (!negative.empty())
    diags_.error(Rule::argument_shape, kernel_.loc, fmt::format("a dim is negative: {}", fmt::join(negative, ", ")));
  if (!missing.empty()) {
    diags_.error(Rule::missing_dim, kernel_.loc,
                 fmt::format("kernel {} needs a value for the dims {}", kernel_.name, fmt::join(missing, ", ")));
  }
}

std::int64_t Layouter::value(const ir::ExprRef& expr, const std::string& what) {
  Evaluated e = evaluate(*expr, env_);
  if (!e.value) {
    diags_.error(Rule::call_arithmetic, expr->loc,
                 fmt::format("{}: {} {}", what, ir::print(*expr), eval_failure_text(e.failure)));
    return 0;
  }
  if (e.value->i < 0) {
    diags_.error(Rule::argument_shape, expr->loc,
                 fmt::format("{}: {} is {}, below 0", what, ir::print(*expr), e.value->i));
    return 0;
  }
  return e.value->i;
}

std::vector<std::int64_t> Layouter::shape(const ir::BufferDecl& buffer) {
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i)
    shape.push_back(value(buffer.shape[i], fmt::format("extent {} of {}", i, buffer.name)));
  return shape;
}

std::vector<std::int64_t> Layouter::strides(const ir::BufferDecl& buffer, const std::vector<std::int64_t>& shape) {
  auto too_large = [&] {
    diags_.error(Rule::argument_memory, buffer.loc,
                 fmt::format("{} [{}] has more elements than 64 bits count", buffer.name, fmt::join(shape, ", ")));
    return std::vector<std::int64_t>(shape.size(), 0);
  };
  if (buffer.strides.empty()) {
    auto packed = contiguous_strides(shape);
    return packed ? *packed : too_large();
  }
  auto unbound = [&](const ir::ExprRef& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e->node);
    return ref != nullptr && env_.count(ref->var.get()) == 0 ? ref->var.get() : nullptr;
  };
  // What the known strides reach; each stride nobody gave then steps over all that lies inside it, the last dimension
  // innermost.
  std::int64_t reach = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (unbound(buffer.strides[i]) != nullptr) continue;
    auto end = checked_mul(value(buffer.strides[i], fmt::format("stride {} of {}", i, buffer.name)),
                           std::max<std::int64_t>(shape[i], 1));
    if (!end) return too_large();
    reach = std::max(reach, *end);
  }
  std::vector<std::int64_t> strides(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (const ir::VarDecl* dim = unbound(buffer.strides[i])) {
      env_[dim] = int_value(reach);
      auto end = checked_mul(reach, std::max<std::int64_t>(shape[i], 1));
      if (!end) return too_large();
      reach = *end;
    }
    strides[i] = value(buffer.strides[i], fmt::format("stride {} of {}", i, buffer.name));
  }
  return span_elements(shape, strides) ? strides : too_large();
}

}  // namespace

std::string unknown_dims_text(const ir::Kernel& kernel, const std::vector<std::string>& unknown) {
  std::vector<std::string> known;
  for (const ir::Var& dim : kernel.dims) known.push_back(dim->name);
  return fmt::format("kernel {} has no dim {}; it has {}", kernel.name, fmt::join(unknown, ", "),
                     known.empty() ? "no dims" : fmt::format("{}", fmt::join(known, ", ")));
}

Result<std::map<std::string, std::vector<std::int64_t>>> shapes_for(const ir::Kernel& kernel, const Dims& dims) {
  auto layouts = layouts_for(kernel, dims);
  if (!layouts) return layouts.diagnostics();
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (auto& [name, layout] : *layouts) shapes[name] = std::move(layout.shape);
  return shapes;
}

Result<std::map<std::string, Layout>> layouts_for(const ir::Kernel& kernel, const Dims& dims) {
  Layouter layouter(kernel, dims);
  layouter.bind();
  if (layouter.diagnostics().has_errors()) return layouter.diagnostics();
  std::map<std::string, Layout> layouts;
  for (const ir::Param& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    Layout layout;
    layout.shape = layouter.shape(*param.buffer);
    layout.strides = layouter.strides(*param.buffer, layout.shape);
    layouts[param.buffer->name] = std::move(layout);
  }
  if (layouter.diagnostics().has_errors()) return layouter.diagnostics();
  return layouts;
}

}  // namespace plait::runtime
