// Compiled code between runs: what becomes of it under other processes, damage, disks that take nothing, and archives
// from anywhere.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/build.h"
#include "store/code_archive.h"
#include "store/digest.h"

namespace plait::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

CodeName name_of(char digit) { return {std::string(CodeName::kKeyDigits, digit), std::string(16, '0')}; }

CodeFile code(char digit, const std::string& cubin = std::string("\x7f"
                                                                 "ELF\0\n\xff",
                                                                 7)) {
  CodeFile file;
  file.name = name_of(digit);
  file.build = build();
  file.kernel = "product";
  file.summary["arch"] = "sm_90a";
  file.parts = {{"head", "roles product():\n"}, {"empty", ""}, {"cubin", cubin}};
  return file;
}

class Code : public testing::Test {
 protected:
  Code() {
    std::string name = fs::temp_directory_path() / "plait_code_XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~Code() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return (root_ / name).string(); }
  CodeFolder folder(const std::string& name = "code") const { return CodeFolder(path(name)); }
  static std::string read(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  static void write(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// Runs a check in a process of its own; true where it gave true.
  template <typename Check>
  static bool apart(const Check& check) {
    pid_t child = fork();
    if (child == 0) _exit(check() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  std::size_t parts() const {
    std::size_t count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) count += entry.path().extension() == ".part";
    return count;
  }

  fs::path root_;
};

TEST(Digest, IsBlake3) {
  EXPECT_EQ(digest_of("", 64), "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
  EXPECT_EQ(digest_of("abc", 16), "6437b3ac38465133");
}

TEST_F(Code, GivesBackWhatWasPut) {
  CodeFolder kept = folder("a/b/code");
  EXPECT_FALSE(kept.find(name_of('a')).file);
  EXPECT_TRUE(kept.put(code('a')).empty());
  auto found = kept.find(name_of('a'));
  EXPECT_TRUE(found.warnings.empty()) << found.warnings.render();
  ASSERT_TRUE(found.file);
  EXPECT_EQ(found.file->kernel, "product");
  EXPECT_EQ(found.file->build, build());
  EXPECT_EQ(found.file->parts, code('a').parts);
  EXPECT_EQ(*found.file->summary.find("arch")->text(), "sm_90a");
  EXPECT_EQ(*found.file->part("cubin"), code('a').parts.back().second);
  EXPECT_EQ(found.file->part("none"), nullptr);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Code, AnotherVariantServesWhoTakesAny) {
  CodeFolder kept = folder();
  CodeFile other = code('a');
  other.name.variant = std::string(16, '1');
  kept.put(other);
  EXPECT_FALSE(kept.find(name_of('a')).file);
  ASSERT_TRUE(kept.find_any(name_of('a').key).file);
  EXPECT_EQ(kept.find_any(name_of('a').key).file->name, other.name);
  EXPECT_FALSE(kept.find_any(name_of('b').key).file);
}

TEST_F(Code, NoFolderHoldsNothing) {
  CodeFolder none("");
  EXPECT_TRUE(none.is_off());
  EXPECT_TRUE(none.put(code('a')).empty());
  EXPECT_FALSE(none.find(name_of('a')).file);
  EXPECT_FALSE(none.find_any(name_of('a').key).file);
  EXPECT_THAT(*none.list(), IsEmpty());
}

TEST_F(Code, EveryByteThatIsAnotherIsFound) {
  CodeFolder kept = folder();
  kept.put(code('a'));
  std::string file = kept.path_of(name_of('a')), whole = read(file);
  bool told = false;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x20);
    write(file, damaged);
    auto found = kept.find(name_of('a'));
    EXPECT_FALSE(found.file) << i;
    told = told || !found.warnings.empty();
    EXPECT_FALSE(found.warnings.has_errors());
  }
  EXPECT_TRUE(told);
  // What was damaged is replaced.
  kept.put(code('a'));
  EXPECT_EQ(read(file), whole);
}

TEST_F(Code, EveryFileThatIsCutOffIsFound) {
  CodeFolder kept = folder();
  kept.put(code('b'));
  std::string file = kept.path_of(name_of('b')), whole = read(file);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(file, whole.substr(0, size));
    EXPECT_FALSE(kept.find(name_of('b')).file) << size;
  }
  write(file, whole + "x");
  EXPECT_FALSE(kept.find(name_of('b')).file);
}

TEST_F(Code, DamageIsTold) {
  CodeFolder kept = folder();
  kept.put(code('a'));
  std::string file = kept.path_of(name_of('a'));
  std::string whole = read(file);
  whole.back() = 'x';
  write(file, whole);
  std::string told = kept.find(name_of('a')).warnings.render();
  EXPECT_THAT(told, HasSubstr(file + ": warning: its bytes are not those that were written"));
  EXPECT_THAT(told, HasSubstr("[cache-entry]"));
  EXPECT_THAT(told, HasSubstr("the code is compiled anew, and takes its place"));
  // Once a process.
  EXPECT_TRUE(kept.find(name_of('a')).warnings.empty());
}

TEST_F(Code, CodeOfAnotherNameIsNotTaken) {
  CodeFolder kept = folder();
  kept.put(code('a'));
  fs::create_directories(fs::path(kept.path_of(name_of('b'))).parent_path());
  fs::copy(kept.path_of(name_of('a')), kept.path_of(name_of('b')));
  auto found = kept.find(name_of('b'));
  EXPECT_FALSE(found.file);
  EXPECT_THAT(found.warnings.render(), HasSubstr("it holds other code than its name says"));
}

TEST_F(Code, WhatIsNoFileIsNotWaitedFor) {
  CodeFolder kept = folder();
  std::string file = kept.path_of(name_of('a'));
  fs::create_directories(fs::path(file).parent_path());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(kept.find(name_of('a')).file);
  fs::remove(file);
  fs::create_directories(file + "/inside");
  EXPECT_FALSE(kept.find(name_of('a')).file);
  Diagnostics kept_not = kept.put(code('a'));
  EXPECT_THAT(kept_not.render(), HasSubstr("compiled code is not kept here: Is a directory [cache-folder]"));
  EXPECT_FALSE(kept_not.has_errors());
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Code, OnlyItsOwnFilesAreListed) {
  CodeFolder kept = folder();
  kept.put(code('a'));
  write(path("code/note"), "x");
  write(path("code/aa/\n\x1b[2J"), "x");
  write(path("code/aa/") + name_of('a').key + "-0.code", "x");
  write(path("code/aa/x.part"), "x");
  fs::create_symlink("/etc/passwd", path("code/aa/") + name_of('c').file());
  auto files = kept.list();
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 6U);
  EXPECT_EQ(std::count_if(files->begin(), files->end(), [](const auto& f) { return f.name.has_value(); }), 1);
  EXPECT_EQ(std::count_if(files->begin(), files->end(), [](const auto& f) { return f.is_part; }), 1);
  EXPECT_THAT(*folder("absent").list(), IsEmpty());
}

TEST_F(Code, AFolderThatCannotBeMadeIsARemark) {
  write(path("file"), "x");
  CodeFolder kept = folder("file/code");
  EXPECT_FALSE(kept.find(name_of('a')).file);
  Diagnostics found = kept.put(code('a'));
  EXPECT_FALSE(found.has_errors());
  EXPECT_THAT(found.render(),
              HasSubstr("/file/code: warning: compiled code is not kept here: Not a directory [cache-folder]"));
  EXPECT_THAT(found.render(), HasSubstr("fix: name another with PLAIT_CACHE=PATH, or set PLAIT_CACHE=none"));
  EXPECT_TRUE(kept.put(code('b')).empty()) << "it is told once";
}

TEST_F(Code, AFolderThatIsOnlyReadServes) {
  CodeFolder kept = folder();
  kept.put(code('a'));
  fs::permissions(root_, fs::perms(0755));
  for (const char* name : {"code", "code/aa"}) fs::permissions(path(name), fs::perms(0555));
  bool good = apart([&] {
    // Root writes everywhere.
    if (geteuid() == 0 && setuid(65534) != 0) return false;
    if (!kept.find(name_of('a')).file) return false;
    std::string told = kept.put(code('b')).render();
    return told.find("warning: compiled code is not kept here: Permission denied") != std::string::npos;
  });
  for (const char* name : {"code", "code/aa"}) fs::permissions(path(name), fs::perms(0755));
  EXPECT_TRUE(good);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Code, AFullDiskIsARemark) {
  CodeFolder kept = folder();
  bool good = apart([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    std::string told = kept.put(code('a', std::string(5000, 'x'))).render();
    return told.find("warning: compiled code is not kept here: File too large") != std::string::npos &&
           !kept.find(name_of('a')).file;
  });
  EXPECT_TRUE(good);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Code, ManyProcessesMayUseItAtOnce) {
  CodeFolder kept = folder();
  constexpr int kProcesses = 4, kRounds = 60;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < kRounds; ++round) {
        char digit = "0123456789abcdef"[round % 4];
        // Every writer's contents are whole: one kind of byte each.
        std::string cubin(static_cast<std::size_t>(1000 * (p + 1) + 50000), static_cast<char>('A' + p));
        if (!kept.put(code(digit, cubin)).empty()) _exit(1);
        auto found = kept.find(name_of(digit));
        if (!found.file || !found.warnings.empty()) _exit(2);
        const std::string& got = *found.file->part("cubin");
        if (got.find_first_not_of(got[0]) != std::string::npos) _exit(3);
        if (got.size() != static_cast<std::size_t>(1000 * (got[0] - 'A' + 1) + 50000)) _exit(4);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(parts(), 0U);
}

TEST_F(Code, ASummaryIsReadFromTheBeginning) {
  std::string whole = pack(code('a'));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    auto read = unpack_summary(std::string_view(whole).substr(0, size));
    EXPECT_FALSE(std::holds_alternative<Damage>(read)) << size;
    if (const auto* file = std::get_if<CodeFile>(&read)) {
      EXPECT_EQ(file->kernel, "product");
    }
  }
  EXPECT_TRUE(std::holds_alternative<Damage>(unpack_summary("something else")));
}

TEST_F(Code, ADigestDoesNotMakeAForm) {
  std::string rest = "{\"key\":3}\n", magic = pack(code('a')).substr(0, 17);
  auto read = unpack(magic + digest_of(rest, 64) + "\n" + rest);
  ASSERT_TRUE(std::holds_alternative<Damage>(read));
  EXPECT_EQ(std::get<Damage>(read).what, "its summary has no key");
  rest = "[1]\n";
  EXPECT_EQ(std::get<Damage>(unpack(magic + digest_of(rest, 64) + "\n" + rest)).what, "its summary is no JSON object");
}

// ---- Archives ------------------------------------------------------------------------------------------------------

class CodeArchive : public Code {
 protected:
  /// An archive of two files.
  std::string archive() {
    CodeFolder from = folder("from");
    std::vector<std::string> files;
    for (char digit : {'a', 'b'}) {
      from.put(code(digit));
      files.push_back(from.path_of(name_of(digit)));
    }
    Exported made = export_code(files, path("code.archive"));
    EXPECT_EQ(made.count, 2);
    EXPECT_TRUE(made.errors.empty()) << made.errors.render();
    return path("code.archive");
  }
  void change(const std::string& file, const std::string& sql) {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }
};

TEST_F(CodeArchive, TakesCodeAlong) {
  std::string file = archive();
  Imported made = import_code(file, folder("to"));
  EXPECT_TRUE(made.errors.empty()) << made.errors.render();
  EXPECT_EQ(made.added, 2);
  EXPECT_EQ(made.known + made.foreign, 0);
  EXPECT_EQ(read(folder("to").path_of(name_of('b'))), read(folder("from").path_of(name_of('b'))));
  Imported again = import_code(file, folder("to"));
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.known, 2);
  EXPECT_EQ(parts(), 0U);
}

TEST_F(CodeArchive, LeavesOutWhatIsDamaged) {
  CodeFolder from = folder("from");
  from.put(code('a'));
  from.put(code('b'));
  write(from.path_of(name_of('a')), "plait gpu code 1\nshort");
  Exported made = export_code({from.path_of(name_of('a')), from.path_of(name_of('b'))}, path("x"));
  EXPECT_EQ(made.count, 1);
  EXPECT_THAT(made.errors.render(), HasSubstr("it is cut off [cache-entry]"));
}

TEST_F(CodeArchive, AnArchiveThatCannotBeWrittenLeavesNothing) {
  CodeFolder from = folder("from");
  from.put(code('a'));
  write(path("file"), "x");
  Exported made = export_code({from.path_of(name_of('a'))}, path("file/archive"));
  EXPECT_EQ(made.count, 0);
  EXPECT_THAT(made.errors.render(), HasSubstr("[cache-archive]"));
}

TEST_F(CodeArchive, AFullDiskLeavesNoArchive) {
  CodeFolder from = folder("from");
  from.put(code('a', std::string(100'000, 'x')));
  bool good = apart([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{20'000, 20'000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    Exported made = export_code({from.path_of(name_of('a'))}, path("x"));
    return made.count == 0 && made.errors.render().find("[cache-archive]") != std::string::npos;
  });
  EXPECT_TRUE(good);
  EXPECT_FALSE(fs::exists(path("x")));
  EXPECT_EQ(parts(), 0U);
}

TEST_F(CodeArchive, FilesOfOtherKindsAreRefused) {
  write(path("text"), std::string(200, 'x'));
  EXPECT_THAT(import_code(path("text"), folder("to")).errors.render(), HasSubstr("file is not a database"));
  EXPECT_THAT(import_code(path("text"), folder("to")).errors.render(), HasSubstr("[cache-archive]"));
  EXPECT_THAT(import_code(path("absent"), folder("to")).errors.render(), HasSubstr("there is no such file"));
  EXPECT_THAT(import_code(root_.string(), folder("to")).errors.render(), HasSubstr("there is no such file"));
  change(path("other"), "CREATE TABLE theirs(x)");
  EXPECT_THAT(import_code(path("other"), folder("to")).errors.render(),
              HasSubstr("it is a database of another program, or of another version of plait"));
  EXPECT_FALSE(fs::exists(path("to")));
}

TEST_F(CodeArchive, NamesDoNotLeadOutOfTheFolder) {
  std::string file = archive();
  change(file, "UPDATE code SET file = '../../' || file WHERE file LIKE 'a%'");
  Imported made = import_code(file, folder("to"));
  EXPECT_EQ(made.added, 1);
  EXPECT_THAT(made.errors.render(),
              HasSubstr("its file of another name is left out: it holds other code than its name"));
  for (const auto& entry : fs::recursive_directory_iterator(root_)) EXPECT_NE(entry.path().filename(), "passwd");
  EXPECT_FALSE(fs::exists(folder("to").path_of(name_of('a'))));
}

TEST_F(CodeArchive, CodeOfAnotherNameIsLeftOut) {
  std::string file = archive();
  change(file, "UPDATE code SET content = (SELECT content FROM code WHERE file LIKE 'b%')");
  Imported made = import_code(file, folder("to"));
  EXPECT_EQ(made.added, 1);
  EXPECT_THAT(made.errors.render(), HasSubstr("is left out: it holds other code than its name says [cache-archive]"));
}

TEST_F(CodeArchive, ValuesOfOtherTypesAreLeftOut) {
  std::string file = archive();
  change(file, "UPDATE code SET content = 5 WHERE file LIKE 'a%'");
  Imported made = import_code(file, folder("to"));
  EXPECT_EQ(made.added, 1);
  EXPECT_THAT(made.errors.render(), HasSubstr("is left out: it is no text"));
}

TEST_F(CodeArchive, DamageNeverReachesTheFolder) {
  std::string file = archive(), whole = read(file);
  for (std::size_t i = 0; i < whole.size(); i += 61) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    write(path("damaged"), damaged);
    import_code(path("damaged"), folder("to"));
  }
  for (std::size_t size = 0; size < whole.size(); size += 997) {
    write(path("damaged"), whole.substr(0, size));
    import_code(path("damaged"), folder("to"));
  }
  for (char digit : {'a', 'b'})
    EXPECT_EQ(*folder("to").find(name_of(digit)).file->part("cubin"), code(digit).parts.back().second);
  EXPECT_EQ(folder("to").list()->size(), 2U);
}

TEST_F(CodeArchive, CodeOfAnotherVersionIsCounted) {
  CodeFolder from = folder("from");
  CodeFile other = code('a');
  other.build = "plait 0.0.1 0000000000000000";
  from.put(other);
  export_code({from.path_of(name_of('a'))}, path("x"));
  EXPECT_EQ(import_code(path("x"), folder("to")).foreign, 1);
}

}  // namespace
}  // namespace plait::store
