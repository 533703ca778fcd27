#include "plan/gather.h"

#include <gtest/gtest.h>

#include "plan/greedy.h"
#include "problems.h"

namespace plait::plan::test {
namespace {

using machine::UnitKind;

Problem::Task product(const std::string& name) {
  return {name, 0, true, {{{UnitKind::tensor, 40}}, 10, 50, ""}, UnitKind::tensor};
}
Problem::Task vector(const std::string& name, std::int64_t cycles) {
  return {name, 0, false, {{{UnitKind::cuda, cycles}}, cycles, cycles, ""}, {}};
}

/// Attention's loop: scores, softmax, rescaling of the sum, and the product that adds to it.
Problem attention() {
  Problem problem;
  problem.tasks = {product("scores"), vector("softmax", 60), vector("rescale", 10), product("add")};
  problem.edges = {{0, 1, 0}, {1, 2, 0}, {2, 3, 0}, {3, 2, 1}};
  return problem;
}

TEST(Gather, ProductsStandTogether) {
  Problem problem = attention();
  // Rescaled between the next scores and the product.
  Timetable apart;
  apart.ii = 160;
  apart.issue = {0, 90, 170, 180};
  apart.run = {0, 90, 170, 200};
  ASSERT_EQ(certify(problem, apart), std::vector<std::string>{});
  Timetable together = gathered(problem, apart);
  EXPECT_EQ(certify(problem, together), std::vector<std::string>{});
  EXPECT_LE(together.ii, 160);
  EXPECT_LE(makespan(problem, together), makespan(problem, apart));
  // Behind the softmax, before the next scores.
  EXPECT_LE(together.issue[2] + 10, together.issue[0] + together.ii);
  EXPECT_LT(together.issue[0] + together.ii, together.issue[3]);
}

TEST(Gather, WhatHasToStandBetweenStays) {
  Problem problem = attention();
  // One turn: the sum waits for this iteration's scores.
  Timetable table = plan_greedy(problem);
  Timetable found = gathered(problem, table);
  EXPECT_EQ(certify(problem, found), std::vector<std::string>{});
  EXPECT_LE(found.ii, table.ii);
}

TEST(Gather, MakesNothingLonger) {
  for (int seed = 0; seed < 300; ++seed) {
    plait::test::Rng rng(static_cast<std::uint64_t>(seed));
    Problem problem = random_problem(rng, 7, seed % 3 == 0 ? 2 : 1);
    Timetable table = plan_greedy(problem);
    Timetable found = gathered(problem, table);
    ASSERT_EQ(certify(problem, found), std::vector<std::string>{}) << "seed " << seed;
    EXPECT_LE(found.ii, table.ii) << "seed " << seed;
    EXPECT_LE(makespan(problem, found), makespan(problem, table)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace plait::plan::test
