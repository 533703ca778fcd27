#include "layout/fragment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <set>

#include "support/diagnostic.h"

namespace plait::layout {

void PrintTo(const Coord& at, std::ostream* out) { *out << "[" << at.row << ", " << at.column << "]"; }

namespace {

using ir::DType;

/// Where element i of thread t lies in one instruction's operand: the tables of the instruction set manual, which are
/// in terms of the group (lane / 4), the thread in the group (lane % 4) and i.
using Atom = std::function<Coord(int thread, int i)>;

struct AtomCase {
  const char* name;
  FragmentKind kind;
  DType type;
  std::int64_t rows, columns;  ///< of the atom
  int elements;                ///< a thread
  Atom atom;
};

int group(int thread) { return thread % 32 / 4; }
int in_group(int thread) { return thread % 4; }
int warp_row(int thread) { return thread / 32 * 16; }

/// a0, a1: row g; a2, a3: row g + 8; a4…: eight columns on.
Coord half_operand(int thread, int i) {
  bool lower = (i >= 2 && i < 4) || i >= 6;
  return {warp_row(thread) + group(thread) + (lower ? 8 : 0), in_group(thread) * 2 + (i & 1) + (i >= 4 ? 8 : 0)};
}
Coord byte_operand(int thread, int i) {
  bool upper = i < 4 || (i >= 8 && i < 12);
  return {warp_row(thread) + group(thread) + (upper ? 0 : 8), in_group(thread) * 4 + (i & 3) + (i < 8 ? 0 : 16)};
}
Coord word_operand(int thread, int i) {
  return {warp_row(thread) + group(thread) + (i == 1 || i == 3 ? 8 : 0), in_group(thread) + (i >= 2 ? 4 : 0)};
}
Coord result(int thread, int i) {
  return {warp_row(thread) + group(thread) + (i < 2 ? 0 : 8), in_group(thread) * 2 + (i & 1)};
}
/// B as [n, k].
Coord half_right(int thread, int i) { return {group(thread), in_group(thread) * 2 + (i & 1) + (i >= 2 ? 8 : 0)}; }
Coord byte_right(int thread, int i) { return {group(thread), in_group(thread) * 4 + (i & 3) + (i >= 4 ? 16 : 0)}; }
Coord word_right(int thread, int i) { return {group(thread), in_group(thread) + (i == 1 ? 4 : 0)}; }

std::vector<AtomCase> atom_cases() {
  std::vector<AtomCase> cases;
  for (DType type : {DType::f32, DType::f16, DType::i32}) {
    cases.push_back({"wgmma accumulator m64n8", FragmentKind::wgmma_acc, type, 64, 8, 4, result});
    cases.push_back({"mma accumulator m16n8", FragmentKind::mma_acc, type, 16, 8, 4, result});
  }
  for (DType type : {DType::f16, DType::bf16}) {
    cases.push_back({"wgmma A m64k16", FragmentKind::wgmma_a, type, 64, 16, 8, half_operand});
    cases.push_back({"mma A m16k16", FragmentKind::mma_a, type, 16, 16, 8, half_operand});
    cases.push_back({"mma A m16k8", FragmentKind::mma_a, type, 16, 8, 4, half_operand});
    cases.push_back({"mma B n8k16", FragmentKind::mma_b, type, 8, 16, 4, half_right});
    cases.push_back({"mma B n8k8", FragmentKind::mma_b, type, 8, 8, 2, half_right});
  }
  for (DType type : {DType::e4m3, DType::e5m2, DType::i8, DType::u8}) {
    cases.push_back({"wgmma A m64k32", FragmentKind::wgmma_a, type, 64, 32, 16, byte_operand});
    cases.push_back({"mma A m16k32", FragmentKind::mma_a, type, 16, 32, 16, byte_operand});
    cases.push_back({"mma A m16k16", FragmentKind::mma_a, type, 16, 16, 8, byte_operand});
    cases.push_back({"mma B n8k32", FragmentKind::mma_b, type, 8, 32, 8, byte_right});
    cases.push_back({"mma B n8k16", FragmentKind::mma_b, type, 8, 16, 4, byte_right});
  }
  cases.push_back({"wgmma A m64k8", FragmentKind::wgmma_a, DType::tf32, 64, 8, 4, word_operand});
  cases.push_back({"mma A m16k8", FragmentKind::mma_a, DType::tf32, 16, 8, 4, word_operand});
  cases.push_back({"mma A m16k4", FragmentKind::mma_a, DType::tf32, 16, 4, 2, word_operand});
  cases.push_back({"mma B n8k8", FragmentKind::mma_b, DType::tf32, 8, 8, 2, word_right});
  cases.push_back({"mma B n8k4", FragmentKind::mma_b, DType::tf32, 8, 4, 1, word_right});
  return cases;
}

bool of_warpgroup(FragmentKind kind) { return kind == FragmentKind::wgmma_acc || kind == FragmentKind::wgmma_a; }

/// A fragment of down x along atoms: each thread holds atom after atom, along the row first, each in its own order.
void expect_tiled(const AtomCase& c, std::int64_t down, std::int64_t along) {
  SCOPED_TRACE(::testing::Message() << c.name << " " << ir::dtype_name(c.type) << " " << down << " x " << along);
  FragmentSpec spec{c.kind, c.rows * down, c.columns * along, c.type};
  ASSERT_EQ(fragment_error(spec), std::nullopt);
  FragmentMap map = fragment_map(spec);
  ASSERT_EQ(map.threads(), of_warpgroup(c.kind) ? 128 : 32);
  ASSERT_EQ(map.elements_per_thread(), c.elements * down * along);
  for (int thread = 0; thread < map.threads(); ++thread) {
    for (std::int64_t e = 0; e < map.elements_per_thread(); ++e) {
      std::int64_t atom = e / c.elements;
      Coord at = c.atom(thread, static_cast<int>(e % c.elements));
      ASSERT_EQ(map.coord(thread, e), (Coord{at.row + atom / along * c.rows, at.column + atom % along * c.columns}))
          << "thread " << thread << " element " << e;
    }
  }
}

TEST(FragmentMap, AtomsLieAsTheInstructionSetSays) {
  for (const AtomCase& c : atom_cases()) {
    expect_tiled(c, 1, 1);
    expect_tiled(c, 2, 1);
  }
}

TEST(FragmentMap, AtomsFollowEachOtherAlongTheRowThenDown) {
  for (const AtomCase& c : atom_cases()) {
    // Half an instruction's K is not repeated: two of them are one whole.
    bool operand = c.kind == FragmentKind::mma_a || c.kind == FragmentKind::mma_b;
    if (operand && c.columns * ir::dtype_bits(c.type) == 128) continue;
    expect_tiled(c, 1, 5);
    expect_tiled(c, 3, 11);
  }
}

TEST(FragmentMap, AccumulatorOf16BitLiesAsTheOperand) {
  // So that exp(S) becomes P without moving between threads.
  FragmentMap acc = fragment_map({FragmentKind::wgmma_acc, 64, 176, DType::f32});
  EXPECT_EQ(acc, fragment_map({FragmentKind::wgmma_a, 64, 176, DType::bf16}));
  EXPECT_NE(acc, fragment_map({FragmentKind::wgmma_a, 64, 192, DType::bf16}));
  EXPECT_NE(fragment_map({FragmentKind::wgmma_acc, 64, 128, DType::f32}),
            fragment_map({FragmentKind::wgmma_a, 64, 128, DType::e4m3}));
}

/// Every element once in as many threads as the map says, owner and owners its inverse, the sum rule.
void expect_consistent(const FragmentMap& map) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Place>> holders;
  for (std::int64_t thread = 0; thread < map.threads(); ++thread) {
    Coord base = map.coord(thread, 0);
    for (std::int64_t e = 0; e < map.elements_per_thread(); ++e) {
      Coord at = map.coord(thread, e), offset = map.coord(0, e);
      ASSERT_EQ(at, (Coord{base.row + offset.row, base.column + offset.column}));
      holders[{at.row, at.column}].push_back({thread, e});
    }
  }
  ASSERT_EQ(static_cast<std::int64_t>(holders.size()), map.rows() * map.columns());
  for (const auto& [at, places] : holders) {
    ASSERT_GE(at.first, 0);
    ASSERT_LT(at.first, map.rows());
    ASSERT_LT(at.second, map.columns());
    ASSERT_EQ(static_cast<std::int64_t>(places.size()), map.replication());
    Coord coord{at.first, at.second};
    ASSERT_EQ(map.owner(coord), places.front());
    ASSERT_EQ(map.owners(coord), places);
  }
}

TEST(FragmentMap, EveryAtomCoversItsShapeOnce) {
  for (const AtomCase& c : atom_cases()) {
    expect_consistent(fragment_map({c.kind, c.rows * 2, c.columns * 3, c.type}));
    expect_consistent(rows_map(fragment_map({c.kind, c.rows * 2, c.columns * 3, c.type})));
  }
}

TEST(FragmentMap, VectorsGoLaneByLaneThenRowByRow) {
  // 128 threads, 4 a row of 2 x 4 x vec 2 columns: 32 rows at a time.
  FragmentMap map = fragment_map({FragmentKind::vector, 64, 16, DType::f32, 2, 4, 128});
  EXPECT_EQ(map.elements_per_thread(), 8);
  EXPECT_EQ(map.coord(0, 1), (Coord{0, 1}));
  EXPECT_EQ(map.coord(3, 0), (Coord{0, 6}));
  EXPECT_EQ(map.coord(4, 0), (Coord{1, 0}));
  EXPECT_EQ(map.coord(4, 2), (Coord{1, 8}));
  EXPECT_EQ(map.coord(5, 7), (Coord{33, 11}));
  // A row of all threads.
  EXPECT_EQ(fragment_map({FragmentKind::vector, 2, 4096, DType::bf16, 8, 256, 256}).coord(255, 31), (Coord{1, 4095}));
}

TEST(FragmentMap, RandomVectorsAreConsistent) {
  std::mt19937 random(7);
  auto pick = [&](int low, int high) { return std::int64_t{std::uniform_int_distribution<int>(low, high)(random)}; };
  for (int i = 0; i < 200; ++i) {
    FragmentSpec spec;
    spec.type = DType::bf16;
    spec.vec = std::int64_t{1} << pick(0, 3);
    spec.lanes = std::int64_t{1} << pick(0, 6);
    spec.threads = spec.lanes * pick(1, 6);
    spec.rows = spec.threads / spec.lanes * pick(1, 4);
    spec.columns = spec.lanes * spec.vec * pick(1, 3);
    ASSERT_EQ(fragment_error(spec), std::nullopt);
    expect_consistent(fragment_map(spec));
    expect_consistent(rows_map(fragment_map(spec)));
  }
}

TEST(FragmentMap, RowsAreHeldByAllThreadsOfTheRow) {
  FragmentMap rows = rows_map(fragment_map({FragmentKind::wgmma_acc, 128, 128, DType::f32}));
  EXPECT_EQ(rows.elements_per_thread(), 4);
  EXPECT_EQ(rows.replication(), 4);
  EXPECT_EQ(rows.coord(37, 1), (Coord{16 + 1 + 8, 0}));
  EXPECT_EQ(rows.coord(37, 2), (Coord{64 + 16 + 1, 0}));
  EXPECT_THAT(rows.owners({25, 0}), ::testing::ElementsAre(Place{36, 1}, Place{37, 1}, Place{38, 1}, Place{39, 1}));
  FragmentMap vector = rows_map(fragment_map({FragmentKind::vector, 4, 1024, DType::f32, 8, 32, 128}));
  EXPECT_EQ(vector.elements_per_thread(), 1);
  EXPECT_EQ(vector.coord(70, 0), (Coord{2, 0}));
  EXPECT_EQ(vector.replication(), 32);
}

std::string error(const FragmentSpec& spec) { return fragment_error(spec).value_or("none"); }

TEST(FragmentError, NamesWhatIsTaken) {
  EXPECT_EQ(error({FragmentKind::wgmma_acc, 60, 128, DType::f32}), "has 60 rows; wgmma_acc takes a multiple of 64");
  EXPECT_EQ(error({FragmentKind::wgmma_acc, 64, 12, DType::f32}), "has 12 columns; wgmma_acc takes a multiple of 8");
  EXPECT_EQ(error({FragmentKind::wgmma_acc, 64, 16, DType::i4}), "is of i4; wgmma_acc takes types of 8 bits and more");
  EXPECT_EQ(error({FragmentKind::wgmma_a, 64, 16, DType::e4m3}), "has 16 columns; wgmma_a takes a multiple of 32");
  EXPECT_EQ(error({FragmentKind::wgmma_a, 64, 8, DType::bf16}), "has 8 columns; wgmma_a takes a multiple of 16");
  EXPECT_EQ(error({FragmentKind::mma_a, 8, 16, DType::bf16}), "has 8 rows; mma_a takes a multiple of 16");
  EXPECT_EQ(error({FragmentKind::mma_b, 12, 16, DType::bf16}), "has 12 rows; mma_b takes a multiple of 8");
  EXPECT_EQ(error({FragmentKind::mma_a, 16, 16, DType::f32}),
            "is of f32; mma_a takes f16, bf16, tf32, e4m3, e5m2, i8 and u8");
  EXPECT_EQ(error({FragmentKind::vector, 4, 96, DType::f32, 3, 32, 128}),
            "has vec 3; a power of two up to 128 is taken");
  EXPECT_EQ(error({FragmentKind::vector, 4, 8192, DType::f32, 256, 32, 128}),
            "has vec 256; a power of two up to 128 is taken");
  EXPECT_EQ(error({FragmentKind::vector, 4, 96, DType::f32, 1, 24, 128}), "has lanes 24; a power of two is taken");
  EXPECT_EQ(error({FragmentKind::vector, 4, 96, DType::f32, 1, 256, 128}),
            "has lanes 256, which does not divide the 128 threads that hold it");
  EXPECT_EQ(error({FragmentKind::vector, 4, 80, DType::f32, 1, 32, 128}),
            "has 80 columns; lanes 32 with vec 1 take a multiple of 32");
  EXPECT_EQ(error({FragmentKind::vector, 3, 64, DType::f32, 1, 32, 128}),
            "has 3 rows; 128 threads with lanes 32 take a multiple of 4");
  EXPECT_EQ(error({FragmentKind::vector, 0, 64, DType::f32}), "has shape [0, 64]; extents are 1 to 1048576");
  EXPECT_EQ(error({FragmentKind::vector, 1, INT64_MAX, DType::f32, 1, 1, 1}),
            "has shape [1, 9223372036854775807]; extents are 1 to 1048576");
  EXPECT_THROW(fragment_map({FragmentKind::wgmma_acc, 60, 128, DType::f32}), InternalError);
}

TEST(FragmentMap, PlacesOutsideAreFaults) {
  FragmentMap map = fragment_map({FragmentKind::mma_acc, 16, 8, DType::f32});
  EXPECT_THROW(map.coord(32, 0), InternalError);
  EXPECT_THROW(map.coord(0, 4), InternalError);
  EXPECT_THROW(map.owner({16, 0}), InternalError);
  EXPECT_THROW(map.owner({0, -1}), InternalError);
}

TEST(Registers, PackNarrowElements) {
  EXPECT_EQ(registers(128, DType::f32), 128);
  EXPECT_EQ(registers(128, DType::bf16), 64);
  EXPECT_EQ(registers(6, DType::e4m3), 2);
  EXPECT_EQ(registers(3, DType::f64), 6);
}

}  // namespace
}  // namespace plait::layout
