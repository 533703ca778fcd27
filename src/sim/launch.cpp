#include "sim/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "runtime/extent.h"
#include "runtime/workspace.h"

namespace plait::sim {
namespace {

std::optional<ir::ScalarValue> host_value(const ir::ExprRef& expr, const std::string& what, const Loc& loc,
                                          const Launch& launch, Diagnostics& diags) {
  runtime::Evaluated result = runtime::evaluate(*expr, launch.values);
  if (!result.value) {
    diags.error(Rule::call_arithmetic, expr->loc.known() ? expr->loc : loc,
                fmt::format("{} has no value: {}", what, runtime::eval_failure_text(result.failure)));
  }
  return result.value;
}

void set_grid(const roles::Program& program, Launch& launch, Diagnostics& diags) {
  for (std::size_t i = 0; i < program.launch.size() && i < launch.grid.size(); ++i) {
    auto extent = host_value(program.launch[i], "the launch", program.loc, launch, diags);
    if (!extent) return;
    if (extent->i < 0) {
      diags.error(Rule::grid_extent, program.launch[i]->loc, fmt::format("the launch has extent {}", extent->i));
      return;
    }
    launch.grid[i] = extent->i;
  }
  auto plane = runtime::checked_mul(launch.grid[0], launch.grid[1]);
  if (!plane || !runtime::checked_mul(*plane, launch.grid[2])) {
    diags.error(Rule::grid_extent, program.loc, "the number of blocks does not fit in 64 bits");
  } else if (launch.grid[0] % program.cluster != 0) {
    diags.error(Rule::grid_extent, program.loc,
                fmt::format("the launch has {} blocks along x, no multiple of the cluster of {}", launch.grid[0],
                            program.cluster));
  }
}

void make_workspace(const roles::WorkspaceDecl& workspace, Launch& launch, Diagnostics& diags) {
  const ir::BufferDecl& buffer = *workspace.buffer;
  auto view = runtime::workspace_view(buffer, launch.values, diags);
  if (!view) return;
  // Beside the bytes there are the records of accesses, some three times as many.
  constexpr double kWatched = 4;
  double need = kWatched * static_cast<double>(runtime::span_bytes(*view).value_or(0));
  if (need > static_cast<double>(runtime::available_memory())) {
    diags.error(
        Rule::out_of_memory, workspace.loc,
        fmt::format(
            "the workspace {} takes {:.1f} GiB with the records of accesses to it, more than the machine has left",
            buffer.name, need / 0x1p30),
        "simulate smaller dims, or fewer pieces of each tile");
    return;
  }
  try {
    runtime::HostTensor tensor(buffer.type, {view->shape, view->strides});
    runtime::poison(tensor);
    if (workspace.zero) std::fill_n(tensor.data(), tensor.bytes(), std::byte{0});
    launch.tensors.push_back(tensor.view());
    launch.workspaces.push_back(std::move(tensor));
  } catch (const std::bad_alloc&) {
    diags.error(Rule::out_of_memory, workspace.loc, fmt::format("the workspace {} does not fit memory", buffer.name));
  }
}

}  // namespace

Result<Launch> make_launch(const roles::Program& program, const ir::BoundArgs& args, int sms) {
  Launch launch;
  launch.sms = sms;
  launch.tensors = args.tensors;
  for (std::size_t i = 0; i < program.dims.size(); ++i)
    launch.values[program.dims[i].get()] = runtime::int_value(args.dims[i]);
  std::size_t scalar = 0;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar) launch.values[param.scalar.get()] = args.scalars[scalar++];
  }
  if (program.builtins.sms) launch.values[program.builtins.sms.get()] = {ir::DType::i32, sms, 0};
  Diagnostics diags;
  for (const roles::Let& let : program.lets) {
    auto value = host_value(let.value, let.var->name, let.var->loc, launch, diags);
    if (value) launch.values[let.var.get()] = *value;
  }
  if (!diags.has_errors()) set_grid(program, launch, diags);
  for (const roles::Workspace& workspace : program.workspaces) {
    if (!diags.has_errors()) make_workspace(*workspace, launch, diags);
  }
  if (diags.has_errors()) return diags;
  return launch;
}

}  // namespace plait::sim
