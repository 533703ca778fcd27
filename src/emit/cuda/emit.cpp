#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/emitter.h"
#include "ir/visit.h"
#include "roles/lower_channels.h"

namespace plait::emit::cuda {
namespace {

/// Definitions of the builtins that a body used, in front of it.
void define_builtins(Emitter& e, int first_warp) {
  const roles::Builtins& b = e.program.builtins;
  auto used = [&](const ir::Var& var) { return e.used_vars.count(var.get()) != 0; };
  int threads = e.threads;
  bool one = !e.role || e.role->replicas == 1;
  std::string role_warp = first_warp == 0 ? "block_warp" : fmt::format("(block_warp - {})", first_warp);
  std::string bare_warp = first_warp == 0 ? "block_warp" : fmt::format("block_warp - {}", first_warp);
  int warps = threads / kWarp;
  auto define = [&](const ir::Var& var, const std::string& value) {
    if (used(var)) e.line(fmt::format("const int {} = {};", e.use(var), value));
  };
  define(b.replica, one ? "0" : fmt::format("{} / {}", role_warp, warps));
  define(b.warp, one ? bare_warp : fmt::format("{} % {}", role_warp, warps));
  define(b.lane, fmt::format("threadIdx.x % {}", kWarp));
  std::string thread = first_warp == 0 ? "threadIdx.x" : fmt::format("threadIdx.x - {}", first_warp * kWarp);
  define(b.thread, one ? thread : fmt::format("({}) % {}", thread, threads));
}

void forget_role_builtins(Emitter& e) {
  const roles::Builtins& b = e.program.builtins;
  for (const ir::Var& var : {b.replica, b.warp, b.lane, b.thread}) e.used_vars.erase(var.get());
}

/// A body with the builtins it uses in front.
std::string body_text(Emitter& e, const roles::Body& body, int first_warp) {
  forget_role_builtins(e);
  std::string text = e.capture([&] { emit_body(e, body); });
  return e.capture([&] { define_builtins(e, first_warp); }) + text;
}

void emit_role(Emitter& e, const roles::Role& role, int first_warp, bool first, bool last, int launch_registers) {
  int warps = role.replicas * role.warps;
  std::string heading = last ? "else" : fmt::format("{}if (block_warp < {})", first ? "" : "else ", first_warp + warps);
  if (first && last) heading.clear();
  e.line(fmt::format("// role {}", role.name));
  e.open(heading);
  e.role = &role;
  e.threads = role.warps * kWarp;
  e.accumulators.clear();
  e.committed.clear();
  e.issued.clear();
  e.fragments.clear();
  if (role.regs) {
    e.needs_sm(90, role.loc, "setmaxnreg");
    e.line(fmt::format("{}<{}>();", e.helper(*role.regs > launch_registers ? "more_registers" : "fewer_registers"),
                       *role.regs));
  }
  e.raw(body_text(e, role.body, first_warp));
  e.close();
  e.role = nullptr;
}

/// Registers a thread gets at launch: as many as the file gives all threads, in steps of 8.
int registers_at_launch(const roles::Program& program) {
  constexpr int file = 65536, step = 8, most = 255;
  int registers = file / (roles::thread_count(program) * program.occupancy) / step * step;
  return std::min(registers, most);
}

void emit_addresses(Emitter& e) {
  if (e.arena.bytes == 0) return;
  e.line("extern __shared__ __align__(1024) unsigned char smem_bytes[];");
  e.line("const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(smem_bytes));");
  for (std::size_t n = 0; n < e.program.smem.size(); ++n)
    e.line(fmt::format("const unsigned {} = {};", Emitter::name(e.program.smem[n]->buffer->name),
                       plus("smem", std::to_string(e.arena.smem[n]))));
  for (std::size_t n = 0; n < e.program.mbars.size(); ++n)
    e.line(fmt::format("const unsigned {} = {};", Emitter::name(e.program.mbars[n]->name),
                       plus("smem", std::to_string(e.arena.mbars[n]))));
}

void define_grid(Emitter& e) {
  const roles::Builtins& b = e.program.builtins;
  auto used = [&](const ir::Var& var) { return e.used_vars.count(var.get()) != 0; };
  auto define = [&](const ir::Var& var, const std::string& value) {
    if (used(var)) e.line(fmt::format("const int {} = {};", e.use(var), value));
  };
  std::size_t axes = e.program.launch.size();
  define(b.block, axes == 1   ? "blockIdx.x"
                  : axes == 2 ? "blockIdx.x + gridDim.x * blockIdx.y"
                              : "blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)");
  define(b.blocks, axes == 1 ? "gridDim.x" : "gridDim.x * gridDim.y * gridDim.z");
  define(b.block_x, "blockIdx.x");
  define(b.block_y, "blockIdx.y");
  define(b.block_z, "blockIdx.z");
  define(b.cluster_rank, fmt::format("blockIdx.x % {}", e.program.cluster));
}

/// The kernel's parameters: what its body used, in the order maps, tensors, workspaces, dims, scalars, host lets.
std::vector<KernelArg> arguments(const Emitter& e) {
  std::vector<KernelArg> args;
  for (const roles::Map& map : e.program.maps)
    if (e.used_maps.count(map.get()) != 0) args.emplace_back(MapArg{map});
  for (const ir::Param& param : e.program.params)
    if (param.buffer && e.used_tensors.count(param.buffer.get()) != 0) args.emplace_back(TensorArg{param.buffer});
  for (const roles::Workspace& workspace : e.program.workspaces)
    if (e.used_tensors.count(workspace->buffer.get()) != 0) args.emplace_back(TensorArg{workspace->buffer});
  auto add = [&](const ir::Var& var) {
    if (e.used_vars.count(var.get()) != 0) args.emplace_back(VarArg{var});
  };
  for (const ir::Var& dim : e.program.dims) add(dim);
  for (const ir::Param& param : e.program.params)
    if (param.scalar) add(param.scalar);
  for (const roles::Let& let : e.program.lets) add(let.var);
  return args;
}

std::string parameter_text(Emitter& e, const KernelArg& arg) {
  return std::visit(
      Overload{[&](const MapArg& a) { return "const __grid_constant__ TensorMap " + Emitter::name(a.map->name); },
               [&](const TensorArg& a) {
                 bool in = false;
                 for (const ir::Param& param : e.program.params)
                   in = in || (param.buffer == a.tensor && param.kind == ir::ParamKind::in);
                 return fmt::format("{}{}* __restrict__ {}", in ? "const " : "", memory_type(e, a.tensor->type),
                                    Emitter::name(a.tensor->name));
               },
               [&](const VarArg& a) {
                 return fmt::format("const {} {}", value_type(a.var->type), Emitter::name(a.var->name));
               }},
      arg);
}

std::string signature(Emitter& e, const std::vector<KernelArg>& args, int threads) {
  std::string cluster = e.program.cluster > 1 ? fmt::format("__cluster_dims__({}, 1, 1) ", e.program.cluster) : "";
  std::string text = fmt::format("extern \"C\" __global__ void {}__launch_bounds__({}, {})\n{}(", cluster, threads,
                                 e.program.occupancy, Emitter::name(e.program.name));
  std::string separator;
  for (const KernelArg& arg : args) {
    text += separator + parameter_text(e, arg);
    separator = ",\n    ";
  }
  return text + ")";
}

void emit_kernel_body(Emitter& e) {
  int threads = roles::thread_count(e.program);
  e.threads = threads;
  if (!e.program.prologue.empty()) {
    e.line("// prologue");
    e.raw(body_text(e, e.program.prologue, 0));
    e.line("");
  }
  int launch_registers = registers_at_launch(e.program);
  int warp = 0;
  for (std::size_t n = 0; n < e.program.roles.size(); ++n) {
    const roles::Role& role = e.program.roles[n];
    emit_role(e, role, warp, n == 0, n + 1 == e.program.roles.size(), launch_registers);
    warp += role.replicas * role.warps;
  }
}

}  // namespace

Result<Module> emit(const roles::Program& source, std::string_view arch) {
  const roles::Program program = roles::lower_channels(source);
  Emitter e(program, arch);
  Module module;
  e.open("");
  std::string body = e.capture([&] { emit_kernel_body(e); });
  std::string head = e.capture([&] {
    emit_addresses(e);
    define_grid(e);
    e.line("const int block_warp = __shfl_sync(0xffffffff, threadIdx.x / 32, 0);");
    e.line("");
  });
  module.args = arguments(e);
  module.threads = roles::thread_count(program);
  std::string kernel = signature(e, module.args, module.threads);
  if (e.diags.has_errors()) return e.diags;
  module.source = fmt::format("// {}: CUDA C++ for {}, printed by plait from a role program.\n\n{}\n{} {{\n{}{}}}\n",
                              program.name, arch, e.helpers_text(), kernel, head, body);
  module.entry = Emitter::name(program.name);
  module.arch = arch;
  module.options = {"--fmad=false"};
  module.smem_bytes = e.arena.bytes;
  module.cluster = program.cluster;
  return module;
}

}  // namespace plait::emit::cuda
