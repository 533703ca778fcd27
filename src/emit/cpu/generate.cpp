#include "emit/cpu/optimize.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "support/diagnostic.h"

namespace plait::cpu {

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, FileKind kind) {
  llvm::SmallString<0> file;
  llvm::raw_svector_ostream stream(file);
  llvm::legacy::PassManager passes;
  const auto type = kind == FileKind::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  const bool refused = machine.addPassesToEmitFile(passes, stream, nullptr, type);
  PLAIT_ASSERT(!refused, "LLVM cannot write this kind of file");
  passes.run(module);
  return std::string(file.begin(), file.end());
}

}  // namespace plait::cpu
