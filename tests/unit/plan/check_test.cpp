#include "plan/check.h"

#include <gmock/gmock.h>

#include "fixture.h"

namespace plait::plan {
namespace {

using test::device;
using test::kernel_of;
using test::matmul;
using test::source;
using ::testing::HasSubstr;

/// Two roles, the copies in one, a product in flight in the other.
const char* kGood = R"(schedule k device h200
place:
  role load: warps 4, regs 40
  role math: warps 4, replicas 2 over rows, regs 232
  gemm@11: wgmma m64n64k16, A shared, B shared
loop k@8: planner hand
  copy@9: role load, unit tma, stage 0, order 0
  copy@10: role load, unit tma, stage 0, order 1
  gemm@11: role math, unit tensor, stage 0, order 2, in flight 1
  ring {A_s, B_s}: depth 3
  token gemm@11 -> gemm@11
)";
/// One role that runs two iterations behind its copies.
const char* kOneRole = R"(schedule k device h200
loop k@8: planner hand
  copy@9: unit tma, stage 0, order 0
  copy@10: unit tma, stage 0, order 1
  gemm@11: unit tensor, stage 2, order 2
  versions A_s: 3
  versions B_s: 3
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string found(const std::string& text, const std::string& kernel_text = matmul("for k in pipelined(8, stages=2)")) {
  auto schedule = parse(source(text));
  if (!schedule) throw InternalError(schedule.diagnostics().render());
  ir::Kernel kernel = kernel_of(kernel_text);
  return check(*schedule, kernel, graph::build(kernel), device()).render();
}

TEST(Check, LegalSchedules) {
  EXPECT_EQ(found(kGood), "");
  EXPECT_EQ(found(kOneRole), "");
  EXPECT_EQ(found("schedule k device h200\n"), "");
}

/// A product and what has nothing to do with it, without a loop.
const char* kStraight =
    "kernel k(A: in f16[64, 32], B: in f16[32, 64], X: inout f32[64, 64], C: out f32[64, 64]):\n  grid b = 1\n"
    "  A_s = shared f16[64, 32]\n  B_s = shared f16[32, 64]\n  x = fragment f32[64, 64]\n  C_l = fragment f32[64, 64]\n"
    "  copy(X[0, 0], x)\n"
    "  copy(A[0, 0], A_s)\n"
    "  copy(B[0, 0], B_s)\n"
    "  gemm(A_s, B_s, C_l, clear_accum=true)\n"
    "  copy(x, X[0, 0])\n"
    "  copy(C_l, C[0, 0])\n";

std::string order(const std::string& lines) { return "schedule k device h200\nregion body@7: planner hand\n" + lines; }

TEST(Check, RegionsKeepWhatTheirStatementsWaitFor) {
  EXPECT_EQ(found(order("  copy@8\n  copy@9\n  gemm@10\n  copy@7\n  copy@12\n  copy@11\n"), kStraight), "");
  EXPECT_THAT(
      found(order("  copy@8\n  gemm@10\n  copy@9\n  copy@7\n  copy@12\n  copy@11\n"), kStraight),
      HasSubstr("test.schedule:4:3: error: 'gemm@10' stands before 'copy@9', but it depends on it through `B_s` "
                "[schedule-edge]"));
  // A tensor that is read and written.
  EXPECT_THAT(found(order("  copy@11\n  copy@7\n  copy@8\n  copy@9\n  gemm@10\n  copy@12\n"), kStraight),
              HasSubstr("'copy@11' stands before 'copy@7', but it depends on it through"));
}

TEST(Check, RegionsNameEveryStatementOnce) {
  EXPECT_THAT(found(order("  copy@8\n  copy@9\n  gemm@10\n  copy@7\n  copy@12\n"), kStraight),
              HasSubstr("'copy@11' has no line [schedule-complete]"));
  EXPECT_THAT(found(order("  copy@8\n  copy@8\n  gemm@10\n  copy@7\n  copy@12\n"), kStraight),
              HasSubstr("'copy@8' has a second line [schedule-complete]"));
  EXPECT_THAT(found(order("  copy@88\n"), kStraight), HasSubstr("the region body@7 has no statement 'copy@88'"));
  EXPECT_THAT(found("schedule k device h200\nregion body@9: planner hand\n  copy@9\n", kStraight),
              HasSubstr("the kernel has no region 'body@9' of statements outside of pipelined loops"));
  EXPECT_THAT(found(order("  copy@8\nregion body@7: planner hand\n"), kStraight),
              HasSubstr("the region 'body@7' has a second part"));
  // Of a loop's statements the loop says when they run.
  EXPECT_THAT(found("schedule k device h200\nregion body@9: planner hand\n  copy@9\n"), HasSubstr("[schedule-name]"));
}

TEST(Check, StatementsOfOneLineKeepTheirOrder) {
  const char* text =
      "def both(a, b, A, B):\n  copy(A[0], a)\n  copy(B[0], b)\n\n"
      "kernel k(A: in f32[64], B: in f32[64], C: out f32[64], D: out f32[64]):\n  grid g = 1\n"
      "  a = fragment f32[64]\n  b = fragment f32[64]\n  c = fragment f32[64]\n"
      "  both(a, b, A, B)\n  both(c, b, A, B)\n  copy(a, C[0])\n  copy(c, D[0])\n";
  EXPECT_THAT(found("schedule k device h200\nregion body@2: planner hand\n  copy@2#2\n  copy@2\n  copy@3\n  copy@3#2\n"
                    "  copy@12\n  copy@13\n",
                    text),
              HasSubstr("'copy@2#2' stands before 'copy@2', but they are of one kind and stand in one line"));
}

TEST(Check, ScheduleKernel) {
  EXPECT_THAT(found(replaced(kGood, "schedule k", "schedule j")),
              HasSubstr("test.schedule:1:1: error: the schedule is for the kernel 'j', not for 'k' [schedule-kernel]"));
  EXPECT_THAT(found(replaced(kGood, "h200", "a100")),
              HasSubstr("the schedule is for the device 'a100', not for 'h200' [schedule-kernel]"));
}

TEST(Check, ScheduleName) {
  EXPECT_THAT(found(replaced(kOneRole, "copy@9:", "copy@8:")),
              HasSubstr("test.schedule:3:3: error: the loop k@8 has no scheduled statement 'copy@8' [schedule-name]\n"
                        "    3 |   copy@8: unit tma, stage 0, order 0\n"));
  EXPECT_THAT(found(replaced(kOneRole, "copy@9:", "copy@8:")), HasSubstr("fix: did you mean `copy@9`?"));
  EXPECT_THAT(found(replaced(kOneRole, "loop k@8", "loop j@8")),
              HasSubstr("the kernel has no pipelined loop 'j@8' [schedule-name]"));
  EXPECT_THAT(found(replaced(kOneRole, "A_s", "A_t")),
              HasSubstr("the loop k@8 writes no on-chip buffer 'A_t' [schedule-name]"));
  EXPECT_THAT(found(replaced(kGood, "role math, unit", "role mat, unit")),
              HasSubstr("there is no role 'mat' [schedule-name]"));
  EXPECT_THAT(found(replaced(kGood, "role math, unit", "unit")), HasSubstr("'gemm@11' names no role [schedule-name]"));
  EXPECT_THAT(found(replaced(kGood, "gemm@11: wgmma", "gemm@12: wgmma")),
              HasSubstr("the kernel has no tile operation 'gemm@12' [schedule-name]"));
  EXPECT_THAT(found(replaced(kGood, "loop k", "  stage C_s direct\nloop k")),
              HasSubstr("the kernel has no fragment 'C_s' [schedule-name]"));
  EXPECT_THAT(found(replaced(kGood, "token gemm@11 ", "token gemm@9 ")),
              HasSubstr("test.schedule:11:3: error: the loop has no scheduled statement 'gemm@9' [schedule-name]"));
}

TEST(Check, ScheduleComplete) {
  EXPECT_THAT(found(replaced(kOneRole, "  copy@10: unit tma, stage 0, order 1\n", "")),
              HasSubstr("test.schedule:2:1: error: 'copy@10' has no line [schedule-complete]"));
  EXPECT_THAT(found(std::string(kOneRole) + "  copy@9: unit tma, stage 0, order 7\n"),
              HasSubstr("test.schedule:8:3: error: 'copy@9' has a second line [schedule-complete]"));
  EXPECT_THAT(found(std::string(kOneRole) + std::string(kOneRole).substr(std::string(kOneRole).find("loop"))),
              HasSubstr("the loop 'k@8' has a second part [schedule-complete]"));
  EXPECT_THAT(found(replaced(kGood, "role math:", "role load:")),
              HasSubstr("the role 'load' has a second line [schedule-complete]"));
}

TEST(Check, ScheduleStage) {
  EXPECT_THAT(found(replaced(kOneRole, "stage 0, order 1", "stage -1, order 1")),
              HasSubstr("test.schedule:4:3: error: 'copy@10' has stage -1 [schedule-stage]"));
  std::string early = matmul("for k in pipelined(8, stages=2)",
                             "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n"
                             "    if k > 5:\n      break\n");
  std::string text = found(std::string(kOneRole) + "  if@12: unit cuda, stage 0, order 3\n", early);
  EXPECT_THAT(text, HasSubstr("'gemm@11' has stage 2 in a loop that may end early [schedule-stage]"));
  EXPECT_THAT(text, HasSubstr("test.tile:13:7: note: the loop may end here"));
}

TEST(Check, ScheduleOrder) {
  EXPECT_THAT(found(replaced(kOneRole, "stage 0, order 1", "stage 0, order 0")),
              HasSubstr("test.schedule:4:3: error: 'copy@10' has order 0, as 'copy@9' has [schedule-order]"));
  EXPECT_THAT(found(replaced(kOneRole, "stage 0, order 1", "stage 0, order -1")),
              HasSubstr("'copy@10' has order -1 [schedule-order]"));
}

TEST(Check, ScheduleEdge) {
  std::string text =
      found(replaced(replaced(kOneRole, "stage 0, order 0", "stage 3, order 0"), "versions A_s: 3", "versions A_s: 1"));
  EXPECT_THAT(text, HasSubstr("test.schedule:5:3: error: gemm@11 reads 'A_s' too early: stage 2 + distance 0, order 2, "
                              "is not behind copy@9 with stage 3, order 0 [schedule-edge]"));
  EXPECT_THAT(text, HasSubstr("test.tile:9:5: note: copy@9 writes 'A_s'\n    9 |     copy(A[0, k * 32], A_s)"));
  EXPECT_THAT(text, HasSubstr("test.tile:11:5: note: gemm@11 reads it"));
  // With equal stages the order decides.
  std::string same = replaced(kOneRole, "stage 2, order 2", "stage 0, order 2");
  EXPECT_EQ(found(same), "");
  EXPECT_THAT(found(replaced(same, "stage 0, order 0", "stage 0, order 9")), HasSubstr("[schedule-edge]"));
}

TEST(Check, ScheduleStorage) {
  std::string text = found(replaced(kOneRole, "versions A_s: 3", "versions A_s: 2"));
  EXPECT_THAT(
      text,
      HasSubstr("test.schedule:3:3: error: copy@9 overwrites 'A_s' too early: stage 0 + distance 2, order 0, is not "
                "behind gemm@11 with stage 2, order 2 [schedule-storage]"));
  EXPECT_THAT(text, HasSubstr("note: gemm@11 reads 'A_s'"));
  // Behind the product in the order, two versions do.
  EXPECT_EQ(
      found(replaced(replaced(kOneRole, "versions A_s: 3", "versions A_s: 2"), "stage 0, order 0", "stage 0, order 5")),
      "");
  // A product that is awaited one later holds its tile one longer.
  std::string held = replaced(kOneRole, "order 2", "order 2, in flight 1");
  EXPECT_THAT(found(held), HasSubstr("is not behind gemm@11 with stage 3, order 2 [schedule-storage]"));
  EXPECT_EQ(found(replaced(replaced(held, "A_s: 3", "A_s: 4"), "B_s: 3", "B_s: 4")), "");
}

TEST(Check, ScheduleCarried) {
  std::string text = found(std::string(kOneRole) + "  versions C_l: 2\n");
  EXPECT_THAT(text, HasSubstr("test.schedule:8:3: error: 'C_l' has 2 versions [schedule-carried]"));
  EXPECT_THAT(text, HasSubstr("test.tile:11:5: note: gemm@11 may read what gemm@11 left in an earlier iteration"));
}

TEST(Check, ScheduleValue) {
  EXPECT_THAT(found(replaced(kOneRole, "versions A_s: 3", "versions A_s: 0")),
              HasSubstr("'A_s' has 0 versions [schedule-value]"));
  EXPECT_THAT(found(replaced(kGood, "place:\n", "place:\n  work plain, cluster (8, 4)\n")),
              HasSubstr("a cluster of 32 blocks; h200 has at most"));
  EXPECT_THAT(found(replaced(kGood, "copy@10: role load, unit tma", "copy@10: role load, unit tensor")),
              HasSubstr("'copy@10' has unit tensor, which multiplies matrices [schedule-value]"));
  EXPECT_THAT(found(replaced(kGood, "gemm@11: role math, unit tensor", "gemm@11: role math, unit tma")),
              HasSubstr("'gemm@11' has unit tma, which moves boxes of tensors [schedule-value]"));
  EXPECT_THAT(found(replaced(kGood, "place:\n", "place:\n  work plain, occupancy 2\n")),
              HasSubstr(", times 2 blocks; h200 has 65536 [schedule-registers]"));
  EXPECT_THAT(found(replaced(kGood, "place:\n", "place:\n  work stream_k, split_k 2\n")),
              HasSubstr("split_k 2 and stream_k both say into which pieces tiles are cut [schedule-value]"));
  EXPECT_THAT(found(replaced(kGood, "warps 4, regs 40", "warps 32, regs 24")),
              HasSubstr("a block of h200 has at most 1024 [schedule-value]"));
}

TEST(Check, ScheduleDepth) {
  EXPECT_THAT(found(replaced(kGood, "depth 3", "depth 0")), HasSubstr("the ring has 0 slots [schedule-depth]"));
  std::string text = found(replaced(kGood, "depth 3", "depth 1"));
  EXPECT_THAT(text,
              HasSubstr("test.schedule:10:3: error: the ring has 1 slot; role 'math' takes 1 more before it gives "
                        "one back, so it needs 2 [schedule-depth]"));
  EXPECT_THAT(text, HasSubstr("test.tile:11:5: note: gemm@11 is the last to end with it"));
  EXPECT_EQ(found(replaced(kGood, "depth 3", "depth 2")), "");
  EXPECT_EQ(found(replaced(replaced(kGood, "depth 3", "depth 1"), ", in flight 1", "")), "");
  // A second reader two stages behind the first.
  std::string body =
      "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n    gemm(A_s, B_s, S)\n";
  std::string two = replaced(replaced(kGood, "  ring", "  gemm@12: role math, unit tensor, stage 2, order 3\n  ring"),
                             ", in flight 1", "");
  EXPECT_EQ(found(two, matmul("for k in pipelined(8)", body)), "");
  EXPECT_THAT(found(replaced(two, "depth 3", "depth 2"), matmul("for k in pipelined(8)", body)),
              HasSubstr("so it needs 3 [schedule-depth]"));
}

TEST(Check, ScheduleChannel) {
  EXPECT_THAT(found(replaced(kGood, "  ring {A_s, B_s}: depth 3\n", "  ring {A_s}: depth 3\n")),
              HasSubstr("'B_s' passes from role 'load' to role 'math', but it is in no ring [schedule-channel]"));
  EXPECT_THAT(found(std::string(kGood) + "  ring {A_s}: depth 2\n"),
              HasSubstr("the copies of 'A_s' are given twice [schedule-channel]"));
  EXPECT_THAT(found(std::string(kGood) + "  ring {C_l}: depth 1\n"),
              HasSubstr("'C_l' lies in fragment memory and passes through no ring [schedule-channel]"));
  std::string body =
      "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n    copy(C_l, S)\n";
  EXPECT_THAT(
      found(replaced(kGood, "  ring", "  copy@12: role load, unit cuda, stage 0, order 3\n  ring"),
            matmul("for k in pipelined(8)", body)),
      HasSubstr("'C_l' passes from role 'math' to role 'load', but it lies in fragment memory [schedule-channel]"));
}

TEST(Check, ScheduleFifo) {
  std::string body =
      "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n    gemm(A_s, B_s, C_l)\n";
  std::string text =
      replaced(kGood, "  ring", "  gemm@12: role math, unit tensor, stage 0, order 3, in flight 1\n  ring");
  std::string kernel = matmul("for k in pipelined(8)", body);
  EXPECT_EQ(found(text, kernel), "");
  EXPECT_THAT(
      found(replaced(replaced(text, "order 2, in flight 1", "order 2, in flight 2"), "order 3, in flight 1", "order 3"),
            kernel),
      HasSubstr("test.schedule:9:3: error: 'gemm@11' is in flight 2, but 'gemm@12' behind it is awaited before that, "
                "and with it all earlier work of unit tensor [schedule-fifo]"));
  EXPECT_THAT(found(replaced(kOneRole, "order 0", "order 0, in flight 3")), HasSubstr("write in flight 1 at most"));
}

TEST(Check, ScheduleToken) {
  EXPECT_THAT(found(replaced(kGood, "token gemm@11 -> gemm@11", "token copy@9 -> gemm@11")),
              HasSubstr("the token passes from role 'load' to role 'math' [schedule-token]"));
  EXPECT_THAT(found(replaced(kGood, "token gemm@11 -> gemm@11", "token copy@9 -> copy@10")),
              HasSubstr("role 'load' has one replica [schedule-token]"));
}

TEST(Check, ScheduleMemory) {
  std::string text = found(replaced(kGood, "depth 3", "depth 28"));
  EXPECT_THAT(text, HasSubstr("test.schedule:6:1: error: k needs 240 KiB of shared memory with up to 28 copies of a "
                              "buffer; a block of h200 can have 227 KiB [schedule-memory]"));
  EXPECT_THAT(text, HasSubstr("fix: use a depth of 26, the largest that fits, with 224 KiB; or smaller tiles"));
  // What stores are staged through counts too.
  EXPECT_THAT(
      found(replaced(replaced(kGood, "depth 3", "depth 26"), "loop k", "  stage C_l through 8 KiB, tma store\nloop k")),
      HasSubstr("k needs 232 KiB"));
}

TEST(Check, ScheduleRegisters) {
  EXPECT_THAT(found(replaced(kGood, "regs 232", "regs 230")),
              HasSubstr("role 'math' has 230 registers, no multiple of 8 from 24 to 256 [schedule-registers]"));
  EXPECT_THAT(found(replaced(replaced(kGood, "regs 40", "regs 256"), "regs 232", "regs 256")),
              HasSubstr("the roles have 98304 registers; h200 has 65536 [schedule-registers]"));
  EXPECT_THAT(
      found(replaced(kGood, "regs 232", "regs 32")),
      HasSubstr(
          "role 'math' has 32 registers, but its fragments take 16 a thread and 24 are to spare [schedule-registers]"));
}

}  // namespace
}  // namespace plait::plan
