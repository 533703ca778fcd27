#include "emit/cpu/jit.h"

#include <atomic>

#include "emit/cpu/print.h"
#include "emit/cpu/vector_math.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "support/diagnostic.h"

namespace plait::cpu {
namespace {

namespace orc = llvm::orc;

std::string text(llvm::Error error) { return llvm::toString(std::move(error)); }

/// Functions that emitted code may call: plait's own, those of libm and libmvec, and whatever else the process has
/// (memcpy, memset).
class Symbols : public orc::DefinitionGenerator {
 public:
  llvm::Error tryToGenerate(orc::LookupState&, orc::LookupKind, orc::JITDylib& library, orc::JITDylibLookupFlags,
                            const orc::SymbolLookupSet& wanted) override {
    orc::SymbolMap found;
    for (const auto& [name, flags] : wanted) {
      if (void* address = address_of(*name))
        found[name] = {orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    return found.empty() ? llvm::Error::success() : library.define(orc::absoluteSymbols(std::move(found)));
  }

 private:
  static void* address_of(llvm::StringRef name) {
    if (name == "plait_cpu_print") return reinterpret_cast<void*>(&print_line);
    if (void* address = math_symbol(name)) return address;
    return llvm::sys::DynamicLibrary::SearchForAddressOfSymbol(name.str());
  }
};

/// The process has one; it is never destroyed, since kernels may be released while the process ends.
orc::LLJIT& jit() {
  static orc::LLJIT* const instance = [] {
    llvm::sys::DynamicLibrary::LoadLibraryPermanently(nullptr);
    auto made =
        orc::LLJITBuilder().setPlatformSetUp(orc::setUpInactivePlatform).setLinkProcessSymbolsByDefault(false).create();
    PLAIT_ASSERT(!!made, "the JIT does not start: " + text(made.takeError()));
    return made->release();
  }();
  return *instance;
}

}  // namespace

Loaded load_object(const std::string& object, const std::string& symbol) {
  static std::atomic<std::uint64_t> counter = 0;
  orc::LLJIT& machine = jit();
  const std::string name = "kernel" + std::to_string(counter++);
  auto library = machine.createJITDylib(name);
  PLAIT_ASSERT(!!library, "no library for a kernel: " + text(library.takeError()));
  library->addGenerator(std::make_unique<Symbols>());
  std::shared_ptr<void> owner(&*library, [](void* dead) {
    llvm::consumeError(jit().getExecutionSession().removeJITDylib(*static_cast<orc::JITDylib*>(dead)));
  });
  auto file = llvm::MemoryBuffer::getMemBufferCopy(object, name);
  if (auto error = machine.addObjectFile(*library, std::move(file)))
    throw InternalError("a kernel's object is not accepted: " + text(std::move(error)));
  auto found = machine.lookup(*library, symbol);
  PLAIT_ASSERT(!!found, "a kernel does not link: " + text(found.takeError()));
  return {found->toPtr<void*>(), std::move(owner)};
}

}  // namespace plait::cpu
