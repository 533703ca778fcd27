#include "machine/load.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace plait::machine {
namespace {

using ir::DType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Device known(const std::string& name) {
  auto device = load_device(name);
  if (!device) throw InternalError(device.diagnostics().render());
  return *device;
}

TEST(Models, AreCompiledIn) {
  EXPECT_THAT(device_names(), ElementsAre("a100", "ascend910b", "ascend950", "h100", "h200", "host"));
}

TEST(Models, HaveTheirOwnNameAndASourceForEachFigure) {
  for (const std::string& name : device_names()) {
    Device device = known(name);
    EXPECT_EQ(device.name, name);
    EXPECT_FALSE(device.clock.source.empty());
    for (const Cost& cost : device.costs) EXPECT_FALSE(cost.latency.source.empty());
  }
}

TEST(Models, EmbeddedCopiesAreTheFiles) {
  for (const EmbeddedModel& model : embedded_models()) {
    std::ifstream file(fmt::format("{}/machines/{}.json", PLAIT_SOURCE_DIR, model.name));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    EXPECT_EQ(model.json, text) << model.name;
  }
}

TEST(Models, HopperHasItsLimits) {
  for (const char* name : {"h100", "h200"}) {
    Device device = known(name);
    EXPECT_EQ(device.target, Target::cuda);
    EXPECT_EQ(device.arch, "sm_90a");
    EXPECT_EQ(device.compute_units.integer(), 132);
    EXPECT_EQ(device.limits->smem_per_block.integer(), 227 * 1024);
    EXPECT_EQ(device.limits->registers_per_unit.integer(), 65536);
    EXPECT_EQ(device.limits->named_barriers.integer(), 16);
    EXPECT_TRUE(device.has(Feature::wgmma) && device.has(Feature::tma) && device.has(Feature::setmaxnreg));
    EXPECT_EQ(device.rate(UnitKind::tensor, DType::bf16), 2048);
    EXPECT_EQ(device.rate(UnitKind::tensor, DType::e4m3), 4096);
    EXPECT_EQ(device.rate(UnitKind::tensor, DType::f32), std::nullopt);
    EXPECT_NEAR(device.rate(UnitKind::sfu).value_or(0), 16, 0.1);
    EXPECT_NEAR(device.rate(UnitKind::sfu, DType::f32).value_or(0), 16, 0.1);
  }
}

TEST(Models, PeaksAgreeWithTheDatasheets) {
  // TFLOP/s of dense bf16: FMA a cycle, two operations each, over all units.
  auto peak = [](const Device& device, DType type) {
    return *device.rate(UnitKind::tensor, type) * 2 * device.compute_units.value * device.cycles_per_second() / 1e12;
  };
  EXPECT_NEAR(peak(known("h100"), DType::bf16), 989.4, 0.5);
  EXPECT_NEAR(peak(known("h100"), DType::tf32), 494.7, 0.5);
  EXPECT_NEAR(peak(known("h100"), DType::e4m3), 1978.9, 0.5);
  EXPECT_NEAR(peak(known("a100"), DType::bf16), 312, 0.5);
  EXPECT_NEAR(peak(known("a100"), DType::i8), 624, 0.5);
}

TEST(Models, AmpereHasNoHopperUnits) {
  Device device = known("a100");
  EXPECT_EQ(device.arch, "sm_80");
  EXPECT_FALSE(device.has(Feature::tma) || device.has(Feature::wgmma) || device.has(Feature::cluster));
  EXPECT_TRUE(device.has(Feature::cp_async) && device.has(Feature::mma));
  EXPECT_EQ(device.rate(UnitKind::tma), std::nullopt);
  EXPECT_EQ(device.cost(CostKind::tma_load), nullptr);
  EXPECT_EQ(device.limits->smem_per_block.integer(), 163 * 1024);
}

TEST(Models, HostIsACpu) {
  Device device = known("host");
  EXPECT_EQ(device.target, Target::cpu);
  EXPECT_FALSE(device.limits);
  EXPECT_EQ(device.rate(UnitKind::vector, DType::f32), 16);
  EXPECT_NE(device.memory(MemoryKind::core_l2), nullptr);
  EXPECT_EQ(device.memory(MemoryKind::shared), nullptr);
}

TEST(Models, AscendHasItsMemoriesAndPipes) {
  for (const char* name : {"ascend950", "ascend910b"}) {
    Device device = known(name);
    bool newer = device.name == "ascend950";
    EXPECT_EQ(device.target, Target::npu);
    EXPECT_EQ(device.vector_cores->integer(), 2);
    auto kib = [&](MemoryKind kind) { return device.memory(kind)->capacity.integer() / 1024; };
    EXPECT_EQ(kib(MemoryKind::l1), 512);
    EXPECT_EQ(kib(MemoryKind::l0a), 64);
    EXPECT_EQ(kib(MemoryKind::l0b), 64);
    EXPECT_EQ(kib(MemoryKind::l0c), newer ? 256 : 128);
    EXPECT_EQ(kib(MemoryKind::ub), newer ? 248 : 192);
    EXPECT_EQ(device.rate(UnitKind::cube, DType::bf16), 4096);
    EXPECT_EQ(device.rate(UnitKind::cube, DType::e4m3).has_value(), newer);
    EXPECT_EQ(device.transfer(MemoryKind::l0c, MemoryKind::ub) != nullptr, newer);
    EXPECT_EQ(device.transfer(MemoryKind::ub, MemoryKind::l1) != nullptr, newer);
    EXPECT_FALSE(device.limits);
  }
  EXPECT_EQ(known("ascend950").memory(MemoryKind::ub_simt)->capacity.integer(), 216 * 1024);
}

TEST(Models, AscendTransfersAreThoseOfTheirPipes) {
  Device device = known("ascend950");
  using enum MemoryKind;
  auto is = [&](MemoryKind from, MemoryKind to, UnitKind unit, double latency, double bandwidth, double interval) {
    const Transfer* t = device.transfer(from, to);
    return t != nullptr && t->unit == unit && t->latency.value == latency && t->bandwidth.value == bandwidth &&
           t->interval.value == interval;
  };
  EXPECT_TRUE(is(global, l1, UnitKind::mte2, 190, 100, 64));
  EXPECT_TRUE(is(l1, l0a, UnitKind::mte1, 5, 256, 1));
  EXPECT_TRUE(is(l1, l0b, UnitKind::mte1, 5, 256, 1));
  EXPECT_TRUE(is(l0c, ub, UnitKind::fixpipe, 58, 128, 1));
  EXPECT_TRUE(is(l0c, global, UnitKind::fixpipe, 200, 128, 1));
  EXPECT_TRUE(is(global, ub, UnitKind::aiv_mte2, 90, 100, 1));
  EXPECT_TRUE(is(ub, global, UnitKind::mte3, 180, 115, 1));
  EXPECT_TRUE(is(ub, l1, UnitKind::mte3, 43, 256, 1));
  EXPECT_EQ(device.transfer(l1, ub), nullptr);
}

TEST(Device, CostsFallBackToTheGeneralForm) {
  Device device = known("h200");
  EXPECT_NEAR(device.cost(CostKind::wgmma, "m64n256k16 bf16")->interval.value, 128, 1);
  ASSERT_NE(device.cost(CostKind::wgmma, "m64n8k16 f16"), nullptr);
  EXPECT_EQ(device.cost(CostKind::wgmma, "m64n8k16 f16"), device.cost(CostKind::wgmma));
  EXPECT_TRUE(device.cost(CostKind::wgmma)->variant.empty());
}

TEST(Device, BandwidthsAreInBytesACycle) {
  Device device = known("h200");
  EXPECT_NEAR(device.bytes_per_cycle(*device.memory(MemoryKind::global)), 4800e9 / 1980e6, 1e-9);
  EXPECT_EQ(device.bytes_per_cycle(*device.memory(MemoryKind::shared)), 128);
  EXPECT_TRUE(is_own(MemoryKind::shared));
  EXPECT_FALSE(is_own(MemoryKind::global));
}

TEST(Device, KindsHaveNamesAndMeanings) {
  EXPECT_EQ(name_of(Feature::wgmma), "wgmma");
  EXPECT_EQ(name_of(MemoryKind::core_l1), "core_l1");
  EXPECT_EQ(name_of(UnitKind::sfu), "sfu");
  EXPECT_EQ(name_of(CostKind::tma_load), "tma_load");
  EXPECT_EQ(name_of(Target::cpu), "cpu");
  EXPECT_EQ(meaning(Feature::tma), "bulk copies of boxes of a tensor");
  EXPECT_EQ(meaning(MemoryKind::global), "the device's main memory");
  EXPECT_THAT(std::string(meaning(UnitKind::smem)), HasSubstr("shared memory"));
  EXPECT_THAT(std::string(meaning(CostKind::wgmma)), HasSubstr("matrix product"));
}

std::string failure(const std::string& name) {
  auto device = load_device(name);
  return device ? "none" : device.diagnostics().render();
}

TEST(LoadDevice, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_THAT(failure("h300"), HasSubstr("there is no device 'h300' [unknown-device]"));
  EXPECT_THAT(failure("h300"),
              HasSubstr("name one of a100, ascend910b, ascend950, h100, h200, host, or the path of a machine model"));
  EXPECT_THAT(failure(""), HasSubstr("there is no device ''"));
  EXPECT_THAT(failure("H200"), HasSubstr("there is no device 'H200'"));
  EXPECT_EQ(device_source(".."), nullptr);
}

/// A folder of its own for files, removed at the end.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("plait_machine_test_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  std::filesystem::path folder_;
};

TEST_F(Files, AreLoadedByPath) {
  std::string text = device_source("h200")->text();
  text.replace(text.find("\"h200\""), 6, "\"mine\"");
  auto device = load_device(write("own.json", text));
  ASSERT_TRUE(device);
  EXPECT_EQ(device->name, "mine");
}

TEST_F(Files, ThatCannotBeReadAreNamed) {
  EXPECT_THAT(failure(folder_ / "none.json"), HasSubstr("none.json: error: there is no such file [file-access]"));
  EXPECT_THAT(failure(folder_.string() + "/"), HasSubstr("is not a regular file"));
  EXPECT_THAT(failure(write("empty.json", "")), HasSubstr("empty.json:1:1: error: "));
  EXPECT_THAT(failure(write("big.json", std::string(2 << 20, ' '))), HasSubstr("is larger than 1 MiB"));
}

}  // namespace
}  // namespace plait::machine
