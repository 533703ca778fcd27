#include "runtime/workspace.h"

#include <fmt/format.h>

#include "runtime/extent.h"

namespace plait::runtime {

std::optional<ir::TensorView> workspace_view(const ir::BufferDecl& buffer, const Env& values, Diagnostics& diags) {
  ir::TensorView view;
  view.type = buffer.type;
  for (const ir::ExprRef& extent : buffer.shape) {
    Evaluated found = evaluate(*extent, values);
    std::string what = fmt::format("extent {} of {}", view.shape.size(), buffer.name);
    if (!found.value) {
      diags.error(Rule::call_arithmetic, buffer.loc,
                  fmt::format("{} has no value: {}", what, eval_failure_text(found.failure)));
      return {};
    }
    if (found.value->i < 0) {
      diags.error(Rule::call_arithmetic, buffer.loc, fmt::format("{} is {}", what, found.value->i));
      return {};
    }
    view.shape.push_back(found.value->i);
  }
  auto strides = contiguous_strides(view.shape);
  if (strides) view.strides = std::move(*strides);
  if (!strides || !span_bytes(view)) {
    diags.error(Rule::call_arithmetic, buffer.loc, fmt::format("the size of {} does not fit in 64 bits", buffer.name));
    return {};
  }
  return view;
}

}  // namespace plait::runtime
