#include "emit/cpu/target.h"

#include <mutex>

#include "emit/cpu/vector_math.h"
#include "fmt/format.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

void initialize_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
  });
}

std::string host_features() {
  std::string list;
  for (const auto& feature : llvm::sys::getHostCPUFeatures()) {
    if (!list.empty()) list += ',';
    list += (feature.second ? "+" : "-") + feature.first().str();
  }
  return list;
}

const Machine& host() {
  static const Machine machine = [] {
    Machine m;
    m.triple = llvm::sys::getProcessTriple();
    m.cpu = llvm::sys::getHostCPUName().str();
    m.features = host_features();
    m.vectors = vector_target(m.triple, m.cpu, m.features);
    m.vectors.vector_libm = have_vector_libm();
    return m;
  }();
  return machine;
}

const llvm::Target& backend(const std::string& triple) {
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(llvm::Triple(triple), error);
  PLAIT_ASSERT(found != nullptr, "LLVM has no back end for this machine: " + error);
  return *found;
}

bool is_known(const Machine& host, const std::string& name) {
  const llvm::Triple triple(host.triple);
  const std::unique_ptr<llvm::MCSubtargetInfo> empty(backend(host.triple).createMCSubtargetInfo(triple, "", ""));
  return empty != nullptr && empty->isCPUStringValid(name);
}

}  // namespace

bool is_processor(const std::string& name) {
  initialize_llvm();
  return is_known(host(), name);
}

Result<Machine> machine_of(const Options& options) {
  initialize_llvm();
  if (options.cpu.empty()) return host();
  Machine machine = host();
  machine.cpu = options.cpu;
  machine.features = options.features;
  if (!is_known(machine, machine.cpu)) {
    Diagnostics diagnostics;
    diagnostics.error(Rule::unknown_device, {}, fmt::format("'{}' is not a processor that LLVM knows", machine.cpu),
                      "use a name that `llc -mcpu=help` lists, or leave it out for this machine");
    return diagnostics;
  }
  machine.vectors = vector_target(machine.triple, machine.cpu, machine.features);
  machine.vectors.vector_libm = have_vector_libm();
  return machine;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine) {
  llvm::TargetOptions options;
  std::unique_ptr<llvm::TargetMachine> made(backend(machine.triple)
                                                .createTargetMachine(llvm::Triple(machine.triple), machine.cpu,
                                                                     machine.features, options, llvm::Reloc::PIC_,
                                                                     std::nullopt, llvm::CodeGenOptLevel::Default));
  PLAIT_ASSERT(made != nullptr, "LLVM cannot make code for this machine");
  return made;
}

}  // namespace plait::cpu
