#include "cuda/timing.h"

#include "cuda/memory.h"
#include "fixture.h"

namespace plait::cuda {
namespace {

class TimingTest : public ::testing::Test {
 protected:
  TimingTest() : table(FakeDriver::reset()), fake(FakeDriver::instance()) {
    auto found = current_context(table);
    if (!found) throw std::runtime_error(found.diagnostics().render());
    context = *found;
    options.windows = 3;
    options.seconds = 0;
    options.idle_seconds = 0;
    options.window_ms = 4;
    fake.elapsed_ms = 1;
    for (int i = 0; i < 2; ++i) {
      auto loaded = std::make_shared<LoadedKernel>(table, nullptr);
      loaded->function = reinterpret_cast<FunctionHandle>(std::uintptr_t{0x10} + static_cast<std::uintptr_t>(i));
      launches.push_back(std::make_unique<Launch>(std::move(loaded), "k", Loc{}));
      rotation.push_back(launches.back().get());
    }
  }

  Driver table;
  FakeDriver& fake;
  Context context;
  TimingOptions options;
  std::vector<std::unique_ptr<Launch>> launches;
  std::vector<const Launch*> rotation;
};

TEST_F(TimingTest, TimesWindowsOfOneGraphEach) {
  auto timing = measure(context, rotation, options);
  ASSERT_TRUE(timing.ok()) << timing.diagnostics().render();
  EXPECT_EQ(timing->windows, 3);
  EXPECT_EQ(timing->launches, 4) << "launches of 1 ms fill a window of 4 ms";
  EXPECT_DOUBLE_EQ(timing->median_ms, 0.25);
  EXPECT_EQ(fake.calls["instantiate"], 1);
  EXPECT_EQ(fake.calls["launch_graph"], 4) << "one warms up";
}

TEST_F(TimingTest, RotatesOverTheTensors) {
  ASSERT_TRUE(measure(context, rotation, options).ok());
  ASSERT_EQ(fake.captured.size(), 4u);
  EXPECT_EQ(fake.captured[0], fake.captured[2]);
  EXPECT_EQ(fake.captured[1], fake.captured[3]);
  EXPECT_NE(fake.captured[0], fake.captured[1]);
}

TEST_F(TimingTest, GivesBackWhatItMade) {
  ASSERT_TRUE(measure(context, rotation, options).ok());
  EXPECT_EQ(fake.calls["destroy_stream"], fake.calls["create_stream"]);
  EXPECT_EQ(fake.calls["destroy_event"], fake.calls["create_event"]);
  EXPECT_EQ(fake.calls["destroy_graph"], 1);
  EXPECT_EQ(fake.calls["destroy_graph_exec"], 1);
}

TEST_F(TimingTest, EndsAtTheFirstFailure) {
  fake.failures["synchronize_event"] = Status::launch_failed;
  auto timing = measure(context, rotation, options);
  ASSERT_FALSE(timing.ok());
  EXPECT_REPORTS(timing.diagnostics(), Rule::gpu_fault, "timing the kernel: the kernel stopped with an error");
  EXPECT_EQ(fake.calls["launch_graph"], 0);
  EXPECT_EQ(fake.calls["destroy_stream"], 1);
}

TEST_F(TimingTest, MemoryIsFreedAndCopied) {
  std::vector<char> data = {1, 2, 3}, back(3);
  {
    auto memory = DeviceMemory::allocate(context, 3);
    ASSERT_TRUE(memory.ok());
    EXPECT_TRUE(memory->upload(data.data()).empty());
    EXPECT_TRUE(memory->download(back.data()).empty());
    DeviceMemory moved = std::move(*memory);
    EXPECT_EQ(moved.bytes(), 3);
  }
  EXPECT_EQ(back, data);
  EXPECT_EQ(fake.calls["allocate"], 1);
  EXPECT_EQ(fake.calls["free"], 1);
  auto nothing = DeviceMemory::allocate(context, 0);
  EXPECT_EQ(nothing->data(), nullptr);
  EXPECT_EQ(fake.calls["allocate"], 1);
}

TEST_F(TimingTest, ReportsWhatTheDeviceCannotHold) {
  fake.failures["allocate"] = Status::out_of_memory;
  auto memory = DeviceMemory::allocate(context, std::int64_t{1} << 40);
  ASSERT_FALSE(memory.ok());
  EXPECT_REPORTS(memory.diagnostics(), Rule::gpu_memory,
                 "reserving 1024.00 GiB on Fake H200 (2.00 of 4.00 GiB are free): the device has no memory left");
}

}  // namespace
}  // namespace plait::cuda
