#pragma once

#include "store/code_folder.h"

namespace plait::store {

/// Writes files of compiled code into one archive, a file of SQLite that appears whole or not at all. Those that are
/// damaged are left out, each with an error; an error, too, where the archive cannot be written.
struct Exported {
  std::int64_t count = 0, bytes = 0;
  Diagnostics errors;
};
Exported export_code(const std::vector<std::string>& files, const std::string& archive);

/// Takes the files of an archive over into a folder. Each is checked first: what is damaged, or goes by another name
/// than its own, is left out, with an error.
struct Imported {
  std::int64_t added = 0, known = 0;
  std::int64_t foreign = 0;  ///< of both, those of another version of plait, which serve that one alone
  Diagnostics errors;
};
Imported import_code(const std::string& archive, const CodeFolder& folder);

}  // namespace plait::store
