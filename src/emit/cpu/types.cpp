#include "emit/cpu/types.h"

#include <algorithm>

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Type.h"

namespace plait::cpu {

int onchip_bytes(ir::DType type) {
  if (type == ir::DType::f64) return 8;
  if (ir::is_float(type)) return 4;
  return std::max(1, ir::dtype_bits(type) / 8);
}

llvm::Type* onchip_type(llvm::LLVMContext& context, ir::DType type) {
  if (type == ir::DType::f64) return llvm::Type::getDoubleTy(context);
  if (ir::is_float(type)) return llvm::Type::getFloatTy(context);
  return llvm::Type::getIntNTy(context, static_cast<unsigned>(onchip_bytes(type) * 8));
}

llvm::Type* lanes_type(llvm::Type* scalar, int lanes) {
  return lanes == 1 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

}  // namespace plait::cpu
