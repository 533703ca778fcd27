#include "layout/matrix_access.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "layout/banks.h"
#include "support/diagnostic.h"

namespace plait::layout {
namespace {

using ir::DType;

/// Bytes of shared memory, each holding which byte of which element of a fragment was put there.
using Memory = std::map<std::int64_t, std::array<std::int64_t, 3>>;

/// stmatrix as the instruction set manual states it, run for every warp of the map.
Memory run_stores(const MatrixRequest& whole, const SmemTile& tile, Coord tile_begin) {
  Memory memory;
  int per = 32 / whole.bits;
  for (std::int64_t warp = 0; warp < whole.map.threads() / 32; ++warp) {
    MatrixRequest request = whole;
    request.warp = warp;
    for (const MatrixAccess& access : matrix_accesses(request)) {
      EXPECT_EQ(access.lanes.size(), static_cast<std::size_t>(8 * access.count));
      for (int matrix = 0; matrix < access.count; ++matrix) {
        for (int lane = 0; lane < 32; ++lane) {
          for (int byte = 0; byte < 4; ++byte) {
            std::int64_t element = (access.first_register + matrix) * per + byte * 8 / whole.bits;
            Coord from = whole.map.coord(32 * warp + lane, element);
            // Without trans, lane l has bytes 4·(l % 4)… of row l / 4; with it, column l / 4 of rows 2·(l % 4)…
            int row = request.trans ? 2 * (lane % 4) + byte / 2 : lane / 4;
            int at = request.trans ? 2 * (lane / 4) + byte % 2 : 4 * (lane % 4) + byte;
            EXPECT_EQ(matrix_byte(lane, byte, request.trans), (Coord{row, at}));
            Coord start = access.lanes[static_cast<std::size_t>(8 * matrix + row)];
            std::int64_t address = tile.offset(tile_begin.row + start.row, tile_begin.column + start.column) + at;
            EXPECT_TRUE(memory.insert({address, {from.row, from.column, byte % (whole.bits / 8)}}).second);
          }
        }
      }
    }
  }
  return memory;
}

/// The part of the fragment stands in the tile, element by element.
void expect_moves(const MatrixRequest& request, const SmemTile& tile, Coord tile_begin) {
  ASSERT_EQ(matrix_access_error(request), std::nullopt);
  Memory memory = run_stores(request, tile, tile_begin);
  int bytes = request.bits / 8;
  ASSERT_EQ(static_cast<std::int64_t>(memory.size()), request.rows * request.columns * bytes);
  for (std::int64_t r = 0; r < request.rows; ++r) {
    for (std::int64_t c = 0; c < request.columns; ++c) {
      std::int64_t offset = request.trans ? tile.offset(tile_begin.row + c, tile_begin.column + r)
                                          : tile.offset(tile_begin.row + r, tile_begin.column + c);
      for (int byte = 0; byte < bytes; ++byte) {
        std::array<std::int64_t, 3> expected = {request.begin.row + r, request.begin.column + c, byte};
        ASSERT_EQ(memory[offset + byte], expected);
      }
    }
  }
}

TEST(MatrixAccess, AccumulatorGoesToTheTile) {
  FragmentMap acc = fragment_map({FragmentKind::wgmma_acc, 64, 176, DType::f32});
  for (int span : {0, 32, 64, 128}) {
    SmemTile tile{128, 128, 16, span, 0, 1};
    expect_moves({acc, 16, 0, {0, 0}, 64, 64}, tile, {0, 0});
    expect_moves({acc, 16, 0, {0, 64}, 64, 64}, tile, {64, 64});
    expect_moves({acc, 16, 0, {0, 160}, 64, 16}, tile, {0, 16});
    expect_moves({acc, 16, 0, {0, 8}, 64, 8}, tile, {0, 8});
    // C stored transposed.
    expect_moves({acc, 16, 0, {0, 48}, 64, 112, true}, tile, {16, 64});
  }
  FragmentMap tall = fragment_map({FragmentKind::wgmma_acc, 128, 64, DType::f32});
  expect_moves({tall, 16, 0, {64, 0}, 64, 64}, {128, 64, 16, 128, 0, 1}, {0, 0});
}

TEST(MatrixAccess, OperandsComeFromTheTile) {
  for (DType type : {DType::bf16, DType::e4m3, DType::tf32}) {
    int bits = ir::dtype_bits(type);
    std::int64_t k = 3 * 256 / bits;
    SmemTile tile{128, 1024 / bits, bits, 128, 0, 1};
    FragmentMap wide = fragment_map({FragmentKind::wgmma_a, 64, k, type});
    FragmentMap a = fragment_map({FragmentKind::mma_a, 32, k, type});
    FragmentMap b = fragment_map({FragmentKind::mma_b, 24, k, type});
    expect_moves({wide, bits, 0, {0, 0}, 64, k}, tile, {8, 0});
    expect_moves({a, bits, 0, {0, 0}, 32, k}, tile, {16, 0});
    expect_moves({a, bits, 0, {16, 0}, 16, k / 3}, tile, {40, k / 3});
    expect_moves({b, bits, 0, {0, 0}, 24, k}, tile, {0, 0});
    expect_moves({b, bits, 0, {8, k / 3}, 8, k / 3}, tile, {0, k / 3});
  }
}

TEST(MatrixAccess, TransposedOperandsComeFromTheTile) {
  SmemTile tile{128, 64, 16, 128, 0, 1};
  expect_moves({fragment_map({FragmentKind::mma_b, 32, 64, DType::f16}), 16, 0, {0, 0}, 32, 64, true}, tile, {16, 8});
  expect_moves({fragment_map({FragmentKind::mma_a, 32, 64, DType::f16}), 16, 0, {0, 0}, 32, 64, true}, tile, {0, 32});
}

TEST(MatrixAccess, TakesFourMatricesWhereRegistersFollowEachOther) {
  FragmentMap acc = fragment_map({FragmentKind::wgmma_acc, 64, 256, DType::f32});
  std::vector<MatrixAccess> stores = matrix_accesses({acc, 16, 1, {0, 64}, 64, 64});
  ASSERT_EQ(stores.size(), 4U);
  EXPECT_EQ(stores[1].count, 4);
  EXPECT_EQ(stores[1].first_register, 20);
  // Warp 1: rows 16 to 31; the second eight lanes take the lower half.
  EXPECT_EQ(stores[1].lanes[0], (Coord{16, 16}));
  EXPECT_EQ(stores[1].lanes[9], (Coord{25, 16}));
  EXPECT_EQ(stores[1].lanes[16], (Coord{16, 24}));
  EXPECT_EQ(matrix_accesses({acc, 16, 0, {0, 0}, 64, 8})[0].count, 2);
  FragmentMap b = fragment_map({FragmentKind::mma_b, 8, 24, DType::bf16});
  EXPECT_EQ(matrix_accesses({b, 16, 0, {0, 0}, 8, 24})[1].count, 1);
}

TEST(MatrixAccess, ErrorsNameWhatIsTaken) {
  auto error = [](const MatrixRequest& request) { return matrix_access_error(request).value_or("none"); };
  FragmentMap acc = fragment_map({FragmentKind::wgmma_acc, 64, 64, DType::f32});
  EXPECT_EQ(error({acc, 8, 0, {0, 0}, 64, 64}), "does not lie as 8 rows of 16 bytes over the lanes of a warp");
  EXPECT_EQ(error({acc, 32, 0, {0, 0}, 64, 64}), "does not lie as 8 rows of 16 bytes over the lanes of a warp");
  EXPECT_EQ(error({acc, 64, 0, {0, 0}, 64, 64}), "has elements of 64 bits; 8, 16 and 32 are taken");
  EXPECT_EQ(error({acc, 16, 0, {0, 4}, 64, 8}), "is cut at [0, 4] to 64 x 8; matrices are 8 x 8");
  EXPECT_EQ(error({acc, 16, 0, {0, 8}, 64, 64}), "has no such part");
  EXPECT_EQ(error({acc, 16, 4, {0, 0}, 64, 64}), "has no warp 4");
  FragmentMap bytes = fragment_map({FragmentKind::mma_a, 16, 32, DType::i8});
  EXPECT_EQ(error({bytes, 8, 0, {0, 0}, 16, 32, true}), "has elements of 8 bits; only 16-bit ones are transposed");
  FragmentMap vector = fragment_map({FragmentKind::vector, 4, 64, DType::bf16, 2, 32, 128});
  EXPECT_EQ(error({vector, 16, 0, {0, 0}, 4, 64}), "does not lie as 8 rows of 16 bytes over the lanes of a warp");
  EXPECT_THROW(matrix_accesses({acc, 16, 4, {0, 0}, 64, 64}), InternalError);
}

/// Conflicts of all the stores of a warp.
int conflicts(const MatrixRequest& request, const SmemTile& tile) {
  int total = 0;
  for (const MatrixAccess& access : matrix_accesses(request)) {
    WarpAccess warp{{}, 16};
    for (const Coord& at : access.lanes) warp.addresses.push_back(tile.offset(at.row, at.column));
    total += bank_conflicts(warp);
  }
  return total;
}

TEST(MatrixAccess, SwizzledTilesAreFreeOfConflicts) {
  MatrixRequest request{fragment_map({FragmentKind::wgmma_acc, 64, 64, DType::f32}), 16, 2, {0, 0}, 64, 64};
  for (int span : {32, 64, 128}) EXPECT_EQ(conflicts(request, {64, 64, 16, span, 0, 1}), 0) << span;
  EXPECT_EQ(conflicts(request, {64, 64, 16, 0, 8, 1}), 0) << "padded by 16 bytes";
  // Rows of 128 bytes: the 8 rows of each of 16 matrices lie in the same 4 banks.
  EXPECT_EQ(conflicts(request, {64, 64, 16, 0, 0, 1}), 16 * 7);
  request.trans = true;
  EXPECT_EQ(conflicts(request, {64, 64, 16, 128, 0, 1}), 0);
}

}  // namespace
}  // namespace plait::layout
