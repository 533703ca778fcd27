#pragma once

#include <string_view>

#include "support/result.h"

namespace plait::runtime {

/// A place that names a file as a whole.
Loc file_loc(const std::string& path);
/// That `what` cannot be done with a file, and why: `error` is the system's number of the cause.
Diagnostics file_failure(const std::string& path, std::string_view what, int error);

/// A regular file opened for reading. Directories, devices and pipes are refused by name.
class InputFile {
 public:
  static Result<InputFile> open(const std::string& path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  std::int64_t size() const { return size_; }
  /// Exactly `bytes` bytes from `offset` on.
  Diagnostics read(std::int64_t offset, void* to, std::int64_t bytes) const;
  /// At most `max_bytes` bytes from `offset` on, fewer at the end of the file.
  Result<std::string> read_text(std::int64_t offset, std::int64_t max_bytes) const;

 private:
  InputFile() = default;
  std::string path_;
  int fd_ = -1;
  std::int64_t size_ = 0;
};

/// The text of a program file, or of standard input for `-`; refused when larger than any program is (16 MiB).
Result<SourceRef> read_source(const std::string& path);

/// A file that appears whole or not at all: stage() writes it beside its final place, commit() moves it there; without
/// commit nothing remains. A device or a pipe is written at commit.
class StagedFile {
 public:
  /// What is wrong with a path before anything is written there.
  static Diagnostics check(const std::string& path);
  static Result<StagedFile> stage(const std::string& path, const std::vector<std::string_view>& parts);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&& other) noexcept;
  ~StagedFile();

  Diagnostics commit();
  /// Whether commit() only moves what is already written; false for a device or a pipe.
  bool is_regular() const { return !temporary_.empty(); }

  /// Removes what every staged file has written beside its place. For signal handlers of a process that is about to
  /// end: calls nothing that is not safe there.
  static void abandon_all();

 private:
  StagedFile() = default;
  int create_beside();
  void forget();
  std::string path_;       ///< as the user named it
  std::string target_;     ///< with links resolved
  std::string temporary_;  ///< empty for a device
  std::string pending_;    ///< what a device is still to be given
  int note_ = -1;          ///< number of the note that abandon_all() reads
};

/// Writes all of `text` to a file descriptor; false with errno set on failure.
bool write_all(int fd, std::string_view text);

}  // namespace plait::runtime
