#include "support/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plait {
namespace {

Json parsed(std::string_view text) { return std::get<Json>(Json::parse(text)); }

TEST(Json, FieldsKeepTheirOrder) {
  Json j;
  j["zeta"] = 1;
  j["alpha"] = Json::List{true, "a", 0.5};
  j["zeta"] = 2;
  EXPECT_EQ(j.dump(), R"({"zeta":2,"alpha":[true,"a",0.5]})");
}

TEST(Json, IndentedAsTheLibraryDoes) {
  Json j;
  j["list"] = std::vector<std::string>{"a"};
  j["none"] = Json::List();
  EXPECT_EQ(j.dump(2), "{\n  \"list\": [\n    \"a\"\n  ],\n  \"none\": []\n}");
}

TEST(Json, ReadsWhatItWrites) {
  std::string text = R"({"a":[null,true,-3,18446744073709551615,0.25,"x\n"],"b":{"c":{}},"d":[]})";
  EXPECT_EQ(parsed(text).dump(), text);
}

TEST(Json, IntegersFitOrAreNone) {
  Json list = parsed("[9223372036854775807, 9223372036854775808, 1.0]");
  EXPECT_EQ((*list.list())[0].integer(), INT64_MAX);
  EXPECT_EQ((*list.list())[1].integer(), std::nullopt);
  EXPECT_EQ((*list.list())[2].integer(), std::nullopt);
}

TEST(Json, WhatIsSomethingElseIsNull) {
  Json j = parsed(R"({"a": "text"})");
  ASSERT_NE(j.find("a"), nullptr);
  EXPECT_EQ(*j.find("a")->text(), "text");
  EXPECT_EQ(j.find("a")->list(), nullptr);
  EXPECT_EQ(j.find("a")->find("b"), nullptr);
  EXPECT_EQ(j.find("b"), nullptr);
  EXPECT_EQ(j.boolean(), std::nullopt);
}

TEST(Json, FaultsHaveAPlace) {
  auto fault = [](std::string_view text) { return std::get<Json::Fault>(Json::parse(text)); };
  EXPECT_EQ(fault("[1, }").at, 4);
  EXPECT_FALSE(fault("[1, }").large_number);
  EXPECT_TRUE(fault("[1e999]").large_number);
}

/// Neither reading nor destroying it runs out of stack.
TEST(Json, NestingIsBounded) {
  std::size_t deep = 1000000;
  Json j = parsed(std::string(deep, '[') + std::string(deep, ']'));
  EXPECT_EQ(j.dump(), std::string(64, '[') + std::string(64, ']'));
}

TEST(Json, BytesThatAreNoTextAreReplaced) { EXPECT_EQ(Json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

}  // namespace
}  // namespace plait
