#include "emit/cpu/libm_call.h"

#include <dlfcn.h>

#include <string>

#include "emit/cpu/vector_math.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace plait::cpu {

using llvm::FixedVectorType;
using llvm::IRBuilderBase;
using llvm::SmallVector;
using llvm::Type;
using llvm::Value;

namespace {

/// A pure function `type(type, …)` of the module.
llvm::FunctionCallee declare(IRBuilderBase& b, llvm::StringRef name, Type* type, std::size_t arity) {
  const SmallVector<Type*, 2> params(arity, type);
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, llvm::FunctionType::get(type, params, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setMemoryEffects(llvm::MemoryEffects::none());
  }
  return callee;
}

/// Name by the x86-64 vector function ABI: the instruction set follows from the width.
std::string vector_name(llvm::StringRef scalar_name, unsigned bits, unsigned lanes, std::size_t arity) {
  const char isa = bits == 512 ? 'e' : bits == 256 ? 'd' : 'b';
  return std::string("_ZGV") + isa + "N" + std::to_string(lanes) + std::string(arity, 'v') + "_" + scalar_name.str();
}

/// `count` lanes of `value` from `begin` on, repeated to fill `width` lanes.
Value* take_lanes(IRBuilderBase& b, Value* value, unsigned begin, unsigned count, unsigned width) {
  SmallVector<int, 16> mask;
  for (unsigned i = 0; i < width; ++i) mask.push_back(static_cast<int>(begin + i % count));
  return b.CreateShuffleVector(value, mask);
}

/// Lanes [begin, begin + count) of `result` replaced by the first lanes of `part`.
Value* put_lanes(IRBuilderBase& b, Value* result, unsigned lanes, Value* part, unsigned begin, unsigned count,
                 unsigned width) {
  SmallVector<int, 64> widen;
  SmallVector<int, 64> blend;
  for (unsigned i = 0; i < lanes; ++i) {
    widen.push_back(i < width ? static_cast<int>(i) : -1);
    const bool replaced = i >= begin && i < begin + count;
    blend.push_back(static_cast<int>(replaced ? lanes + i - begin : i));
  }
  Value* wide = width == lanes ? part : b.CreateShuffleVector(part, widen);
  return b.CreateShuffleVector(result, wide, blend);
}

Value* call_lane_by_lane(IRBuilderBase& b, llvm::StringRef name, llvm::ArrayRef<Value*> args, unsigned lanes) {
  Type* type = args[0]->getType();
  const llvm::FunctionCallee callee = declare(b, name, type->getScalarType(), args.size());
  Value* result = llvm::PoisonValue::get(type);
  for (unsigned i = 0; i < lanes; ++i) {
    SmallVector<Value*, 2> lane;
    for (Value* arg : args) lane.push_back(b.CreateExtractElement(arg, i));
    result = b.CreateInsertElement(result, b.CreateCall(callee, lane), i);
  }
  return result;
}

/// The narrowest register that holds all lanes, or the widest there is.
unsigned call_width(const VectorTarget& target, unsigned lanes, unsigned element_bits) {
  unsigned bits = 128;
  while (bits < static_cast<unsigned>(target.vector_bits) && bits / element_bits < lanes) bits *= 2;
  return bits;
}

Value* call_vector(IRBuilderBase& b, const VectorTarget& target, llvm::StringRef name, llvm::ArrayRef<Value*> args,
                   unsigned lanes) {
  Type* scalar = args[0]->getType()->getScalarType();
  const unsigned bits = call_width(target, lanes, scalar->getScalarSizeInBits());
  const unsigned width = bits / scalar->getScalarSizeInBits();
  const llvm::FunctionCallee callee =
      declare(b, vector_name(name, bits, width, args.size()), FixedVectorType::get(scalar, width), args.size());
  if (width == lanes) return b.CreateCall(callee, args);
  Value* result = llvm::PoisonValue::get(args[0]->getType());
  for (unsigned begin = 0; begin < lanes; begin += width) {
    const unsigned count = std::min(width, lanes - begin);
    SmallVector<Value*, 2> part;
    for (Value* arg : args) part.push_back(take_lanes(b, arg, begin, count, width));
    Value* value = b.CreateCall(callee, part);
    if (width > lanes) return take_lanes(b, value, 0, lanes, lanes);
    result = put_lanes(b, result, lanes, value, begin, count, width);
  }
  return result;
}

void* vector_libm() {
  static void* const handle = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

void* scalar_libm() {
  static void* const handle = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

}  // namespace

Value* call_libm(IRBuilderBase& builder, const VectorTarget& target, llvm::StringRef name,
                 llvm::ArrayRef<Value*> args) {
  Type* type = args[0]->getType();
  const std::string scalar_name = name.str() + (type->getScalarType()->isFloatTy() ? "f" : "");
  const auto* vector = llvm::dyn_cast<FixedVectorType>(type);
  if (vector == nullptr) return builder.CreateCall(declare(builder, scalar_name, type, args.size()), args);
  if (target.vector_libm) return call_vector(builder, target, scalar_name, args, vector->getNumElements());
  return call_lane_by_lane(builder, scalar_name, args, vector->getNumElements());
}

void* math_symbol(llvm::StringRef name) {
  const std::string symbol = name.str();
  void* handle = name.starts_with("_ZGV") ? vector_libm() : scalar_libm();
  return handle == nullptr ? nullptr : dlsym(handle, symbol.c_str());
}

bool have_vector_libm() { return math_symbol("_ZGVbN4v_erff") != nullptr; }

}  // namespace plait::cpu
