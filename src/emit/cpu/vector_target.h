#pragma once

#include "llvm/ADT/StringRef.h"

namespace plait::cpu {

/// What the emitters of vector code need to know of a processor.
struct VectorTarget {
  /// Widest vector register worth using: 128, 256 or 512. A function with 512-bit vectors needs the attribute
  /// "prefer-vector-width"="512", or LLVM halves them on some processors.
  int vector_bits = 128;
  int registers = 16;        ///< vector registers
  bool fma = false;          ///< has a fused multiply-add instruction (without it, fma is a slow library call)
  bool f16c = false;         ///< converts f16 in hardware
  bool vector_libm = false;  ///< calls to libmvec may be emitted

  int lanes(int element_bits) const { return vector_bits / element_bits; }
};

/// Reads the facts from an LLVM processor name and feature string (as given to a TargetMachine) of x86-64; the plain
/// 128-bit target for other triples.
VectorTarget vector_target(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef features);

}  // namespace plait::cpu
