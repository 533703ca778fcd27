#include "runtime/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

namespace plait::runtime {
namespace {

constexpr std::int64_t kMaxSource = std::int64_t{16} << 20;

Diagnostics refusal(const std::string& path, std::string message, std::string fix) {
  Diagnostics diags;
  diags.error(Rule::file_access, file_loc(path), std::move(message), std::move(fix));
  return diags;
}

/// Paths that a signal handler removes. Files beyond the last note, and paths that are too long, are not noted.
struct TemporaryNote {
  enum State { unused, writing, written };
  std::atomic<int> state = unused;
  char path[4096] = {};
};
TemporaryNote temporary_notes[32];

int note_temporary(const std::string& path) {
  if (path.size() >= sizeof(TemporaryNote::path)) return -1;
  for (std::size_t i = 0; i < std::size(temporary_notes); ++i) {
    TemporaryNote& note = temporary_notes[i];
    int expected = TemporaryNote::unused;
    if (!note.state.compare_exchange_strong(expected, TemporaryNote::writing)) continue;
    std::memcpy(note.path, path.c_str(), path.size() + 1);
    note.state = TemporaryNote::written;
    return static_cast<int>(i);
  }
  return -1;
}

/// Standard input to its end, or nullopt when there is more than a program has.
std::optional<std::string> read_standard_input() {
  std::string text;
  char part[65536];
  for (;;) {
    ssize_t n = ::read(STDIN_FILENO, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(part, static_cast<std::size_t>(n));
    if (static_cast<std::int64_t>(text.size()) > kMaxSource) return std::nullopt;
  }
}

}  // namespace

Diagnostics file_failure(const std::string& path, std::string_view what, int error) {
  Diagnostics diags;
  diags.error(Rule::file_access, file_loc(path), fmt::format("cannot {}: {}", what, std::strerror(error)));
  return diags;
}

Loc file_loc(const std::string& path) { return {std::make_shared<SourceFile>(path, ""), 0, 0, 1}; }

Result<InputFile> InputFile::open(const std::string& path) {
  if (path.find('\0') != std::string::npos)
    return refusal(path, "a path with a NUL byte names no file", "correct the path");
  InputFile file;
  file.path_ = path;
  // Not blocking, so that a pipe without a writer is refused rather than waited for.
  file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file.fd_ < 0) return file_failure(path, "open the file", errno);
  struct stat info{};
  if (::fstat(file.fd_, &info) != 0) return file_failure(path, "examine the file", errno);
  if (S_ISDIR(info.st_mode)) return refusal(path, "this is a directory, not a file", "name a file");
  if (!S_ISREG(info.st_mode))
    return refusal(path, "this is a device or a pipe, not a regular file", "save the data to a file first");
  file.size_ = info.st_size;
  return file;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

Diagnostics InputFile::read(std::int64_t offset, void* to, std::int64_t bytes) const {
  std::int64_t done = 0;
  while (done < bytes) {
    ssize_t n = ::pread(fd_, static_cast<char*>(to) + done, static_cast<std::size_t>(bytes - done), offset + done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_failure(path_, "read the file", errno);
    if (n == 0)
      return refusal(path_, "the file became shorter while it was read", "do not change the file during the run");
    done += n;
  }
  return {};
}

Result<std::string> InputFile::read_text(std::int64_t offset, std::int64_t max_bytes) const {
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - offset, 0, max_bytes)), '\0');
  Diagnostics diags = read(offset, text.data(), static_cast<std::int64_t>(text.size()));
  if (diags.has_errors()) return diags;
  return text;
}

Result<SourceRef> read_source(const std::string& path) {
  auto too_large = [&] {
    return refusal(path, fmt::format("a program has at most {} bytes", kMaxSource), "name a tile program");
  };
  if (path == "-") {
    auto text = read_standard_input();
    if (!text) return too_large();
    return SourceRef(std::make_shared<SourceFile>("<stdin>", std::move(*text)));
  }
  auto file = InputFile::open(path);
  if (!file) return file.diagnostics();
  if (file->size() > kMaxSource) return too_large();
  auto text = file->read_text(0, kMaxSource);
  if (!text) return text.diagnostics();
  return SourceRef(std::make_shared<SourceFile>(path, std::move(*text)));
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

Diagnostics StagedFile::check(const std::string& path) {
  if (path.empty() || path.find('\0') != std::string::npos)
    return refusal(path, "this is no path of a file", "correct the path");
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return refusal(path, "this is a directory, not a file", "name a file");
    if (S_ISREG(info.st_mode) && ::access(path.c_str(), W_OK) != 0) return file_failure(path, "write the file", errno);
    return {};
  }
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  bool good = ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0;
  return good ? Diagnostics() : file_failure(path, "create the file", errno);
}

Result<StagedFile> StagedFile::stage(const std::string& path, const std::vector<std::string_view>& parts) {
  if (Diagnostics found = check(path); found.has_errors()) return found;
  StagedFile staged;
  staged.path_ = path;
  std::error_code error;
  auto resolved = std::filesystem::canonical(path, error);
  staged.target_ = error ? path : resolved.string();
  struct stat info{};
  bool exists = ::stat(staged.target_.c_str(), &info) == 0;
  if (exists && !S_ISREG(info.st_mode)) {
    for (std::string_view part : parts) staged.pending_ += part;
    return staged;
  }
  int fd = staged.create_beside();
  if (fd < 0) return file_failure(path, "create the file", errno);
  bool good = !exists || ::fchmod(fd, info.st_mode & 0777) == 0;
  for (std::string_view part : parts) good = good && write_all(fd, part);
  int cause = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    cause = errno;
  }
  if (!good) return file_failure(path, "write the file", cause);
  return staged;
}

void StagedFile::abandon_all() {
  for (const TemporaryNote& note : temporary_notes) {
    if (note.state == TemporaryNote::written) ::unlink(note.path);
  }
}

/// Opens a new file in the folder of the target, so that it can be moved there.
int StagedFile::create_beside() {
  static std::atomic<unsigned> counter = 0;
  for (int tries = 0; tries < 100; ++tries) {
    std::string candidate = fmt::format("{}.{}-{}.part", target_, ::getpid(), counter++);
    note_ = note_temporary(candidate);
    int fd = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) temporary_ = candidate;
    if (fd >= 0) return fd;
    int cause = errno;
    forget();
    errno = cause;
    if (cause != EEXIST) return fd;
  }
  return -1;
}

void StagedFile::forget() {
  if (note_ >= 0) temporary_notes[note_].state = TemporaryNote::unused;
  note_ = -1;
}

StagedFile::StagedFile(StagedFile&& other) noexcept { *this = std::move(other); }

StagedFile& StagedFile::operator=(StagedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(temporary_, other.temporary_);
  std::swap(pending_, other.pending_);
  std::swap(note_, other.note_);
  return *this;
}

StagedFile::~StagedFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  forget();
}

Diagnostics StagedFile::commit() {
  if (!temporary_.empty()) {
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return file_failure(path_, "write the file", errno);
    temporary_.clear();
    forget();
    return {};
  }
  // Not blocking, so that a pipe without a reader is refused rather than waited for.
  int fd = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENXIO)
    return refusal(path_, "nobody reads from this pipe", "start what reads it first, or name a file");
  if (fd < 0) return file_failure(path_, "open the file", errno);
  ::fcntl(fd, F_SETFL, 0);
  bool good = write_all(fd, pending_);
  int cause = errno;
  if (::close(fd) != 0 && good) {
    good = false;
    cause = errno;
  }
  return good ? Diagnostics() : file_failure(path_, "write the file", cause);
}

}  // namespace plait::runtime
