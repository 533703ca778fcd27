#include <gtest/gtest.h>

#include <cstdlib>

#include "plan/gather.h"
#include "plan/greedy.h"
#include "plan/modulo.h"
#include "problems.h"

namespace plait::plan::test {
namespace {

using machine::UnitKind;

/// `make soak` sets PLAIT_SOAK to a factor.
int rounds(int usual) {
  const char* soak = std::getenv("PLAIT_SOAK");
  return soak == nullptr ? usual : usual * std::max(1, std::atoi(soak));
}

std::string shown(const Problem& problem) {
  std::string out;
  for (const Problem::Task& t : problem.tasks)
    out += fmt::format("{} role {} async {} issue {} latency {} turn {}\n", t.name, t.role, t.async, t.cost.issue,
                       t.cost.latency, turn(t));
  for (const Problem::Edge& e : problem.edges)
    out += fmt::format("{} -> {} distance {}{}\n", e.from, e.to, e.distance, e.chained ? " chained" : "");
  return out;
}

ModuloOptions exact() {
  ModuloOptions options;
  options.most_turns = 12;
  return options;
}

TEST(Modulo, FindsTheLeastInterval) {
  for (int seed = 0; seed < rounds(200); ++seed) {
    plait::test::Rng rng(static_cast<std::uint64_t>(seed));
    Problem problem = random_problem(rng, seed % 20 == 0 ? 7 : 5, seed % 3 == 0 ? 2 : 1);
    Timetable table = plan_modulo(problem, exact()), again = plan_modulo(problem, exact());
    ASSERT_EQ(certify(problem, table), std::vector<std::string>{}) << "seed " << seed << "\n" << shown(problem);
    EXPECT_TRUE(table.optimal) << table.why_not;
    EXPECT_EQ(table.ii, brute_interval(problem)) << "seed " << seed << "\n" << shown(problem);
    EXPECT_GE(table.ii, bounds_of(problem).least(problem.replicas));
    EXPECT_EQ(table.issue, again.issue);
    EXPECT_EQ(table.run, again.run);
    Timetable greedy = plan_greedy(problem);
    ASSERT_EQ(certify(problem, greedy), std::vector<std::string>{}) << "seed " << seed << "\n" << shown(problem);
    EXPECT_GE(greedy.ii, table.ii);
  }
}

/// What limited steps do not settle is the list scheduler's, and says so; what they settle is the least interval.
TEST(Modulo, StepsOfAllQuestionsAreLimited) {
  int asked = 0;
  for (int seed = 0; seed < rounds(2000) && asked < rounds(10); ++seed) {
    plait::test::Rng rng(static_cast<std::uint64_t>(seed));
    const Problem problem = random_problem(rng, 5, seed % 3 == 0 ? 2 : 1);
    const Timetable greedy = plan_greedy(problem);
    if (greedy.optimal) continue;
    ++asked;
    Steps none, many{1'000'000'000};
    ModuloOptions options = exact();
    options.steps = &none;
    const Timetable unsettled = plan_modulo(problem, options);
    const std::int64_t kept = gathered(problem, greedy).ii;
    const bool least = kept == bounds_of(problem).least(problem.replicas);
    EXPECT_EQ(unsettled.ii, kept);
    EXPECT_EQ(unsettled.optimal, least);
    EXPECT_EQ(unsettled.why_not, least ? "" : "the solver ran out of steps");
    options.steps = &many;
    const Timetable table = plan_modulo(problem, options);
    ASSERT_EQ(certify(problem, table), std::vector<std::string>{}) << "seed " << seed << "\n" << shown(problem);
    EXPECT_TRUE(table.optimal) << table.why_not;
    EXPECT_EQ(table.ii, brute_interval(problem)) << "seed " << seed << "\n" << shown(problem);
    EXPECT_LT(many.left, 1'000'000'000);
  }
  EXPECT_GT(asked, 0);
}

TEST(Modulo, FindsTheShortestRun) {
  for (int seed = 0; seed < rounds(200); ++seed) {
    plait::test::Rng rng(static_cast<std::uint64_t>(seed) + 1000);
    Problem problem = random_problem(rng, seed % 4 == 0 ? 6 : 5, 1);
    Timetable table = plan_once(problem, exact());
    ASSERT_EQ(certify_once(problem, table), std::vector<std::string>{}) << "seed " << seed << "\n" << shown(problem);
    EXPECT_EQ(table.ii, brute_makespan(problem)) << "seed " << seed << "\n" << shown(problem);
    Timetable greedy = plan_greedy_once(problem);
    ASSERT_EQ(certify_once(problem, greedy), std::vector<std::string>{}) << "seed " << seed << "\n" << shown(problem);
    EXPECT_GE(greedy.ii, table.ii);
  }
}

}  // namespace
}  // namespace plait::plan::test
