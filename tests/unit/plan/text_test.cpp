#include <gmock/gmock.h>

#include <random>

#include "fixture.h"

namespace plait::plan {
namespace {

using test::source;
using ::testing::HasSubstr;

const char* kExample = R"(schedule matmul_relu device h200
place:
  work persistent, order grouped(8), cluster (2, 1)
  role load: warps 4, regs 40
  role math: warps 4, replicas 2 over rows, regs 232
  gemm@14: wgmma m64n256k16, A shared, B shared
  copy@18: tma
  stage C_l through 32 KiB, tma store
  stage D_l direct
loop k@11: planner modulo, ii 1024
  copy@12: role load, unit tma, stage 0, order 0
  copy@13: role load, unit tma, stage 0, order 1
  gemm@14: role math, unit tensor, stage 1, order 2, in flight 1
  each@15#2: role math, unit cuda, stage 2, order 3
  ring {A_s, B_s}: depth 4
  versions S: 2
  token gemm@14 -> each@15#2
region body@7: planner modulo, makespan 812
  copy@8
  clear@7
)";

Schedule read(const std::string& text) {
  auto schedule = parse(source(text));
  if (!schedule) throw InternalError(schedule.diagnostics().render());
  return *schedule;
}
std::string refused(const std::string& text) {
  auto schedule = parse(source(text));
  EXPECT_FALSE(schedule.ok());
  return schedule.ok() ? "" : schedule.diagnostics().render();
}
void expect_round_trip(const Schedule& schedule) {
  std::string text = print(schedule);
  Schedule again = read(text);
  EXPECT_EQ(again, schedule) << text;
  EXPECT_EQ(print(again), text);
  auto from_json = parse_json(source(to_json(schedule), "test.json"));
  ASSERT_TRUE(from_json.ok()) << from_json.diagnostics().render() << to_json(schedule);
  EXPECT_EQ(*from_json, schedule) << text;
}

TEST(ScheduleText, Example) {
  Schedule schedule = read(kExample);
  EXPECT_EQ(print(schedule), kExample);
  expect_round_trip(schedule);
  EXPECT_EQ(schedule.place.work, (Work{WorkKind::persistent, TileOrder::grouped, 8, 2, 1, 1, 1}));
  ASSERT_EQ(schedule.place.roles.size(), 2u);
  EXPECT_EQ(schedule.place.roles[1].replicas, 2);
  EXPECT_EQ(schedule.place.atoms.at(0).n, 256);
  EXPECT_EQ(schedule.place.stagings.at(0).bytes, 32 * 1024);
  const LoopPlan& loop = schedule.loops.at(0);
  EXPECT_EQ(loop.loop, (StmtName{"k", 11, 1}));
  EXPECT_EQ(loop.ii, 1024);
  EXPECT_EQ(loop.slots.at(3).stmt, (StmtName{"each", 15, 2}));
  EXPECT_EQ(loop.slots.at(2).in_flight, 1);
  EXPECT_EQ(loop.copies("B_s"), 4);
  EXPECT_EQ(loop.copies("S"), 2);
  EXPECT_EQ(loop.copies("other"), 1);
  EXPECT_EQ(loop.stages(), 3);
  EXPECT_EQ(loop.at.loc.line, 10);
  const RegionPlan& region = schedule.regions.at(0);
  EXPECT_EQ(schedule.find_region({"body", 7, 1}), &region);
  EXPECT_EQ(region.makespan, 812);
  EXPECT_EQ(region.order.at(1).stmt, (StmtName{"clear", 7, 1}));
  EXPECT_EQ(region.order.at(1).at.loc.line, 20);
}

TEST(ScheduleText, CommentsBlankLinesAndSpaces) {
  Schedule schedule = read(
      "# why\n\nschedule   k   device h200   # behind\n\nloop k@3:planner hand\n\n"
      "      copy@4:unit tma,stage 0,order 0 # note\n  copy@4#2: order 1, stage 0, unit tma\r\n");
  EXPECT_EQ(print(schedule),
            "schedule k device h200\nloop k@3: planner hand\n  copy@4: unit tma, stage 0, order 0\n"
            "  copy@4#2: unit tma, stage 0, order 1\n");
}

TEST(ScheduleText, ErrorsStandAtTheirPlace) {
  EXPECT_THAT(refused("schedule k device h200\nloop k@3: planner hand\n  copy@4: unit tma, stage x, order 0\n"),
              HasSubstr("test.schedule:3:27: error: expected the stage, found 'x' [schedule-text]\n"
                        "    3 |   copy@4: unit tma, stage x, order 0\n"
                        "      |                           ^\n  fix: see docs/schedules.md"));
  EXPECT_THAT(refused(""), HasSubstr("the text has no schedule"));
  EXPECT_THAT(refused("place:\n"), HasSubstr("expected schedule KERNEL device DEVICE, found 'place'"));
  EXPECT_THAT(refused("schedule k device h200\n  copy@4: unit tma\n"),
              HasSubstr("'place:', 'loop' or 'region' at the left margin"));
  EXPECT_THAT(refused("schedule k device h200\nschedule j device h200\n"), HasSubstr("a second schedule"));
  EXPECT_THAT(refused("schedule k device h200\nloop k@0: planner x\n"),
              HasSubstr("the line of a statement: 0 is less than 1"));
  EXPECT_THAT(refused("schedule k device h200\nloop k@99999999999999999999: planner x\n"),
              HasSubstr("[schedule-value]"));
  EXPECT_THAT(refused("schedule k device h200\nloop k@3: planner x\n  copy@4: unit tma, stage 0\n"),
              HasSubstr("expected order, found the end of the line"));
  EXPECT_THAT(refused("schedule k device h200\nloop k@3: planner x\n  copy@4: unit tma, unit tma, stage 0, order 1\n"),
              HasSubstr("'unit' is given twice"));
  EXPECT_THAT(refused("schedule k device h200\nloop k@3: planner x\n  copy@4: unit warp, stage 0, order 1\n"),
              HasSubstr("expected a unit of the machine, e.g. tma, tensor or cuda, found 'warp'"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\n  work round\n"),
              HasSubstr("expected a work map: plain, persistent, dynamic, stream_k, found 'round'"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\n  gemm@3: wgmma 64x256, A shared\n"),
              HasSubstr("expected a shape such as m64n256k16, found '64'"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\n  gemm@3: wgmma m64n0k16\n"),
              HasSubstr("'m64n0k16' is no shape"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\n  role a: warps 4 regs 8\n"),
              HasSubstr("expected the end of the line, found 'regs'"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\n  stage C through 3 MB, tma store\n"),
              HasSubstr("expected 'B', found 'MB'"));
  EXPECT_THAT(refused("schedule k device h200\nregion body@3\n"),
              HasSubstr("expected ':' behind the region, found the end of the line"));
  EXPECT_THAT(refused("schedule k device h200\nregion body@3: ii 4\n"),
              HasSubstr("expected planner or makespan, found 'ii'"));
  EXPECT_THAT(refused("schedule k device h200\nregion body@3: planner x\n  ring {A}: depth 2\n"),
              HasSubstr("expected a statement (kind@line), found 'ring'"));
  EXPECT_THAT(refused("schedule k device h200\nplace:\nplace:\n"), HasSubstr("'place' is given twice"));
}

TEST(ScheduleText, JsonErrorsNameTheField) {
  auto refused_json = [](const std::string& from, const std::string& to) {
    std::string text = to_json(read(kExample));
    std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    auto schedule = parse_json(source(text, "test.json"));
    EXPECT_FALSE(schedule.ok()) << to;
    return schedule.ok() ? "" : schedule.diagnostics().render();
  };
  EXPECT_THAT(refused_json("\"stage\": 1", "\"stage\": \"1\""),
              HasSubstr("error: loops[0].slots[2].stage is \"1\", no integer from"));
  EXPECT_THAT(refused_json("\"stage\": 1", "\"stage\": 1e3"),
              HasSubstr("loops[0].slots[2].stage is 1000.0, no integer"));
  EXPECT_THAT(refused_json("\"stage\": 1", "\"stage\": 18446744073709551615"), HasSubstr("no integer"));
  EXPECT_THAT(refused_json("\"makespan\": 812", "\"makespan\": -1"),
              HasSubstr("regions[0].makespan is -1, no integer"));
  EXPECT_THAT(refused_json("\"order\": 2", "\"ordre\": 2"),
              HasSubstr("loops[0].slots[2].ordre is no field of a schedule"));
  EXPECT_THAT(refused_json("gemm@14", "gemm14"), HasSubstr("place.atoms[0].stmt 'gemm14' names no statement"));
  EXPECT_THAT(refused_json("\"unit\": \"tensor\"", "\"unit\": 3"), HasSubstr("loops[0].slots[2].unit is no string"));
  EXPECT_THAT(refused_json("\"kernel\": \"matmul_relu\"", "\"kernel\": \"a b\""), HasSubstr("kernel 'a b' is no name"));
  for (const char* text : {"", "[]", "{", "nul", "{\"kernel\": 1}", "[[[[[[[[[["}) {
    EXPECT_FALSE(parse_json(source(text)).ok()) << text;
  }
}

/// Damaged texts give an error or a schedule that prints and reads back; nothing else.
TEST(ScheduleText, DamagedTexts) {
  std::mt19937_64 random(1);
  std::string json = to_json(read(kExample));
  for (int i = 0; i < 4000; ++i) {
    std::string text = i % 2 == 0 ? kExample : json;
    for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
      std::size_t at = random() % text.size();
      if (random() % 3 == 0) text.erase(at, 1 + random() % 8);
      if (random() % 3 == 0) text.insert(at, text.substr(random() % text.size(), random() % 12));
      if (random() % 3 == 0 && !text.empty()) text[at % text.size()] = static_cast<char>(random() % 256);
      if (text.empty()) text = " ";
    }
    auto schedule = i % 2 == 0 ? parse(source(text)) : parse_json(source(text));
    if (schedule.ok()) expect_round_trip(*schedule);
    if (!schedule.ok()) {
      EXPECT_FALSE(schedule.diagnostics().render().empty());
    }
  }
}

Schedule random_schedule(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  auto pick = [&](int most) { return static_cast<int>(random() % static_cast<std::uint64_t>(most)); };
  auto name = [&] { return fmt::format("n{}", pick(9)); };
  auto stmt = [&] { return StmtName{name(), 1 + pick(99), 1 + pick(2)}; };
  Schedule s{name(), "h200", {}, {}, {}};
  s.place.work.kind = static_cast<WorkKind>(pick(4));
  s.place.work.order = static_cast<TileOrder>(pick(4));
  if (s.place.work.order == TileOrder::grouped) s.place.work.group = 1 + pick(9);
  s.place.work.cluster_x = 1 + pick(2);
  s.place.work.heads = 1 + pick(3);
  s.place.work.split_k = 1 + pick(3);
  s.place.work.occupancy = 1 + pick(3);
  for (int i = pick(3); i > 0; --i) {
    Role role{name(), 1 + pick(8), 1 + pick(3), Axis::rows, {}, {}};
    if (role.replicas > 1) role.over = static_cast<Axis>(pick(2));
    if (pick(2) == 0) role.regs = 24 + 8 * pick(9);
    s.place.roles.push_back(role);
  }
  for (int i = pick(4); i > 0; --i) {
    Atom atom{stmt(), static_cast<Instruction>(pick(7)), 0, 0, 0, Operand::shared, Operand::shared, false, {}};
    if (has_shape(atom.instruction)) {
      atom.m = 64, atom.n = 8 + pick(9), atom.k = 16;
      atom.a = static_cast<Operand>(pick(2)), atom.b = static_cast<Operand>(pick(2)), atom.swapped = pick(2) == 0;
    }
    s.place.atoms.push_back(atom);
  }
  for (int i = pick(3); i > 0; --i) {
    Staging staging{name(), 1 + pick(9999), static_cast<StoreVia>(pick(3)), {}};
    if (staging.via == StoreVia::direct) staging.bytes = 0;
    s.place.stagings.push_back(staging);
  }
  for (int l = pick(3); l > 0; --l) {
    LoopPlan loop;
    loop.loop = stmt();
    loop.planner = name();
    if (pick(2) == 0) loop.ii = pick(9999);
    for (int i = pick(4); i > 0; --i)
      loop.slots.push_back({stmt(),
                            pick(2) == 0 ? "" : name(),
                            static_cast<machine::UnitKind>(pick(5)),
                            pick(4) - 1,
                            pick(9),
                            pick(2),
                            {}});
    if (pick(2) == 0) loop.rings.push_back({{name(), name()}, pick(4), {}});
    if (pick(2) == 0) loop.versions.push_back({name(), pick(4), {}});
    if (pick(2) == 0) loop.tokens.push_back({stmt(), stmt(), {}});
    s.loops.push_back(std::move(loop));
  }
  return s;
}

TEST(ScheduleText, RandomSchedulesSurviveTextAndJson) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) expect_round_trip(random_schedule(seed));
}

}  // namespace
}  // namespace plait::plan
