// What calls of a role program need, as text and back, at the places of the program that it came from.
#include "roles/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "roles/parse.h"

namespace plait::roles {
namespace {

Program program_of(const std::string& text) {
  auto program = parse(std::make_shared<SourceFile>("test.roles", text));
  if (!program) throw InternalError(program.diagnostics().render());
  return std::move(*program);
}

Program again(const Program& program) {
  HeadText head = print_head(program);
  auto read = parse_head(head.text, head.lines);
  if (!read) throw InternalError(read.diagnostics().render() + head.text);
  return std::move(*read);
}

const char* kEverything = R"(
roles everything(A: in bf16[M, K, ceildiv(N, 2)] strides [lda, 2 * N, 1],
                 C: out f32[M, K], W: inout i8[N],
                 alpha: f32 = 0.5, sms: i32, n: i64) device h200 with sms as sms_2:
  require K % 8 == 0, "rows of \"16\" bytes"
  require M * N < 1000000
  tiles = ceildiv(i32(M), 128)
  half = f32(0.25)
  launch min(sms_2, tiles) * 2, i32(N), 3
  cluster 2
  occupancy 2
  workspace parts: f32[M, 128] zero
  map A_map = A box [1, 64, 64] swizzle 128
  smem A_s: bf16[64, 64] swizzle 128
  mbar full[1] count 1
  prologue:
    sync_threads
  role load warps 4:
    sync_threads
)";

TEST(RolesHead, IsReadBack) {
  Program program = program_of(kEverything);
  Program head = head_of(program);
  EXPECT_TRUE(head.roles.empty() && head.smem.empty() && head.mbars.empty() && head.prologue.empty());
  EXPECT_TRUE(equal(again(program), head)) << print_head(program).text;
  EXPECT_EQ(print_head(again(program)).text, print_head(program).text);
}

TEST(RolesHead, KeepsItsPlaces) {
  Program program = program_of(kEverything), head = again(program);
  auto same = [](const Loc& a, const Loc& b) {
    return a.source == b.source && a.line == b.line && a.column == b.column && a.length == b.length;
  };
  EXPECT_TRUE(same(head.loc, program.loc));
  for (std::size_t i = 0; i < program.params.size(); ++i) {
    const ir::Param &a = head.params[i], &b = program.params[i];
    if (b.kind == ir::ParamKind::scalar) {
      EXPECT_TRUE(same(a.scalar->loc, b.scalar->loc));
      continue;
    }
    EXPECT_TRUE(same(a.buffer->loc, b.buffer->loc)) << b.buffer->name;
    for (std::size_t d = 0; d < b.buffer->shape.size(); ++d)
      EXPECT_TRUE(same(a.buffer->shape[d]->loc, b.buffer->shape[d]->loc)) << b.buffer->name << d;
  }
  for (std::size_t i = 0; i < program.dims.size(); ++i)
    EXPECT_TRUE(same(head.dims[i]->loc, program.dims[i]->loc)) << program.dims[i]->name;
  for (std::size_t i = 0; i < program.requires_.size(); ++i)
    EXPECT_TRUE(same(head.requires_[i].loc, program.requires_[i].loc)) << i;
  for (std::size_t i = 0; i < program.lets.size(); ++i)
    EXPECT_TRUE(same(head.lets[i].value->loc, program.lets[i].value->loc)) << i;
  for (std::size_t i = 0; i < program.launch.size(); ++i)
    EXPECT_TRUE(same(head.launch[i]->loc, program.launch[i]->loc)) << i;
  EXPECT_TRUE(same(head.maps[0]->loc, program.maps[0]->loc));
  EXPECT_TRUE(same(head.workspaces[0]->loc, program.workspaces[0]->loc));
}

TEST(RolesHead, OfEveryProgramOfTheSuite) {
  int count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(PLAIT_SOURCE_DIR "/tests/roles")) {
    if (file.path().extension() != ".roles") continue;
    std::ostringstream text;
    text << std::ifstream(file.path()).rdbuf();
    Program program = program_of(text.str());
    EXPECT_TRUE(equal(again(program), head_of(program))) << file.path();
    ++count;
  }
  EXPECT_GT(count, 5);
}

TEST(RolesHead, AnyTextIsSafe) {
  std::string whole = print_head(program_of(kEverything)).text;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    auto read = parse_head(whole.substr(0, size), {});
    if (!read) {
      EXPECT_TRUE(read.diagnostics().has_errors());
    }
  }
  for (const char* bad : {"", "\xff\xfe", "roles", "kernel k():\n", "roles x() device h200:\n"})
    EXPECT_FALSE(parse_head(bad, {}).ok()) << bad;
}

}  // namespace
}  // namespace plait::roles
