#include "emit/cpu/gemm_ir.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Module.h"

namespace plait::cpu {

using llvm::BasicBlock;
using llvm::Function;
using llvm::IRBuilder;
using llvm::SmallVector;
using llvm::Type;
using llvm::Value;

namespace {

Type* memory_type(llvm::LLVMContext& context, GemmElement element) {
  switch (element) {
    case GemmElement::f32:
      return Type::getFloatTy(context);
    case GemmElement::f64:
      return Type::getDoubleTy(context);
    case GemmElement::i8:
    case GemmElement::u8:
      return Type::getInt8Ty(context);
    case GemmElement::i32:
      return Type::getInt32Ty(context);
  }
  return nullptr;
}

void copy_target_attributes(Function* like, Function* function, const VectorTarget& target) {
  for (const char* name : {"target-cpu", "target-features", "tune-cpu", "frame-pointer"}) {
    const llvm::Attribute attribute = like->getFnAttribute(name);
    if (attribute.isValid()) function->addFnAttr(attribute);
  }
  const std::string width = std::to_string(target.vector_bits);
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
}

Value* lane_mask(IRBuilder<>& b, int lanes, int valid) {
  SmallVector<llvm::Constant*, 16> mask;
  for (int i = 0; i < lanes; ++i) mask.push_back(b.getInt1(i < valid));
  return llvm::ConstantVector::get(mask);
}

llvm::Align element_align(Type* vector) { return llvm::Align(vector->getScalarSizeInBits() / 8); }

}  // namespace

GemmTypes::GemmTypes(llvm::LLVMContext& context, const GemmPlan& plan)
    : memory(memory_type(context, plan.shape.element)),
      packed(plan.widens() ? Type::getInt32Ty(context) : memory),
      vector(llvm::FixedVectorType::get(packed, static_cast<unsigned>(plan.lanes))) {}

Function* internal_function(Function* like, const VectorTarget& target, const std::string& name, unsigned pointers,
                            const std::function<void(IRBuilder<>&, Function*)>& body) {
  llvm::Module& module = *like->getParent();
  if (Function* known = module.getFunction(name)) return known;
  llvm::LLVMContext& context = module.getContext();
  const SmallVector<Type*, 4> params(pointers, llvm::PointerType::getUnqual(context));
  auto* type = llvm::FunctionType::get(Type::getVoidTy(context), params, false);
  Function* function = Function::Create(type, Function::InternalLinkage, name, module);
  copy_target_attributes(like, function, target);
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument& argument : function->args()) argument.addAttr(llvm::Attribute::NoAlias);
  IRBuilder<> b(BasicBlock::Create(context, "entry", function));
  body(b, function);
  b.CreateRetVoid();
  return function;
}

void keep_loop(llvm::Instruction* back_edge) {
  llvm::LLVMContext& context = back_edge->getContext();
  const auto flag = [&](const char* name) { return llvm::MDNode::get(context, llvm::MDString::get(context, name)); };
  auto* off = llvm::ConstantAsMetadata::get(llvm::ConstantInt::getFalse(context));
  auto* no_vectors = llvm::MDNode::get(context, {llvm::MDString::get(context, "llvm.loop.vectorize.enable"), off});
  llvm::MDNode* id = llvm::MDNode::getDistinct(context, {nullptr, flag("llvm.loop.unroll.disable"), no_vectors});
  id->replaceOperandWith(0, id);
  back_edge->setMetadata(llvm::LLVMContext::MD_loop, id);
}

void counted_loop(IRBuilder<>& b, std::int64_t count, const std::function<void(Value*)>& body) {
  if (count <= 0) return;
  if (count == 1) return body(b.getInt64(0));
  Function* function = b.GetInsertBlock()->getParent();
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(b.getContext(), "loop", function);
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(b.getInt64Ty(), 2, "i");
  index->addIncoming(b.getInt64(0), before);
  body(index);
  Value* next = b.CreateNUWAdd(index, b.getInt64(1));
  index->addIncoming(next, b.GetInsertBlock());
  BasicBlock* done = BasicBlock::Create(b.getContext(), "done", function);
  keep_loop(b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(static_cast<std::uint64_t>(count))), loop, done));
  b.SetInsertPoint(done);
}

Value* element_at(IRBuilder<>& b, Type* type, Value* base, Value* index, std::int64_t offset) {
  return element_at(b, type, b.CreateInBoundsGEP(type, base, index), offset);
}

Value* element_at(IRBuilder<>& b, Type* type, Value* base, std::int64_t offset) {
  return offset == 0 ? base : b.CreateInBoundsGEP(type, base, b.getInt64(static_cast<std::uint64_t>(offset)));
}

Value* load_lanes(IRBuilder<>& b, Type* element, int lanes, Value* address, int valid) {
  auto* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  if (valid == 0 || valid == lanes) return b.CreateAlignedLoad(type, address, element_align(type));
  return b.CreateMaskedLoad(type, address, element_align(type), lane_mask(b, lanes, valid),
                            llvm::Constant::getNullValue(type));
}

void store_lanes(IRBuilder<>& b, Value* value, Value* address, int valid) {
  const int lanes = static_cast<int>(llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements());
  if (valid == 0 || valid == lanes) {
    b.CreateAlignedStore(value, address, element_align(value->getType()));
  } else {
    b.CreateMaskedStore(value, address, element_align(value->getType()), lane_mask(b, lanes, valid));
  }
}

Value* widen(IRBuilder<>& b, const GemmPlan& plan, Value* value) {
  if (!plan.widens()) return value;
  Type* type = value->getType()->getWithNewType(b.getInt32Ty());
  return plan.shape.element == GemmElement::u8 ? b.CreateZExt(value, type) : b.CreateSExt(value, type);
}

}  // namespace plait::cpu
