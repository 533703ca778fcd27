#pragma once

#include <cstdint>

#include "emit/cpu/vector_target.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace plait::cpu {

/// Element type of A and B in memory. C is f32 for f32, f64 for f64, i32 for the integers (products and sums wrap).
enum class GemmElement { f32, f64, i8, u8, i32 };

/// C[m, n] += A·B on tiles in memory, all row-major with leading strides in elements: A is [m, k] ([k, m] with
/// trans_a), B is [k, n] ([n, k] with trans_b).
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t lda = 0, ldb = 0, ldc = 0;
  bool trans_a = false, trans_b = false;
  GemmElement element = GemmElement::f32;
  bool clear = false;  ///< C = A·B: the old C is not read
};

/// Bytes of scratch (64-byte aligned) that emit_gemm wants for packed panels; may be 0.
std::int64_t gemm_scratch_bytes(const GemmShape& shape, const VectorTarget& target);

/// Emits the product at the builder's place as calls to internal functions of the module (shared by equal shapes),
/// which take the attributes of the function they are called from. Each element of C is a chain of fused multiply-adds
/// with ascending k, whatever the shape. Extents may be 0. No alignment beyond the element is assumed.
void emit_gemm(llvm::IRBuilderBase& builder, const VectorTarget& target, const GemmShape& shape, llvm::Value* a,
               llvm::Value* b, llvm::Value* c, llvm::Value* scratch);

}  // namespace plait::cpu
