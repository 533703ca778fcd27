#pragma once

#include <string>

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace plait::cpu {

/// Runs the passes that emitted code is made for, and chooses how hard the back end works. Vector code is emitted as
/// such, so LLVM's vectorisers stay out. A module beyond reason gets little of either, so that it compiles in seconds;
/// then false.
bool optimize(llvm::Module& module, llvm::TargetMachine& machine);

enum class FileKind { assembly, object };
/// Assembly text or an object file of the module.
std::string generate(llvm::Module& module, llvm::TargetMachine& machine, FileKind kind);

}  // namespace plait::cpu
