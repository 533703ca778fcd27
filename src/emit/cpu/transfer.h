#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// Tile coordinates [lo, hi) in one dimension.
struct Span {
  llvm::Value *lo, *hi;
};
struct TransferDim {
  llvm::Value* extent;
  llvm::Value* src_stride;  ///< in elements; any value where there is no source
  llvm::Value* dst_stride;
};
/// A box of elements that goes from one buffer to another, converted, or is set to one value.
struct Transfer {
  const BufferInfo* src = nullptr;   ///< null: every element becomes `constant`
  llvm::Value* constant = nullptr;   ///< carrier value of the destination's type
  llvm::Value* src_first = nullptr;  ///< element number of tile coordinate 0
  const BufferInfo* dst = nullptr;
  llvm::Value* dst_first = nullptr;
  std::vector<TransferDim> dims;  ///< outermost first, at least one
  llvm::Value* ahead =
      nullptr;            ///< distance, in elements, to the source of the next transfer of this kind, to be prefetched
  bool stream = false;    ///< nobody reads the destination soon: store past the caches where that is possible
  bool by_bytes = false;  ///< rows of elements narrower than a byte begin at one

  Transfer filled(llvm::Value* value) const;
};

std::vector<Span> whole(Emitter& e, const Transfer& transfer);
/// Moves the elements inside `spans`: vector by vector along the last dimension where both sides are contiguous there.
void emit_transfer(Emitter& e, const Transfer& transfer, const std::vector<Span>& spans);
/// A carrier value of type `from` as stored into an element of type `to`.
llvm::Value* convert_element(Emitter& e, ir::DType from, ir::DType to, llvm::Value* value);

}  // namespace plait::cpu
