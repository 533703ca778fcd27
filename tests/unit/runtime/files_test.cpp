#include "runtime/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include "fixture.h"

namespace plait::runtime {
namespace {

TEST(FilesTest, ReadsAProgram) {
  TemporaryFolder folder;
  auto source = read_source(folder.write("a.tile", "kernel"));
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->text(), "kernel");
  EXPECT_EQ((*source)->name(), folder / "a.tile");
}

TEST(FilesTest, RefusesWhatIsNoProgram) {
  TemporaryFolder folder;
  EXPECT_REPORTS(read_source(folder / "absent").diagnostics(), Rule::file_access, "No such file");
  EXPECT_REPORTS(read_source(folder / "").diagnostics(), Rule::file_access, "this is a directory");
  EXPECT_REPORTS(read_source(std::string("a\0b", 3)).diagnostics(), Rule::file_access, "NUL byte");
  std::string path = folder.write("big", "");
  ASSERT_EQ(::truncate(path.c_str(), 17 << 20), 0);
  EXPECT_REPORTS(read_source(path).diagnostics(), Rule::file_access, "a program has at most 16777216 bytes");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_REPORTS(read_source(folder / "pipe").diagnostics(), Rule::file_access, "a device or a pipe");
}

TEST(StagedFileTest, AppearsOnCommitOnly) {
  TemporaryFolder folder;
  std::string path = folder / "out";
  {
    auto staged = StagedFile::stage(path, {"one ", "two"});
    ASSERT_TRUE(staged.ok()) << staged.diagnostics().render();
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_TRUE(staged->commit().empty());
    EXPECT_EQ(read_bytes(path), "one two");
  }
  EXPECT_EQ(read_bytes(path), "one two");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(StagedFileTest, LeavesNothingWithoutCommit) {
  TemporaryFolder folder;
  std::string path = folder.write("out", "old");
  {
    ASSERT_TRUE(StagedFile::stage(path, {"new"}).ok());
  }
  EXPECT_EQ(read_bytes(path), "old");
  EXPECT_EQ(folder.entries(), 1u);
}

TEST(StagedFileTest, KeepsModeAndLinks) {
  TemporaryFolder folder;
  std::string path = folder.write("real", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  std::filesystem::create_symlink(path, folder / "link");
  auto staged = StagedFile::stage(folder / "link", {"new"});
  ASSERT_TRUE(staged.ok());
  EXPECT_TRUE(staged->commit().empty());
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_bytes(path), "new");
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST(StagedFileTest, AnInterruptLeavesNothing) {
  TemporaryFolder folder;
  auto kept = StagedFile::stage(folder / "kept", {"x"});
  ASSERT_TRUE(kept.ok());
  EXPECT_TRUE(kept->commit().empty());
  auto staged = StagedFile::stage(folder / "out", {"x"});
  ASSERT_TRUE(staged.ok());
  EXPECT_EQ(folder.entries(), 2u);
  StagedFile::abandon_all();
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(read_bytes(folder / "kept"), "x");
  EXPECT_TRUE(staged->commit().has_errors());
}

TEST(StagedFileTest, RefusesWhatCannotBeWritten) {
  TemporaryFolder folder;
  EXPECT_REPORTS(StagedFile::stage(folder / "", {"x"}).diagnostics(), Rule::file_access, "this is a directory");
  EXPECT_REPORTS(StagedFile::stage(folder / "absent/out", {"x"}).diagnostics(), Rule::file_access,
                 "cannot create the file: No such file");
  EXPECT_REPORTS(StagedFile::stage("", {"x"}).diagnostics(), Rule::file_access, "no path");
  auto full = StagedFile::stage("/dev/full", {"x"});
  ASSERT_TRUE(full.ok());
  EXPECT_REPORTS(full->commit(), Rule::file_access, "cannot write the file: No space left on device");
  auto null = StagedFile::stage("/dev/null", {"x"});
  ASSERT_TRUE(null.ok());
  EXPECT_TRUE(null->commit().empty());
}

}  // namespace
}  // namespace plait::runtime
