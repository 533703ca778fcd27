#include "unit/cpu_micro/map.h"

#include <algorithm>

namespace plait::cpu::test {
namespace {

using llvm::BasicBlock;
using llvm::IRBuilder;
using llvm::Value;

/// `out[f * count + i] = f(in[i])` for all i, `lanes` at a time.
void emit_map(IRBuilder<>& b, const VectorTarget& target, const std::vector<Value*>& args, unsigned in_bits,
              unsigned lanes, const std::vector<Map::Emit>& functions) {
  llvm::Type* word = b.getInt64Ty();
  llvm::Type* words = lanes == 0 ? word : llvm::FixedVectorType::get(word, lanes);
  Value* count = b.CreateLoad(word, args[2]);
  BasicBlock* before = b.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(b.getContext(), "loop", before->getParent());
  b.CreateBr(loop);
  b.SetInsertPoint(loop);
  llvm::PHINode* index = b.CreatePHI(word, 2);
  index->addIncoming(b.getInt64(0), before);
  Value* in = b.CreateAlignedLoad(words, b.CreateGEP(word, args[0], index), llvm::Align(8));
  Value* narrow = b.CreateTrunc(in, words->getWithNewBitWidth(in_bits));
  Value* place = index;
  for (const Map::Emit& emit : functions) {
    Value* out = b.CreateZExt(emit(b, target, narrow), words);
    b.CreateAlignedStore(out, b.CreateGEP(word, args[1], place), llvm::Align(8));
    place = b.CreateAdd(place, count);
  }
  Value* next = b.CreateAdd(index, b.getInt64(std::max(lanes, 1U)));
  index->addIncoming(next, b.GetInsertBlock());
  BasicBlock* done = BasicBlock::Create(b.getContext(), "done", before->getParent());
  b.CreateCondBr(b.CreateICmpULT(next, count), loop, done);
  b.SetInsertPoint(done);
}

}  // namespace

Map::Map(unsigned in_bits, unsigned lanes, const std::vector<Emit>& functions, Machine machine)
    : lanes_(std::max(lanes, 1U)),
      functions_(functions.size()),
      jit_(
          3,
          [&](IRBuilder<>& b, const VectorTarget& target, std::vector<Value*> args) {
            emit_map(b, target, args, in_bits, lanes, functions);
          },
          std::move(machine)) {}

std::vector<std::vector<std::uint64_t>> Map::operator()(std::vector<std::uint64_t> in) const {
  const std::size_t count = in.size();
  std::uint64_t padded = (count + lanes_ - 1) / lanes_ * lanes_;
  in.resize(padded);
  std::vector<std::uint64_t> out(padded * functions_);
  jit_(in.data(), out.data(), &padded);
  std::vector<std::vector<std::uint64_t>> results;
  for (std::size_t f = 0; f < functions_; ++f) {
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(f * padded);
    results.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return results;
}

}  // namespace plait::cpu::test
