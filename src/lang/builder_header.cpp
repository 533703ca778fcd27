// Parameters, grid, buffers and lets of the C++ form, and the finished kernel.
#include <fmt/format.h>

#include <algorithm>

#include "lang/builder_state.h"
#include "lang/header.h"

namespace plait::detail {
namespace {

using ir::ExprRef;

ir::DType ir_type(DType type) { return static_cast<ir::DType>(plait_dtype(type)); }

ir::LayoutKind layout_kind(Layout::Kind kind) {
  switch (kind) {
    case Layout::Kind::automatic:
      return ir::LayoutKind::automatic;
    case Layout::Kind::row_major:
      return ir::LayoutKind::row_major;
    case Layout::Kind::column_major:
      return ir::LayoutKind::column_major;
    case Layout::Kind::swizzle:
      return ir::LayoutKind::swizzle;
    case Layout::Kind::strided:
      return ir::LayoutKind::strided;
  }
  return ir::LayoutKind::automatic;
}

bool whole(const std::vector<ExprRef>& list) { return std::find(list.begin(), list.end(), nullptr) == list.end(); }

}  // namespace

Var BuilderState::dim(const std::string& name, const std::source_location& where) {
  Loc at = begin(where);
  if (!header_name(name, at)) return poison();
  ir::Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, ir::DType::i64, ir::VarKind::dim, at});
  dims_.push_back(var);
  show(var.get(), name);
  return variable(var);
}

Buffer BuilderState::tensor(ir::ParamKind kind, const std::string& name, DType type, const Extents& shape,
                            const TensorOptions& options, const std::source_location& where) {
  Loc at = begin(where);
  ir::BufferDecl decl;
  decl.name = name;
  decl.type = ir_type(type);
  decl.loc = at;
  for (const ExprRef& e : use_all(shape, at)) decl.shape.push_back(lang::make_extent(e, name, at, diags));
  for (const ExprRef& e : use_all(options.strides, at)) decl.strides.push_back(lang::make_extent(e, name, at, diags));
  bool ok = header_name(name, at) && whole(decl.shape) && whole(decl.strides);
  if (decl.shape.empty() || (!decl.strides.empty() && decl.strides.size() != decl.shape.size())) {
    diags.error(Rule::alloc_clause, at,
                fmt::format("`{}` has {} strides for {} dimensions", name, decl.strides.size(), decl.shape.size()),
                "give at least one extent, and one stride a dimension");
    ok = false;
  }
  if (!ok) return {shared_from_this(), nullptr};
  auto buffer = std::make_shared<const ir::BufferDecl>(std::move(decl));
  kernel.params.push_back({kind, buffer, nullptr, nullptr});
  show(buffer.get(), name);
  return {shared_from_this(), buffer};
}

Var BuilderState::scalar(const std::string& name, DType type, const std::optional<Value>& default_value,
                         const std::source_location& where) {
  Loc at = begin(where);
  if (!header_name(name, at)) return poison();
  ir::Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, ir_type(type), ir::VarKind::scalar, at});
  ExprRef value = default_value ? lang::make_default(var->type, use(*default_value, at), name, at, diags) : nullptr;
  kernel.params.push_back({ir::ParamKind::scalar, nullptr, var, std::move(value)});
  show(var.get(), name);
  return variable(var);
}

std::vector<Var> BuilderState::grid(const std::vector<const Axis*>& axes, const std::source_location& where) {
  Loc at = begin(where);
  if (!kernel.grid.empty() || !is_empty()) {
    diags.error(Rule::grid_statement, at,
                kernel.grid.empty() ? "the grid comes before all statements" : "a kernel has one grid");
  }
  constexpr std::array<const char*, 3> usual = {"bx", "by", "bz"};
  std::vector<ExprRef> extents;
  for (const Axis* axis : axes) extents.push_back(lang::make_grid_extent(use(axis->extent_, at), at, diags));
  std::vector<Var> out;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    std::string name = local_name(axes[i]->name_.empty() ? usual[i] : axes[i]->name_, at);
    ir::Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, ir::DType::i64, ir::VarKind::grid, at});
    kernel.grid.push_back({var, extents[i]});
    show(var.get(), name);
    out.push_back(variable(var));
  }
  return out;
}

Buffer BuilderState::alloc(ir::Scope scope, DType type, const Extents& shape, const BufferOptions& options,
                           const std::source_location& where) {
  Loc at = begin(where);
  lang::AllocInput in;
  in.name = local_name(options.name.empty() ? std::string(ir::scope_name(scope)) + "_buffer" : options.name, at);
  in.type = ir_type(type);
  in.scope = scope;
  in.shape = use_all(shape, at);
  in.layout = {layout_kind(options.layout.kind), options.layout.swizzle_bytes, options.layout.strides};
  in.pad = options.pad;
  ir::Buffer buffer = lang::make_buffer(in, at, diags);
  if (buffer != nullptr) {
    show(buffer.get(), buffer->name);
    emit(ir::Alloc{buffer}, at);
  }
  return {shared_from_this(), buffer};
}

Var BuilderState::let(const std::string& name, const Value& value, const std::source_location& where) {
  Loc at = begin(where);
  ExprRef e = use(value, at);
  if (e == nullptr) return poison();
  // As in the text form, a literal needs no variable.
  if (std::holds_alternative<ir::IntLit>(e->node) || std::holds_alternative<ir::FloatLit>(e->node)) return Var(leaf(e));
  e = ir::settle(e, at, diags);
  if (e == nullptr) return poison();
  ir::Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{local_name(name, at), e->type, ir::VarKind::let, at});
  emit(ir::Let{var, std::move(e)}, at);
  show(var.get(), var->name);
  return variable(var);
}

/// Dims in the order of their first bare occurrence.
void BuilderState::order_dims() {
  auto bind = [&](const ExprRef& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e->node);
    bool bound = ref == nullptr || std::find(kernel.dims.begin(), kernel.dims.end(), ref->var) != kernel.dims.end();
    if (!bound) kernel.dims.push_back(ref->var);
  };
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    std::for_each(param.buffer->shape.begin(), param.buffer->shape.end(), bind);
    std::for_each(param.buffer->strides.begin(), param.buffer->strides.end(), bind);
  }
  for (const ir::Var& dim : dims_) {
    if (std::find(kernel.dims.begin(), kernel.dims.end(), dim) != kernel.dims.end()) continue;
    diags.error(Rule::dim_binding, dim->loc, fmt::format("dim `{}` is bound by no parameter", dim->name));
  }
}

std::shared_ptr<const ir::Kernel> BuilderState::build() {
  close_chain();
  if (kernel.grid.empty() && !diags.has_errors()) {
    diags.error(Rule::grid_statement, kernel.loc, fmt::format("kernel `{}` has no grid", kernel.name),
                "call grid(...)");
  }
  if (!diags.has_errors()) order_dims();
  built_ = true;
  if (diags.has_errors()) throw_error(diags);
  kernel.body = std::move(blocks_.front().body);
  return std::make_shared<const ir::Kernel>(std::move(kernel));
}

}  // namespace plait::detail
