#include "emit/cpu/vector_math.h"

#include "emit/cpu/libm_call.h"
#include "emit/cpu/math_f32.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Intrinsics.h"
#include "support/diagnostic.h"

namespace plait::cpu {

using ir::Intrinsic;
using llvm::IRBuilderBase;
using llvm::Value;

namespace {

Value* constant(Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }

Value* absolute(IRBuilderBase& b, Value* x) {
  if (x->getType()->isFPOrFPVectorTy()) return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getFalse());
}

Value* is_infinite(IRBuilderBase& b, Value* x) {
  return b.CreateFCmpOEQ(absolute(b, x), llvm::ConstantFP::getInfinity(x->getType()));
}

Value* reciprocal(IRBuilderBase& b, Value* x) { return b.CreateFDiv(constant(x, 1), x); }

/// By way of e^-|x|, which does not overflow and loses nothing for large negative x.
Value* sigmoid(IRBuilderBase& b, const VectorTarget& target, Value* x, bool fast_math) {
  Value* decay = emit_math(b, target, Intrinsic::exp, {b.CreateFNeg(absolute(b, x))}, fast_math);
  Value* numerator = b.CreateSelect(b.CreateFCmpOLT(x, constant(x, 0)), decay, constant(x, 1));
  return b.CreateFDiv(numerator, b.CreateFAdd(constant(x, 1), decay));
}

/// The functions that have f32 code of their own.
Value* f32_function(IRBuilderBase& b, const VectorTarget& target, Intrinsic fn, Value* x, bool fast_math) {
  if (!x->getType()->getScalarType()->isFloatTy()) return nullptr;
  if (fn == Intrinsic::exp) return emit_exp_f32(b, target, x, fast_math);
  if (fn == Intrinsic::exp2) return emit_exp2_f32(b, target, x, fast_math);
  if (fn == Intrinsic::log) return emit_log_f32(b, target, x);
  if (fn == Intrinsic::log2) return emit_log2_f32(b, target, x);
  if (fn == Intrinsic::tanh) return emit_tanh_f32(b, target, x);
  if (fn == Intrinsic::erf) return emit_erf_f32(b, target, x);
  return nullptr;
}

}  // namespace

Value* emit_math(IRBuilderBase& builder, const VectorTarget& target, Intrinsic fn, llvm::ArrayRef<Value*> args,
                 bool fast_math) {
  PLAIT_ASSERT(args.size() == static_cast<std::size_t>(ir::intrinsic_arity(fn)), "wrong number of arguments");
  const IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  const auto unary = [&](llvm::Intrinsic::ID id) { return builder.CreateUnaryIntrinsic(id, args[0]); };
  switch (fn) {
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log2:
    case Intrinsic::sin:
    case Intrinsic::cos:
    case Intrinsic::tanh:
    case Intrinsic::erf:
    case Intrinsic::pow: {
      if (Value* own = f32_function(builder, target, fn, args[0], fast_math)) return own;
      const std::string_view name = ir::intrinsic_name(fn);
      return call_libm(builder, target, llvm::StringRef(name.data(), name.size()), args);
    }
    case Intrinsic::sqrt:
      return unary(llvm::Intrinsic::sqrt);
    case Intrinsic::rsqrt:
      return reciprocal(builder, unary(llvm::Intrinsic::sqrt));
    case Intrinsic::sigmoid:
      return sigmoid(builder, target, args[0], fast_math);
    case Intrinsic::floor:
      return unary(llvm::Intrinsic::floor);
    case Intrinsic::ceil:
      return unary(llvm::Intrinsic::ceil);
    case Intrinsic::round:
      return unary(llvm::Intrinsic::round);
    case Intrinsic::trunc:
      return unary(llvm::Intrinsic::trunc);
    case Intrinsic::abs:
      return absolute(builder, args[0]);
    case Intrinsic::fma:
      return builder.CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, args);
    case Intrinsic::isnan:
      return builder.CreateFCmpUNO(args[0], args[0]);
    case Intrinsic::isinf:
      return is_infinite(builder, args[0]);
  }
  throw InternalError("unknown intrinsic");
}

Value* emit_fmin(IRBuilderBase& builder, Value* a, Value* b) {
  const IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  // x86 minps gives its second operand for unordered ones: a NaN in b comes through, one in a needs the blend.
  Value* smaller = builder.CreateSelect(builder.CreateFCmpOLT(a, b), a, b);
  return builder.CreateSelect(builder.CreateFCmpUNO(a, a), a, smaller);
}

Value* emit_fmax(IRBuilderBase& builder, Value* a, Value* b) {
  const IRBuilderBase::FastMathFlagGuard guard(builder);
  builder.clearFastMathFlags();
  Value* larger = builder.CreateSelect(builder.CreateFCmpOGT(a, b), a, b);
  return builder.CreateSelect(builder.CreateFCmpUNO(a, a), a, larger);
}

}  // namespace plait::cpu
