#pragma once

#include <string>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace plait::cpu {

/// Runs the passes that emitted code is made for. Vector code is emitted as such, so LLVM's vectorisers stay out.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);

enum class FileKind { assembly, object };
/// Assembly text or an object file of the module.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, FileKind kind);

}  // namespace plait::cpu
