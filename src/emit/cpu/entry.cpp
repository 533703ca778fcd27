#include "emit/cpu/entry.h"

#include "analysis/affine.h"
#include "emit/cpu/emitter.h"
#include "emit/cpu/expr.h"
#include "emit/cpu/vector_convert.h"
#include "fmt/format.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

/// C passes small integers and bool as such; floats narrower than 32 bits come as float.
llvm::Type* c_type(Emitter& e, const ir::Param& param) {
  if (param.kind != ir::ParamKind::scalar) return e.b.getPtrTy();
  const ir::DType type = param.scalar->type;
  if (ir::is_float(type)) return carrier_type(e.context, type);
  return e.b.getIntNTy(static_cast<unsigned>(std::max(8, ir::dtype_bits(type))));
}

class EntryPoint {
 public:
  EntryPoint(Emitter& e, const BlockFacts& block) : e_(e), block_(block), layout_(slot_layout(e.kernel)) {}

  void emit() {
    declare();
    bind_scalars_and_dims();
    check_requires();
    store_tensors();
    const std::vector<llvm::Value*> grid = store_grid();
    run(grid);
    close_trap_exit();
  }

 private:
  void declare() {
    std::vector<llvm::Type*> args;
    for (const auto& param : e_.kernel.params) args.push_back(c_type(e_, param));
    args.insert(args.end(), e_.kernel.dims.size(), e_.b.getInt64Ty());
    auto* type = llvm::FunctionType::get(e_.b.getInt32Ty(), args, false);
    e_.fn = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, e_.kernel.name, e_.module);
    auto* entry = e_.block("entry");
    e_.trap_exit = e_.block("trapped");
    e_.b.SetInsertPoint(e_.trap_exit);
    e_.trap_code = e_.b.CreatePHI(e_.b.getInt32Ty(), 4, "code");
    e_.b.CreateRet(e_.trap_code);
    e_.b.SetInsertPoint(entry);
    slots_ = e_.stack(llvm::ArrayType::get(e_.b.getInt64Ty(), std::max<std::size_t>(1, layout_.total)), "slots");
    e_.trap = e_.stack(llvm::ArrayType::get(e_.b.getInt64Ty(), sizeof(Trap) / 8), "trap");
    auto* body = e_.block("body");
    e_.b.CreateBr(body);
    e_.b.SetInsertPoint(body);
  }

  void store(std::size_t slot, llvm::Value* value) {
    e_.b.CreateStore(value, e_.b.CreateConstInBoundsGEP1_64(e_.b.getInt64Ty(), slots_, slot));
  }

  void bind_scalars_and_dims() {
    std::size_t slot = layout_.scalars;
    unsigned arg = 0;
    for (const auto& param : e_.kernel.params) {
      llvm::Value* value = e_.fn->getArg(arg++);
      if (param.kind != ir::ParamKind::scalar) continue;
      bind_scalar(*param.scalar, value, slot++);
    }
    for (std::size_t i = 0; i < e_.kernel.dims.size(); ++i) {
      llvm::Value* dim = e_.fn->getArg(arg++);
      const auto& var = e_.kernel.dims[i];
      trap_if(e_, e_.b.CreateICmpUGT(dim, e_.i64(analysis::max_dim)), Rule::argument_shape, var->loc,
              var->name + " is negative or too large");
      e_.vars[var.get()] = uniform(dim);
      store(layout_.dims + i, dim);
    }
  }

  void bind_scalar(const ir::VarDecl& var, llvm::Value* value, std::size_t slot) {
    llvm::Type* carrier = carrier_type(e_.context, var.type);
    if (ir::is_float(var.type)) {
      const bool narrow_type = var.type != ir::DType::f32 && var.type != ir::DType::f64;
      if (narrow_type) value = emit_round(e_.b, e_.target, var.type, value);
      e_.vars[&var] = uniform(value);
      return store(slot, e_.b.CreateFPExt(value, e_.b.getDoubleTy()));
    }
    llvm::Value* exact = ir::is_bool(var.type) ? e_.b.CreateIsNotNull(value) : e_.b.CreateTrunc(value, carrier);
    e_.vars[&var] = uniform(exact);
    store(slot, ir::is_signed_integer(var.type) ? e_.b.CreateSExt(exact, e_.b.getInt64Ty())
                                                : e_.b.CreateZExt(exact, e_.b.getInt64Ty()));
  }

  void check_requires() {
    for (const auto& require : e_.kernel.requires_) {
      llvm::Value* holds = emit_expr(e_, require.cond).v;
      std::string message = require.message.empty() ? ir::print(*require.cond) : require.message;
      trap_if(e_, e_.b.CreateNot(holds), Rule::require_failed, require.loc, "require: " + std::move(message));
    }
  }

  void store_tensors() {
    std::size_t tensor = 0;
    for (std::size_t i = 0; i < e_.kernel.params.size(); ++i) {
      const auto& param = e_.kernel.params[i];
      if (param.kind == ir::ParamKind::scalar) continue;
      llvm::Value* data = e_.fn->getArg(static_cast<unsigned>(i));
      store(tensor, data);
      llvm::Value* elements = store_shape(*param.buffer, layout_.shape_of[tensor++]);
      trap_if(e_, e_.b.CreateAnd(e_.b.CreateIsNull(data), elements), Rule::argument_memory, param.buffer->loc,
              param.buffer->name + " is NULL");
    }
  }

  /// Gives whether the tensor has elements: then it needs memory.
  llvm::Value* store_shape(const ir::BufferDecl& buffer, std::size_t slot) {
    llvm::Value* elements = e_.b.getTrue();
    const std::size_t rank = buffer.shape.size();
    llvm::Value* contiguous = e_.i64(1);
    for (std::size_t d = rank; d-- > 0;) {
      llvm::Value* extent = emit_index(e_, buffer.shape[d]);
      trap_if(e_, e_.b.CreateICmpSLT(extent, e_.i64(0)), Rule::argument_shape, buffer.loc,
              fmt::format("dimension {} of {} is negative", d, buffer.name));
      store(slot + d, extent);
      store(slot + rank + d, buffer.strides.empty() ? contiguous : emit_index(e_, buffer.strides[d]));
      contiguous = e_.b.CreateMul(contiguous, extent);
      elements = e_.b.CreateAnd(elements, e_.b.CreateIsNotNull(extent));
    }
    return elements;
  }

  std::vector<llvm::Value*> store_grid() {
    std::vector<llvm::Value*> extents;
    llvm::Value* blocks = e_.i64(1);
    for (std::size_t i = 0; i < e_.kernel.grid.size(); ++i) {
      const auto& axis = e_.kernel.grid[i];
      extents.push_back(emit_index(e_, axis.extent));
      trap_if(e_, e_.b.CreateICmpUGT(extents.back(), e_.i64(ir::max_blocks)), Rule::grid_extent, axis.var->loc,
              fmt::format("the extent of grid axis {} is negative or above {}", axis.var->name, ir::max_blocks));
      store(layout_.grid + i, extents.back());
      // Neither factor is above 2^31, so the product does not wrap.
      blocks = e_.b.CreateMul(blocks, extents.back());
      trap_if(e_, e_.b.CreateICmpUGT(blocks, e_.i64(ir::max_blocks)), Rule::grid_extent, axis.var->loc,
              fmt::format("the grid has more than {} blocks", ir::max_blocks));
    }
    extents.resize(3, e_.i64(1));
    return extents;
  }

  void run(const std::vector<llvm::Value*>& grid) {
    llvm::Value* memory = allocate();
    llvm::Value* base = memory;
    auto* code = e_.stack(e_.b.getInt32Ty(), "code");
    e_.b.CreateStore(e_.b.getInt32(0), code);
    auto* done = e_.block("done");
    nest(grid, 3, {}, [&](llvm::ArrayRef<llvm::Value*> at) {
      llvm::Value* result = e_.b.CreateCall(block_.function, {slots_, at[0], at[1], at[2], base, e_.trap});
      auto* failed = e_.block("failed");
      auto* fine = e_.block("fine");
      e_.b.CreateCondBr(e_.b.CreateICmpEQ(result, e_.b.getInt32(0)), fine, failed);
      e_.b.SetInsertPoint(failed);
      e_.b.CreateStore(result, code);
      e_.b.CreateBr(done);
      e_.b.SetInsertPoint(fine);
    });
    e_.b.CreateBr(done);
    e_.b.SetInsertPoint(done);
    auto* release = llvm::FunctionType::get(e_.b.getVoidTy(), {e_.b.getPtrTy()}, false);
    e_.b.CreateCall(e_.module.getOrInsertFunction("free", release), {memory});
    e_.b.CreateRet(e_.b.CreateLoad(e_.b.getInt32Ty(), code));
  }

  /// Block coordinates, x fastest.
  void nest(const std::vector<llvm::Value*>& grid, std::size_t axis, std::vector<llvm::Value*> at,
            llvm::function_ref<void(llvm::ArrayRef<llvm::Value*>)> body) {
    if (axis == 0) return body(at);
    emit_loop(e_, e_.i64(0), grid[axis - 1], e_.i64(1), "block", [&](llvm::Value* i) {
      std::vector<llvm::Value*> more = at;
      more.insert(more.begin(), i);
      nest(grid, axis - 1, more, body);
    });
  }

  llvm::Value* allocate() {
    const std::int64_t bytes = std::max<std::int64_t>(64, (block_.scratch_bytes + 63) / 64 * 64);
    auto* type = llvm::FunctionType::get(e_.b.getPtrTy(), {e_.b.getInt64Ty(), e_.b.getInt64Ty()}, false);
    llvm::Value* memory =
        e_.b.CreateCall(e_.module.getOrInsertFunction("aligned_alloc", type), {e_.i64(64), e_.i64(bytes)});
    auto* none = e_.block("none");
    auto* some = e_.block("some");
    e_.b.CreateCondBr(e_.b.CreateIsNull(memory), none, some);
    e_.b.SetInsertPoint(none);
    e_.b.CreateRet(llvm::ConstantInt::getSigned(e_.b.getInt32Ty(), out_of_memory_code));
    e_.b.SetInsertPoint(some);
    return memory;
  }

  void close_trap_exit() {
    if (e_.trap_code->getNumIncomingValues() != 0) return;
    e_.trap_exit->getTerminator()->eraseFromParent();
    e_.trap_code->eraseFromParent();
    e_.trap_exit->eraseFromParent();
  }

  Emitter& e_;
  const BlockFacts& block_;
  SlotLayout layout_;
  llvm::Value* slots_ = nullptr;
};

/// A place for a message that other machines show: the name of a file given by its absolute path goes without its
/// folder.
std::string portable_place(const Loc& loc) {
  const std::string text = loc.str();
  const std::size_t slash = loc.source == nullptr ? std::string::npos : loc.source->name().rfind('/');
  return text.front() == '/' && slash != std::string::npos ? text.substr(slash + 1) : text;
}

/// `const char* NAME_error(int code)`: a switch over the texts.
void emit_error_texts(Emitter& e) {
  auto* type = llvm::FunctionType::get(e.b.getPtrTy(), {e.b.getInt32Ty()}, false);
  e.fn = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, e.kernel.name + "_error", e.module);
  auto* entry = e.block("entry");
  auto* unknown = e.block("unknown");
  e.b.SetInsertPoint(unknown);
  e.b.CreateRet(e.b.CreateGlobalString("no such check"));
  e.b.SetInsertPoint(entry);
  auto* choice = e.b.CreateSwitch(e.fn->getArg(0), unknown, static_cast<unsigned>(e.traps.size() + 2));
  const auto add = [&](int code, const std::string& text) {
    auto* block = e.block("text");
    choice->addCase(e.b.getInt32(static_cast<std::uint32_t>(code)), block);
    e.b.SetInsertPoint(block);
    e.b.CreateRet(e.b.CreateGlobalString(text));
  };
  add(0, "no error");
  add(out_of_memory_code, "out of memory");
  for (std::size_t i = 0; i < e.traps.size(); ++i) {
    std::string text = portable_place(e.traps[i].loc) + ": " + e.traps[i].message + " [" +
                       std::string(rule_name(e.traps[i].rule)) + "]";
    for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}")) text.replace(at, 2, "?");
    add(static_cast<int>(i) + 1, text);
  }
}

}  // namespace

BlockFacts emit_library(llvm::Module& module, const ir::Kernel& kernel, const Options& options,
                        const VectorTarget& target) {
  BlockFacts facts = emit_block(module, kernel, options, target, kernel.name + "_block", true);
  Emitter e(kernel, options, target, module);
  e.object = true;
  e.traps = facts.traps;
  EntryPoint(e, facts).emit();
  emit_error_texts(e);
  PLAIT_ASSERT(!llvm::verifyModule(module), "invalid LLVM IR");
  facts.traps = std::move(e.traps);
  return facts;
}

}  // namespace plait::cpu
