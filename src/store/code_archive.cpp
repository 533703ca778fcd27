#include "store/code_archive.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "store/build.h"
#include "store/database.h"

namespace plait::store {
namespace {

namespace fs = std::filesystem;

const Form& archive_form() {
  constexpr int kApplication = 0x706c6974;  // "plit"
  static const Form form{"CREATE TABLE code(file TEXT NOT NULL PRIMARY KEY, content BLOB NOT NULL);", 1, kApplication,
                         Rule::cache_archive};
  return form;
}

/// The archive in the making, which is gone if it is not finished.
class Draft {
 public:
  explicit Draft(const std::string& archive)
      : archive_(archive), path_(fmt::format("{}.{}.part", archive, ::getpid())) {
    ::unlink(path_.c_str());
  }
  ~Draft() {
    for (const char* end : {"", "-journal", "-wal"}) ::unlink((path_ + end).c_str());
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  const std::string& path() const { return path_; }
  Diagnostics finish() const {
    Diagnostics found;
    if (::rename(path_.c_str(), archive_.c_str()) != 0)
      found.error(Rule::cache_archive, file_place(archive_),
                  fmt::format("it cannot be written: {}", std::strerror(errno)),
                  "name a file in a folder that can be written");
    return found;
  }

 private:
  std::string archive_, path_;
};

Diagnostics fill(const std::vector<std::string>& files, const std::string& path, Exported& out) {
  auto draft = Database::open(path, Access::write, archive_form());
  if (!draft) return draft.diagnostics();
  if (auto begun = draft->run("BEGIN"); !begun) return begun.diagnostics();
  for (const std::string& file : files) {
    auto bytes = CodeFolder::read(file);
    if (!bytes) {
      out.errors.append(bytes.diagnostics());
      continue;
    }
    auto unpacked = unpack(*bytes);
    const auto* code = std::get_if<CodeFile>(&unpacked);
    if (code == nullptr || code->name.file() != fs::path(file).filename()) {
      out.errors.error(Rule::cache_entry, file_place(file),
                       code != nullptr ? "it holds other code than its name says" : std::get<Damage>(unpacked).what);
      continue;
    }
    auto put = draft->run("INSERT INTO code VALUES(?, CAST(? AS BLOB))", {code->name.file(), *bytes});
    if (!put) return put.diagnostics();
    ++out.count;
    out.bytes += static_cast<std::int64_t>(bytes->size());
  }
  auto done = draft->run("COMMIT");
  return done ? Diagnostics() : done.diagnostics();
}

void take_over(const Row& row, const std::string& archive, const CodeFolder& folder, Imported& out) {
  const auto* named = std::get_if<std::string>(&row[0]);
  const auto* bytes = std::get_if<std::string>(&row[1]);
  auto refuse = [&](const std::string& why) {
    // A name is told as far as it is one of ours: others may hold anything.
    bool known = named != nullptr && code_name(*named).has_value();
    out.errors.error(Rule::cache_archive, file_place(archive),
                     fmt::format("its file {} is left out: {}", known ? *named : "of another name", why));
  };
  if (named == nullptr || bytes == nullptr) return refuse("it is no text");
  auto unpacked = unpack(*bytes);
  const auto* code = std::get_if<CodeFile>(&unpacked);
  if (code == nullptr) return refuse(std::get<Damage>(unpacked).what);
  if (code->name.file() != *named) return refuse("it holds other code than its name says");
  out.foreign += code->build != build() ? 1 : 0;
  std::error_code absent;
  auto present = fs::exists(folder.path_of(code->name), absent) ? CodeFolder::read(folder.path_of(code->name))
                                                                : Result<std::string>(std::string());
  if (present && *present == *bytes) {
    ++out.known;
    return;
  }
  Diagnostics failed = folder.put_packed(code->name, *bytes);
  out.errors.append(failed);
  out.added += failed.has_errors() ? 0 : 1;
}

}  // namespace

Exported export_code(const std::vector<std::string>& files, const std::string& archive) {
  Exported out;
  Draft draft(archive);
  Diagnostics failed = fill(files, draft.path(), out);
  if (!failed.has_errors()) failed = draft.finish();
  if (failed.has_errors()) out.count = out.bytes = 0;
  out.errors.append(failed);
  return out;
}

Imported import_code(const std::string& archive, const CodeFolder& folder) {
  Imported out;
  std::error_code error;
  if (!fs::is_regular_file(archive, error)) {
    out.errors.error(Rule::cache_archive, file_place(archive), "there is no such file",
                     "name a file that `plait cache export` wrote");
    return out;
  }
  auto opened = Database::open(archive, Access::read, archive_form());
  if (!opened) {
    out.errors = opened.diagnostics();
    return out;
  }
  // One at a time: an archive may be larger than the memory.
  auto names = opened->run("SELECT rowid FROM code ORDER BY file");
  if (!names) {
    out.errors = names.diagnostics();
    return out;
  }
  for (const Row& name : *names) {
    auto rows = opened->run("SELECT file, content FROM code WHERE rowid = ?", {name.front()});
    if (!rows) {
      out.errors.append(rows.diagnostics());
      continue;
    }
    if (!rows->empty()) take_over(rows->front(), archive, folder, out);
  }
  return out;
}

}  // namespace plait::store
