#include "emit/cpu/emitter.h"

#include <algorithm>

#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"

namespace plait::cpu {

Emitter::Emitter(const ir::Kernel& k, const Options& o, const VectorTarget& t, llvm::Module& m)
    : kernel(k), options(o), target(t), module(m), context(m.getContext()), b(context) {}

llvm::AllocaInst* Emitter::stack(llvm::Type* type, const llvm::Twine& name) {
  llvm::BasicBlock& entry = fn->getEntryBlock();
  llvm::IRBuilder<> top(&entry, entry.begin());
  auto* slot = top.CreateAlloca(type, nullptr, name);
  slot->setAlignment(llvm::Align(64));
  return slot;
}

void Emitter::slow(const Loc& loc, std::string reason) {
  const auto same = [&](const Note& note) { return note.message == reason && note.loc.str() == loc.str(); };
  if (std::none_of(slow_paths.begin(), slow_paths.end(), same)) slow_paths.push_back({loc, std::move(reason)});
}

BufferInfo& Emitter::declare(const ir::Buffer& buffer) {
  BufferInfo& info = buffers[buffer.get()];
  info = BufferInfo{};
  info.decl = buffer.get();
  for (const auto extent : ir::static_shape(*buffer)) info.extents.push_back(i64(extent));
  for (const auto stride : buffer_strides(*buffer)) info.strides.push_back(i64(stride));
  return info;
}

std::optional<std::int64_t> const_int(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast_or_null<llvm::ConstantInt>(value);
  if (constant == nullptr || constant->getBitWidth() > 64) return std::nullopt;
  if (constant->getBitWidth() == 1) return constant->isZero() ? 0 : 1;
  return constant->getSExtValue();
}

bool is_const(const llvm::Value* value, std::int64_t wanted) {
  const auto found = const_int(value);
  return found.has_value() && *found == wanted;
}

llvm::Value* least(Emitter& e, llvm::Value* a, llvm::Value* b) {
  const auto x = const_int(a);
  const auto y = const_int(b);
  if (x.has_value() && y.has_value()) return e.i64(std::min(*x, *y));
  return a == b ? a : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

llvm::Value* greatest(Emitter& e, llvm::Value* a, llvm::Value* b) {
  const auto x = const_int(a);
  const auto y = const_int(b);
  if (x.has_value() && y.has_value()) return e.i64(std::max(*x, *y));
  return a == b ? a : e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b);
}

namespace {

/// Branch where constants may decide; blocks left without a predecessor are removed by the optimiser.
void branch(Emitter& e, llvm::Value* cond, llvm::BasicBlock* then, llvm::BasicBlock* otherwise) {
  const auto known = const_int(cond);
  if (known.has_value())
    e.b.CreateBr(*known != 0 ? then : otherwise);
  else
    e.b.CreateCondBr(cond, then, otherwise);
}

/// Whether another iteration follows i. Unlike i + step < end this cannot overflow.
llvm::Value* more(Emitter& e, llvm::Value* i, llvm::Value* end, llvm::Value* step) {
  return e.b.CreateICmpUGT(e.b.CreateSub(end, i), step, "more");
}

bool runs_once(const llvm::Value* begin, const llvm::Value* end, const llvm::Value* step) {
  const auto first = const_int(begin);
  const auto last = const_int(end);
  const auto by = const_int(step);
  return first.has_value() && last.has_value() && by.has_value() && *first < *last && *by >= *last - *first;
}

}  // namespace

void emit_loop(Emitter& e, llvm::Value* begin, llvm::Value* end, llvm::Value* step, const llvm::Twine& name,
               IndexBody body, bool breakable) {
  llvm::Value* enter = e.b.CreateICmpSLT(begin, end);
  if (is_const(enter, 0)) return;
  auto* exit = e.block(name + ".exit");
  auto* next = e.block(name + ".next");
  auto* loop = e.block(name + ".loop");
  auto* before = e.b.GetInsertBlock();
  branch(e, enter, loop, exit);
  e.b.SetInsertPoint(loop);
  const bool once = runs_once(begin, end, step);
  llvm::PHINode* index = once ? nullptr : e.b.CreatePHI(e.b.getInt64Ty(), 2, name);
  if (breakable) e.loops.push_back({next, exit});
  body(once ? begin : index);
  if (breakable) e.loops.pop_back();
  e.b.CreateBr(next);
  e.b.SetInsertPoint(next);
  if (once) {
    e.b.CreateBr(exit);
  } else {
    llvm::Value* following = e.b.CreateAdd(index, step, name + ".inc", false, true);
    e.b.CreateCondBr(more(e, index, end, step), loop, exit);
    index->addIncoming(begin, before);
    index->addIncoming(following, next);
  }
  exit->moveAfter(e.b.GetInsertBlock());
  e.b.SetInsertPoint(exit);
}

void emit_if(Emitter& e, llvm::Value* cond, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise) {
  if (const auto known = const_int(cond)) {
    if (*known != 0)
      then();
    else if (otherwise)
      otherwise();
    return;
  }
  auto* then_block = e.block("then");
  auto* else_block = otherwise ? e.block("else") : nullptr;
  auto* join = e.block("join");
  e.b.CreateCondBr(cond, then_block, else_block != nullptr ? else_block : join);
  e.b.SetInsertPoint(then_block);
  then();
  e.b.CreateBr(join);
  if (else_block != nullptr) {
    e.b.SetInsertPoint(else_block);
    otherwise();
    e.b.CreateBr(join);
  }
  join->moveAfter(e.b.GetInsertBlock());
  e.b.SetInsertPoint(join);
}

void trap_if(Emitter& e, llvm::Value* bad, Rule rule, const Loc& loc, std::string message,
             llvm::function_ref<std::vector<llvm::Value*>()> values) {
  if (is_const(bad, 0)) return;
  e.traps.push_back({loc, rule, std::move(message)});
  auto* code = e.b.getInt32(static_cast<std::uint32_t>(e.traps.size()));
  auto* cold = e.block("trap");
  auto* fine = e.block("fine");
  e.b.CreateCondBr(bad, cold, fine, llvm::MDBuilder(e.context).createBranchWeights(1, 1U << 20));
  e.b.SetInsertPoint(cold);
  e.b.CreateStore(code, e.trap);
  if (values) {
    std::int64_t at = 8;
    for (llvm::Value* value : values()) {
      e.b.CreateStore(value, e.b.CreateConstGEP1_64(e.b.getInt8Ty(), e.trap, static_cast<std::uint64_t>(at)));
      at += 8;
    }
  }
  e.trap_code->addIncoming(code, e.b.GetInsertBlock());
  e.b.CreateBr(e.trap_exit);
  fine->moveAfter(cold);
  e.b.SetInsertPoint(fine);
}

llvm::Constant* iota(Emitter& e) {
  std::vector<std::uint64_t> lanes(static_cast<std::size_t>(e.lanes.count));
  for (std::size_t l = 0; l < lanes.size(); ++l) lanes[l] = l;
  return llvm::ConstantDataVector::get(e.context, lanes);
}

llvm::Constant* iota32(Emitter& e) {
  std::vector<std::uint32_t> lanes(static_cast<std::size_t>(e.lanes.count));
  for (std::size_t l = 0; l < lanes.size(); ++l) lanes[l] = static_cast<std::uint32_t>(l);
  return llvm::ConstantDataVector::get(e.context, lanes);
}

llvm::Value* spread(Emitter& e, const Val& value) {
  if (e.lanes.count == 1 || value.form == Form::varying) return value.v;
  llvm::Value* base = e.b.CreateVectorSplat(static_cast<unsigned>(e.lanes.count), value.v);
  if (value.form == Form::uniform) return base;
  auto* steps = llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(static_cast<unsigned>(e.lanes.count)),
                                               e.i64(value.step));
  return e.b.CreateAdd(base, e.b.CreateMul(iota(e), steps));
}

llvm::Value* any(Emitter& e, llvm::Value* cond) {
  return cond->getType()->isVectorTy() ? e.b.CreateOrReduce(cond) : cond;
}

llvm::Value* narrow(Emitter& e, llvm::Value* cond) {
  return e.lanes.mask == nullptr ? cond : e.b.CreateAnd(e.lanes.mask, cond);
}

void for_each_lane(Emitter& e, llvm::ArrayRef<Val> values,
                   llvm::function_ref<void(llvm::ArrayRef<llvm::Value*>)> body) {
  if (e.lanes.count == 1) {
    std::vector<llvm::Value*> scalars;
    for (const Val& value : values) scalars.push_back(value.v);
    body(scalars);
    return;
  }
  std::vector<std::pair<llvm::Value*, llvm::Type*>> memory;
  for (const Val& value : values) {
    if (value.form == Form::uniform) {
      memory.emplace_back(nullptr, nullptr);
      continue;
    }
    llvm::Value* all = spread(e, value);
    memory.emplace_back(e.stack(all->getType(), "lanes"), all->getType()->getScalarType());
    e.b.CreateStore(all, memory.back().first);
  }
  llvm::Value* mask = e.lanes.mask;
  if (mask != nullptr) mask = e.b.CreateBitCast(mask, e.b.getIntNTy(static_cast<unsigned>(e.lanes.count)));
  const Lanes saved = e.lanes;
  emit_loop(e, e.i64(0), e.i64(saved.count), e.i64(1), "lane", [&](llvm::Value* lane) {
    llvm::Value* active = e.b.getTrue();
    if (mask != nullptr) {
      llvm::Value* bit = e.b.CreateZExtOrTrunc(lane, mask->getType());
      active = e.b.CreateTrunc(e.b.CreateLShr(mask, bit), e.b.getInt1Ty());
    }
    emit_if(e, active, [&] {
      std::vector<llvm::Value*> scalars;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto [slot, type] = memory[i];
        scalars.push_back(slot == nullptr ? values[i].v : e.b.CreateLoad(type, e.b.CreateGEP(type, slot, lane)));
      }
      e.lanes = Lanes{};
      body(scalars);
      e.lanes = saved;
    });
  });
}

}  // namespace plait::cpu
