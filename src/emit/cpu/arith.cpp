#include "emit/cpu/arith.h"

#include "emit/cpu/vector_convert.h"
#include "emit/cpu/vector_math.h"
#include "llvm/IR/Intrinsics.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

using ir::BinaryOp;

llvm::Constant* number(llvm::Value* like, std::int64_t value) {
  return llvm::ConstantInt::get(like->getType(), static_cast<std::uint64_t>(value), true);
}

/// Divisor without the values that machine division cannot take; `b` is checked against zero first.
struct Divisor {
  llvm::Value* safe;
  llvm::Value* minus_one;  ///< where b is -1; null where it cannot be
};

/// Whether an active lane has the condition.
llvm::Value* any_active(Emitter& e, llvm::Value* cond) {
  if (e.lanes.mask == nullptr) return any(e, cond);
  if (cond->getType()->isVectorTy()) return any(e, narrow(e, cond));
  return e.lanes.maybe_empty ? e.b.CreateAnd(cond, any(e, e.lanes.mask)) : cond;
}

Divisor check_divisor(Emitter& e, bool is_signed, llvm::Value* b, const Loc& loc) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(b);
  if (constant != nullptr && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  const auto known = const_int(constant);
  if (known.has_value() && *known != 0 && *known != -1) return {b, nullptr};
  llvm::Constant* one = llvm::ConstantInt::get(b->getType(), 1);
  llvm::Value* zero = e.b.CreateICmpEQ(b, number(b, 0));
  trap_if(e, any_active(e, zero), Rule::division_by_zero, loc, "division by zero");
  llvm::Value* safe = e.b.CreateSelect(zero, one, b);
  if (!is_signed) return {safe, nullptr};
  llvm::Value* minus_one = e.b.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType()));
  return {e.b.CreateSelect(minus_one, one, safe), minus_one};
}

llvm::Value* quotient(Emitter& e, bool is_signed, llvm::Value* a, const Divisor& d) {
  if (!is_signed) return e.b.CreateUDiv(a, d.safe);
  llvm::Value* q = e.b.CreateSDiv(a, d.safe);
  return d.minus_one == nullptr ? q : e.b.CreateSelect(d.minus_one, e.b.CreateNeg(a), q);
}

llvm::Value* remainder(Emitter& e, bool is_signed, llvm::Value* a, const Divisor& d) {
  if (!is_signed) return e.b.CreateURem(a, d.safe);
  llvm::Value* r = e.b.CreateSRem(a, d.safe);
  return d.minus_one == nullptr ? r : e.b.CreateSelect(d.minus_one, number(a, 0), r);
}

llvm::Value* ceil_quotient(Emitter& e, bool is_signed, llvm::Value* a, llvm::Value* b, const Divisor& d) {
  llvm::Value* q = quotient(e, is_signed, a, d);
  llvm::Value* r = remainder(e, is_signed, a, d);
  llvm::Value* up = e.b.CreateICmpNE(r, number(a, 0));
  if (is_signed) up = e.b.CreateAnd(up, e.b.CreateICmpSGE(e.b.CreateXor(r, b), number(a, 0)));
  return e.b.CreateAdd(q, e.b.CreateZExt(up, a->getType()));
}

llvm::Value* shift(Emitter& e, BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  const auto bits = static_cast<std::int64_t>(a->getType()->getScalarSizeInBits());
  llvm::Value* ok = e.b.CreateICmpULE(b, number(b, bits - 1));
  if (op == BinaryOp::shr && is_signed) return e.b.CreateAShr(a, e.b.CreateSelect(ok, b, number(b, bits - 1)));
  llvm::Value* count = e.b.CreateSelect(ok, b, number(b, 0));
  llvm::Value* shifted = op == BinaryOp::shl ? e.b.CreateShl(a, count) : e.b.CreateLShr(a, count);
  return e.b.CreateSelect(ok, shifted, number(a, 0));
}

llvm::CmpInst::Predicate int_predicate(BinaryOp op, bool is_signed) {
  using P = llvm::CmpInst;
  if (op == BinaryOp::eq) return P::ICMP_EQ;
  if (op == BinaryOp::ne) return P::ICMP_NE;
  if (op == BinaryOp::lt) return is_signed ? P::ICMP_SLT : P::ICMP_ULT;
  if (op == BinaryOp::le) return is_signed ? P::ICMP_SLE : P::ICMP_ULE;
  if (op == BinaryOp::gt) return is_signed ? P::ICMP_SGT : P::ICMP_UGT;
  return is_signed ? P::ICMP_SGE : P::ICMP_UGE;
}

llvm::CmpInst::Predicate float_predicate(BinaryOp op) {
  using P = llvm::CmpInst;
  if (op == BinaryOp::eq) return P::FCMP_OEQ;
  if (op == BinaryOp::ne) return P::FCMP_UNE;
  if (op == BinaryOp::lt) return P::FCMP_OLT;
  if (op == BinaryOp::le) return P::FCMP_OLE;
  if (op == BinaryOp::gt) return P::FCMP_OGT;
  return P::FCMP_OGE;
}

llvm::Value* int_combine(Emitter& e, BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b) {
  namespace I = llvm::Intrinsic;
  if (op == BinaryOp::add) return e.b.CreateAdd(a, b);
  if (op == BinaryOp::min) return e.b.CreateBinaryIntrinsic(is_signed ? I::smin : I::umin, a, b);
  if (op == BinaryOp::max) return e.b.CreateBinaryIntrinsic(is_signed ? I::smax : I::umax, a, b);
  if (op == BinaryOp::bit_and) return e.b.CreateAnd(a, b);
  if (op == BinaryOp::bit_or) return e.b.CreateOr(a, b);
  PLAIT_ASSERT(op == BinaryOp::bit_xor, "no combining operator");
  return e.b.CreateXor(a, b);
}

llvm::Value* int_arith(Emitter& e, BinaryOp op, bool is_signed, llvm::Value* a, llvm::Value* b, const Loc& loc) {
  switch (op) {
    case BinaryOp::sub:
      return e.b.CreateSub(a, b);
    case BinaryOp::mul:
      return e.b.CreateMul(a, b);
    case BinaryOp::div:
      return quotient(e, is_signed, a, check_divisor(e, is_signed, b, loc));
    case BinaryOp::mod:
      return remainder(e, is_signed, a, check_divisor(e, is_signed, b, loc));
    case BinaryOp::ceil_div:
      return ceil_quotient(e, is_signed, a, b, check_divisor(e, is_signed, b, loc));
    case BinaryOp::shl:
    case BinaryOp::shr:
      return shift(e, op, is_signed, a, b);
    case BinaryOp::add:
    case BinaryOp::min:
    case BinaryOp::max:
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
    case BinaryOp::logical_and:
    case BinaryOp::logical_or:
      return int_combine(e, op, is_signed, a, b);
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return e.b.CreateICmp(int_predicate(op, is_signed), a, b);
  }
  PLAIT_ASSERT(false, "unknown operator");
}

llvm::Value* float_combine(Emitter& e, BinaryOp op, llvm::Value* a, llvm::Value* b) {
  if (op == BinaryOp::add) return e.b.CreateFAdd(a, b);
  if (op == BinaryOp::min) return emit_fmin(e.b, a, b);
  PLAIT_ASSERT(op == BinaryOp::max, "no combining operator");
  return emit_fmax(e.b, a, b);
}

llvm::Value* float_arith(Emitter& e, BinaryOp op, ir::DType type, llvm::Value* a, llvm::Value* b) {
  if (ir::is_comparison(op)) return e.b.CreateFCmp(float_predicate(op), a, b);
  if (op == BinaryOp::sub) return round_result(e, type, e.b.CreateFSub(a, b));
  if (op == BinaryOp::mul) return round_result(e, type, e.b.CreateFMul(a, b));
  if (op == BinaryOp::div) return round_result(e, type, e.b.CreateFDiv(a, b));
  if (op == BinaryOp::mod) return round_result(e, type, e.b.CreateFRem(a, b));
  if (op == BinaryOp::add) return round_result(e, type, e.b.CreateFAdd(a, b));
  return float_combine(e, op, a, b);
}

}  // namespace

llvm::Value* round_result(Emitter& e, ir::DType type, llvm::Value* value) {
  const bool exact = !ir::is_float(type) || type == ir::DType::f32 || type == ir::DType::f64;
  return exact ? value : emit_round(e.b, e.target, type, value);
}

llvm::Value* emit_arith(Emitter& e, BinaryOp op, ir::DType type, llvm::Value* a, llvm::Value* b, const Loc& loc) {
  if (ir::is_float(type)) return float_arith(e, op, type, a, b);
  return int_arith(e, op, ir::is_signed_integer(type), a, b, loc);
}

llvm::Value* emit_combine(Emitter& e, BinaryOp op, ir::DType type, llvm::Value* a, llvm::Value* b) {
  if (ir::is_float(type)) return float_combine(e, op, a, b);
  return int_combine(e, op, ir::is_signed_integer(type), a, b);
}

llvm::Value* emit_negate(Emitter& e, ir::UnaryOp op, ir::DType type, llvm::Value* a) {
  if (op != ir::UnaryOp::neg) return e.b.CreateNot(a);
  return ir::is_float(type) ? e.b.CreateFNeg(a) : e.b.CreateNeg(a);
}

}  // namespace plait::cpu
