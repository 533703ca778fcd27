#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace plait::bundle {

/// The first lines of a bundle's header, by which its folder is known again, with the names of all its files.
std::string mark_of(const std::string& name, const std::vector<std::string>& files);
/// The files that a header names; empty where it is none of a bundle of that name.
std::vector<std::string> marked_files(const std::string& header, const std::string& name);

/// What is wrong with writing a bundle of this name there, before anything is compiled: the folder holds what is not an
/// earlier bundle's.
Diagnostics check_folder(const std::string& folder, const std::string& name);

/// Puts the files there, in place of those of an earlier bundle: together or not at all.
struct NamedFile {
  std::string name;
  std::string_view content;
};
Diagnostics replace_folder(const std::string& folder, const std::string& name, const std::vector<NamedFile>& files);

}  // namespace plait::bundle
