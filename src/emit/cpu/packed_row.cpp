#include "emit/cpu/packed_row.h"

#include "emit/cpu/access.h"
#include "emit/cpu/types.h"
#include "emit/cpu/vector_convert.h"

namespace plait::cpu {
namespace {

int bits_of(const BufferInfo& buffer) { return ir::dtype_bits(buffer.decl->type); }

/// Address of the byte in which element number `offset` begins.
llvm::Value* byte_pointer(Emitter& e, const BufferInfo& buffer, llvm::Value* offset) {
  llvm::Value* bit = e.b.CreateMul(offset, e.i64(bits_of(buffer)));
  return e.b.CreateGEP(e.b.getInt8Ty(), buffer.base, e.b.CreateLShr(bit, 3));
}

/// 0, bits, 2 * bits, … within a byte, again and again.
llvm::Constant* shifts(Emitter& e, int bits, int lanes) {
  std::vector<std::uint8_t> amounts;
  for (int l = 0; l < lanes; ++l) amounts.push_back(static_cast<std::uint8_t>(l * bits % 8));
  return llvm::ConstantDataVector::get(e.context, amounts);
}

/// Storage integers of `lanes` neighbours, the first of which begins at a byte.
llvm::Value* unpack(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, int lanes) {
  const int bits = bits_of(buffer);
  llvm::Type* bytes = lanes_type(e.b.getInt8Ty(), lanes * bits / 8);
  llvm::Value* packed = tag(buffer, e.b.CreateAlignedLoad(bytes, byte_pointer(e, buffer, offset), llvm::Align(1)));
  if (!bytes->isVectorTy()) packed = e.b.CreateVectorSplat(1, packed);
  std::vector<int> from;
  for (int l = 0; l < lanes; ++l) from.push_back(l * bits / 8);
  llvm::Value* spread_out = e.b.CreateLShr(e.b.CreateShuffleVector(packed, from), shifts(e, bits, lanes));
  return e.b.CreateTrunc(spread_out, lanes_type(storage_type(e.context, buffer.decl->type), lanes));
}

/// The opposite of unpack.
void pack(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, llvm::Value* value, int lanes) {
  const int bits = bits_of(buffer);
  const int per_byte = 8 / bits;
  llvm::Value* wide = e.b.CreateShl(e.b.CreateZExt(value, lanes_type(e.b.getInt8Ty(), lanes)), shifts(e, bits, lanes));
  llvm::Value* bytes = nullptr;
  for (int k = 0; k < per_byte; ++k) {
    std::vector<int> from;
    for (int l = k; l < lanes; l += per_byte) from.push_back(l);
    llvm::Value* part = e.b.CreateShuffleVector(wide, from);
    bytes = bytes == nullptr ? part : e.b.CreateOr(bytes, part);
  }
  tag(buffer, e.b.CreateAlignedStore(bytes, byte_pointer(e, buffer, offset), llvm::Align(1)));
}

llvm::Value* read(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, int lanes) {
  if (buffer.packed()) return unpack(e, buffer, offset, lanes);
  llvm::Type* type = element_type(e, buffer);
  const llvm::Align align(type->getScalarSizeInBits() / 8);
  return tag(buffer, e.b.CreateAlignedLoad(lanes_type(type, lanes), element_pointer(e, buffer, offset), align));
}

void write(Emitter& e, const BufferInfo& buffer, llvm::Value* offset, llvm::Value* bits, int lanes) {
  if (buffer.packed()) return pack(e, buffer, offset, bits, lanes);
  const llvm::Align align(bits->getType()->getScalarSizeInBits() / 8);
  tag(buffer, e.b.CreateAlignedStore(bits, element_pointer(e, buffer, offset), align));
}

/// A whole vector of bytes for integers, of f32 where floats are decoded; always a whole number of bytes on the packed
/// side.
int lanes_for(Emitter& e, const Transfer& t) {
  const bool floats = ir::is_float(t.dst->decl->type);
  return std::max(8, e.target.lanes(floats ? 32 : 8));
}

}  // namespace

bool is_packed_row(const Transfer& transfer) {
  const TransferDim& last = transfer.dims.back();
  if (transfer.src == nullptr || !is_const(last.src_stride, 1) || !is_const(last.dst_stride, 1)) return false;
  return transfer.src->packed() || transfer.dst->packed();
}

llvm::Value* rows_begin_at_bytes(Emitter& e, const Transfer& t, llvm::Value* lo) {
  llvm::Value* bits = e.i64(0);
  const auto add = [&](const BufferInfo& buffer, llvm::Value* elements) {
    if (buffer.packed()) bits = e.b.CreateOr(bits, e.b.CreateMul(elements, e.i64(bits_of(buffer))));
  };
  add(*t.src, e.b.CreateAdd(t.src_first, lo));
  add(*t.dst, e.b.CreateAdd(t.dst_first, lo));
  for (std::size_t d = 0; d + 1 < t.dims.size(); ++d) {
    add(*t.src, t.dims[d].src_stride);
    add(*t.dst, t.dims[d].dst_stride);
  }
  return e.b.CreateICmpEQ(e.b.CreateAnd(bits, e.i64(7)), e.i64(0));
}

void move_packed_row(Emitter& e, const Transfer& t, llvm::Value* src, llvm::Value* dst, const Span& span) {
  const int lanes = lanes_for(e, t);
  const ir::DType from = t.src->decl->type;
  const ir::DType to = t.dst->decl->type;
  llvm::Value* count = e.b.CreateSelect(e.b.CreateICmpSLT(span.lo, span.hi), e.b.CreateSub(span.hi, span.lo), e.i64(0));
  llvm::Value* full = e.b.CreateAdd(span.lo, e.b.CreateAnd(count, e.i64(-lanes)));
  emit_loop(e, span.lo, full, e.i64(lanes), "packed", [&](llvm::Value* i) {
    llvm::Value* value = from_memory(e, *t.src, read(e, *t.src, e.b.CreateAdd(src, i), lanes));
    value = to_memory(e, *t.dst, convert_element(e, from, to, value));
    write(e, *t.dst, e.b.CreateAdd(dst, i), value, lanes);
  });
  emit_loop(e, full, span.hi, e.i64(1), "rest", [&](llvm::Value* i) {
    const Val value = load_element(e, *t.src, uniform(e.b.CreateAdd(src, i)));
    store_element(e, *t.dst, uniform(e.b.CreateAdd(dst, i)), uniform(convert_element(e, from, to, value.v)));
  });
}

}  // namespace plait::cpu
