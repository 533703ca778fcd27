#include "unit/cpu_micro/jit.h"

#include <chrono>

#include "emit/cpu/optimize.h"
#include "emit/cpu/vector_math.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "support/diagnostic.h"

namespace plait::cpu::test {
namespace {

template <typename T>
T must(llvm::Expected<T> value) {
  if (!value) throw InternalError(llvm::toString(value.takeError()));
  return std::move(*value);
}
void must(llvm::Error error) {
  if (error) throw InternalError(llvm::toString(std::move(error)));
}

llvm::orc::JITTargetMachineBuilder machine_builder(const Machine& machine) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::orc::JITTargetMachineBuilder builder = must(llvm::orc::JITTargetMachineBuilder::detectHost());
  if (!machine.cpu.empty()) {
    builder.setCPU(machine.cpu);
    builder.getFeatures() = llvm::SubtargetFeatures(machine.features);
  }
  builder.setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  return builder;
}

std::unique_ptr<llvm::Module> build(llvm::LLVMContext& context, llvm::TargetMachine& tm, unsigned pointers,
                                    const Jit::Body& body, const VectorTarget& target) {
  auto module = std::make_unique<llvm::Module>("test", context);
  module->setTargetTriple(tm.getTargetTriple());
  module->setDataLayout(tm.createDataLayout());
  const std::vector<llvm::Type*> params(pointers, llvm::PointerType::getUnqual(context));
  auto* type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), params, false);
  auto* function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "f", *module);
  function->addFnAttr("target-cpu", tm.getTargetCPU());
  function->addFnAttr("target-features", tm.getTargetFeatureString());
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(context, "entry", function));
  std::vector<llvm::Value*> args;
  for (llvm::Argument& argument : function->args()) args.push_back(&argument);
  body(b, target, args);
  b.CreateRetVoid();
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (llvm::verifyModule(*module, &stream)) throw InternalError(error);
  return module;
}

/// Resolves what emitted code calls through math_symbol.
class MathSymbols : public llvm::orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(llvm::orc::LookupState&, llvm::orc::LookupKind, llvm::orc::JITDylib& dylib,
                            llvm::orc::JITDylibLookupFlags, const llvm::orc::SymbolLookupSet& symbols) override {
    llvm::orc::SymbolMap found;
    for (const auto& [name, flags] : symbols) {
      void* address = math_symbol(*name);
      if (address != nullptr) found[name] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    return found.empty() ? llvm::Error::success() : dylib.define(llvm::orc::absoluteSymbols(std::move(found)));
  }
};

}  // namespace

VectorTarget Jit::target(const Machine& machine) {
  const llvm::orc::JITTargetMachineBuilder builder = machine_builder(machine);
  VectorTarget target =
      vector_target(builder.getTargetTriple().str(), builder.getCPU(), builder.getFeatures().getString());
  target.vector_libm = machine.vector_libm;
  if (machine.vector_bits != 0) target.vector_bits = machine.vector_bits;
  if (machine.vector_bits == 512) target.registers = 32;
  return target;
}

Jit::Jit(unsigned pointers, const Body& body, Machine machine) {
  llvm::orc::JITTargetMachineBuilder builder = machine_builder(machine);
  const std::unique_ptr<llvm::TargetMachine> tm = must(builder.createTargetMachine());
  jit_ = must(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(builder).create());
  jit_->getMainJITDylib().addGenerator(std::make_unique<MathSymbols>());
  const auto start = std::chrono::steady_clock::now();
  auto context = std::make_unique<llvm::LLVMContext>();
  std::unique_ptr<llvm::Module> module = build(*context, *tm, pointers, body, target(machine));
  optimize(*module, *tm);
  must(jit_->addIRModule(llvm::orc::ThreadSafeModule(std::move(module), std::move(context))));
  address_ = must(jit_->lookup("f")).toPtr<void*>();
  compile_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

Jit::~Jit() = default;

std::string Jit::assembly(unsigned pointers, const Body& body, Machine machine) {
  llvm::orc::JITTargetMachineBuilder builder = machine_builder(machine);
  const std::unique_ptr<llvm::TargetMachine> tm = must(builder.createTargetMachine());
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module = build(context, *tm, pointers, body, target(machine));
  optimize(*module, *tm);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if (tm->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw InternalError("no assembly");
  passes.run(*module);
  return std::string(text);
}

}  // namespace plait::cpu::test
