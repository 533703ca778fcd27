#include "emit/cpu/block.h"

#include "analysis/access.h"
#include "emit/cpu/alias.h"
#include "emit/cpu/emitter.h"
#include "emit/cpu/index_math.h"
#include "emit/cpu/stmt.h"
#include "emit/cpu/tile_ops.h"
#include "emit/cpu/vector_convert.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

constexpr unsigned slots_arg = 0, block_arg = 1, scratch_arg = 4, trap_arg = 5;

llvm::Function* declare_block(Emitter& e, const std::string& name) {
  llvm::Type* pointer = e.b.getPtrTy();
  llvm::Type* i64 = e.b.getInt64Ty();
  auto* type = llvm::FunctionType::get(e.b.getInt32Ty(), {pointer, i64, i64, i64, pointer, pointer}, false);
  auto* fn = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, e.module);
  fn->setDoesNotThrow();
  fn->addFnAttr("no-trapping-math", "true");
  fn->addFnAttr("prefer-vector-width", std::to_string(e.target.vector_bits));
  for (unsigned arg : {slots_arg, scratch_arg, trap_arg}) fn->addParamAttr(arg, llvm::Attribute::NoAlias);
  fn->addParamAttr(slots_arg, llvm::Attribute::ReadOnly);
  fn->addParamAttr(scratch_arg, llvm::Attribute::getWithAlignment(e.context, llvm::Align(64)));
  return fn;
}

/// Slot contents never change while a block runs.
llvm::Value* load_slot(Emitter& e, std::size_t slot, llvm::Type* type, const llvm::Twine& name) {
  llvm::Value* at = e.b.CreateConstInBoundsGEP1_64(e.b.getInt64Ty(), e.fn->getArg(slots_arg), slot);
  auto* load = e.b.CreateLoad(type, at, name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(e.context, {}));
  return load;
}

/// The literal where the program has one, so that index arithmetic folds.
llvm::Value* extent_value(Emitter& e, const ir::ExprRef& expr, std::size_t slot, const llvm::Twine& name) {
  if (const auto literal = ir::as_int(expr)) return e.i64(*literal);
  return load_slot(e, slot, e.b.getInt64Ty(), name);
}

/// Strides of a tensor: literals where the program fixes them (the last one of a contiguous tensor is 1), slots
/// elsewhere.
std::vector<llvm::Value*> stride_values(Emitter& e, const ir::BufferDecl& buffer,
                                        const std::vector<llvm::Value*>& extents, std::size_t first) {
  std::vector<llvm::Value*> strides(extents.size());
  std::optional<std::int64_t> literal = 1;
  for (std::size_t d = extents.size(); d-- > 0;) {
    const auto written = buffer.strides.empty() ? literal : ir::as_int(buffer.strides[d]);
    strides[d] = written.has_value() ? static_cast<llvm::Value*>(e.i64(*written))
                                     : load_slot(e, first + d, e.b.getInt64Ty(), buffer.name + ".stride");
    const auto extent = const_int(extents[d]);
    literal = literal.has_value() && extent.has_value() ? std::optional(*literal * *extent) : std::nullopt;
  }
  return strides;
}

void bind_tensor(Emitter& e, const ir::Buffer& buffer, std::size_t pointer, std::size_t shape) {
  BufferInfo& info = e.buffers.at(buffer.get());
  info.base = load_slot(e, pointer, e.b.getPtrTy(), buffer->name);
  const std::size_t rank = buffer->shape.size();
  for (std::size_t d = 0; d < rank; ++d)
    info.extents.push_back(extent_value(e, buffer->shape[d], shape + d, buffer->name + ".extent"));
  info.strides = stride_values(e, *buffer, info.extents, shape + rank);
}

llvm::Value* scalar_value(Emitter& e, const ir::VarDecl& var, std::size_t slot) {
  llvm::Type* carrier = carrier_type(e.context, var.type);
  if (ir::is_float(var.type)) return e.b.CreateFPCast(load_slot(e, slot, e.b.getDoubleTy(), var.name), carrier);
  llvm::Value* word = load_slot(e, slot, e.b.getInt64Ty(), var.name);
  return ir::is_bool(var.type) ? e.b.CreateICmpNE(word, e.i64(0)) : e.b.CreateTrunc(word, carrier);
}

/// Dims and block coordinates are small numbers, not negative.
Val extent_like(llvm::Value* v) {
  Val value = uniform(v);
  value.bits = extent_bits;
  return value;
}

void bind_params(Emitter& e) {
  const SlotLayout layout = slot_layout(e.kernel);
  std::size_t tensor = 0;
  std::size_t scalar = layout.scalars;
  for (const auto& param : e.kernel.params) {
    if (param.kind == ir::ParamKind::scalar) {
      e.vars[param.scalar.get()] = uniform(scalar_value(e, *param.scalar, scalar++));
    } else {
      bind_tensor(e, param.buffer, tensor, layout.shape_of[tensor]);
      ++tensor;
    }
  }
  for (std::size_t i = 0; i < e.kernel.dims.size(); ++i)
    e.vars[e.kernel.dims[i].get()] =
        extent_like(load_slot(e, layout.dims + i, e.b.getInt64Ty(), e.kernel.dims[i]->name));
}

void bind_grid(Emitter& e) {
  const SlotLayout layout = slot_layout(e.kernel);
  e.linear_block = e.i64(0);
  e.blocks = e.i64(1);
  for (std::size_t i = 0; i < e.kernel.grid.size(); ++i) {
    llvm::Value* at = e.fn->getArg(static_cast<unsigned>(block_arg + i));
    e.vars[e.kernel.grid[i].var.get()] = extent_like(at);
    e.linear_block = e.b.CreateAdd(e.linear_block, e.b.CreateMul(at, e.blocks));
    e.blocks = e.b.CreateMul(e.blocks, load_slot(e, layout.grid + i, e.b.getInt64Ty(), "grid"));
  }
}

void declare_on_chip(Emitter& e) {
  ir::walk(e.kernel.body, [&](const ir::Stmt& stmt) {
    if (const auto* alloc = std::get_if<ir::Alloc>(&stmt.node)) e.declare(alloc->buffer);
  });
}

void declare_buffers(Emitter& e) {
  for (const auto& param : e.kernel.params) {
    if (param.kind != ir::ParamKind::scalar) e.buffers[param.buffer.get()].decl = param.buffer.get();
  }
  declare_on_chip(e);
  assign_alias_scopes(e);
}

/// The block every trap leaves through.
void make_trap_exit(Emitter& e) {
  e.trap_exit = e.block("trapped");
  e.b.SetInsertPoint(e.trap_exit);
  e.trap_code = e.b.CreatePHI(e.b.getInt32Ty(), 4, "code");
  e.b.CreateRet(e.trap_code);
}

void prove_accesses(Emitter& e) {
  if (!e.options.checks) return;
  for (const auto& fact : analysis::check_accesses(e.kernel)) {
    if (fact.in_bounds != analysis::Truth::always) continue;
    const void* access = fact.stmt.get();
    if (fact.load != nullptr) access = &std::get<ir::Load>(fact.load->node);
    if (fact.region != nullptr) access = fact.region;
    e.proved.insert({access, fact.dim});
  }
}

ScratchPlan plan_memory(const ir::Kernel& kernel, const VectorTarget& target) {
  return plan_scratch(kernel, target.lanes(32), [&](const ir::Stmt& stmt) -> std::int64_t {
    const auto* op = std::get_if<ir::TileOp>(&stmt.node);
    return op == nullptr ? 0 : tile_op_scratch(*op, target);
  });
}

void check_module(Emitter& e) {
  std::string report;
  llvm::raw_string_ostream stream(report);
  const bool broken = llvm::verifyFunction(*e.fn, &stream);
  PLAIT_ASSERT(!broken, "invalid LLVM IR: " + report);
}

void emit_function(Emitter& e, const std::string& name) {
  e.fn = declare_block(e, name);
  e.scratch = e.fn->getArg(scratch_arg);
  e.trap = e.fn->getArg(trap_arg);
  auto* entry = e.block("entry");
  make_trap_exit(e);
  e.b.SetInsertPoint(entry);
  declare_buffers(e);
  bind_params(e);
  bind_grid(e);
  auto* body = e.block("body");
  e.b.CreateBr(body);
  e.b.SetInsertPoint(body);
  emit_body(e, e.kernel.body);
  if (e.streams) e.b.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
  e.b.CreateRet(e.b.getInt32(0));
  if (e.trap_code->getNumIncomingValues() == 0) {
    e.trap_code->eraseFromParent();
    e.trap_exit->getTerminator()->eraseFromParent();
    e.trap_exit->eraseFromParent();
  }
  check_module(e);
}

}  // namespace

SlotLayout slot_layout(const ir::Kernel& kernel) {
  SlotLayout layout;
  std::size_t scalars = 0;
  for (const auto& param : kernel.params) ++(param.kind == ir::ParamKind::scalar ? scalars : layout.tensors);
  std::size_t at = layout.tensors;
  for (const auto& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    layout.shape_of.push_back(at);
    at += 2 * param.buffer->shape.size();
  }
  layout.scalars = at;
  layout.dims = layout.scalars + scalars;
  layout.grid = layout.dims + kernel.dims.size();
  layout.total = layout.grid + kernel.grid.size();
  return layout;
}

Note largest_buffer(const ir::Kernel& kernel) {
  const ir::BufferDecl* largest = nullptr;
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
    if (alloc == nullptr) return;
    if (largest == nullptr || buffer_bytes(*alloc->buffer, 1) > buffer_bytes(*largest, 1))
      largest = alloc->buffer.get();
  });
  if (largest == nullptr) return {kernel.loc, "all of it for tile operations"};
  return {largest->loc, fmt::format("the largest is {}[{}] with {} bytes", largest->name,
                                    fmt::join(ir::static_shape(*largest), ", "), buffer_bytes(*largest, 1))};
}

Diagnostics check_limits(const ir::Kernel& kernel, const VectorTarget& target) {
  constexpr std::int64_t limit = std::int64_t{1} << 30;
  Diagnostics diagnostics;
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    const auto* op = std::get_if<ir::TileOp>(&stmt.node);
    if (op == nullptr || tile_op_scratch(*op, target) != unknown_scratch) return;
    diagnostics.error(Rule::tile_shape, stmt.loc,
                      fmt::format("a copy from {0} to {0} needs room for the tile, whose size is not known",
                                  op->operands[0].buffer->name),
                      "give the tile literal extents");
  });
  const std::int64_t bytes = plan_memory(kernel, target).bytes;
  if (bytes > limit) {
    const Note largest = largest_buffer(kernel);
    diagnostics.error(Rule::memory_limit, largest.loc,
                      fmt::format("the on-chip buffers of {} need {} bytes for each thread, {}; the limit is {}",
                                  kernel.name, bytes, largest.message, limit));
  }
  return diagnostics;
}

BlockFacts emit_block(llvm::Module& module, const ir::Kernel& kernel, const Options& options,
                      const VectorTarget& target, const std::string& name, bool object) {
  Emitter e(kernel, options, target, module);
  e.object = object;
  if (kernel.options.fast_math) {
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    flags.setAllowContract();
    flags.setAllowReciprocal();
    flags.setApproxFunc();
    e.b.setFastMathFlags(flags);
  }
  e.plan = plan_memory(kernel, target);
  prove_accesses(e);
  emit_function(e, name);
  return {e.fn, e.plan.bytes, std::move(e.traps), std::move(e.slow_paths)};
}

}  // namespace plait::cpu
