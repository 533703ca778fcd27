// What plait remembers between runs, and what becomes of files that are none of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/code_folder.h"
#include "store/measured.h"
#include "store/plans.h"
#include "store/runs.h"

namespace plait::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Store : public testing::Test {
 protected:
  Store() {
    std::string name = fs::temp_directory_path() / "plait_store_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Store() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "a/b/store.sqlite") const { return (folder_ / name).string(); }
  Database open(Access access = Access::write) const {
    auto made = Database::open(path(), access);
    if (!made) throw InternalError(made.diagnostics().render());
    return std::move(*made);
  }

  fs::path folder_;
};

Measured measured(double latency) {
  return {"matmul", "gemm@13", latency, 256, 90, 1024, "NVIDIA H200", "2026-11-30T00:00:00Z"};
}

TEST_F(Store, GivesBackWhatWasMeasured) {
  Database store = open();
  EXPECT_FALSE(put_measured(store, "h200", "roles a", measured(329.5)).has_errors());
  EXPECT_FALSE(put_measured(store, "h200", "roles b", measured(12)).has_errors());
  auto found = find_measured(open(Access::read), "h200", "roles a");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->latency, 329.5);
  EXPECT_EQ((*found)->interval, 256);
  EXPECT_EQ((*found)->registers, 90);
  EXPECT_EQ((*found)->shared_bytes, 1024);
  EXPECT_EQ((*found)->task, "gemm@13");
  EXPECT_EQ((*found)->gpu, "NVIDIA H200");
  // The same task on another device, and another task.
  EXPECT_FALSE(*find_measured(store, "h100", "roles a"));
  EXPECT_FALSE(*find_measured(store, "h200", "roles c"));
}

TEST_F(Store, WhatIsMeasuredAgainTakesThePlace) {
  Database store = open();
  EXPECT_FALSE(put_measured(store, "h200", "roles a", measured(1)).has_errors());
  EXPECT_FALSE(put_measured(store, "h200", "roles a", measured(2)).has_errors());
  EXPECT_EQ((*find_measured(store, "h200", "roles a"))->latency, 2);
}

TEST_F(Store, ReadingMakesNoFile) {
  auto found = find_measured(open(Access::read), "h200", "roles a");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(Store, GivesBackPlans) {
  Database store = open();
  EXPECT_FALSE(put_plan(store, "key", "plan of 'this'").has_errors());
  EXPECT_EQ(**find_plan(store, "key"), "plan of 'this'");
  EXPECT_FALSE(*find_plan(store, "other"));
}

TEST_F(Store, GivesBackTimesOfCalls) {
  Database store = open();
  EXPECT_FALSE(put_run(store, {"roles a", {{"M", 64}}}, {12.5, "NVIDIA H200", "2026-11-30T00:00:00Z"}).has_errors());
  auto found = find_run(store, {"roles a", {{"M", 64}}});
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->microseconds, 12.5);
  EXPECT_EQ((*found)->gpu, "NVIDIA H200");
  EXPECT_FALSE(*find_run(store, {"roles a", {{"M", 65}}}));
  EXPECT_FALSE(*find_run(store, {"roles b", {{"M", 64}}}));
}

TEST_F(Store, ManyMayWriteAtOnce) {
  constexpr int kWriters = 4, kEach = 20;
  std::vector<std::thread> threads;
  std::atomic<int> failed = 0;
  for (int w = 0; w < kWriters; ++w) {
    threads.emplace_back([&, w] {
      auto store = Database::open(path(), Access::write);
      if (!store) {
        ++failed;
        return;
      }
      for (int i = 0; i < kEach; ++i) {
        std::string shape = std::to_string(w) + " " + std::to_string(i);
        if (put_measured(*store, "h200", shape, measured(i + 1)).has_errors()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  Database store = open(Access::read);
  for (int w = 0; w < kWriters; ++w) {
    for (int i = 0; i < kEach; ++i)
      EXPECT_EQ((*find_measured(store, "h200", std::to_string(w) + " " + std::to_string(i)))->latency, i + 1);
  }
}

std::string error(const std::string& path, Access access) {
  auto opened = Database::open(path, access);
  return opened ? "" : opened.diagnostics().render();
}

TEST_F(Store, AFileThatIsNoDatabaseIsRefused) {
  std::ofstream(path("text")) << "these are no pages of SQLite, and there are enough of them to be read as a header, "
                                 "one hundred bytes long and longer";
  for (Access access : {Access::read, Access::write}) {
    EXPECT_THAT(error(path("text"), access), HasSubstr("file is not a database"));
    EXPECT_THAT(error(path("text"), access), HasSubstr("[store-file]"));
    EXPECT_THAT(error(path("text"), access), HasSubstr("fix: name another with PLAIT_STORE=PATH"));
  }
}

TEST_F(Store, ADatabaseOfAnotherProgramIsLeftAlone) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open(path("other").c_str(), &handle), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(handle, "CREATE TABLE theirs(x)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(handle);
  for (Access access : {Access::read, Access::write})
    EXPECT_THAT(error(path("other"), access),
                HasSubstr("a database of another program, or of another version of plait"));
}

TEST_F(Store, AFolderIsNoFile) { EXPECT_THAT(error(folder_.string(), Access::write), HasSubstr("cannot be opened")); }

TEST_F(Store, AFolderThatCannotBeMadeIsNamed) {
  std::ofstream(path("file")) << "x";
  EXPECT_THAT(error(path("file/store.sqlite"), Access::write), HasSubstr("its folder cannot be made"));
}

TEST_F(Store, ValuesOfOtherTypesAreNothing) {
  {
    Database store = open();
    EXPECT_FALSE(put_measured(store, "h200", "roles a", measured(1)).has_errors());
    EXPECT_TRUE(store.run("UPDATE tasks SET latency = 'much', gpu = 5"));
  }
  auto found = find_measured(open(Access::read), "h200", "roles a");
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
}

/// The environment as it was, again.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(DefaultPath, FollowsTheEnvironment) {
  Environment home("HOME", "/home/u");
  {
    Environment none("PLAIT_STORE", "none");
    EXPECT_EQ(default_path(), "");
  }
  Environment unset("PLAIT_STORE", nullptr);
  {
    Environment cache("XDG_CACHE_HOME", "/cache");
    EXPECT_EQ(default_path(), "/cache/plait/store.sqlite");
    Environment named("PLAIT_STORE", "/here.sqlite");
    EXPECT_EQ(default_path(), "/here.sqlite");
  }
  Environment cache("XDG_CACHE_HOME", nullptr);
  EXPECT_EQ(default_path(), "/home/u/.cache/plait/store.sqlite");
  Environment homeless("HOME", nullptr);
  EXPECT_EQ(default_path(), "");
}

TEST(DefaultPath, OfCompiledCodeFollowsTheEnvironment) {
  Environment home("HOME", "/home/u");
  Environment cache("XDG_CACHE_HOME", nullptr);
  Environment unset("PLAIT_CACHE", nullptr);
  EXPECT_EQ(default_code_folder(), "/home/u/.cache/plait/code");
  {
    Environment none("PLAIT_CACHE", "none");
    EXPECT_EQ(default_code_folder(), "");
  }
  Environment named("PLAIT_CACHE", "/here");
  EXPECT_EQ(default_code_folder(), "/here");
}

TEST(Build, HasTheDigestOfItsSources) {
  EXPECT_THAT(build(), testing::MatchesRegex("plait [0-9.]+ [0-9a-f]{16}"));
  EXPECT_EQ(build(), build());
}

}  // namespace
}  // namespace plait::store
