#include "profile/measure/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cuda/architecture.h"
#include "cuda/build.h"
#include "cuda/errors.h"
#include "cuda/launch.h"
#include "cuda/memory.h"
#include "runtime/eval.h"
#include "runtime/extent.h"

namespace plait::profile {
namespace {

constexpr std::int64_t kRounds = 256, kLoadRounds = 64;  // multiples of the slots of loads
constexpr int kRuns = 7;                                 // the first one warms up
constexpr int kMostWarps = 16;                           // of a multiprocessor, where replicas run beside each other
constexpr int kMostBlocks = 8;                           // of a multiprocessor

/// Cycles a round of both sections, and what the kernel takes.
struct Counted {
  double awaited = 0, row = 0;
  int registers = 0, threads = 0;
  std::int64_t shared_bytes = 0;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// An isolated task that was compiled for so many replicas a block.
class Runner {
 public:
  Runner(const Isolated& task, const cuda::Context& context, const machine::Device& device)
      : task_(task), context_(context), device_(device), rounds_(task.loads ? kLoadRounds : kRounds) {}

  Result<Counted> run(int replicas, std::int64_t blocks) {
    lang::Bindings bindings{{"replicas_", std::to_string(replicas)}, {"rounds_", std::to_string(rounds_)}};
    cuda::BuildOptions options;
    options.architecture = device_.arch;
    options.compile.allow_serialized = true;
    auto built = cuda::build(std::make_shared<SourceFile>("<task>", task_.text), bindings, options);
    if (!built) return built.diagnostics();
    const cuda::Kernel& kernel = *built->kernel;
    auto arguments = place(kernel.program(), blocks * replicas);
    if (!arguments) return arguments.diagnostics();
    auto launch = cuda::prepare(kernel, context_, *arguments);
    if (!launch) return launch.diagnostics();
    Counted counted;
    counted.registers = (*launch)->kernel().registers;
    counted.shared_bytes = kernel.module().smem_bytes;
    counted.threads = kernel.module().threads;
    std::vector<double> awaited, row;
    for (int i = 0; i < kRuns; ++i) {
      Diagnostics found = task_.loads ? empty_caches() : Diagnostics();
      if (!found.has_errors()) found = (*launch)->run(nullptr);
      if (!found.has_errors()) found = cuda::synchronize(*context_.driver);
      std::vector<std::uint32_t> counts(static_cast<std::size_t>(2 * blocks * replicas));
      if (!found.has_errors()) found = memory_.front().download(counts.data());
      if (found.has_errors()) return found;
      if (i == 0) continue;
      awaited.push_back(mean(counts, 0));
      row.push_back(mean(counts, 1));
    }
    counted.awaited = median(awaited);
    counted.row = median(row);
    return counted;
  }

 private:
  /// So that loads find nothing in L2.
  Diagnostics empty_caches() {
    if (flushed_.bytes() == 0) {
      auto memory = cuda::DeviceMemory::allocate(context_, 2 * context_.device.l2_bytes);
      if (!memory) return memory.diagnostics();
      flushed_ = std::move(*memory);
    }
    auto address = static_cast<cuda::DevicePtr>(reinterpret_cast<std::uintptr_t>(flushed_.data()));
    auto bytes = static_cast<std::size_t>(flushed_.bytes());
    return cuda::check(*context_.driver, context_.driver->fill(address, 0, bytes, nullptr), "emptying the caches");
  }

  double mean(const std::vector<std::uint32_t>& counts, std::size_t section) const {
    std::size_t half = counts.size() / 2;
    auto from = counts.begin() + static_cast<std::ptrdiff_t>(section * half);
    double sum = std::accumulate(from, from + static_cast<std::ptrdiff_t>(half), 0.0);
    return sum / static_cast<double>(half) / static_cast<double>(rounds_);
  }

  /// Zeros in all tensors, T first.
  Result<runtime::Args> place(const roles::Program& program, std::int64_t counters) {
    runtime::Args args;
    memory_.clear();
    runtime::Env env;
    for (const ir::Var& dim : program.dims) env[dim.get()] = runtime::int_value(counters);
    for (const ir::Param& param : program.params) {
      if (param.kind == ir::ParamKind::scalar) continue;
      ir::TensorView view;
      view.type = param.buffer->type;
      for (const ir::ExprRef& extent : param.buffer->shape)
        view.shape.push_back(runtime::evaluate(*extent, env).value->i);
      std::int64_t elements = runtime::element_count(view.shape).value();
      std::int64_t bytes = runtime::packed_bytes(elements, ir::dtype_bits(view.type)).value();
      auto memory = cuda::DeviceMemory::allocate(context_, bytes);
      if (!memory) return memory.diagnostics();
      std::vector<char> zeros(static_cast<std::size_t>(bytes), 0);
      Diagnostics copied = memory->upload(zeros.data());
      if (copied.has_errors()) return copied;
      view.data = memory->data();
      args.tensors[param.buffer->name] = {std::move(view), bytes, std::string(cuda::device_name)};
      bool counts = param.kind == ir::ParamKind::out;
      memory_.insert(counts ? memory_.begin() : memory_.end(), std::move(*memory));
    }
    for (const Given& given : task_.given)
      args.scalars[given.name] = {given.type, static_cast<std::int64_t>(given.value), given.value};
    return args;
  }

  const Isolated& task_;
  const cuda::Context& context_;
  const machine::Device& device_;
  std::int64_t rounds_;
  std::vector<cuda::DeviceMemory> memory_;
  cuda::DeviceMemory flushed_;
};

/// Blocks that a multiprocessor has room for.
std::int64_t blocks_of(const Counted& one, const machine::Device& device) {
  const std::int64_t warps = std::max(one.threads / 32, 1);
  std::int64_t by_registers = device.limits->registers_per_unit.integer() / (std::max(one.registers, 1) * one.threads);
  std::int64_t by_memory =
      device.limits->smem_per_unit.integer() / (one.shared_bytes + device.limits->smem_reserved.integer());
  return std::clamp<std::int64_t>(std::min({kMostWarps / warps, by_registers, by_memory}), 1, kMostBlocks);
}

}  // namespace

Result<store::Measured> measure(const Isolated& task, const cuda::Context& context, const machine::Device& device) {
  Runner runner(task, context, device);
  auto alone = runner.run(1, 1);
  if (!alone) return alone.diagnostics();
  store::Measured out;
  out.latency = alone->awaited;
  out.interval = alone->row;
  out.registers = alone->registers;
  out.shared_bytes = alone->shared_bytes;
  out.gpu = context.device.name;
  out.measured_at = store::now();
  const std::int64_t sms = context.device.sms;
  if (task.way == Way::alone) {
    auto one = task.replicas > 1 ? runner.run(task.replicas, 1) : std::move(alone);
    if (!one) return one.diagnostics();
    const std::int64_t blocks = blocks_of(*one, device);
    auto beside = runner.run(task.replicas, blocks * sms);
    if (!beside) return beside.diagnostics();
    out.interval = beside->awaited / static_cast<double>(blocks * task.replicas);
  } else if (task.loads) {
    auto all = runner.run(1, sms);
    if (!all) return all.diagnostics();
    out.interval = all->row;
  }
  return out;
}

Diagnostics check_gpu(const cuda::Context& context, const machine::Device& device) {
  Diagnostics found;
  auto architecture = cuda::parse_architecture(device.arch);
  if (!architecture || !cuda::runs_on(*architecture, context.device))
    found.error(Rule::profile_device, {},
                fmt::format("code for {} ({}) does not run on this machine's {}", device.name, device.arch,
                            context.device.name));
  return found;
}

}  // namespace plait::profile
