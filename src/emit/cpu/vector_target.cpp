#include "emit/cpu/vector_target.h"

#include <memory>
#include <mutex>
#include <string>

#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"

namespace plait::cpu {
namespace {

VectorTarget from_subtarget(const llvm::MCSubtargetInfo& info) {
  VectorTarget target;
  const bool avx512 = info.checkFeatures("+avx512f,+avx512vl,+avx512bw,+avx512dq");
  const bool avx2 = info.checkFeatures("+avx2");
  target.registers = avx512 ? 32 : 16;
  target.vector_bits = avx512 ? 512 : avx2 ? 256 : 128;
  target.fma = info.checkFeatures("+fma");
  target.f16c = info.checkFeatures("+f16c");
  return target;
}

}  // namespace

VectorTarget vector_target(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef features) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86TargetMC();
  });
  const llvm::Triple parsed(triple);
  if (parsed.getArch() != llvm::Triple::x86_64) return {};
  std::string error;
  const llvm::Target* backend = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (backend == nullptr) return {};
  const std::unique_ptr<llvm::MCSubtargetInfo> info(backend->createMCSubtargetInfo(parsed, cpu, features));
  return info == nullptr ? VectorTarget{} : from_subtarget(*info);
}

}  // namespace plait::cpu
