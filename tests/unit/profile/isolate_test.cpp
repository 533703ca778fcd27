// Tasks alone: role programs that verify, print and take the time that the model says where a simulator runs them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "emit/cuda/cuda.h"
#include "machine/load.h"
#include "planner/tasks.h"
#include "profile/isolate.h"
#include "roles/parse.h"
#include "roles/verify.h"
#include "sim/trial.h"
#include "unit/plan/fixture.h"

namespace plait::profile {
namespace {

using plan::test::library_kernel;
using plan::test::library_text;
using testing::HasSubstr;

/// The tasks of a kernel by name; of loops of the same name the first.
class Tasks {
 public:
  Tasks(const ir::Kernel& kernel, const std::string& device) : device_(*machine::load_device(device)) {
    auto tasks = planner::tasks_of(kernel, device_, {});
    if (tasks) tasks_ = std::move(*tasks);
  }

  bool any() const { return tasks_.has_value(); }
  const machine::Device& device() const { return device_; }
  std::map<std::string, Isolated> all() const {
    std::map<std::string, Isolated> out;
    for (const graph::TaskGraph& graph : tasks_->graphs) {
      for (std::size_t node = 0; node < graph.nodes.size(); ++node)
        out.emplace(graph::text_of(graph.nodes[node].name), isolate(tasks_->base.program, graph, node));
    }
    return out;
  }
  const plan::TaskCost& cost(const std::string& name) const {
    for (std::size_t loop = 0; loop < tasks_->graphs.size(); ++loop) {
      const graph::TaskGraph& graph = tasks_->graphs[loop];
      for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
        if (graph::text_of(graph.nodes[node].name) == name) return tasks_->costs[loop].tasks[node];
      }
    }
    throw InternalError("no such task: " + name);
  }

 private:
  machine::Device device_;
  std::optional<planner::Tasks> tasks_;
};

Result<roles::Program> parsed(const std::string& text, int replicas, int rounds) {
  return roles::parse(std::make_shared<SourceFile>("isolated.roles", text),
                      {{"replicas_", std::to_string(replicas)}, {"rounds_", std::to_string(rounds)}});
}

const lang::Bindings kAttention = {{"dtype", "bf16"}, {"D", "128"}, {"block_M", "128"}, {"block_N", "128"}};

TEST(Isolate, ProductOfSharedTiles) {
  Tasks tasks(library_kernel("attention", kAttention), "h200");
  Isolated product = tasks.all().at("gemm@31");
  EXPECT_EQ(product.way, Way::in_a_row);
  EXPECT_EQ(product.replicas, 2);
  EXPECT_FALSE(product.loads);
  EXPECT_THAT(product.text, HasSubstr("    for round_ in range(rounds_):\n      fence wgmma\n"));
  EXPECT_THAT(product.text, HasSubstr("      wgmma_commit\n      wgmma_await 0\n      keep S\n"));
  EXPECT_THAT(product.text, HasSubstr("      wgmma_commit\n      wgmma_await 1\n    wgmma_await 0\n"));
  // Nothing of the other tasks, and nothing that waits for other roles.
  for (const char* word : {"exp2", "row_reduce", "receive", "release", "V_s", "acc["})
    EXPECT_EQ(product.text.find(word), std::string::npos) << word << " in\n" << product.text;
}

TEST(Isolate, ElementWorkKeepsWhatItComputes) {
  Tasks tasks(library_kernel("attention", kAttention), "h200");
  Isolated exponent = tasks.all().at("each@45");
  EXPECT_EQ(exponent.way, Way::alone);
  EXPECT_THAT(exponent.text, HasSubstr("      each i, n in S:\n        S[i, n] = exp2("));
  EXPECT_THAT(exponent.text, HasSubstr("      keep S, base\n"));
  EXPECT_THAT(exponent.text, HasSubstr("    fragment base: f32[64] rows of S\n"));
}

TEST(Isolate, LoadsBringNewTiles) {
  Tasks tasks(library_kernel("attention", kAttention), "h200");
  Isolated load = tasks.all().at("copy@29");
  EXPECT_TRUE(load.loads);
  EXPECT_EQ(load.way, Way::in_a_row);
  EXPECT_THAT(load.text, HasSubstr("expect full_[i_ % 4] bytes 32768\n"));
  EXPECT_THAT(load.text, HasSubstr("X0_map_[0, 0, (block * 2 * rounds_ + i_) * 128, 0]"));
}

TEST(Isolate, WhatReadsTensorsByElementsStays) {
  Tasks tasks(library_kernel("conv2d", {}), "h200");
  int refused = 0;
  for (const auto& [name, task] : tasks.all()) {
    if (!task.text.empty()) continue;
    EXPECT_THAT(task.why_not, HasSubstr("threads access `"));
    ++refused;
  }
  EXPECT_GT(refused, 0);
}

/// Cycles of a round of both sections in the simulator.
double simulated(const Isolated& task, const machine::Device& device) {
  auto cycles = [&](int rounds) {
    auto program = parsed(task.text, 1, rounds);
    if (!program) throw InternalError(program.diagnostics().render());
    std::map<std::string, ir::ScalarValue> scalars;
    for (const Given& given : task.given)
      scalars[given.name] = {given.type, static_cast<std::int64_t>(given.value), given.value};
    auto call = sim::BlankCall::make(*program, {{"counters_", 1}}, scalars);
    if (!call) throw InternalError(call.diagnostics().render());
    auto launch = sim::make_launch(*program, call->args(), 1);
    sim::Options options;
    options.costs = sim::costs_of(device);
    options.checks = false;
    sim::Outcome outcome = sim::simulate(*program, *launch, options);
    if (outcome.diagnostics.has_errors()) throw InternalError(outcome.diagnostics.render());
    return static_cast<double>(outcome.cycles);
  };
  constexpr int kFew = 16, kMany = 64;
  return (cycles(kMany) - cycles(kFew)) / (kMany - kFew);
}

/// By the same rates, in a program of its own and added up over its statements.
TEST(Isolate, TakesInTheSimulatorWhatIsModelled) {
  Tasks tasks(library_kernel("attention", kAttention), "h200");
  for (const auto& [name, task] : tasks.all()) {
    if (task.text.empty() || task.loads) continue;
    SCOPED_TRACE(name);
    const plan::TaskCost& cost = tasks.cost(name);
    double expected = static_cast<double>(cost.latency);
    if (task.way == Way::in_a_row) expected += static_cast<double>(cost.busy.at(machine::UnitKind::tensor));
    EXPECT_NEAR(simulated(task, tasks.device()), expected, 0.15 * expected + 20);
  }
}

class EveryKernel : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(EveryKernel, GivesProgramsThatPrint) {
  const auto& [name, device] = GetParam();
  std::string text = library_text(name);
  lang::Bindings bindings;
  if (text.find("dtype: type") != std::string::npos) bindings["dtype"] = "bf16";
  if (text.find("stages = ") != std::string::npos) bindings["stages"] = "2";
  Tasks tasks(library_kernel(name, bindings), device);
  if (!tasks.any()) GTEST_SKIP() << "does not fit this machine as it is";
  for (const auto& [task, isolated] : tasks.all()) {
    SCOPED_TRACE(task);
    if (isolated.text.empty()) {
      EXPECT_THAT(isolated.why_not, HasSubstr("threads access `"));
      continue;
    }
    auto program = parsed(isolated.text, isolated.replicas, 64);
    ASSERT_TRUE(program) << program.diagnostics().render() << isolated.text;
    Diagnostics found = roles::verify(*program, roles::limits_of(tasks.device()));
    EXPECT_FALSE(found.has_errors()) << found.render() << isolated.text;
    auto module = emit::cuda::emit(*program, tasks.device().arch);
    EXPECT_TRUE(module) << module.diagnostics().render();
  }
}

std::vector<std::string> kernel_names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(PLAIT_SOURCE_DIR "/kernels")) {
    std::string text = plait::test::read_file(file.path().string());
    if (file.path().extension() == ".tile" && text.find(" in pipelined(") != std::string::npos)
      names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryKernel,
                         testing::Combine(testing::ValuesIn(kernel_names()), testing::Values("h200", "a100")),
                         [](const auto& at) { return std::get<0>(at.param) + "_" + std::get<1>(at.param); });

}  // namespace
}  // namespace plait::profile
