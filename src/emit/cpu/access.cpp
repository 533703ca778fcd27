#include "emit/cpu/access.h"

#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"
#include "fmt/format.h"
#include "llvm/IR/Intrinsics.h"

namespace plait::cpu {
namespace {

Val scale(Emitter& e, const Val& index, llvm::Value* stride) {
  const auto factor = const_int(stride);
  if (factor == 1) return index;
  if (index.form == Form::uniform) return uniform(e.b.CreateMul(index.v, stride));
  if (index.form == Form::linear && factor.has_value()) {
    const auto step =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(index.step) * static_cast<std::uint64_t>(*factor));
    return linear(e.b.CreateMul(index.v, stride), step);
  }
  return varying(e.b.CreateMul(spread(e, index), spread(e, uniform(stride))));
}

Val add(Emitter& e, const Val& a, const Val& b) {
  if (a.form == Form::varying || b.form == Form::varying) return varying(e.b.CreateAdd(spread(e, a), spread(e, b)));
  return linear(e.b.CreateAdd(a.v, b.v), a.step + b.step);
}

/// Position of an element among the interleaved copies of a private buffer.
Val interleaved(Emitter& e, const BufferInfo& buffer, const Val& offset) {
  if (buffer.interleave == 1) return offset;
  llvm::Value* count = e.i64(buffer.interleave);
  if (offset.form == Form::uniform) return linear(e.b.CreateMul(offset.v, count), 1);
  llvm::Value* first = e.b.CreateMul(spread(e, offset), spread(e, uniform(count)));
  return varying(e.b.CreateAdd(first, iota(e)));
}

llvm::Align element_align(const llvm::Type* type) { return llvm::Align(std::max(1U, type->getScalarSizeInBits() / 8)); }

llvm::Value* full_mask(Emitter& e) {
  if (e.lanes.mask != nullptr) return e.lanes.mask;
  return e.b.CreateVectorSplat(static_cast<unsigned>(e.lanes.count), e.b.getTrue());
}

/// The address, or one that is always readable where no lane is active.
llvm::Value* readable(Emitter& e, llvm::Value* pointer) {
  if (e.lanes.mask == nullptr || !e.lanes.maybe_empty) return pointer;
  auto* nothing = e.stack(e.b.getInt64Ty(), "nothing");
  e.b.CreateStore(e.i64(0), nothing);
  return e.b.CreateSelect(any(e, e.lanes.mask), pointer, nothing);
}

/// Memory of `type` at `offset` in units of it; offset decides between one, consecutive and scattered elements.
Val load_memory(Emitter& e, const BufferInfo& buffer, llvm::Type* type, const Val& offset) {
  const llvm::Align align = element_align(type);
  if (offset.form == Form::uniform) {
    llvm::Value* pointer = readable(e, e.b.CreateGEP(type, buffer.base, offset.v));
    return uniform(tag(buffer, e.b.CreateAlignedLoad(type, pointer, align)));
  }
  llvm::Type* vector = lanes_type(type, e.lanes.count);
  if (offset.form == Form::linear && offset.step == 1) {
    llvm::Value* pointer = e.b.CreateGEP(type, buffer.base, offset.v);
    if (e.lanes.mask == nullptr) return varying(tag(buffer, e.b.CreateAlignedLoad(vector, pointer, align)));
    auto* nothing = llvm::Constant::getNullValue(vector);
    return varying(tag(buffer, e.b.CreateMaskedLoad(vector, pointer, align, e.lanes.mask, nothing)));
  }
  llvm::Value* pointers = e.b.CreateGEP(type, buffer.base, spread(e, offset));
  auto* nothing = llvm::Constant::getNullValue(vector);
  return varying(tag(buffer, e.b.CreateMaskedGather(vector, pointers, align, full_mask(e), nothing)));
}

void store_vector(Emitter& e, const BufferInfo& buffer, llvm::Value* value, llvm::Value* pointer, llvm::Align align) {
  const std::uint64_t bytes = value->getType()->getPrimitiveSizeInBits() / 8;
  if (buffer.stream && bytes >= 16) {
    auto* store = e.b.CreateAlignedStore(value, pointer, llvm::Align(bytes));
    store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                       llvm::MDNode::get(e.context, {llvm::ConstantAsMetadata::get(e.b.getInt32(1))}));
    tag(buffer, store);
  } else {
    tag(buffer, e.b.CreateAlignedStore(value, pointer, align));
  }
}

void store_memory(Emitter& e, const BufferInfo& buffer, llvm::Type* type, const Val& offset, const Val& value) {
  const llvm::Align align = element_align(type);
  if (e.lanes.count == 1) {
    tag(buffer, e.b.CreateAlignedStore(value.v, e.b.CreateGEP(type, buffer.base, offset.v), align));
    return;
  }
  llvm::Value* all = spread(e, value);
  if (offset.form == Form::linear && offset.step == 1) {
    llvm::Value* pointer = e.b.CreateGEP(type, buffer.base, offset.v);
    if (e.lanes.mask == nullptr)
      store_vector(e, buffer, all, pointer, align);
    else
      tag(buffer, e.b.CreateMaskedStore(all, pointer, align, e.lanes.mask));
    return;
  }
  llvm::Value* pointers = e.b.CreateGEP(type, buffer.base, spread(e, offset));
  tag(buffer, e.b.CreateMaskedScatter(all, pointers, align, full_mask(e)));
}

/// Byte and bit position of a packed element.
struct Packed {
  Val byte;
  llvm::Value* shift;  ///< i8 lanes
};

Packed packed_position(Emitter& e, const BufferInfo& buffer, const Val& offset) {
  const bool one = offset.form == Form::uniform;
  llvm::Value* number = one ? offset.v : spread(e, offset);
  llvm::Type* type = number->getType();
  const int bits = ir::dtype_bits(buffer.decl->type);
  llvm::Value* bit = e.b.CreateMul(number, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(bits)));
  llvm::Value* byte = e.b.CreateLShr(bit, 3);
  llvm::Value* shift = e.b.CreateTrunc(e.b.CreateAnd(bit, 7), type->getWithNewType(e.b.getInt8Ty()));
  return {one ? uniform(byte) : varying(byte), shift};
}

Val load_packed(Emitter& e, const BufferInfo& buffer, const Val& offset) {
  const Packed at = packed_position(e, buffer, offset);
  Val bytes = load_memory(e, buffer, e.b.getInt8Ty(), at.byte);
  llvm::Type* narrow_type = bytes.v->getType()->getWithNewType(storage_type(e.context, buffer.decl->type));
  bytes.v = e.b.CreateTrunc(e.b.CreateLShr(bytes.v, at.shift), narrow_type);
  return bytes;
}

/// Neighbours in the byte may belong to other blocks, so the bits are cleared and set by atomic operations, which leave
/// the others alone.
void store_packed(Emitter& e, const BufferInfo& buffer, const Val& offset, const Val& value) {
  const Packed at = packed_position(e, buffer, offset);
  const auto ones = static_cast<std::uint8_t>((1U << ir::dtype_bits(buffer.decl->type)) - 1);
  Val bits = value;
  bits.v = e.b.CreateZExt(bits.v, bits.v->getType()->getWithNewType(e.b.getInt8Ty()));
  const Val shift{at.shift, at.byte.form, 0};
  for_each_lane(e, {at.byte, shift, bits}, [&](llvm::ArrayRef<llvm::Value*> lane) {
    llvm::Value* pointer = e.b.CreateGEP(e.b.getInt8Ty(), buffer.base, lane[0]);
    llvm::Value* keep = e.b.CreateNot(e.b.CreateShl(e.b.getInt8(ones), lane[1]));
    const auto order = llvm::AtomicOrdering::Monotonic;
    tag(buffer, e.b.CreateAtomicRMW(llvm::AtomicRMWInst::And, pointer, keep, llvm::Align(1), order));
    tag(buffer,
        e.b.CreateAtomicRMW(llvm::AtomicRMWInst::Or, pointer, e.b.CreateShl(lane[2], lane[1]), llvm::Align(1), order));
  });
}

}  // namespace

llvm::Instruction* tag(const BufferInfo& buffer, llvm::Instruction* access) {
  if (buffer.scope != nullptr) access->setMetadata(llvm::LLVMContext::MD_alias_scope, buffer.scope);
  if (buffer.noalias != nullptr) access->setMetadata(llvm::LLVMContext::MD_noalias, buffer.noalias);
  return access;
}

llvm::Type* element_type(Emitter& e, const BufferInfo& buffer) {
  return buffer.global() ? storage_type(e.context, buffer.decl->type) : onchip_type(e.context, buffer.decl->type);
}

llvm::Value* element_pointer(Emitter& e, const BufferInfo& buffer, llvm::Value* offset) {
  return e.b.CreateGEP(element_type(e, buffer), buffer.base, offset);
}

llvm::Value* from_memory(Emitter& e, const BufferInfo& buffer, llvm::Value* bits) {
  const ir::DType type = buffer.decl->type;
  if (buffer.global()) return emit_decode(e.b, e.target, type, bits);
  if (ir::is_bool(type)) return e.b.CreateICmpNE(bits, llvm::Constant::getNullValue(bits->getType()));
  if (ir::is_float(type)) return bits;
  return e.b.CreateTrunc(bits, bits->getType()->getWithNewType(carrier_type(e.context, type)));
}

llvm::Value* to_memory(Emitter& e, const BufferInfo& buffer, llvm::Value* value) {
  const ir::DType type = buffer.decl->type;
  if (buffer.global()) return emit_encode(e.b, e.target, type, value);
  if (ir::is_float(type)) return value;
  llvm::Type* wide = value->getType()->getWithNewType(onchip_type(e.context, type));
  return ir::is_signed_integer(type) ? e.b.CreateSExt(value, wide) : e.b.CreateZExt(value, wide);
}

Val element_offset(Emitter& e, const BufferInfo& buffer, llvm::ArrayRef<Val> index) {
  Val sum = uniform(e.i64(0));
  for (std::size_t d = 0; d < index.size(); ++d) sum = add(e, sum, scale(e, index[d], buffer.strides[d]));
  return sum;
}

void check_index(Emitter& e, const BufferInfo& buffer, std::size_t dim, const Val& index, const Loc& loc) {
  llvm::Value* extent = buffer.extents[dim];
  auto message = fmt::format("index {{}} leaves dimension {} of {}, whose extent is {{}}", dim, buffer.decl->name);
  const llvm::Value* mask = e.lanes.mask;
  if (index.form == Form::uniform || (index.form == Form::linear && mask == nullptr)) {
    llvm::Value* last =
        index.form == Form::uniform ? index.v : e.b.CreateAdd(index.v, e.i64(index.step * (e.lanes.count - 1)));
    llvm::Value* bad = e.b.CreateICmpUGE(index.v, extent);
    if (last != index.v) bad = e.b.CreateOr(bad, e.b.CreateICmpUGE(last, extent));
    if (mask != nullptr && e.lanes.maybe_empty && !is_const(bad, 0)) bad = e.b.CreateAnd(bad, any(e, e.lanes.mask));
    trap_if(e, bad, Rule::out_of_bounds, loc, std::move(message), [&] {
      llvm::Value* first_bad = e.b.CreateICmpUGE(index.v, extent);
      return std::vector<llvm::Value*>{e.b.CreateSelect(first_bad, index.v, last), extent};
    });
    return;
  }
  llvm::Value* all = spread(e, index);
  llvm::Value* bad = narrow(e, e.b.CreateICmpUGE(all, spread(e, uniform(extent))));
  trap_if(e, any(e, bad), Rule::out_of_bounds, loc, std::move(message), [&] {
    llvm::Value* bits = e.b.CreateBitCast(bad, e.b.getIntNTy(static_cast<unsigned>(e.lanes.count)));
    llvm::Value* lane = e.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bits, e.b.getFalse());
    return std::vector<llvm::Value*>{e.b.CreateExtractElement(all, lane), extent};
  });
}

Val load_element(Emitter& e, const BufferInfo& buffer, const Val& offset) {
  const Val at = interleaved(e, buffer, offset);
  Val bits = buffer.packed() ? load_packed(e, buffer, at) : load_memory(e, buffer, element_type(e, buffer), at);
  bits.v = from_memory(e, buffer, bits.v);
  return bits;
}

void store_element(Emitter& e, const BufferInfo& buffer, const Val& offset, const Val& value) {
  const Val at = interleaved(e, buffer, offset);
  Val bits = value;
  if (bits.form == Form::linear) bits = varying(spread(e, bits));
  bits.v = to_memory(e, buffer, bits.v);
  if (buffer.packed())
    store_packed(e, buffer, at, bits);
  else
    store_memory(e, buffer, element_type(e, buffer), at, bits);
}

}  // namespace plait::cpu
