// Any text that parses is elaborated, verified and printed: no crash, and what is printed means the same kernel.
#include <cstddef>
#include <cstdint>
#include <string>

#include "lang/elaborate.h"
#include "syntax/tree.h"
#include "verify/verify.h"

namespace {

using namespace plait;

void check(const syntax::File& file, const std::string& name) {
  Result<ir::Kernel> kernel = lang::elaborate(file, name, {});
  if (!kernel.ok()) return;
  if (verify::verify(*kernel).has_errors()) return;
  auto printed = syntax::parse(std::make_shared<SourceFile>("printed", ir::print(*kernel)));
  PLAIT_ASSERT(printed.ok(), "a printed kernel does not parse:\n" + printed.diagnostics().render());
  Result<ir::Kernel> again = lang::elaborate(*printed, name, {});
  PLAIT_ASSERT(again.ok(), "a printed kernel does not elaborate:\n" + again.diagnostics().render());
  PLAIT_ASSERT(ir::equal(*kernel, *again), "a printed kernel means another one");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto source = std::make_shared<SourceFile>("input", std::string(reinterpret_cast<const char*>(data), size));
  auto file = syntax::parse(source);
  if (!file.ok()) return 0;
  for (const std::string& name : lang::kernel_names(*file)) check(*file, name);
  return 0;
}
