#pragma once

#include <optional>

#include "store/code_file.h"

namespace plait::store {

/// Where compiled code lies: the folder that PLAIT_CACHE names; else plait/code in XDG_CACHE_HOME, else in ~/.cache.
/// Empty: nowhere, which PLAIT_CACHE=none says, and where there is no home.
std::string default_code_folder();

/// A place that names a file as a whole.
Loc file_place(const std::string& path);

/// Compiled code of GPU kernels between runs: one file a kernel, in folders by the first digits of its name, so that
/// any tool can look at it, copy and remove it. Files appear whole or not at all, are never changed, and are checked
/// when they are read: any number of processes may use a folder at once. Never an error of whoever needs a kernel: what
/// cannot be read is not there, what cannot be written is not kept, each with a warning, told once a process.
class CodeFolder {
 public:
  /// No path: nothing is found, nothing is kept.
  explicit CodeFolder(std::string path = default_code_folder()) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool is_off() const { return path_.empty(); }
  /// Where a file of this name lies.
  std::string path_of(const CodeName& name) const;

  struct Found {
    std::optional<CodeFile> file;
    Diagnostics warnings;
  };
  Found find(const CodeName& name) const;
  /// The newest of the key, whatever its variant.
  Found find_any(const std::string& key) const;
  /// Takes the place of one that is there already.
  Diagnostics put(const CodeFile& file) const;
  /// The same of a packed file, as an error where it cannot be written.
  Diagnostics put_packed(const CodeName& name, const std::string& bytes) const;

  struct Listed {
    std::string path;
    std::int64_t bytes = 0;
    std::int64_t seconds = 0;      ///< when it was written, since 1970
    std::optional<CodeName> name;  ///< nothing: it is none of ours
    bool is_part = false;          ///< what a process writes, or has left behind
  };
  /// All files that lie there, by name; an error where the folder cannot be read. A folder that is not there is empty.
  Result<std::vector<Listed>> list() const;
  /// The whole text of a file.
  static Result<std::string> read(const std::string& path);
  /// Its first bytes.
  static Result<std::string> read(const std::string& path, std::int64_t bytes);
  static Diagnostics remove(const std::string& path);

 private:
  std::string folder_of(const std::string& key) const;
  Found read_entry(const std::string& path, const CodeName& name) const;

  std::string path_;
};

/// Writes a file beside its place, to the disk, and moves it there: it appears whole or not at all. Makes the folders
/// that it lies in. Gives 0, or the number of the system's error.
int write_whole(const std::string& path, std::string_view bytes);

}  // namespace plait::store
