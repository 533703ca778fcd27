#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace plait::store {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMilliseconds = 5000;  // for which another process may hold the file

constexpr std::string_view kTables = R"(
CREATE TABLE IF NOT EXISTS tasks(
  device TEXT NOT NULL, shape TEXT NOT NULL, kernel TEXT NOT NULL, task TEXT NOT NULL,
  latency REAL NOT NULL, interval REAL NOT NULL, registers INTEGER NOT NULL, shared_bytes INTEGER NOT NULL,
  gpu TEXT NOT NULL, measured_at TEXT NOT NULL,
  PRIMARY KEY(device, shape)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs(
  program TEXT NOT NULL, dims TEXT NOT NULL, microseconds REAL NOT NULL, gpu TEXT NOT NULL, measured_at TEXT NOT NULL,
  PRIMARY KEY(program, dims)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS plans(
  key TEXT NOT NULL PRIMARY KEY, plan TEXT NOT NULL, made_at TEXT NOT NULL) WITHOUT ROWID;
)";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

struct Finish {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finish>;

int bind(sqlite3_stmt* statement, int at, const Value& value) {
  return std::visit(Overload{[&](std::int64_t v) { return sqlite3_bind_int64(statement, at, v); },
                             [&](double v) { return sqlite3_bind_double(statement, at, v); },
                             [&](const std::string& v) {
                               return sqlite3_bind_text64(statement, at, v.data(), v.size(), SQLITE_TRANSIENT,
                                                          SQLITE_UTF8);
                             }},
                    value);
}

Value column(sqlite3_stmt* statement, int at) {
  switch (sqlite3_column_type(statement, at)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, at)};
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, at));
      auto count = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
      return bytes != nullptr ? std::string(bytes, count) : std::string();
    }
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, at);
    default: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, at));
      auto bytes = static_cast<std::size_t>(sqlite3_column_bytes(statement, at));
      return text != nullptr ? std::string(text, bytes) : std::string();
    }
  }
}

}  // namespace

const Form& store_form() {
  static const Form form{kTables, 1, 0, Rule::store_file};
  return form;
}

std::string text_of(const Value& value) {
  const auto* found = std::get_if<std::string>(&value);
  return found != nullptr ? *found : std::string();
}

double number_of(const Value& value) {
  return std::visit(Overload{[](const std::string&) { return 0.0; }, [](auto v) { return static_cast<double>(v); }},
                    value);
}

std::string in_user_cache(const char* variable, const char* name) {
  std::string named = environment(variable);
  if (named == "none") return {};
  if (!named.empty()) return named;
  std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
  if (!cache.empty()) return (fs::path(cache) / "plait" / name).string();
  return home.empty() ? std::string() : (fs::path(home) / ".cache" / "plait" / name).string();
}

std::string default_path() { return in_user_cache("PLAIT_STORE", "store.sqlite"); }

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close(handle); }
Database::Database(Database&& other) noexcept = default;
Database& Database::operator=(Database&& other) noexcept = default;
Database::~Database() = default;

Diagnostics Database::failure(const std::string& what) const {
  Diagnostics found;
  std::string why = handle_ != nullptr ? sqlite3_errmsg(handle_.get()) : "no memory";
  found.error(form_->rule, {}, fmt::format("{}: {}: {}", path_, what, why));
  return found;
}

Result<Database> Database::open(const std::string& path, Access access, const Form& form) {
  Database database(path, form);
  std::error_code error;
  if (access == Access::read && !fs::exists(path, error)) return database;
  fs::path folder = fs::path(path).parent_path();
  if (access == Access::write && !folder.empty() && !fs::create_directories(folder, error) && error) {
    Diagnostics found;
    found.error(form.rule, {}, fmt::format("{}: its folder cannot be made: {}", path, error.message()));
    return found;
  }
  int flags = SQLITE_OPEN_NOMUTEX |
              (access == Access::read ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3* handle = nullptr;
  int status = sqlite3_open_v2(path.c_str(), &handle, flags, nullptr);
  database.handle_.reset(handle);
  if (status != SQLITE_OK) return database.failure("it cannot be opened");
  sqlite3_busy_timeout(handle, kBusyMilliseconds);
  Diagnostics found = database.prepare(access);
  if (found.has_errors()) return found;
  return database;
}

Diagnostics Database::prepare(Access access) const {
  // In one transaction: another process may be making the tables.
  if (auto begun = run("BEGIN"); !begun) return begun.diagnostics();
  auto version = run("PRAGMA user_version");
  if (!version) return version.diagnostics();
  auto application = run("PRAGMA application_id");
  if (!application) return application.diagnostics();
  auto tables = run("SELECT count(*) FROM sqlite_master");
  if (!tables) return tables.diagnostics();
  if (auto ended = run("COMMIT"); !ended) return ended.diagnostics();
  auto is = std::get<std::int64_t>(version->front().front());
  auto of = std::get<std::int64_t>(application->front().front());
  if (is == form_->version && of == form_->application) return {};
  const bool empty = std::get<std::int64_t>(tables->front().front()) == 0;
  if (!empty || is != 0) {
    Diagnostics found;
    found.error(form_->rule, {},
                fmt::format("{}: it is a database of another program, or of another version of plait", path_));
    return found;
  }
  if (access == Access::read) return {};
  std::string sql = fmt::format("BEGIN IMMEDIATE;{}PRAGMA application_id={};PRAGMA user_version={};COMMIT;",
                                form_->tables, form_->application, form_->version);
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure("its tables cannot be made");
  return {};
}

Result<std::vector<Row>> Database::run(const std::string& sql, const Row& parameters) const {
  std::vector<Row> rows;
  if (handle_ == nullptr) return rows;
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &made, nullptr) != SQLITE_OK)
    return failure("it cannot be read");
  Statement statement(made);
  int at = 0;
  for (const Value& value : parameters) {
    if (bind(made, ++at, value) != SQLITE_OK) return failure("a value does not fit");
  }
  while (true) {
    int status = sqlite3_step(made);
    if (status == SQLITE_DONE) return rows;
    if (status != SQLITE_ROW)
      return failure(sqlite3_stmt_readonly(made) != 0 ? "it cannot be read" : "it cannot be written");
    Row row;
    for (int i = 0; i < sqlite3_column_count(made); ++i) row.push_back(column(made, i));
    rows.push_back(std::move(row));
  }
}

}  // namespace plait::store
