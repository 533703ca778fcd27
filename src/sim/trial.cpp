#include "sim/trial.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "roles/signature.h"
#include "runtime/bind.h"
#include "runtime/extent.h"
#include "runtime/random.h"

namespace plait::sim {

Result<Call> draw_call(const roles::Program& program, const std::map<std::string, std::int64_t>& dims,
                       const std::map<std::string, ir::ScalarValue>& scalars, std::uint64_t seed) {
  ir::Kernel signature = roles::call_signature(program);
  auto layouts = runtime::layouts_for(signature, dims);
  if (!layouts) return layouts.diagnostics();
  Call call;
  runtime::Args args;
  args.scalars = scalars;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    const std::string& name = param.buffer->name;
    call.tensors.emplace_back(param.buffer->type, layouts->at(name));
    if (param.kind == ir::ParamKind::out) {
      runtime::poison(call.tensors.back());
    } else {
      runtime::fill_random(call.tensors.back(), name, seed);
    }
    args.tensors[name] = call.tensors.back().arg();
  }
  args.dims = dims;
  auto bound = runtime::bind(signature, args);
  if (!bound) return bound.diagnostics();
  call.args = std::move(*bound);
  return call;
}

void BlankCall::Unmap::operator()(void* memory) const { ::munmap(memory, bytes); }

Result<BlankCall> BlankCall::make(const roles::Program& program, const std::map<std::string, std::int64_t>& dims,
                                  const std::map<std::string, ir::ScalarValue>& scalars) {
  ir::Kernel signature = roles::call_signature(program);
  auto layouts = runtime::layouts_for(signature, dims);
  if (!layouts) return layouts.diagnostics();
  BlankCall call;
  runtime::Args args;
  args.scalars = scalars;
  args.dims = dims;
  for (const ir::Param& param : program.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    const runtime::Layout& layout = layouts->at(param.buffer->name);
    ir::TensorView view{nullptr, param.buffer->type, layout.shape, layout.strides};
    std::int64_t bytes = runtime::span_bytes(view).value_or(0);
    auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
    view.data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (view.data == MAP_FAILED) {
      Diagnostics diags;
      diags.error(Rule::out_of_memory, param.buffer->loc, param.buffer->name + " does not fit the address space");
      return diags;
    }
    call.memory_.emplace_back(view.data, Unmap{size});
    args.tensors[param.buffer->name] = {view, bytes, "host"};
  }
  auto bound = runtime::bind(signature, args);
  if (!bound) return bound.diagnostics();
  call.args_ = std::move(*bound);
  return call;
}

Result<Trial> run_trial(const roles::Program& program, const Call& call, int sms, const Options& options) {
  Trial trial;
  ir::BoundArgs args = call.args;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    trial.tensors.push_back(call.tensors[i].clone());
    args.tensors[i].data = trial.tensors.back().data();
  }
  auto launch = make_launch(program, args, sms);
  if (!launch) return launch.diagnostics();
  trial.outcome = simulate(program, *launch, options);
  return trial;
}

int first_difference(const Trial& a, const Trial& b) {
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    auto bytes = static_cast<std::size_t>(a.tensors[i].bytes());
    if (bytes > 0 && std::memcmp(a.tensors[i].data(), b.tensors[i].data(), bytes) != 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace plait::sim
