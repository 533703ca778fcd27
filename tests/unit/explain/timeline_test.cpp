#include <nlohmann/json.hpp>

#include <gtest/gtest.h>
#include "explain/timeline.h"

namespace plait::explain {
namespace {

Timeline sample() {
  Timeline t;
  t.kernel = "k<1>";
  t.device = "h200";
  t.dims = "M=1";
  t.clock_mhz = 2000;
  t.end = 1000;
  t.tasks = {{"copy@3", true}, {"gemm@4", true}, {"store@9", false}};
  t.lanes = {{LaneKind::role, "load", {{0, 100, 0, 0, false}, {100, 500, 0, 1, true}}},
             {LaneKind::copies, "copies", {{20, 400, 0, 0, false}}},
             {LaneKind::unit, "tensor", {{400, 900, 1, 0, false}, {900, 1000, 2, 0, false}}}};
  t.phases = {{"prologue", 0, 400}, {"steady", 400, 900}, {"epilogue", 900, 1000}};
  return t;
}

TEST(Timeline, ForTheTerminalEachColumnShowsWhatTakesMostOfIt) {
  EXPECT_EQ(terminal(sample(), 20),
            "k<1> on h200, M=1: one multiprocessor, 1000 cycles (0.50 us), 50 a column\n"
            "       |prologu|steady   |e\n"
            "load   AA........\n"
            "copies AAAAAAAA\n"
            "tensor         BBBBBBBBBBCC\n"
            "       |   |   |   |   |   |\n"
            "cycles 0   200 400 600 800 1000\n"
            "  A copy@3  B gemm@4  C store@9\n"
            "  . waiting  - counters and loops\n");
}

TEST(Timeline, IsAWellFormedPicture) {
  std::string picture = svg(sample());
  EXPECT_EQ(picture.find("k<1>"), std::string::npos);
  EXPECT_NE(picture.find("k&lt;1&gt; on h200, M=1"), std::string::npos);
  for (const char* text : {">steady<", ">gemm@4 #0<", ">tensor<", ">waiting<", "copy@3 #1 waits: cycles 100 to 500"})
    EXPECT_NE(picture.find(text), std::string::npos) << text;
}

TEST(Timeline, TraceEventsAreInMicroseconds) {
  auto json = nlohmann::json::parse(trace_json(sample()));
  int spans = 0;
  for (const auto& event : json["traceEvents"]) {
    if (event["ph"] != "X") continue;
    ++spans;
    if (event["name"] != "gemm@4") continue;
    EXPECT_DOUBLE_EQ(event["ts"], 0.2);
    EXPECT_DOUBLE_EQ(event["dur"], 0.25);
  }
  EXPECT_EQ(spans, 8);
}

TEST(Timeline, PageNeedsNothingElse) {
  std::string page = html(sample());
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_NE(page.find("k&lt;1&gt; on h200, M=1"), std::string::npos);
  EXPECT_NE(page.find("\"name\":\"gemm@4\""), std::string::npos);
}

TEST(Timeline, PhasesAreThoseOfTheStages) {
  Loop loop;
  Task early, late;
  early.name = "copy@3";
  late.name = "gemm@4";
  late.stage = 1;
  loop.tasks = {early, late};
  Timeline t;
  t.end = 1000;
  t.tasks = sample().tasks;
  t.lanes = {{LaneKind::role, "math", {{0, 700, 0, 0, false}, {700, 900, 1, 1, false}, {900, 950, 2, 0, false}}},
             {LaneKind::unit, "cuda", {{100, 600, 0, 0, false}, {600, 690, 0, 1, false}}},
             {LaneKind::unit, "tensor", {{300, 500, 1, 0, false}, {710, 890, 1, 1, false}}}};
  std::vector<Phase> phases = phases_of(t, loop);
  ASSERT_EQ(phases.size(), 3U);
  EXPECT_EQ(phases[0].end, 300);  // the second stage's first work
  EXPECT_EQ(phases[1].end, 690);  // the first stage's last
  EXPECT_EQ(phases[2].end, 950);  // what stands behind the loop
}

}  // namespace
}  // namespace plait::explain
