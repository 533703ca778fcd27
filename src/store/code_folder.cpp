#include "store/code_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>

#include "store/database.h"

namespace plait::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPart = ".part";
constexpr std::size_t kShardDigits = 2;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 30;  ///< of a file; none of ours is larger

Diagnostics failure(const std::string& path, const std::string& what, int cause) {
  Diagnostics found;
  found.error(Rule::cache_folder, file_place(path), fmt::format("{}: {}", what, std::strerror(cause)));
  return found;
}

/// The errors as warnings, those that this process has not told yet.
Diagnostics remarks_of(const Diagnostics& errors) {
  static std::mutex mutex;
  static std::set<std::pair<std::string, std::string>> told;
  Diagnostics out;
  std::lock_guard lock(mutex);
  for (Diagnostic d : errors.list()) {
    d.severity = Severity::warning;
    if (told.emplace(d.loc.str(), d.message).second) out.add(std::move(d));
  }
  return out;
}

/// A descriptor that is closed when it is left.
class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~File() { close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  bool close() { return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0; }

 private:
  int fd_;
};

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

/// A name beside `path` that nobody else writes.
std::string beside(const std::string& path) {
  static std::atomic<unsigned> counter = 0;
  return fmt::format("{}.{}-{}{}", path, ::getpid(), counter++, kPart);
}

}  // namespace

std::string default_code_folder() { return in_user_cache("PLAIT_CACHE", "code"); }

Loc file_place(const std::string& path) { return {std::make_shared<SourceFile>(path, ""), 0, 0, 1}; }

std::string CodeFolder::folder_of(const std::string& key) const {
  return (fs::path(path_) / key.substr(0, kShardDigits)).string();
}

std::string CodeFolder::path_of(const CodeName& name) const {
  return (fs::path(folder_of(name.key)) / name.file()).string();
}

Result<std::string> CodeFolder::read(const std::string& path) { return read(path, kMostBytes); }

Result<std::string> CodeFolder::read(const std::string& path, std::int64_t bytes) {
  // Not waiting for the writer of a pipe that someone has put there.
  File file(path, O_RDONLY | O_NONBLOCK);
  struct stat info{};
  if (!file.is_open() || ::fstat(file.fd(), &info) != 0) return failure(path, "it cannot be read", errno);
  if (!S_ISREG(info.st_mode) || info.st_size > kMostBytes) return failure(path, "it cannot be read", EINVAL);
  std::string text(static_cast<std::size_t>(std::min<std::int64_t>(info.st_size, bytes)), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    ssize_t n = ::read(file.fd(), text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure(path, "it cannot be read", errno);
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  text.resize(done);
  return text;
}

CodeFolder::Found CodeFolder::read_entry(const std::string& path, const CodeName& name) const {
  Found found;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0 && (errno == ENOENT || errno == ENOTDIR)) return found;
  auto bytes = read(path);
  if (!bytes) {
    found.warnings = remarks_of(bytes.diagnostics());
    return found;
  }
  auto unpacked = unpack(*bytes);
  Diagnostics damaged;
  auto* file = std::get_if<CodeFile>(&unpacked);
  if (file != nullptr && file->name == name) {
    found.file = std::move(*file);
    return found;
  }
  std::string what = file != nullptr ? "it holds other code than its name says" : std::get<Damage>(unpacked).what;
  damaged.error(Rule::cache_entry, file_place(path), what, "nothing: the code is compiled anew, and takes its place");
  found.warnings = remarks_of(damaged);
  return found;
}

CodeFolder::Found CodeFolder::find(const CodeName& name) const {
  if (is_off()) return {};
  return read_entry(path_of(name), name);
}

CodeFolder::Found CodeFolder::find_any(const std::string& key) const {
  if (is_off()) return {};
  std::vector<std::pair<fs::file_time_type, CodeName>> names;
  std::error_code error;
  for (fs::directory_iterator it(folder_of(key), error), end; !error && it != end; it.increment(error)) {
    auto name = code_name(it->path().filename().string());
    std::error_code gone;
    if (name && name->key == key) names.emplace_back(it->last_write_time(gone), *name);
  }
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.variant < b.second.variant;
  });
  Found all;
  for (const auto& [time, name] : names) {
    Found one = find(name);
    all.warnings.append(one.warnings);
    all.file = std::move(one.file);
    if (all.file) break;
  }
  return all;
}

Diagnostics CodeFolder::put(const CodeFile& file) const {
  if (is_off()) return {};
  return remarks_of(put_packed(file.name, pack(file)));
}

Diagnostics CodeFolder::put_packed(const CodeName& name, const std::string& bytes) const {
  // A failure is told of the folder, once, not of every file.
  int cause = write_whole(path_of(name), bytes);
  return cause == 0 ? Diagnostics() : failure(path_, "compiled code is not kept here", cause);
}

int write_whole(const std::string& path, std::string_view bytes) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error) return error.value();
  std::string part = beside(path);
  File file(part, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.is_open()) return errno;
  bool good = write_all(file.fd(), bytes) && ::fsync(file.fd()) == 0 && file.close() &&
              ::rename(part.c_str(), path.c_str()) == 0;
  int cause = good ? 0 : errno;
  if (!good) ::unlink(part.c_str());
  return cause;
}

Result<std::vector<CodeFolder::Listed>> CodeFolder::list() const {
  std::vector<Listed> files;
  if (is_off()) return files;
  std::error_code error;
  if (!fs::exists(path_, error) && !error) return files;
  fs::recursive_directory_iterator it(path_, error), end;
  for (; !error && it != end; it.increment(error)) {
    if (it.depth() > 1) it.disable_recursion_pending();
    struct stat info{};
    if (::lstat(it->path().c_str(), &info) != 0 || S_ISDIR(info.st_mode)) continue;
    std::string name = it->path().filename().string();
    files.push_back({it->path().string(), info.st_size, info.st_mtime, code_name(name), name.ends_with(kPart)});
    if (!S_ISREG(info.st_mode)) files.back().name.reset();
  }
  if (error) return failure(path_, "the folder cannot be read", error.value());
  std::sort(files.begin(), files.end(), [](const Listed& a, const Listed& b) { return a.path < b.path; });
  return files;
}

Diagnostics CodeFolder::remove(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return failure(path, "it cannot be removed", errno);
}

}  // namespace plait::store
