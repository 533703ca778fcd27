#include "emit/cpu/optimize.h"

#include "llvm-c/Transforms/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "support/diagnostic.h"

namespace plait::cpu {
namespace {

/// Some passes take time that grows faster than the program. Straight code of this length has no loops worth it.
constexpr unsigned large_module = 60'000;

// Named, not built from classes: LLVM's headers of passes would take this file ten times as long to compile.
constexpr const char* few_passes = "function(early-cse)";
constexpr const char* all_passes =
    "function(sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine,loop-mssa(licm),gvn,instcombine,simplifycfg)";

}  // namespace

bool optimize(llvm::Module& module, llvm::TargetMachine& machine) {
  const bool large = module.getInstructionCount() > large_module;
  machine.setOptLevel(large ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(llvm::wrap(&module), large ? few_passes : all_passes,
                                     reinterpret_cast<LLVMTargetMachineRef>(&machine), options);
  LLVMDisposePassBuilderOptions(options);
  if (error != nullptr) {
    char* text = LLVMGetErrorMessage(error);
    std::string what = text;
    LLVMDisposeErrorMessage(text);
    PLAIT_ASSERT(false, "the passes do not run: " + what);
  }
  return !large;
}

}  // namespace plait::cpu
