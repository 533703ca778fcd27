#include "lang/header.h"

#include <fmt/format.h>

#include "ir/visit.h"
#include "lang/operations.h"

namespace plait::lang {
namespace {

constexpr std::int64_t kMaxThreads = 1 << 16;

/// Name of a variable or buffer that `e` uses although its kind is not among `kinds`; empty where there is none.
std::string other_than(const ir::ExprRef& e, std::initializer_list<ir::VarKind> kinds) {
  std::string found;
  ir::walk(e, [&](const ir::Expr& x) {
    if (const auto* load = std::get_if<ir::Load>(&x.node)) found = load->buffer->name;
    const auto* ref = std::get_if<ir::VarRef>(&x.node);
    if (ref != nullptr && std::find(kinds.begin(), kinds.end(), ref->var->kind) == kinds.end()) found = ref->var->name;
  });
  return found;
}

}  // namespace

ir::ExprRef make_extent(const ir::ExprRef& e, const std::string& name, Loc loc, Diagnostics& diags) {
  ir::ExprRef value = to_i64(e, diags);
  if (value == nullptr) return nullptr;
  if (std::string other = other_than(value, {ir::VarKind::dim}); !other.empty()) {
    diags.error(Rule::dim_binding, loc, fmt::format("the shape of `{}` uses `{}`, which is not a dim", name, other),
                "shapes and strides hold dims and literals; a dim gets its value from the tensors of a call");
    return nullptr;
  }
  auto extent = ir::as_int(value);
  if (!extent || *extent >= 0) return value;
  diags.error(Rule::dim_binding, loc, fmt::format("`{}` has a negative extent or stride, {}", name, *extent),
              "extents and strides are at least 0");
  return nullptr;
}

ir::ExprRef make_default(ir::DType type, const ir::ExprRef& e, const std::string& name, Loc loc, Diagnostics& diags) {
  if (e == nullptr) return nullptr;
  if (std::holds_alternative<ir::IntLit>(e->node) || std::holds_alternative<ir::FloatLit>(e->node)) {
    return ir::convert_for_store(type, e, loc, diags);
  }
  diags.error(Rule::scalar_default, loc, fmt::format("the default of `{}` is not a literal", name));
  return nullptr;
}

ir::ExprRef make_grid_extent(const ir::ExprRef& e, Loc loc, Diagnostics& diags) {
  ir::ExprRef value = to_i64(e, diags);
  if (value == nullptr) return nullptr;
  std::string other = other_than(value, {ir::VarKind::dim, ir::VarKind::scalar});
  if (other.empty()) return value;
  diags.error(Rule::grid_statement, loc, fmt::format("a grid extent uses `{}`, which is not known at the call", other),
              "use dims and scalar arguments");
  return nullptr;
}

void add_require(ir::Kernel& kernel, const ir::ExprRef& cond, const std::string& message, Loc loc, Diagnostics& diags) {
  ir::ExprRef checked = make_condition(cond, "require", loc, diags);
  if (checked == nullptr) return;
  std::string other = other_than(checked, {ir::VarKind::dim, ir::VarKind::scalar});
  if (other.empty()) {
    kernel.requires_.push_back({std::move(checked), message, std::move(loc)});
    return;
  }
  diags.error(Rule::require_condition, loc,
              fmt::format("the condition uses `{}`, which is not known at the call", other));
}

void set_threads(ir::Kernel& kernel, std::int64_t count, Loc loc, Diagnostics& diags) {
  if (count < 1 || count > kMaxThreads) {
    diags.error(Rule::attribute_value, loc, fmt::format("threads is {}", count),
                fmt::format("it is between 1 and {}", kMaxThreads));
  } else if (kernel.threads) {
    diags.error(Rule::kernel_statement, loc, "threads is given twice", "remove one of the two");
  } else {
    kernel.threads = static_cast<int>(count);
  }
}

}  // namespace plait::lang
