#pragma once

#include "jit/jit.h"
#include "store/code_file.h"

namespace plait::jit {

/// A compiled kernel as a file of the folder. Places in `request.source` are kept, others are unknown in it.
store::CodeFile to_file(const store::CodeName& name, const Request& request, const Compiled& compiled);

/// The kernel again, at its places in `source`; nothing for a file that was not written by to_file.
std::optional<Compiled> from_file(const store::CodeFile& file, const SourceRef& source);

}  // namespace plait::jit
