#include "emit/cpu/cpu.h"

#include "emit/cpu/block.h"
#include "emit/cpu/entry.h"
#include "emit/cpu/jit.h"
#include "emit/cpu/optimize.h"
#include "emit/cpu/target.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "support/jit.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

/// The calling thread's back end for a machine; making one costs more than compiling a small kernel.
llvm::TargetMachine& target_machine(const Machine& machine) {
  thread_local std::string made_for;
  thread_local std::unique_ptr<llvm::TargetMachine> made;
  const std::string key = machine.triple + '\n' + machine.cpu + '\n' + machine.features;
  if (made == nullptr || made_for != key) {
    made = make_target_machine(machine);
    made_for = key;
  }
  return *made;
}

std::unique_ptr<llvm::Module> make_module(llvm::LLVMContext& context, const ir::Kernel& kernel,
                                          llvm::TargetMachine& target) {
  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setDataLayout(target.createDataLayout());
  module->setTargetTriple(target.getTargetTriple());
  return module;
}

}  // namespace

namespace {

/// The module of an object file, optimised.
Result<std::unique_ptr<llvm::Module>> make_library(llvm::LLVMContext& context, const ir::Kernel& kernel,
                                                   const Options& options, BlockFacts& facts) {
  if (Diagnostics bad_name = check_c_name(kernel); bad_name.has_errors()) return bad_name;
  auto machine = machine_of(options);
  if (!machine.ok()) return machine.diagnostics();
  if (Diagnostics too_large = check_limits(kernel, machine->vectors); too_large.has_errors()) return too_large;
  llvm::TargetMachine& target = target_machine(*machine);
  auto module = make_module(context, kernel, target);
  facts = emit_library(*module, kernel, options, machine->vectors);
  optimize(*module, target);
  return module;
}

}  // namespace

Result<std::string> emit(const ir::Kernel& kernel, EmitKind kind, const Options& options) {
  llvm::LLVMContext context;
  BlockFacts facts;
  auto module = make_library(context, kernel, options, facts);
  if (!module.ok()) return module.diagnostics();
  if (kind == EmitKind::llvm) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << **module;
    return text;
  }
  auto machine = machine_of(options);
  if (!machine.ok()) return machine.diagnostics();
  return generate(**module, target_machine(*machine), kind == EmitKind::object ? FileKind::object : FileKind::assembly);
}

Result<std::string> emit_header(const ir::Kernel& kernel, const Options& options) {
  if (Diagnostics bad_name = check_c_name(kernel); bad_name.has_errors()) return bad_name;
  auto machine = machine_of(options);
  if (!machine.ok()) return machine.diagnostics();
  if (Diagnostics too_large = check_limits(kernel, machine->vectors); too_large.has_errors()) return too_large;
  llvm::LLVMContext context;
  const auto module = make_module(context, kernel, target_machine(*machine));
  return c_header(kernel, emit_library(*module, kernel, options, machine->vectors));
}

Result<Code> compile(const ir::Kernel& kernel, const Options& options) {
  Diagnostics forbidden =
      check_jit(kernel.name, kernel.loc, "link what `plait compile --emit object` makes, or unset PLAIT_JIT");
  if (forbidden.has_errors()) return forbidden;
  auto machine = machine_of(options);
  if (!machine.ok()) return machine.diagnostics();
  if (Diagnostics too_large = check_limits(kernel, machine->vectors); too_large.has_errors()) return too_large;
  llvm::TargetMachine& target = target_machine(*machine);
  llvm::LLVMContext context;
  const auto module = make_module(context, kernel, target);
  BlockFacts facts = emit_block(*module, kernel, options, machine->vectors, "plait_block", false);
  if (!optimize(*module, target))
    facts.slow_paths.push_back({kernel.loc, "the kernel is so long that its code is hardly optimised"});
  Loaded loaded = load_object(generate(*module, target, FileKind::object), "plait_block");
  Code code;
  code.block = reinterpret_cast<BlockFn>(loaded.address);
  code.scratch_bytes = facts.scratch_bytes;
  code.largest_buffer = largest_buffer(kernel);
  code.traps = std::move(facts.traps);
  code.slow_paths = std::move(facts.slow_paths);
  code.owner = std::move(loaded.owner);
  return code;
}

}  // namespace plait::cpu
