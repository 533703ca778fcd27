#include "runtime/executor.h"

#include <atomic>

#include "fixture.h"

namespace plait::runtime {
namespace {

/// Stands for compiled code: what a block does is told by the first slots.
struct Board {
  std::atomic<std::int64_t> runs = 0;
  std::atomic<std::int64_t> sum = 0;
  std::int64_t trap_from = -1;  ///< blocks from this number on fail
};

constexpr std::int64_t kNx = 5, kNy = 7;

std::int32_t count_block(const cpu::Slot* slots, std::int64_t x, std::int64_t y, std::int64_t z, void* scratch,
                         cpu::Trap* trap) {
  auto* board = static_cast<Board*>(slots[0].pointer);
  std::int64_t number = x + kNx * (y + kNy * z);
  ++board->runs;
  board->sum += number;
  // Private to the call: nobody else may see the value change.
  auto* mine = static_cast<std::int64_t*>(scratch);
  *mine = number;
  if (*mine != number || reinterpret_cast<std::uintptr_t>(scratch) % 64 != 0) return 1;
  if (board->trap_from < 0 || number < board->trap_from) return 0;
  trap->values[0] = number;
  trap->values[1] = 42;
  return 2;
}

class ExecutorTest : public ::testing::TestWithParam<int> {
 protected:
  ExecutorTest() {
    code.block = count_block;
    code.scratch_bytes = 64;
    code.traps = {{{}, Rule::assert_failed, "scratch"}, {{}, Rule::out_of_bounds, "index {} leaves extent {} of {}"}};
    args.tensors = {{&board, ir::DType::u8, {1}, {1}}};
  }
  Diagnostics run(std::vector<std::int64_t> grid) {
    args.grid = std::move(grid);
    return execute(code, args, {GetParam()});
  }
  Board board;
  cpu::Code code;
  ir::BoundArgs args;
};

TEST_P(ExecutorTest, RunsEveryBlockOnce) {
  EXPECT_TRUE(run({kNx, kNy, 3}).empty());
  std::int64_t n = kNx * kNy * 3;
  EXPECT_EQ(board.runs, n);
  EXPECT_EQ(board.sum, n * (n - 1) / 2);
}

TEST_P(ExecutorTest, GridsOfFewerAxes) {
  EXPECT_TRUE(run({kNx, kNy}).empty());
  EXPECT_EQ(board.runs, kNx * kNy);
  EXPECT_TRUE(run({1}).empty());
  EXPECT_EQ(board.runs, kNx * kNy + 1);
}

TEST_P(ExecutorTest, AnEmptyGridRunsNothing) {
  EXPECT_TRUE(run({kNx, 0, 3}).empty());
  EXPECT_EQ(board.runs, 0);
}

TEST_P(ExecutorTest, ReportsTheTrapOfTheLowestBlock) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    board.trap_from = 41;
    Diagnostics diags = run({kNx, kNy, 40});
    EXPECT_REPORTS(diags, Rule::out_of_bounds, "index 41 leaves extent 42 of 0");
    ASSERT_EQ(diags.list().size(), 1u);
    EXPECT_EQ(diags.list()[0].notes.at(0).message, "in block (1, 1, 1)");
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, ExecutorTest, ::testing::Values(0, 1, 2, 8));

/// Slots in the order that cpu.h states.
std::int32_t check_slots(const cpu::Slot* s, std::int64_t, std::int64_t, std::int64_t, void*, cpu::Trap* trap) {
  bool right = *static_cast<int*>(s[0].pointer) == 1 && *static_cast<int*>(s[1].pointer) == 2;
  const std::int64_t integers[] = {2, 3, 30, 10, 4, 1};
  for (int i = 0; i < 6; ++i) right = right && s[2 + i].integer == integers[i];
  right = right && s[8].floating == 0.5 && s[9].integer == -7 && s[10].integer == 4 && s[11].integer == 1;
  trap->values[0] = 0;
  return right ? 0 : 1;
}

TEST(ExecutorSlotsTest, Order) {
  int first = 1, second = 2;
  cpu::Code code;
  code.block = check_slots;
  code.traps = {{{}, Rule::assert_failed, "slots"}};
  ir::BoundArgs args;
  args.tensors = {{&first, ir::DType::i32, {2, 3}, {30, 10}}, {&second, ir::DType::i32, {4}, {1}}};
  args.scalars = {{ir::DType::f32, 0, 0.5}, {ir::DType::i32, -7, 0}};
  args.dims = {4};
  args.grid = {1};
  EXPECT_TRUE(execute(code, args).empty());
}

TEST(ExecutorMemoryTest, ScratchThatDoesNotFitIsRefused) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer ends the program where operator new would throw";
#endif
  Board board;
  cpu::Code code;
  code.block = count_block;
  code.scratch_bytes = std::int64_t{1} << 60;
  ir::BoundArgs args;
  args.tensors = {{&board, ir::DType::u8, {1}, {1}}};
  args.grid = {kNx, kNy, 4};
  code.largest_buffer = {Loc{}, "the largest is x[9] with 36 bytes"};
  EXPECT_REPORTS(execute(code, args, {4}), Rule::out_of_memory,
                 "for each of 4 threads (the largest is x[9] with 36 bytes), which is more than there is");
  EXPECT_REPORTS(execute(code, args, {1}), Rule::out_of_memory, "for each of 1 threads");
  EXPECT_EQ(board.runs, 0);
}

}  // namespace
}  // namespace plait::runtime
