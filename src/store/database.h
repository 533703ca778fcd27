#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

struct sqlite3;

/// What plait remembers between runs, in one SQLite file: measured costs of tasks, and plans.
namespace plait::store {

/// Where the file lies: the path that PLAIT_STORE names; else plait/store.sqlite in XDG_CACHE_HOME, else in ~/.cache.
/// Empty: nowhere, which PLAIT_STORE=none says, and where there is no home.
std::string default_path();

enum class Access {
  read,   ///< a file that is not there is an empty one
  write,  ///< it is made, with the folders that it lies in
};

/// One value of a row or of a question.
using Value = std::variant<std::int64_t, double, std::string>;
using Row = std::vector<Value>;
// A file that was changed by hand may hold other types than it was made for: those are nothing.
std::string text_of(const Value& value);
double number_of(const Value& value);

/// An open file. Several processes may use it at once, and threads one of these each. What SQLite cannot do is an error
/// with the path and its reason.
class Database {
 public:
  /// To read, no path is an empty file, too.
  static Result<Database> open(const std::string& path, Access access);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  const std::string& path() const { return path_; }
  bool empty() const { return handle_ == nullptr; }  ///< a file that is not there
  /// Runs one statement with its parameters.
  Result<std::vector<Row>> run(const std::string& sql, const Row& parameters = {}) const;

 private:
  explicit Database(std::string path) : path_(std::move(path)) {}
  Diagnostics prepare(Access access) const;
  Diagnostics failure(const std::string& what) const;

  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;  ///< null: an empty file that is only read
};

}  // namespace plait::store
