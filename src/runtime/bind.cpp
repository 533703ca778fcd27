#include "runtime/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "analysis/affine.h"
#include "ir/numeric.h"
#include "runtime/eval.h"
#include "runtime/extent.h"

namespace plait::runtime {
namespace {

using ir::DType;
using ir::TensorView;

/// One tensor parameter in the course of the checks.
struct Slot {
  const ir::Param* param;
  const TensorArg* arg = nullptr;
  TensorView view;      ///< with strides filled in
  bool usable = false;  ///< rank and signs are right, so that extents may be read
  bool sized = false;   ///< strides are right and the span fits in 64 bits

  const ir::BufferDecl& buffer() const { return *param->buffer; }
  const std::string& name() const { return param->buffer->name; }
  bool is_written() const { return param->kind != ir::ParamKind::in; }
};

class Binder {
 public:
  Binder(const ir::Kernel& kernel, const Args& args) : kernel_(kernel), args_(args) {}
  Result<ir::BoundArgs> run();

 private:
  void collect();
  void report_names();
  void check_scalars();
  void check_own(Slot& slot);
  void bind_dims();
  void bind_dim(const ir::ExprRef& expr, std::int64_t value, const std::string& origin);
  void check_dim_sizes();
  void check_expected_dims();
  void check_shape(const Slot& slot);
  void check_strides(Slot& slot);
  void check_memory(Slot& slot);
  void check_overlaps();
  void check_requires();
  void check_grid();
  std::optional<std::int64_t> value_of(const ir::ExprRef& expr, const std::string& what);
  std::optional<std::vector<std::int64_t>> wanted_strides(const Slot& slot);

  const ir::Kernel& kernel_;
  const Args& args_;
  Diagnostics diags_;
  std::vector<Slot> slots_;
  std::vector<ir::ScalarValue> scalars_;
  Env env_;
  std::unordered_map<const ir::VarDecl*, std::string> origin_;
  std::set<const ir::VarDecl*> disputed_;  ///< dims that the caller and a tensor give different values
  std::vector<std::int64_t> grid_;
};

const ir::VarDecl* bare_dim(const ir::ExprRef& expr) {
  const auto* ref = std::get_if<ir::VarRef>(&expr->node);
  return ref != nullptr && ref->var->kind == ir::VarKind::dim ? ref->var.get() : nullptr;
}

std::string list_text(const std::vector<std::int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ", ")); }

std::string list_text(const std::vector<ir::ExprRef>& exprs) {
  std::vector<std::string> texts;
  for (const ir::ExprRef& e : exprs) texts.push_back(ir::print(*e));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

void Binder::collect() {
  for (const ir::Param& param : kernel_.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    Slot slot{&param, nullptr, {}, false, false};
    if (auto found = args_.tensors.find(slot.name()); found != args_.tensors.end()) slot.arg = &found->second;
    slots_.push_back(std::move(slot));
  }
}

void Binder::report_names() {
  std::vector<std::string> known, missing, unknown;
  for (const ir::Param& param : kernel_.params) {
    bool is_scalar = param.kind == ir::ParamKind::scalar;
    const std::string& name = is_scalar ? param.scalar->name : param.buffer->name;
    known.push_back(name);
    bool given =
        is_scalar ? args_.scalars.count(name) > 0 || param.default_value != nullptr : args_.tensors.count(name) > 0;
    if (!given) missing.push_back(fmt::format("{} ({})", name, is_scalar ? "a scalar" : "a tensor"));
    if (is_scalar && args_.tensors.count(name) > 0) unknown.push_back(name + " (a tensor for a scalar parameter)");
    if (!is_scalar && args_.scalars.count(name) > 0) unknown.push_back(name + " (a scalar for a tensor parameter)");
  }
  auto check = [&](const std::string& name) {
    if (std::find(known.begin(), known.end(), name) == known.end()) unknown.push_back(name);
  };
  for (const auto& [name, arg] : args_.tensors) check(name);
  for (const auto& [name, arg] : args_.scalars) check(name);
  if (!missing.empty()) {
    diags_.error(Rule::missing_argument, kernel_.loc,
                 fmt::format("kernel {} gets no argument for {}", kernel_.name, fmt::join(missing, ", ")));
  }
  if (!unknown.empty()) {
    diags_.error(Rule::unknown_argument, kernel_.loc,
                 fmt::format("kernel {} has no parameter for the argument {}; its parameters are {}", kernel_.name,
                             fmt::join(unknown, ", "), fmt::join(known, ", ")));
  }
}

/// Empty where the value fits the type.
std::string scalar_problem(const ir::ScalarValue& value, DType want) {
  if (value.type != want) return fmt::format("is {}, not {}", ir::dtype_name(value.type), ir::dtype_name(want));
  if (ir::is_float(want)) return {};
  if (ir::is_bool(want)) return value.i == 0 || value.i == 1 ? "" : "is neither true nor false";
  if (ir::int_to_int(want, value.i) == value.i) return {};
  return fmt::format("is {}, outside {}", value.i, ir::dtype_name(want));
}

void Binder::check_scalars() {
  for (const ir::Param& param : kernel_.params) {
    if (param.kind != ir::ParamKind::scalar) continue;
    ir::ScalarValue value{param.scalar->type, 0, 0};
    auto found = args_.scalars.find(param.scalar->name);
    if (found != args_.scalars.end()) {
      value = found->second;
    } else if (param.default_value != nullptr) {
      if (Evaluated e = evaluate(*param.default_value, {}); e.value) value = *e.value;
      value.type = param.scalar->type;
    }
    if (std::string problem = scalar_problem(value, param.scalar->type); !problem.empty()) {
      diags_.error(Rule::argument_value, param.scalar->loc,
                   fmt::format("scalar argument {} {}", param.scalar->name, problem));
    }
    if (ir::is_float(value.type)) value.f = ir::round_to(value.type, value.f);
    scalars_.push_back(value);
    env_[param.scalar.get()] = value;
  }
}

/// What can be said of an argument without knowing any dim.
void Binder::check_own(Slot& slot) {
  if (slot.arg == nullptr) return;
  const ir::BufferDecl& buffer = slot.buffer();
  slot.view = slot.arg->view;
  TensorView& view = slot.view;
  if (slot.arg->device != "host") {
    diags_.error(
        Rule::argument_device, buffer.loc,
        fmt::format("{} is in the memory of device '{}', the kernel runs on the host", buffer.name, slot.arg->device));
  }
  if (view.type != buffer.type) {
    diags_.error(Rule::argument_dtype, buffer.loc,
                 fmt::format("{} is {}, its parameter is {}", buffer.name, ir::dtype_name(view.type),
                             ir::dtype_name(buffer.type)));
  }
  if (view.shape.size() != buffer.shape.size()) {
    diags_.error(Rule::argument_rank, buffer.loc,
                 fmt::format("{} has {} dimensions {}, its parameter has {}: {}", buffer.name, view.shape.size(),
                             list_text(view.shape), buffer.shape.size(), list_text(buffer.shape)));
    return;
  }
  if (std::any_of(view.shape.begin(), view.shape.end(), [](std::int64_t e) { return e < 0; })) {
    diags_.error(Rule::argument_shape, buffer.loc,
                 fmt::format("{} has a negative extent: {}", buffer.name, list_text(view.shape)));
    return;
  }
  if (view.strides.empty()) {
    auto strides = contiguous_strides(view.shape);
    if (!strides) {
      diags_.error(Rule::argument_memory, buffer.loc,
                   fmt::format("{} {} has more elements than 64 bits count", buffer.name, list_text(view.shape)));
      return;
    }
    view.strides = *strides;
  }
  if (view.strides.size() != view.shape.size()) {
    diags_.error(
        Rule::argument_strides, buffer.loc,
        fmt::format("{} has {} dimensions, but {} strides", buffer.name, view.shape.size(), view.strides.size()));
    return;
  }
  if (std::any_of(view.strides.begin(), view.strides.end(), [](std::int64_t s) { return s < 0; })) {
    diags_.error(Rule::argument_strides, buffer.loc,
                 fmt::format("{} has a negative stride: {}", buffer.name, list_text(view.strides)));
    return;
  }
  slot.usable = true;
}

void Binder::bind_dim(const ir::ExprRef& expr, std::int64_t value, const std::string& origin) {
  const ir::VarDecl* dim = bare_dim(expr);
  if (dim == nullptr || !env_.emplace(dim, int_value(value)).second) return;
  origin_[dim] = origin;
}

void Binder::bind_dims() {
  for (const Slot& slot : slots_) {
    if (!slot.usable) continue;
    const ir::BufferDecl& buffer = slot.buffer();
    for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
      bind_dim(buffer.shape[i], slot.view.shape[i], fmt::format("dimension {} of {}", i, buffer.name));
    }
    for (std::size_t i = 0; i < buffer.strides.size(); ++i) {
      bind_dim(buffer.strides[i], slot.view.strides[i], fmt::format("stride {} of {}", i, buffer.name));
    }
  }
}

/// Index arithmetic over dims is proved not to wrap up to this size.
void Binder::check_dim_sizes() {
  for (const ir::Var& dim : kernel_.dims) {
    auto bound = env_.find(dim.get());
    if (bound == env_.end() || bound->second.i <= analysis::max_dim) continue;
    diags_.error(Rule::argument_shape, dim->loc,
                 fmt::format("{} is {} ({}); a dim is at most {}", dim->name, bound->second.i, origin_[dim.get()],
                             analysis::max_dim));
  }
  for (const Slot& slot : slots_) {
    if (!slot.usable) continue;
    std::int64_t product = 1;
    bool fits = std::all_of(slot.view.shape.begin(), slot.view.shape.end(), [&](std::int64_t extent) {
      return !__builtin_mul_overflow(product, std::max<std::int64_t>(extent, 1), &product);
    });
    if (fits && product <= analysis::max_dim) continue;
    diags_.error(Rule::argument_shape, slot.buffer().loc,
                 fmt::format("the extents {} of {} multiply to more than {}", list_text(slot.view.shape),
                             slot.buffer().name, analysis::max_dim),
                 "pass a smaller tensor; extents of 0 count as 1");
  }
}

void Binder::check_expected_dims() {
  std::vector<std::string> unknown, wrong;
  for (const auto& [name, value] : args_.dims) {
    auto dim =
        std::find_if(kernel_.dims.begin(), kernel_.dims.end(), [&](const ir::Var& v) { return v->name == name; });
    if (dim == kernel_.dims.end()) {
      unknown.push_back(name);
      continue;
    }
    auto bound = env_.find(dim->get());
    if (bound != env_.end() && bound->second.i != value) {
      disputed_.insert(dim->get());
      wrong.push_back(
          fmt::format("{} is given as {}, but {} is {}", name, value, origin_[dim->get()], bound->second.i));
    }
  }
  if (!unknown.empty()) diags_.error(Rule::unknown_dim, kernel_.loc, unknown_dims_text(kernel_, unknown));
  if (!wrong.empty()) diags_.error(Rule::argument_shape, kernel_.loc, fmt::format("{}", fmt::join(wrong, "; ")));
}

/// An expression of the call; reports arithmetic that has no value, but not dims that a faulty argument failed to give.
std::optional<std::int64_t> Binder::value_of(const ir::ExprRef& expr, const std::string& what) {
  Evaluated e = evaluate(*expr, env_);
  if (e.value) return e.value->i;
  if (e.failure != EvalFailure::unbound) {
    diags_.error(Rule::call_arithmetic, expr->loc,
                 fmt::format("{}: {} {}", what, ir::print(*expr), eval_failure_text(e.failure)));
  }
  return std::nullopt;
}

void Binder::check_shape(const Slot& slot) {
  if (!slot.usable) return;
  const ir::BufferDecl& buffer = slot.buffer();
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    auto want = value_of(buffer.shape[i], fmt::format("extent {} of {}", i, buffer.name));
    if (!want || *want == slot.view.shape[i]) continue;
    const ir::VarDecl* dim = bare_dim(buffer.shape[i]);
    if (disputed_.contains(dim)) continue;
    std::string text = ir::print(*buffer.shape[i]);
    std::string because =
        dim != nullptr ? fmt::format("{} is {} ({})", text, *want, origin_[dim]) : fmt::format("{} is {}", text, *want);
    wrong.push_back(fmt::format("dimension {} is {}, but {}", i, slot.view.shape[i], because));
  }
  if (wrong.empty()) return;
  diags_.error(Rule::argument_shape, buffer.loc,
               fmt::format("{} has shape {}: {}", buffer.name, list_text(slot.view.shape), fmt::join(wrong, "; ")));
}

std::optional<std::vector<std::int64_t>> Binder::wanted_strides(const Slot& slot) {
  const ir::BufferDecl& buffer = slot.buffer();
  if (buffer.strides.empty()) return contiguous_strides(slot.view.shape);
  std::vector<std::int64_t> want;
  for (std::size_t i = 0; i < buffer.strides.size(); ++i) {
    auto value = value_of(buffer.strides[i], fmt::format("stride {} of {}", i, buffer.name));
    if (!value) return std::nullopt;
    want.push_back(*value);
  }
  return want;
}

/// The stride of a dimension with one element, or of an empty tensor, is never used, so it may have any value.
void Binder::check_strides(Slot& slot) {
  if (!slot.usable) return;
  const ir::BufferDecl& buffer = slot.buffer();
  auto want = wanted_strides(slot);
  if (!want) return;
  if (std::any_of(want->begin(), want->end(), [](std::int64_t s) { return s < 0; })) {
    diags_.error(Rule::argument_strides, buffer.loc,
                 fmt::format("{} would need a negative stride: {}", buffer.name, list_text(*want)));
    return;
  }
  bool is_empty = element_count(slot.view.shape) == 0;
  for (std::size_t i = 0; i < want->size(); ++i) {
    if (is_empty || slot.view.shape[i] == 1 || slot.view.strides[i] == (*want)[i]) continue;
    std::string form = buffer.strides.empty() ? "contiguous" : fmt::format("strides {}", list_text(buffer.strides));
    diags_.error(Rule::argument_strides, buffer.loc,
                 fmt::format("{} has strides {}, its parameter is {}: {}", buffer.name, list_text(slot.view.strides),
                             form, list_text(*want)));
    return;
  }
  slot.view.strides = *want;
  slot.sized = true;
}

void Binder::check_memory(Slot& slot) {
  if (!slot.sized) return;
  const ir::BufferDecl& buffer = slot.buffer();
  auto need = span_bytes(slot.view);
  auto address = reinterpret_cast<std::uintptr_t>(slot.view.data);
  if (!need || address + static_cast<std::uintptr_t>(*need) < address) {
    slot.sized = false;
    diags_.error(Rule::argument_memory, buffer.loc,
                 fmt::format("{} {} spans more bytes than 64 bits count", buffer.name, list_text(slot.view.shape)));
    return;
  }
  if (*need > 0 && slot.view.data == nullptr) {
    diags_.error(Rule::argument_memory, buffer.loc,
                 fmt::format("{} {} has a null data pointer", buffer.name, list_text(slot.view.shape)));
  } else if (slot.arg->bytes >= 0 && slot.arg->bytes < *need) {
    diags_.error(Rule::argument_memory, buffer.loc,
                 fmt::format("{} {} with strides {} needs {} bytes, its memory has {}", buffer.name,
                             list_text(slot.view.shape), list_text(slot.view.strides), *need, slot.arg->bytes));
  }
  auto alignment = static_cast<std::uintptr_t>(std::max(ir::dtype_bits(buffer.type) / 8, 1));
  if (*need > 0 && address % alignment != 0) {
    diags_.error(Rule::argument_alignment, buffer.loc,
                 fmt::format("{} starts {} bytes behind a multiple of {}, the size of {}", buffer.name,
                             address % alignment, alignment, ir::dtype_name(buffer.type)));
  }
}

void Binder::check_overlaps() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& a = slots_[i];
    if (!a.sized || !a.is_written() || a.view.data == nullptr) continue;
    std::vector<std::string> shared;
    if (may_overlap_itself(a.view))
      shared.push_back(fmt::format("its own elements (strides {})", list_text(a.view.strides)));
    for (std::size_t j = 0; j < slots_.size(); ++j) {
      const Slot& b = slots_[j];
      bool told_before = j < i && b.is_written();
      if (j == i || told_before || !b.sized || b.view.data == nullptr) continue;
      if (may_overlap(a.view, b.view)) shared.push_back(b.name());
    }
    if (shared.empty()) continue;
    diags_.error(Rule::argument_overlap, a.buffer().loc,
                 fmt::format("{} is written and shares memory with {}", a.name(), fmt::join(shared, ", ")));
  }
}

void Binder::check_requires() {
  for (const ir::Require& require : kernel_.requires_) {
    Evaluated e = evaluate(*require.cond, env_);
    if (!e.value && e.failure == EvalFailure::unbound) continue;
    if (!e.value) {
      diags_.error(Rule::call_arithmetic, require.loc,
                   fmt::format("require {} {}", ir::print(*require.cond), eval_failure_text(e.failure)));
    } else if (e.value->i == 0) {
      std::string said = require.message.empty() ? "" : ": " + require.message;
      std::vector<std::string> values;
      for (const ir::Var& dim : kernel_.dims) {
        if (auto bound = env_.find(dim.get()); bound != env_.end())
          values.push_back(fmt::format("{} = {}", dim->name, bound->second.i));
      }
      diags_.error(
          Rule::require_failed, require.loc,
          fmt::format("require {} does not hold{} ({})", ir::print(*require.cond), said, fmt::join(values, ", ")));
    }
  }
}

void Binder::check_grid() {
  for (const ir::GridAxis& axis : kernel_.grid) {
    auto extent = value_of(axis.extent, fmt::format("grid {}", axis.var->name));
    if (!extent) return;
    if (*extent < 0) {
      diags_.error(Rule::grid_extent, axis.extent->loc,
                   fmt::format("grid {} = {} is {}", axis.var->name, ir::print(*axis.extent), *extent));
      return;
    }
    if (*extent > ir::max_blocks) {
      diags_.error(Rule::grid_extent, axis.extent->loc,
                   fmt::format("grid {} = {} is {}; a grid has at most {} blocks", axis.var->name,
                               ir::print(*axis.extent), *extent, ir::max_blocks));
      return;
    }
    grid_.push_back(*extent);
  }
  std::optional<std::int64_t> blocks = element_count(grid_);
  if (!blocks || *blocks > ir::max_blocks) {
    diags_.error(Rule::grid_extent, kernel_.loc,
                 fmt::format("the grid {} has {} blocks; a grid has at most {}", list_text(grid_),
                             blocks ? std::to_string(*blocks) : "more than 2^63", ir::max_blocks));
  }
}

Result<ir::BoundArgs> Binder::run() {
  collect();
  report_names();
  check_scalars();
  for (Slot& slot : slots_) check_own(slot);
  bind_dims();
  check_dim_sizes();
  check_expected_dims();
  for (Slot& slot : slots_) {
    check_shape(slot);
    check_strides(slot);
    check_memory(slot);
  }
  check_overlaps();
  check_requires();
  check_grid();
  if (diags_.has_errors()) return diags_;
  ir::BoundArgs bound;
  for (Slot& slot : slots_) bound.tensors.push_back(std::move(slot.view));
  bound.scalars = std::move(scalars_);
  for (const ir::Var& dim : kernel_.dims) {
    auto value = env_.find(dim.get());
    PLAIT_ASSERT(value != env_.end(), "no parameter binds dim " + dim->name);
    bound.dims.push_back(value->second.i);
  }
  bound.grid = std::move(grid_);
  return bound;
}

}  // namespace

Result<ir::BoundArgs> bind(const ir::Kernel& kernel, const Args& args) { return Binder(kernel, args).run(); }

}  // namespace plait::runtime
