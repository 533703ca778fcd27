#include "cuda/call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/workspace.h"

namespace plait::cuda {
namespace {

constexpr std::int64_t kMaxAlignment = 16;  ///< bytes of the widest access of a thread

class CallBinder {
 public:
  CallBinder(const Kernel& kernel, const DeviceInfo& device)
      : kernel_(kernel), program_(kernel.program()), device_(device) {}

  Result<Call> run(runtime::Args args) {
    check_devices(args);
    auto bound = runtime::bind(kernel_.signature(), args);
    if (!bound) found_.append(bound.diagnostics());
    if (found_.has_errors()) return std::move(found_);
    call_.args = std::move(*bound);
    fill_environment();
    compute_blocks();
    lay_out_workspaces();
    if (found_.has_errors()) return std::move(found_);
    check_pieces();
    if (found_.has_errors()) return std::move(found_);
    return std::move(call_);
  }

 private:
  void check_devices(runtime::Args& args);
  void fill_environment();
  void compute_blocks();
  void lay_out_workspaces();
  void check_pieces();
  void check_piece(const ir::BufferDecl& buffer, const ir::TensorView& view, const Piece& piece);
  std::optional<ir::ScalarValue> value_of(const ir::ExprRef& expr, const std::string& what);

  const Kernel& kernel_;
  const roles::Program& program_;
  const DeviceInfo& device_;
  Diagnostics found_;
  Call call_;
};

/// runtime::bind checks tensors of the device that its kernel runs on, which it calls the host.
void CallBinder::check_devices(runtime::Args& args) {
  for (const ir::Param& param : program_.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    auto arg = args.tensors.find(param.buffer->name);
    if (arg == args.tensors.end()) continue;
    if (arg->second.device != device_name) {
      found_.error(Rule::argument_device, param.buffer->loc,
                   fmt::format("{} is in the memory of device '{}', the kernel runs on an NVIDIA device ('{}')",
                               param.buffer->name, arg->second.device, device_name),
                   "copy the tensor to the memory of the device");
    }
    arg->second.device = "host";
  }
}

std::optional<ir::ScalarValue> CallBinder::value_of(const ir::ExprRef& expr, const std::string& what) {
  runtime::Evaluated e = runtime::evaluate(*expr, call_.env);
  if (!e.value) {
    found_.error(Rule::call_arithmetic, expr->loc.known() ? expr->loc : program_.loc,
                 fmt::format("{}: {} {}", what, ir::print(*expr), runtime::eval_failure_text(e.failure)));
  }
  return e.value;
}

void CallBinder::fill_environment() {
  for (std::size_t i = 0; i < program_.dims.size(); ++i)
    call_.env[program_.dims[i].get()] = runtime::int_value(call_.args.dims[i]);
  std::size_t next = 0;
  for (const ir::Param& param : program_.params) {
    if (param.kind == ir::ParamKind::scalar) call_.env[param.scalar.get()] = call_.args.scalars[next++];
  }
  if (const ir::Var& sms = program_.builtins.sms; sms != nullptr) call_.env[sms.get()] = {sms->type, device_.sms, 0};
  for (const roles::Let& let : program_.lets) {
    auto value = value_of(let.value, fmt::format("the value of {}", let.var->name));
    if (!value) return;
    call_.env[let.var.get()] = *value;
  }
}

void CallBinder::compute_blocks() {
  call_.blocks = {1, 1, 1};
  for (std::size_t i = 0; i < program_.launch.size() && !found_.has_errors(); ++i) {
    const ir::ExprRef& expr = program_.launch[i];
    auto value = value_of(expr, fmt::format("launch extent {}", i));
    if (!value) return;
    std::string text = fmt::format("launch extent {} is {}", i, value->i);
    const Loc& loc = expr->loc.known() ? expr->loc : program_.loc;
    call_.blocks[i] = value->i;
    if (value->i < 0) {
      found_.error(Rule::grid_extent, loc, text);
    } else if (value->i > device_.max_grid[i]) {
      found_.error(Rule::gpu_limit, loc, fmt::format("{}; the device runs at most {}", text, device_.max_grid[i]));
    } else if (i == 0 && value->i % program_.cluster != 0) {
      found_.error(Rule::gpu_limit, loc, fmt::format("{}, not a multiple of the cluster of {}", text, program_.cluster),
                   "round the extent up to whole clusters");
    }
  }
}

void CallBinder::lay_out_workspaces() {
  for (const roles::Workspace& workspace : program_.workspaces) {
    if (found_.has_errors()) return;
    auto view = runtime::workspace_view(*workspace->buffer, call_.env, found_);
    if (view) call_.workspaces.push_back(std::move(*view));
  }
}

void CallBinder::check_piece(const ir::BufferDecl& buffer, const ir::TensorView& view, const Piece& piece) {
  std::int64_t bits = ir::dtype_bits(view.type);
  std::int64_t alignment = std::min(piece.elements * bits / 8, kMaxAlignment);
  std::vector<std::string> problems;
  if (std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end()) return;
  if (alignment > 1 && reinterpret_cast<std::uintptr_t>(view.data) % static_cast<std::uintptr_t>(alignment) != 0)
    problems.push_back(fmt::format("it does not start at a multiple of {} bytes", alignment));
  std::size_t rank = view.shape.size();
  if (piece.whole && rank > 0 && view.shape.back() % piece.elements != 0)
    problems.push_back(fmt::format("its last extent is {}", view.shape.back()));
  if (rank > 0 && view.shape.back() > 1 && view.strides.back() != 1)
    problems.push_back(fmt::format("its last stride is {}, not 1", view.strides.back()));
  for (std::size_t i = 0; i + 1 < rank; ++i) {
    if (view.shape[i] > 1 && view.strides[i] % piece.elements != 0)
      problems.push_back(fmt::format("stride {} is {}", i, view.strides[i]));
  }
  if (problems.empty()) return;
  found_.error(Rule::gpu_piece, buffer.loc,
               fmt::format("{} is moved in pieces of {} elements, but {}", buffer.name, piece.elements,
                           fmt::join(problems, ", ")));
}

void CallBinder::check_pieces() {
  const auto& wanted = kernel_.pieces();
  std::size_t next = 0;
  for (const ir::Param& param : program_.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    const ir::TensorView& view = call_.args.tensors[next++];
    if (auto piece = wanted.find(param.buffer.get()); piece != wanted.end())
      check_piece(*param.buffer, view, piece->second);
  }
  for (std::size_t i = 0; i < call_.workspaces.size(); ++i) {
    const ir::Buffer& buffer = program_.workspaces[i]->buffer;
    if (auto piece = wanted.find(buffer.get()); piece != wanted.end())
      check_piece(*buffer, call_.workspaces[i], piece->second);
  }
}

}  // namespace

Result<Call> bind_call(const Kernel& kernel, const runtime::Args& args, const DeviceInfo& device) {
  return CallBinder(kernel, device).run(args);
}

}  // namespace plait::cuda
