#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "syntax/tree.h"

namespace {

using plait::Result;
using plait::syntax::File;

Result<File> parse(std::string text) {
  return plait::syntax::parse(std::make_shared<const plait::SourceFile>("fuzz.tile", std::move(text)));
}

[[noreturn]] void broken(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

/// Any bytes parse or give errors with a place; what parses is the same text after formatting it once and twice.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  Result<File> file = parse(text);
  if (!file) {
    if (!file.diagnostics().has_errors()) broken("refused without an error", text);
    for (const plait::Diagnostic& d : file.diagnostics().list()) {
      if (!d.loc.known() || d.message.empty()) broken("an error without a place or a message", text);
    }
    file.diagnostics().render();
    return 0;
  }
  std::string once = plait::syntax::format(*file);
  Result<File> again = parse(once);
  if (!again) broken("the formatted text does not parse", once);
  if (plait::syntax::format(*again) != once) broken("formatting is not idempotent", once);
  return 0;
}
