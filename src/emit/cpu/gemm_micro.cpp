#include <fmt/format.h>

#include "emit/cpu/gemm_ir.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Intrinsics.h"

namespace plait::cpu {

using llvm::BasicBlock;
using llvm::Function;
using llvm::IRBuilder;
using llvm::SmallVector;
using llvm::Value;

namespace {

/// Steps of k in one turn of the loop.
constexpr std::int64_t unroll = 4;

/// Emits one micro-kernel: accumulators in registers, an unrolled loop over k, then the steps left over.
class MicroKernel {
 public:
  MicroKernel(IRBuilder<>& b, Function* function, const GemmPlan& plan, int rows, int vectors, int tail)
      : b_(b),
        plan_(plan),
        types_(b.getContext(), plan),
        strides_(plan.strides(rows, vectors)),
        rows_(rows),
        vectors_(vectors),
        tail_(tail),
        a_(function->getArg(0)),
        bp_(function->getArg(1)),
        c_(function->getArg(2)) {}

  void emit() {
    load_accumulators();
    const std::int64_t turns = plan_.shape.k / unroll;
    Value* a = a_;
    Value* bp = bp_;
    if (turns > 1) {
      loop(turns, a, bp);
    } else {
      steps(a, bp, turns * unroll);
    }
    const std::int64_t done = turns * unroll;
    if (turns <= 1) {
      a = element_at(b_, types_.packed, a, done * strides_.a_step);
      bp = element_at(b_, types_.packed, bp, done * strides_.b_step);
    }
    steps(a, bp, plan_.shape.k - done);
    store_accumulators();
  }

 private:
  Value*& accumulator(int row, int vector) { return accumulators_[static_cast<std::size_t>(row * vectors_ + vector)]; }
  int valid(int vector) const { return vector == vectors_ - 1 ? tail_ : 0; }
  Value* c_address(int row, int vector) {
    return element_at(b_, types_.packed, c_, row * strides_.c_row + static_cast<std::int64_t>(vector) * plan_.lanes);
  }

  void load_accumulators() {
    accumulators_.assign(static_cast<std::size_t>(rows_ * vectors_), llvm::Constant::getNullValue(types_.vector));
    if (plan_.shape.clear) return;
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < vectors_; ++j)
        accumulator(i, j) = load_lanes(b_, types_.packed, plan_.lanes, c_address(i, j), valid(j));
    }
  }

  void store_accumulators() {
    for (int i = 0; i < rows_; ++i) {
      for (int j = 0; j < vectors_; ++j) store_lanes(b_, accumulator(i, j), c_address(i, j), valid(j));
    }
  }

  Value* multiply_add(Value* a, Value* b, Value* c) {
    if (plan_.is_float()) return b_.CreateIntrinsic(llvm::Intrinsic::fma, {types_.vector}, {a, b, c});
    return b_.CreateAdd(b_.CreateMul(a, b), c);
  }

  Value* load_a(Value* a, std::int64_t step, int row) {
    Value* address = element_at(b_, types_.packed, a, row * strides_.a_row + step * strides_.a_step);
    Value* element =
        b_.CreateAlignedLoad(types_.packed, address, llvm::Align(static_cast<std::uint64_t>(plan_.element_bytes)));
    return b_.CreateVectorSplat(static_cast<unsigned>(plan_.lanes), element);
  }

  Value* load_b(Value* bp, std::int64_t step, int vector) {
    Value* address =
        element_at(b_, types_.packed, bp, step * strides_.b_step + static_cast<std::int64_t>(vector) * plan_.lanes);
    return load_lanes(b_, types_.packed, plan_.lanes, address, plan_.pack_b ? 0 : valid(vector));
  }

  /// The smaller side of the block is loaded first and held, the other is streamed past it.
  void step(Value* a, Value* bp, std::int64_t k) {
    const bool hold_b = vectors_ <= rows_;
    SmallVector<Value*, 16> held;
    const int held_count = hold_b ? vectors_ : rows_;
    const int streamed_count = hold_b ? rows_ : vectors_;
    for (int i = 0; i < held_count; ++i) held.push_back(hold_b ? load_b(bp, k, i) : load_a(a, k, i));
    for (int i = 0; i < streamed_count; ++i) {
      Value* streamed = hold_b ? load_a(a, k, i) : load_b(bp, k, i);
      for (int j = 0; j < held_count; ++j) {
        Value*& sum = hold_b ? accumulator(i, j) : accumulator(j, i);
        sum = multiply_add(streamed, held[static_cast<std::size_t>(j)], sum);
      }
    }
  }

  void steps(Value* a, Value* bp, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) step(a, bp, k);
  }

  /// `turns` turns of `unroll` steps; leaves the operand pointers behind the last one.
  void loop(std::int64_t turns, Value*& a, Value*& bp) {
    BasicBlock* before = b_.GetInsertBlock();
    BasicBlock* body = BasicBlock::Create(b_.getContext(), "k", before->getParent());
    b_.CreateBr(body);
    b_.SetInsertPoint(body);
    const auto phi = [&](Value* start) {
      llvm::PHINode* node = b_.CreatePHI(start->getType(), 2);
      node->addIncoming(start, before);
      return node;
    };
    llvm::PHINode* count = phi(b_.getInt64(static_cast<std::uint64_t>(turns)));
    llvm::PHINode* a_phi = phi(a);
    llvm::PHINode* b_phi = phi(bp);
    SmallVector<llvm::PHINode*, 24> phis;
    for (Value*& sum : accumulators_) {
      phis.push_back(phi(sum));
      sum = phis.back();
    }
    steps(a_phi, b_phi, unroll);
    a = element_at(b_, types_.packed, a_phi, unroll * strides_.a_step);
    bp = element_at(b_, types_.packed, b_phi, unroll * strides_.b_step);
    Value* left = b_.CreateSub(count, b_.getInt64(1));
    count->addIncoming(left, body);
    a_phi->addIncoming(a, body);
    b_phi->addIncoming(bp, body);
    for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(accumulators_[i], body);
    BasicBlock* done = BasicBlock::Create(b_.getContext(), "k.done", before->getParent());
    keep_loop(b_.CreateCondBr(b_.CreateICmpNE(left, b_.getInt64(0)), body, done));
    b_.SetInsertPoint(done);
  }

  IRBuilder<>& b_;
  const GemmPlan& plan_;
  GemmTypes types_;
  MicroStrides strides_;
  int rows_;
  int vectors_;
  int tail_;
  Value* a_;
  Value* bp_;
  Value* c_;
  SmallVector<Value*, 24> accumulators_;
};

}  // namespace

Function* micro_kernel(Function* like, const GemmPlan& plan, int rows, int vectors, int tail) {
  const MicroStrides s = plan.strides(rows, vectors);
  const std::string name =
      fmt::format("plait.gemm.micro.{}.{}x{}t{}.k{}.a{}_{}.b{}.c{}{}{}", static_cast<int>(plan.shape.element), rows,
                  vectors, tail, plan.shape.k, s.a_row, s.a_step, s.b_step, s.c_row, plan.shape.clear ? ".clear" : "",
                  plan.pack_b ? ".packed" : "");
  return internal_function(like, plan.target, name, 3, [&](IRBuilder<>& b, Function* function) {
    MicroKernel(b, function, plan, rows, vectors, tail).emit();
  });
}

}  // namespace plait::cpu
