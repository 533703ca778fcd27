#pragma once

#include <string>

namespace plait::store {

/// Names this version of plait by its number and its sources: what another one planned or compiled may differ. The CLI
/// and the library of one build have the same.
const std::string& build();

extern const char* const sources_digest;  ///< 16 hexadecimal digits

}  // namespace plait::store
