#pragma once

#include <memory>
#include <string>

#include "emit/cpu/cpu.h"
#include "emit/cpu/vector_target.h"

namespace llvm {
class TargetMachine;
}

namespace plait::cpu {

/// The processor code is made for.
struct Machine {
  std::string triple, cpu, features;
  VectorTarget vectors;
};
/// This machine, or the one that the options name. Diagnoses an unknown processor.
Result<Machine> machine_of(const Options& options);
/// Makes an LLVM back end. Not thread-safe to use; each thread keeps its own.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine);

}  // namespace plait::cpu
