#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "machine/load.h"

namespace plait::machine {
namespace {

using ::testing::HasSubstr;

/// The errors of h200's model with one part of its text exchanged.
std::string errors_with(const std::string& from, const std::string& to, const std::string& model = "h200") {
  std::string text = device_source(model)->text();
  std::size_t at = text.find(from);
  if (at == std::string::npos) return "the text has no " + from;
  text.replace(at, from.size(), to);
  auto device = parse_device(std::make_shared<SourceFile>("m.json", text));
  return device ? "none" : device.diagnostics().render();
}
std::string errors_of(const std::string& text) {
  auto device = parse_device(std::make_shared<SourceFile>("m.json", text));
  return device ? "none" : device.diagnostics().render();
}

const std::string kClock = "\"value\": 1980, \"unit\": \"MHz\"";

TEST(ModelJson, TextsThatAreNoJsonAreRefusedAtTheirPlace) {
  EXPECT_THAT(errors_of("{\n  \"name\": }"),
              HasSubstr("m.json:2:11: error: the text is no JSON: '}' cannot stand here"));
  EXPECT_THAT(errors_of("{\n  \"name\": }"), HasSubstr("[model-json]"));
  EXPECT_THAT(errors_of(""), HasSubstr("the text is empty, and a model is a JSON object [model-json]"));
  EXPECT_THAT(errors_of("{\"name\": "), HasSubstr("no JSON: it ends in the middle of a value [model-json]"));
  EXPECT_THAT(errors_of("{} x"),
              HasSubstr("m.json:1:4: error: the text is no JSON: 'x' cannot stand here [model-json]"));
  EXPECT_THAT(errors_of("// comment\n{}"), HasSubstr("m.json:1:1: error: the text is no JSON: '/' cannot"));
  EXPECT_THAT(errors_of("{\"name\": \"\xff\"}"), HasSubstr("no JSON: byte 0xff cannot stand here [model-json]"));
  EXPECT_THAT(errors_with(kClock, "\"value\": NaN, \"unit\": \"MHz\""), HasSubstr("[model-json]"));
}

TEST(ModelJson, KeysStandOnce) {
  std::string errors = errors_with("\"arch\": \"sm_90a\"", "\"arch\": \"sm_90a\", \"arch\": \"sm_80\"");
  EXPECT_THAT(errors, HasSubstr("m.json:5:21: error: arch is given twice [model-json]"));
  EXPECT_THAT(errors, HasSubstr("fix: keep one of the two"));
  EXPECT_THAT(errors_with("\"capacity\":", "\"latency\": 1, \"capacity\":"),
              HasSubstr("memories.global.latency is given twice"));
  EXPECT_THAT(errors_with("\"arch\"", "\"ar\\u0063h\""), HasSubstr("is written with escapes [model-field]"));
}

TEST(ModelJson, NestingIsBounded) {
  std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_THAT(errors_of(deep), HasSubstr("values are nested more than 32 deep [model-json]"));
  EXPECT_THAT(errors_of(std::string(500000, '[')), HasSubstr("[model-json]"));
}

TEST(ModelField, UnknownFieldsAreRefused) {
  std::string errors = errors_with("\"arch\":", "\"color\": 1, \"arch\":");
  EXPECT_THAT(errors, HasSubstr("m.json:5:3: error: the model has no field 'color' [model-field]"));
  EXPECT_THAT(errors, HasSubstr("fix: its fields are name, description, target, arch"));
  EXPECT_THAT(errors_with(kClock, kClock + ", \"note\": 1"), HasSubstr("clock has no field 'note'"));
  EXPECT_THAT(errors_with("\"global\":", "\"texture\": {}, \"global\":"), HasSubstr("memories has no field 'texture'"));
  EXPECT_THAT(errors_with("\"tensor\": {", "\"tensor\": {\"f8\": 1, "), HasSubstr("units.tensor has no field 'f8'"));
  EXPECT_THAT(errors_with("{\n      \"op\"", "{\n      \"x\": 1, \"op\""), HasSubstr("costs[0] has no field 'x'"));
}

TEST(ModelField, MissingFieldsAreNamedWithTheirOwner) {
  EXPECT_THAT(errors_of("{}"), HasSubstr("m.json:1:1: error: the model lacks the field 'name' [model-field]"));
  EXPECT_THAT(errors_with("\"value\": 1980, ", ""), HasSubstr("clock lacks the field 'value'"));
  EXPECT_THAT(errors_with("\"capacity\"", "\"kapacity\""), HasSubstr("memories.global lacks the field 'capacity'"));
  EXPECT_THAT(errors_with("\"smem_per_block\"", "\"smem\""), HasSubstr("limits lacks the field 'smem_per_block'"));
  EXPECT_THAT(errors_with("\"limits\"", "\"bounds\""), HasSubstr("the model has no field 'bounds'"));
}

TEST(ModelField, TypesAreThoseOfTheFields) {
  EXPECT_THAT(errors_of("[]"), HasSubstr("the model is an object with name, "));
  EXPECT_THAT(errors_with(kClock, "\"value\": \"1980\", \"unit\": \"MHz\""),
              HasSubstr("m.json:8:22: error: clock.value is a number, not \"1980\" [model-field]"));
  EXPECT_THAT(errors_with(kClock, "\"value\": true, \"unit\": \"MHz\""),
              HasSubstr("clock.value is a number, not true"));
  EXPECT_THAT(errors_with(kClock, "\"value\": null, \"unit\": \"MHz\""),
              HasSubstr("clock.value is a number, not null"));
  EXPECT_THAT(errors_with("\"h200\"", "5"), HasSubstr("name is a text, not 5"));
  EXPECT_THAT(errors_with("\"h200\"", "\"\""), HasSubstr("name is one line of 1 to 500 bytes"));
  EXPECT_THAT(errors_with("\"features\": [", "\"features\": {}, \"x\": ["), HasSubstr("features is a list of names"));
  EXPECT_THAT(errors_with("\"wgmma\",", "7,"), HasSubstr("there is no feature 7"));
  EXPECT_THAT(errors_with("\"wgmma\",", "\"wgmma\", \"wgmma\","), HasSubstr("the feature \"wgmma\" is named twice"));
  EXPECT_THAT(errors_with("\"costs\": [", "\"costs\": {}, \"x\": ["), HasSubstr("costs is a list, not {}"));
  EXPECT_THAT(errors_with("\"clock\": {", "\"clock\": 5, \"x\": {"),
              HasSubstr("clock is an object with value, unit, source"));
  EXPECT_THAT(errors_with("\"sfu\": {", "\"sfu\": {}, \"x\": {"),
              HasSubstr("units.sfu has no rate: 'all', or a type's name"));
}

TEST(ModelField, NamesAreThoseThatPlaitKnows) {
  EXPECT_THAT(errors_with("\"cuda\"", "\"vulkan\""), HasSubstr("there is no target 'vulkan'"));
  EXPECT_THAT(errors_with("\"op\": \"wgmma\"", "\"op\": \"hmma\""), HasSubstr("there is no operation 'hmma'"));
  EXPECT_THAT(errors_with("\"h200\"", "\"H 200\""), HasSubstr("the name 'H 200' is not a lower-case letter"));
  EXPECT_THAT(errors_with("\"sm_90a\"", "\"gfx942\""), HasSubstr("is not like sm_90a"));
}

TEST(ModelValue, NumbersLieInTheRangeOfTheirField) {
  auto clock = [](const std::string& value) {
    return errors_with(kClock, "\"value\": " + value + ", \"unit\": \"MHz\"");
  };
  EXPECT_THAT(clock("-1"),
              HasSubstr("m.json:8:22: error: clock.value is -1; it is at least 1 and at most 100000 [model-value]"));
  EXPECT_THAT(clock("0"), HasSubstr("clock.value is 0"));
  EXPECT_THAT(clock("1e300"), HasSubstr("clock.value is 1e+300"));
  EXPECT_THAT(clock("1e999"), HasSubstr("m.json:8:22: error: the number 1e999 is too large [model-value]"));
  EXPECT_THAT(clock("123456789012345678901234567890"), HasSubstr("[model-value]"));
  EXPECT_EQ(clock("1979.5"), "none");
  EXPECT_THAT(errors_with("\"value\": 132,", "\"value\": 132.5,"),
              HasSubstr("compute_units.value is 132.5; it is a whole number"));
  EXPECT_THAT(errors_with("\"value\": 4800,", "\"value\": 0,"),
              HasSubstr("memories.global.bandwidth.value is 0; it is above 0 and at most 1000000000"));
  EXPECT_THAT(errors_with("\"value\": 834,", "\"value\": -0.5,"), HasSubstr("memories.global.latency.value is -0.5"));
  EXPECT_THAT(errors_with("\"value\": 834,", "\"value\": 0,"),
              HasSubstr("memories.global.latency.value is 0; it is at least 1 and at most 1000000000 [model-value]"));
  std::string cost = "\"op\": \"mbarrier_wait\",\n      \"latency\": {\"value\": 166.05";
  EXPECT_THAT(errors_with(cost, "\"op\": \"mbarrier_wait\",\n      \"latency\": {\"value\": 0"),
              HasSubstr("].latency.value is 0; it is at least 1 and at most 1000000000 [model-value]"));
  EXPECT_THAT(errors_with("\"interval\": {\"value\": 1,", "\"interval\": {\"value\": 0,"),
              HasSubstr("].interval.value is 0; it is above 0 and at most 1000000000 [model-value]"));
}

TEST(ModelValue, FiguresAgreeWithEachOther) {
  EXPECT_THAT(errors_with("\"value\": 232448,", "\"value\": 233472,"),
              HasSubstr("limits.smem_per_block and limits.smem_reserved are 234496 together"));
  EXPECT_THAT(errors_with("\"value\": 1024, \"unit\": \"threads\"", "\"value\": 4096, \"unit\": \"threads\""),
              HasSubstr("limits.threads_per_block is 4096, more than limits.threads_per_unit, which is 2048"));
  EXPECT_THAT(errors_with("\"value\": 32, \"unit\": \"threads\"", "\"value\": 0, \"unit\": \"threads\""),
              HasSubstr("limits.threads_per_warp.value is 0; it is at least 1"));
  std::string shared = "\"shared\": {\n      \"capacity\": {\"value\": 233472";
  EXPECT_THAT(errors_with(shared, "\"shared\": {\n      \"capacity\": {\"value\": 1024"),
              HasSubstr("memories.shared.capacity is 1024, and limits.smem_per_unit is 233472"));
}

TEST(ModelField, FeaturesHaveTheirUnits) {
  EXPECT_THAT(errors_with("\"mma\"", "\"mma\", \"tma\"", "a100"),
              HasSubstr("units lacks tma, which the feature tma needs"));
  EXPECT_THAT(errors_with("\"mma\"", "\"mma\", \"wgmma\"", "a100"),
              HasSubstr("the feature wgmma needs an architecture such as sm_90a, not 'sm_80'"));
  EXPECT_THAT(errors_with("\"cpu\"", "\"cuda\"", "host"),
              HasSubstr("the model lacks the field 'limits', which a cuda device has"));
  EXPECT_THAT(errors_with("\"cpu\"", "\"cuda\"", "host"),
              HasSubstr("memories lacks l2, shared, which a cuda device needs"));
  EXPECT_THAT(errors_with("\"cuda\"", "\"cpu\"", "a100"), HasSubstr("limits are those of GPUs; a cpu has none"));
  EXPECT_THAT(errors_with("\"vector\"", "\"cuda\"", "host"), HasSubstr("[model-unit]"));
}

TEST(ModelUnit, UnitsAreThoseOfTheFields) {
  EXPECT_THAT(errors_with("\"unit\": \"MHz\"", "\"unit\": \"GHz\""),
              HasSubstr("m.json:8:36: error: clock is in 'MHz', not in 'GHz' [model-unit]"));
  EXPECT_THAT(errors_with("\"unit\": \"GB/s\"", "\"unit\": \"TB/s\""),
              HasSubstr("memories.global.bandwidth is in 'GB/s'"));
  EXPECT_THAT(errors_with("\"unit\": \"FMA/cycle\"", "\"unit\": \"op/cycle\""),
              HasSubstr("units.tensor.f16 is in 'FMA/cycle'"));
}

TEST(ModelSource, EveryFigureSaysWhereItIsFrom) {
  EXPECT_THAT(errors_with(", \"source\": \"NVIDIA H200 Tensor Core GPU datasheet: 4.8 TB/s\"", ""),
              HasSubstr("memories.global.bandwidth has no source [model-source]"));
  EXPECT_THAT(errors_with("NVIDIA H200 Tensor Core GPU datasheet: 4.8 TB/s", "  "),
              HasSubstr("memories.global.bandwidth.source is one line of 1 to 500 bytes [model-source]"));
  EXPECT_THAT(errors_with("NVIDIA H200 Tensor Core GPU datasheet: 4.8 TB/s", "two\\nlines"),
              HasSubstr("[model-source]"));
}

TEST(ModelField, CostsStandOnce) {
  EXPECT_THAT(errors_with("m64n128k16 bf16", "m64n256k16 bf16"),
              HasSubstr("the cost of wgmma m64n256k16 bf16 is given twice"));
}

TEST(ModelJson, CutAndChangedTextsNeverDoHarm) {
  std::string text = device_source("host")->text();
  std::mt19937 random(3);
  for (std::size_t length = 0; length < text.size(); length += 7) EXPECT_NE(errors_of(text.substr(0, length)), "none");
  for (int i = 0; i < 1500; ++i) {
    std::string changed = text;
    for (std::size_t n = random() % 3 + 1; n > 0; --n)
      changed[random() % changed.size()] = "{}[]\":,0e-\\ \xc3"[random() % 13];
    errors_of(changed);
  }
}

std::string npu_with(const std::string& from, const std::string& to) { return errors_with(from, to, "ascend950"); }

TEST(ModelOfAnNpu, HasWhatNpusHaveAndNoOther) {
  EXPECT_THAT(errors_with("\"arch\":", "\"transfers\": [], \"arch\":"),
              HasSubstr("the model has no field 'transfers' [model-field]"));
  EXPECT_THAT(npu_with("\"vector_cores\"", "\"cores\""), HasSubstr("the model lacks the field 'vector_cores'"));
  EXPECT_THAT(npu_with("\"features\": []", "\"features\": [\"mma\"]"),
              HasSubstr("features are those of GPUs; the list of an npu is empty"));
  EXPECT_THAT(npu_with("\"l0c\": {", "\"l2\": {"), HasSubstr("memories lacks l0c, which an npu needs"));
  EXPECT_THAT(npu_with("\"mte1\": {", "\"load\": {"), HasSubstr("units lacks mte1, which an npu needs"));
  EXPECT_THAT(npu_with("\"value\": 2, \"unit\": \"units\"", "\"value\": 5, \"unit\": \"units\""),
              HasSubstr("vector_cores.value is 5; it is at least 1 and at most 4 [model-value]"));
}

TEST(ModelOfAnNpu, TransfersNameMemoriesAndUnitsOfTheModel) {
  std::string first = "\"from\": \"global\",\n      \"to\": \"l1\"";
  EXPECT_THAT(npu_with(first, "\"from\": \"globe\",\n      \"to\": \"l1\""),
              HasSubstr("error: there is no memory 'globe' [model-field]"));
  EXPECT_THAT(npu_with(first, "\"from\": \"ub\",\n      \"to\": \"l1\""),
              HasSubstr("the transfer from ub to l1 is given twice"));
  EXPECT_THAT(npu_with(first, "\"from\": \"l3\",\n      \"to\": \"l1\""), HasSubstr("the model has no memory 'l3'"));
  EXPECT_THAT(npu_with(first, "\"from\": \"l0c\",\n      \"to\": \"l1\""),
              HasSubstr("transfers lacks global to l1, which an npu needs"));
  EXPECT_THAT(npu_with("\"unit\": \"mte2\"", "\"unit\": \"mte9\""), HasSubstr("there is no unit 'mte9'"));
  EXPECT_THAT(npu_with("\"unit\": \"mte2\"", "\"unit\": \"tma\""), HasSubstr("the model has no unit 'tma'"));
  EXPECT_THAT(npu_with("\"value\": 100, \"unit\": \"B/cycle\"", "\"value\": 0, \"unit\": \"B/cycle\""),
              HasSubstr("is 0; it is above 0"));
  EXPECT_THAT(npu_with("\"slice\"", "\"piece\""), HasSubstr("cube_cost has no field 'piece'"));
}

}  // namespace
}  // namespace plait::machine
