#include "support/jit.h"

#include <cstdlib>
#include <string_view>

namespace plait {
namespace {

std::string_view setting() {
  const char* value = std::getenv("PLAIT_JIT");
  return value != nullptr ? value : "";
}

}  // namespace

bool jit_is_forbidden() { return setting() == "forbid"; }

Diagnostics check_jit(const std::string& what, const Loc& loc, const std::string& fix) {
  Diagnostics found;
  if (jit_is_forbidden()) {
    found.error(Rule::jit_forbidden, loc, what + " is not compiled: PLAIT_JIT=forbid", fix);
  } else if (!setting().empty() && setting() != "allow") {
    found.error(Rule::jit_setting, {}, "PLAIT_JIT is '" + std::string(setting()) + "'");
  }
  return found;
}

}  // namespace plait
