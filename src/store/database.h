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

/// What the environment's `variable` names; else `name` in the folder plait of XDG_CACHE_HOME, else of ~/.cache. Empty
/// for `none`, and where there is no home.
std::string in_user_cache(const char* variable, const char* name);

enum class Access {
  read,   ///< a file that is not there is an empty one
  write,  ///< it is made, with the folders that it lies in
};

/// What a file of SQLite is for.
struct Form {
  std::string_view tables;  ///< the SQL that makes them
  int version = 0;          ///< of the tables
  int application = 0;      ///< by which SQLite tells programs apart; 0: none
  Rule rule;                ///< what is broken where the file is another one
};
const Form& store_form();  ///< of what plait remembers between runs

/// One value of a row or of a question.
using Value = std::variant<std::int64_t, double, std::string>;
using Row = std::vector<Value>;
// A file that was changed by hand may hold other types than it was made for: those are nothing.
std::string text_of(const Value& value);
double number_of(const Value& value);

/// An open file; its form outlives it. Several processes may use it at once, and threads one of these each. What SQLite
/// cannot do is an error with the path and its reason.
class Database {
 public:
  /// To read, no path is an empty file, too.
  static Result<Database> open(const std::string& path, Access access, const Form& form = store_form());
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  const std::string& path() const { return path_; }
  bool empty() const { return handle_ == nullptr; }  ///< a file that is not there
  /// Runs one statement with its parameters.
  Result<std::vector<Row>> run(const std::string& sql, const Row& parameters = {}) const;

 private:
  Database(std::string path, const Form& form) : path_(std::move(path)), form_(&form) {}
  Diagnostics prepare(Access access) const;
  Diagnostics failure(const std::string& what) const;

  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  const Form* form_;
  std::unique_ptr<sqlite3, Close> handle_;  ///< null: an empty file that is only read
};

}  // namespace plait::store
