#include "store/build.h"

#include <fmt/format.h>

#include "plait/plait.h"

namespace plait::store {

const std::string& build() {
  static const std::string name = fmt::format("plait {} {}", PLAIT_VERSION, sources_digest);
  return name;
}

}  // namespace plait::store
