#include "cuda/tensor_map.h"

#include "fixture.h"

namespace plait::cuda {
namespace {

using ir::DType;
using ::testing::ElementsAre;

class TensorMapTest : public ::testing::Test {
 protected:
  TensorMapTest() : table(FakeDriver::reset()), fake(FakeDriver::instance()) {
    buffer.name = "A";
    view = {reinterpret_cast<void*>(std::uintptr_t{4096}), DType::bf16, {100, 72}, {72, 1}};
    map.name = "A_map";
    map.box = {64, 64};
    map.swizzle = roles::Swizzle::b128;
  }
  Diagnostics findings() {
    buffer.type = view.type;
    map.tensor = std::make_shared<ir::BufferDecl>(buffer);
    auto encoded = encode_map(table, map, view);
    return encoded ? Diagnostics() : encoded.diagnostics();
  }

  Driver table;
  FakeDriver& fake;
  ir::BufferDecl buffer;
  ir::TensorView view;
  roles::MapDecl map;
};

TEST_F(TensorMapTest, TellsTheDriverInnermostFirst) {
  ASSERT_TRUE(findings().empty());
  ASSERT_EQ(fake.encoded.size(), 1u);
  const auto& encoded = fake.encoded[0];
  EXPECT_EQ(encoded.type, MapType::bf16);
  EXPECT_EQ(encoded.address, view.data);
  EXPECT_THAT(encoded.extents, ElementsAre(72, 100));
  EXPECT_THAT(encoded.strides, ElementsAre(144));
  EXPECT_THAT(encoded.box, ElementsAre(64, 64));
  EXPECT_EQ(encoded.swizzle, MapSwizzle::b128);
}

TEST_F(TensorMapTest, StridesThatAreNeverSteppedAlongMayBeAnything) {
  view.shape = {1, 100, 1, 70};
  view.strides = {7, 72, 3, 1};
  map.box = {1, 64, 1, 64};
  ASSERT_TRUE(findings().empty());
  EXPECT_THAT(fake.encoded[0].strides, ElementsAre(144, 144, 14400));
}

TEST_F(TensorMapTest, AnEmptyTensorNeedsNoMap) {
  view.shape = {0, 72};
  view.data = nullptr;
  EXPECT_TRUE(findings().empty());
  EXPECT_TRUE(fake.encoded.empty());
}

TEST_F(TensorMapTest, ReportsAddressesAndStrides) {
  view.data = reinterpret_cast<void*>(std::uintptr_t{4104});
  EXPECT_REPORTS(findings(), Rule::gpu_map, "map A_map: A does not start at a multiple of 16 bytes");
  view.strides = {76, 1};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "dimension 0 of A has a stride of 152 bytes, not a multiple of 16");
  view.strides = {std::int64_t{1} << 39, 1};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "below 2^40");
  view.strides = {72, 2};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "the last dimension of A has stride 2, not 1");
}

TEST_F(TensorMapTest, ReportsBoxes) {
  map.box = {64};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "the box has 1 dimensions, A has 2");
  map.box = {257, 64};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "an extent of the box [257, 64] is not in 1 to 256");
  map.box = {64, 0};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "an extent of the box [64, 0] is not in 1 to 256");
  map.box = {64, 60};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "a row of the box has 120 bytes, not a multiple of 16");
  map.box = {64, 128};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "a row of the box has 256 bytes, more than the swizzle of 128");
  map.swizzle = roles::Swizzle::none;
  EXPECT_TRUE(findings().empty());
}

TEST_F(TensorMapTest, MovesNarrowElementsByBytes) {
  view.type = DType::i4;
  view.shape = {100, 288};
  view.strides = {320, 1};
  ASSERT_TRUE(findings().empty());
  ASSERT_EQ(fake.encoded.size(), 1u);
  EXPECT_EQ(fake.encoded[0].type, MapType::u8);
  EXPECT_THAT(fake.encoded[0].extents, ElementsAre(144, 100));
  EXPECT_THAT(fake.encoded[0].strides, ElementsAre(160));
  EXPECT_THAT(fake.encoded[0].box, ElementsAre(64, 64));
  view.shape = {100, 287};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "a row of A has 287 elements of 4 bits, no whole bytes");
  view.shape = {100, 288};
  view.strides = {321, 1};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "the stride of dimension 0 of A has 321 elements of 4 bits");
  view.strides = {290, 1};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "dimension 0 of A has a stride of 145 bytes, not a multiple of 16");
}

TEST_F(TensorMapTest, ReportsRanksAndExtents) {
  view.type = DType::u8;
  view.shape = {2, 2, 2, 2, 2, 16};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "A has 6 dimensions, TMA takes 1 to 5");
  view.shape = {(std::int64_t{1} << 32) + 1};
  view.strides = {1};
  map.box = {64};
  EXPECT_REPORTS(findings(), Rule::gpu_map, "dimension 0 of A is 4294967297, more than 2^32");
}

TEST_F(TensorMapTest, TellsAllThatIsWrong) {
  view.data = reinterpret_cast<void*>(std::uintptr_t{4104});
  view.strides = {76, 1};
  Diagnostics found = findings();
  ASSERT_EQ(found.list().size(), 1u);
  EXPECT_EQ(found.list()[0].notes.size(), 1u);
}

TEST_F(TensorMapTest, ReportsWhatTheDriverRefuses) {
  fake.failures["encode_map"] = Status::invalid_value;
  EXPECT_REPORTS(findings(), Rule::gpu_call, "encoding map A_map failed");
}

}  // namespace
}  // namespace plait::cuda
