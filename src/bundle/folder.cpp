#include "bundle/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <set>
#include <sstream>

#include "bundle/bundle.h"
#include "emit/c/names.h"
#include "runtime/files.h"

namespace plait::bundle {
namespace {

namespace fs = std::filesystem;
using runtime::file_failure;

constexpr std::int64_t kMostHeader = std::int64_t{4} << 20;  ///< bytes of a header that is looked at

std::string first_line(const std::string& name) { return fmt::format("/* plait bundle {}\n", name); }

Diagnostics refuse(const std::string& path, const std::string& what) {
  Diagnostics found;
  found.error(Rule::bundle_folder, runtime::file_loc(path), what);
  return found;
}

/// The folder without a slash at its end, with links resolved: what is renamed is not the link.
fs::path place_of(const std::string& folder) {
  std::error_code error;
  fs::path path(folder);
  if (!path.has_filename()) path = path.parent_path();
  fs::path resolved = fs::weakly_canonical(path, error);
  return error ? path : resolved;
}

/// Files written into a folder of their own beside the place where they go.
class Staged {
 public:
  explicit Staged(const fs::path& place) : template_(place.string() + ".XXXXXX.part") {}
  Staged(const Staged&) = delete;
  Staged& operator=(const Staged&) = delete;
  ~Staged() {
    std::error_code ignored;
    if (is_made_) fs::remove_all(template_, ignored);
  }

  Diagnostics make() {
    constexpr int kSuffix = 5;
    // mkstemps makes the name, which a folder then takes.
    int fd = ::mkstemps(template_.data(), kSuffix);
    if (fd < 0) return file_failure(template_, "create a folder beside the bundle's", errno);
    ::close(fd);
    ::unlink(template_.c_str());
    if (::mkdir(template_.c_str(), 0777) != 0)
      return file_failure(template_, "create a folder beside the bundle's", errno);
    is_made_ = true;
    return {};
  }
  Diagnostics add(const NamedFile& file) const {
    std::string path = (fs::path(template_) / file.name).string();
    int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good = fd >= 0 && runtime::write_all(fd, file.content);
    int cause = errno;
    if (fd >= 0 && ::close(fd) != 0 && good) {
      good = false;
      cause = errno;
    }
    return good ? Diagnostics() : file_failure(path, "write the file", cause);
  }
  /// Takes the place of what is there, which then lies in the folder that is removed.
  Diagnostics commit(const fs::path& place) {
    const char *from = template_.c_str(), *to = place.c_str();
    if (::rename(from, to) == 0) {
      is_made_ = false;
      return {};
    }
    if (errno != ENOTEMPTY && errno != EEXIST) return file_failure(place.string(), "put the bundle there", errno);
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0) return {};
    if (errno != EINVAL && errno != ENOSYS) return file_failure(place.string(), "put the bundle there", errno);
    // A file system that cannot exchange two folders: the old one steps aside.
    std::string old = template_ + ".old";
    if (::rename(to, old.c_str()) != 0) return file_failure(place.string(), "move the earlier bundle away", errno);
    if (::rename(from, to) != 0) {
      int cause = errno;
      ::rename(old.c_str(), to);
      return file_failure(place.string(), "put the bundle there", cause);
    }
    is_made_ = false;
    std::error_code ignored;
    fs::remove_all(old, ignored);
    return {};
  }

 private:
  std::string template_;
  bool is_made_ = false;
};

}  // namespace

Result<std::string> name_of(const std::string& folder) {
  std::string name = place_of(folder).filename().string();
  bool good =
      !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return c == '_' || (std::isalnum(static_cast<unsigned char>(c)) != 0 && static_cast<unsigned char>(c) < 128);
      });
  if (good && !emit::c::is_c_word(name) && !emit::c::belongs_to_headers(name)) return name;
  Diagnostics found;
  found.error(Rule::bundle_name, runtime::file_loc(folder), fmt::format("'{}' is no name of C", name),
              "name a folder of letters, digits and _ that C leaves free");
  return found;
}

std::string mark_of(const std::string& name, const std::vector<std::string>& files) {
  std::string out = first_line(name);
  for (const std::string& file : files) out += fmt::format(" *   {}\n", file);
  return out + " */\n";
}

std::vector<std::string> marked_files(const std::string& header, const std::string& name) {
  std::vector<std::string> files;
  std::string start = first_line(name), line;
  if (!header.starts_with(start)) return files;
  std::istringstream lines(header.substr(start.size()));
  constexpr std::string_view kBefore = " *   ";
  while (std::getline(lines, line) && line.starts_with(kBefore)) files.push_back(line.substr(kBefore.size()));
  return files;
}

Diagnostics check_folder(const std::string& folder, const std::string& name) {
  fs::path place = place_of(folder);
  std::error_code error;
  fs::file_status status = fs::status(place, error);
  if (status.type() == fs::file_type::not_found) {
    fs::path parent = place.parent_path();
    if (::access(parent.empty() ? "." : parent.c_str(), W_OK | X_OK) != 0)
      return file_failure(folder, "create the folder", errno);
    return {};
  }
  if (status.type() != fs::file_type::directory) return refuse(folder, "this is no folder");
  std::vector<std::string> known;
  std::string header = (place / (name + ".h")).string();
  if (fs::is_regular_file(header, error)) {
    auto file = runtime::InputFile::open(header);
    auto text = file ? file->read_text(0, kMostHeader) : file.diagnostics();
    if (text) known = marked_files(*text, name);
  }
  for (auto entry = fs::directory_iterator(place, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::string own = entry->path().filename().string();
    bool is_ours = std::find(known.begin(), known.end(), own) != known.end() && entry->is_regular_file();
    if (!is_ours) return refuse(folder, fmt::format("{} is there, which no earlier bundle {} has written", own, name));
  }
  if (error) return file_failure(folder, "read the folder", error.value());
  return {};
}

Diagnostics replace_folder(const std::string& folder, const std::string& name, const std::vector<NamedFile>& files) {
  if (Diagnostics found = check_folder(folder, name); found.has_errors()) return found;
  fs::path place = place_of(folder);
  Staged staged(place);
  if (Diagnostics found = staged.make(); found.has_errors()) return found;
  for (const NamedFile& file : files) {
    if (Diagnostics found = staged.add(file); found.has_errors()) return found;
  }
  return staged.commit(place);
}

Diagnostics write(const std::string& folder, const Bundle& bundle, const Files& files) {
  std::vector<NamedFile> all = {{bundle.name + ".h", files.header}, {bundle.name + ".c", files.source}};
  for (const Code& code : bundle.codes) all.push_back({code.file, code.cubin});
  return replace_folder(folder, bundle.name, all);
}

}  // namespace plait::bundle
