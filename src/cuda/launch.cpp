#include "cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/errors.h"
#include "cuda/tensor_map.h"
#include "ir/numeric.h"
#include "runtime/extent.h"

namespace plait::cuda {
namespace {

/// Memory that no device can reach would end the context; the driver knows which it can.
Diagnostics check_pointers(const Kernel& kernel, const Context& context, const ir::BoundArgs& args) {
  Diagnostics found;
  if (context.device.reads_host_memory) return found;
  std::size_t next = 0;
  for (const ir::Param& param : kernel.program().params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    const ir::TensorView& view = args.tensors[next++];
    bool is_empty = std::find(view.shape.begin(), view.shape.end(), 0) != view.shape.end();
    unsigned type = 0;
    auto address = static_cast<DevicePtr>(reinterpret_cast<std::uintptr_t>(view.data));
    if (is_empty || context.driver->pointer_attribute(&type, PointerAttribute::memory_type, address) == Status::ok)
      continue;
    found.error(Rule::argument_device, param.buffer->loc,
                fmt::format("the data pointer of {} is not memory that the device can reach", param.buffer->name),
                "pass a pointer to the memory of the device");
  }
  return found;
}

}  // namespace

Launch::Launch(std::shared_ptr<const LoadedKernel> kernel, std::string name, Loc loc)
    : kernel_(std::move(kernel)), name_(std::move(name)), loc_(std::move(loc)) {}

std::int64_t Launch::blocks() const {
  return is_empty_ ? 0 : std::int64_t{config_.grid_x} * config_.grid_y * config_.grid_z;
}

Diagnostics Launch::failure(Status status) const {
  return check(*kernel_->driver, status, fmt::format("launching {}", name_), loc_);
}

/// Their memory is the stream's: a second run there begins when the first is over.
Diagnostics Launch::run_with_workspaces(LaunchConfig& config) const {
  const Driver& driver = *kernel_->driver;
  std::vector<void*> pointers = pointers_;
  std::vector<DevicePtr> memory;
  memory.reserve(workspaces_.size());
  Diagnostics found;
  for (const Workspace& workspace : workspaces_) {
    DevicePtr address = 0;
    Status status = driver.allocate_async(&address, workspace.bytes, config.stream);
    if (status == Status::ok) {
      pointers[workspace.argument] = &memory.emplace_back(address);
      if (workspace.zero) status = driver.fill(address, 0, workspace.bytes, config.stream);
    }
    if (status == Status::ok) continue;
    found = check(driver, status,
                  fmt::format("reserving {} bytes for {} of {}", workspace.bytes, workspace.name, name_), loc_);
    break;
  }
  if (!found.has_errors()) {
    Status status = driver.launch(&config, kernel_->function, pointers.data(), nullptr);
    if (status != Status::ok) found = failure(status);
  }
  for (DevicePtr address : memory) driver.free_async(address, config.stream);
  return found;
}

Diagnostics Launch::lay_out(const Kernel& kernel, const Call& call) {
  const emit::cuda::Module& module = kernel.module();
  auto extent = [&](int i) { return static_cast<std::uint32_t>(call.blocks[static_cast<std::size_t>(i)]); };
  is_empty_ = std::find(call.blocks.begin(), call.blocks.end(), 0) != call.blocks.end();
  config_ = {extent(0),
             extent(1),
             extent(2),
             static_cast<std::uint32_t>(module.threads),
             1,
             1,
             static_cast<std::uint32_t>(module.smem_bytes),
             nullptr,
             nullptr,
             0};
  if (module.cluster > 1) {
    cluster_.id = LaunchAttributeId::cluster_dimension;
    cluster_.value.cluster = {static_cast<std::uint32_t>(module.cluster), 1, 1};
    config_.attributes = &cluster_;
    config_.attribute_count = 1;
  }
  std::map<const ir::BufferDecl*, const ir::TensorView*> views;
  std::size_t next = 0;
  for (const ir::Param& param : kernel.program().params) {
    if (param.kind != ir::ParamKind::scalar) views[param.buffer.get()] = &call.args.tensors[next++];
  }
  auto view_of = [&](const ir::Buffer& tensor) -> const ir::TensorView& {
    auto found = views.find(tensor.get());
    PLAIT_ASSERT(found != views.end(), "a kernel argument is no parameter: " + tensor->name);
    return *found->second;
  };
  // The pointers stay valid: neither list grows beyond this.
  maps_.reserve(module.args.size());
  values_.reserve(module.args.size());
  Diagnostics found;
  for (const emit::cuda::KernelArg& arg : module.args) {
    std::visit(
        Overload{
            [&](const emit::cuda::MapArg& a) {
              auto encoded = encode_map(*kernel_->driver, *a.map, view_of(a.map->tensor));
              if (!encoded) return found.append(encoded.diagnostics());
              pointers_.push_back(&maps_.emplace_back(*encoded));
            },
            [&](const emit::cuda::TensorArg& a) {
              const auto& all = kernel.program().workspaces;
              auto own = std::find_if(all.begin(), all.end(), [&](const auto& w) { return w->buffer == a.tensor; });
              if (own != all.end()) {
                const ir::TensorView& view = call.workspaces[static_cast<std::size_t>(own - all.begin())];
                auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(runtime::span_bytes(view).value_or(0), 1));
                workspaces_.push_back({bytes, (*own)->zero, pointers_.size(), a.tensor->name});
                pointers_.push_back(nullptr);
                return;
              }
              pointers_.push_back(&values_.emplace_back(reinterpret_cast<std::uintptr_t>(view_of(a.tensor).data)));
            },
            [&](const emit::cuda::VarArg& a) {
              auto value = call.env.find(a.var.get());
              PLAIT_ASSERT(value != call.env.end(), "a kernel argument has no value: " + a.var->name);
              void* place = &values_.emplace_back(0);
              if (ir::is_float(a.var->type)) {
                ir::store_float(a.var->type, place, 0, value->second.f);
              } else {
                ir::store_int(a.var->type, place, 0, value->second.i);
              }
              pointers_.push_back(place);
            },
        },
        arg);
  }
  return found;
}

Result<std::unique_ptr<Launch>> prepare(const Kernel& kernel, const Context& context, const runtime::Args& args) {
  auto call = bind_call(kernel, args, context.device);
  if (!call) return call.diagnostics();
  Diagnostics found = check_pointers(kernel, context, call->args);
  if (found.has_errors()) return found;
  auto loaded = kernel.load(context);
  if (!loaded) return loaded.diagnostics();
  auto launch = std::make_unique<Launch>(*loaded, kernel.module().entry, kernel.program().loc);
  found = launch->lay_out(kernel, *call);
  if (found.has_errors()) return found;
  return launch;
}

}  // namespace plait::cuda
