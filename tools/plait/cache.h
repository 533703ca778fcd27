#pragma once

#include "command.h"
#include "store/code_folder.h"

namespace plait::cli {

/// The folder of a command of `plait cache`, where --folder does not name another. Throws a UsageError where there is
/// none.
store::CodeFolder cache_folder(const std::string& named);
void add_folder_flag(const Options& options, std::string& folder);

/// `412 KiB`
std::string memory_text(std::int64_t bytes);

/// `plait cache add`.
void add_cache_add(const CommandGroup& group, Command& command);

}  // namespace plait::cli
