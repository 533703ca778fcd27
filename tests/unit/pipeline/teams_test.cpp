// How threads share out the lines of a tile.
#include "pipeline/teams.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/visit.h"
#include "roundtrip.h"

namespace plait::pipeline {
namespace {

struct Case {
  const char* extents;  ///< of the source
  int dim;
  std::int64_t warps;  ///< that compute
  Team team;
  const char* part = "";  ///< of the source
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.extents << c.part << " dim " << c.dim << " warps " << c.warps;
}

class Teams : public testing::TestWithParam<Case> {};

TEST_P(Teams, AreAsWideAsTheLinesAllow) {
  const Case& c = GetParam();
  auto kernel = plait::test::load(
      fmt::format("kernel k(Y: out f32[1]; n = 3):\n  grid b = 1\n  x = shared f32{}\n  y = shared f32{}\n  clear(x)\n"
                  "  cumsum(x{}, y{}, dim={})\n  Y[0] = y{}\n",
                  c.extents, c.extents, c.part, c.part, c.dim,
                  std::string(c.extents).find(',') == std::string::npos ? "[0]" : "[0, 0]"),
      {}, "");
  ASSERT_TRUE(kernel) << kernel.diagnostics().render();
  int found = 0;
  ir::walk(kernel->body, [&](const ir::Stmt& stmt) {
    const auto* op = std::get_if<ir::TileOp>(&stmt.node);
    if (op == nullptr || op->kind != ir::OpKind::cumsum) return;
    Team team = team_of(*op, c.warps);
    EXPECT_EQ(team.lanes, c.team.lanes);
    EXPECT_EQ(team.warps, c.team.warps);
    EXPECT_EQ(team.along, c.team.along);
    ++found;
  });
  EXPECT_EQ(found, 1);
}

constexpr Case kCases[] = {
    {"[1088]", 0, 4, {32, 4, true}},
    {"[1088]", 0, 3, {32, 2, true}},
    {"[300]", 0, 8, {32, 2, true}},  // 4 elements a lane at least
    {"[1, 4096]", 1, 16, {32, 16, true}},
    {"[2, 4096]", 1, 16, {32, 8, true}},
    {"[3, 4096]", 1, 16, {32, 4, true}},
    {"[8, 256]", 1, 4, {32, 1, true}},
    {"[64, 9]", 1, 4, {16, 1, true}},
    {"[64, 1]", 1, 4, {1, 1, true}},
    {"[100, 256]", 0, 4, {1, 1, false}},  // a column a thread: neighbours read neighbours
    {"[100, 20]", 0, 4, {4, 1, false}},
    {"[4096, 1]", 0, 4, {32, 4, false}},
    {"[64, 256]", 1, 4, {32, 2, true}, "[n : n + 2, 0:256]"},
};
INSTANTIATE_TEST_SUITE_P(Pipeline, Teams, testing::ValuesIn(kCases));

}  // namespace
}  // namespace plait::pipeline
