// What a legal plan means is what the loop means: random programs, played in the order of their plans by the
// interpreter.
#include "play.h"

#include <cstdlib>
#include <random>

#include "fixture.h"
#include "interp/interp.h"
#include "random/program.h"

namespace plait::plan {
namespace {

using plait::test::Call;
using plait::test::RandomProgram;

/// Everything a run leaves behind, as text.
std::string outcome(const RandomProgram& program, const ir::Kernel& kernel) {
  Call call = program.make_call();
  Diagnostics found = interp::interpret(kernel, call.args());
  std::string text = found.render();
  for (const auto& [name, values] : program.inputs) {
    for (double value : call.get(name)) text += fmt::format("{} ", value);
  }
  return text;
}

/// Orders and stages drawn at random, with the versions that they ask for.
LoopPlan random_plan(const graph::TaskGraph& graph, std::mt19937_64& random) {
  LoopPlan plan;
  plan.loop = graph.loop;
  std::vector<int> orders(graph.nodes.size());
  for (std::size_t i = 0; i < orders.size(); ++i) orders[i] = static_cast<int>(i);
  // Mostly near the program's order, so that many plans are legal.
  for (std::uint64_t swaps = random() % 4; swaps > 0 && orders.size() > 1; --swaps) {
    std::size_t at = random() % (orders.size() - 1);
    std::swap(orders[at], orders[at + 1]);
  }
  int stage = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (random() % 3 == 0) stage += static_cast<int>(random() % 2);
    plan.slots.push_back({graph.nodes[i].name, "", machine::UnitKind::cuda, stage, orders[i], 0, {}});
    if (random() % 8 == 0) stage = std::max(stage - 1, 0);
  }
  plan.versions = versions_for(graph, plan.slots);
  return plan;
}

std::uint64_t seeds(std::uint64_t count) {
  const char* soak = std::getenv("PLAIT_SOAK");
  return count * (soak == nullptr ? 1 : std::max<std::uint64_t>(std::strtoull(soak, nullptr, 10), 1));
}

TEST(Play, TheRulesChangeNoResult) {
  int overlapped = 0;
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    RandomProgram program = plait::test::make_random_program(seed);
    auto graphs = graph::build(program.kernel);
    if (graphs.empty()) continue;
    std::vector<LoopPlan> plans;
    for (const graph::TaskGraph& graph : graphs) {
      auto made = plan_by_rules(graph, test::device());
      ASSERT_TRUE(made.ok()) << "seed " << seed << made.diagnostics().render();
      ASSERT_EQ(check(made->loop, graph).render(), "") << "seed " << seed;
      overlapped += made->loop.stages() > 1 ? 1 : 0;
      plans.push_back(made->loop);
    }
    ir::Kernel played = test::play(program.kernel, graphs, plans);
    ASSERT_EQ(outcome(program, program.kernel), outcome(program, played))
        << "seed " << seed << "\n"
        << program.text << test::summary(plans.front()) << "\n"
        << ir::print(played);
  }
  EXPECT_GT(overlapped, 10);
}

TEST(Play, LegalPlansChangeNoResultAndIllegalOnesDo) {
  int legal = 0, overlapped = 0, wrong = 0;
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    RandomProgram program = plait::test::make_random_program(seed);
    auto graphs = graph::build(program.kernel);
    if (graphs.empty()) continue;
    std::mt19937_64 random(seed);
    std::string want = outcome(program, program.kernel);
    for (int draw = 0; draw < 6; ++draw) {
      std::vector<LoopPlan> plans;
      bool good = true;
      for (const graph::TaskGraph& graph : graphs) {
        plans.push_back(random_plan(graph, random));
        good = good && !check(plans.back(), graph).has_errors();
      }
      ir::Kernel played = test::play(program.kernel, graphs, plans);
      std::string got = outcome(program, played);
      if (!good) {
        wrong += got != want ? 1 : 0;
        continue;
      }
      ++legal;
      for (const LoopPlan& plan : plans) overlapped += plan.stages() > 1 ? 1 : 0;
      ASSERT_EQ(want, got) << "seed " << seed << "\n"
                           << program.text << test::summary(plans.front()) << "\n"
                           << ir::print(played);
    }
  }
  // The test sees something: many plans are legal, and among those that are refused many give other results.
  EXPECT_GT(legal, 40);
  EXPECT_GT(overlapped, 20);
  EXPECT_GT(wrong, 20);
}

}  // namespace
}  // namespace plait::plan
