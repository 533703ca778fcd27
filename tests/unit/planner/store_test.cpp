// Plans by what was measured, and plans of before.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "machine/load.h"
#include "planner/tasks.h"
#include "profile/isolate.h"
#include "store/measured.h"
#include "store/plans.h"
#include "unit/plan/fixture.h"

namespace plait::planner {
namespace {

using plan::test::kernel_of;
using plan::test::library_text;
namespace fs = std::filesystem;
using testing::HasSubstr;

class StoredPlans : public testing::Test {
 protected:
  StoredPlans() : device_(*machine::load_device("h200")) {
    std::string name = fs::temp_directory_path() / "plait_plans_XXXXXX";
    folder_ = mkdtemp(name.data());
    kernel_ =
        kernel_of(library_text("attention"), {{"dtype", "bf16"}, {"D", "64"}, {"block_M", "64"}, {"block_N", "64"}});
    options_.kind = Kind::modulo;
    options_.store = (folder_ / "store.sqlite").string();
  }
  ~StoredPlans() override { fs::remove_all(folder_); }

  Planned planned() const {
    auto made = plan(kernel_, device_, options_);
    if (!made) throw InternalError(made.diagnostics().render());
    return std::move(*made);
  }
  std::int64_t kept() const {
    auto store = store::Database::open(options_.store, store::Access::read);
    auto rows = store->run("SELECT count(*) FROM plans");
    return rows->empty() ? 0 : std::get<std::int64_t>(rows->front().front());
  }
  /// Measures a task of the kernel.
  void measured(const std::string& name, double latency, double interval) const {
    auto tasks = tasks_of(kernel_, device_, {});
    const graph::TaskGraph& graph = tasks->graphs.front();
    auto store = store::Database::open(options_.store, store::Access::write);
    for (std::size_t node = 0; node < graph.nodes.size(); ++node) {
      if (graph::text_of(graph.nodes[node].name) != name) continue;
      std::string text = profile::isolate(tasks->base.program, graph, node).text;
      store::Measured one{"attention", name, latency, interval, 40, 0, "NVIDIA H200", "2026-11-30T00:00:00Z"};
      ASSERT_FALSE(store::put_measured(*store, "h200", text, one).has_errors());
      return;
    }
    FAIL() << "no such task: " << name;
  }
  static const plan::TaskCost& cost(const Planned& planned, const std::string& name) {
    for (const PlannedLoop::Task& task : planned.loops.at(0).tasks) {
      if (task.name == name) return task.cost;
    }
    throw InternalError("no such task: " + name);
  }
  static bool notes(const Planned& planned, const std::string& text) {
    for (const place::Remark& remark : planned.derived.remarks) {
      if (remark.text.find(text) != std::string::npos) return true;
    }
    return false;
  }

  fs::path folder_;
  machine::Device device_;
  ir::Kernel kernel_;
  Options options_;
};

TEST_F(StoredPlans, WhatWasMeasuredOverrulesTheModel) {
  Planned before = planned();
  EXPECT_THAT(before.loops.at(0).costs, HasSubstr("modelled"));
  measured("each@45", 700, 350);
  measured("gemm@31", 300, 200);
  Planned after = planned();
  const plan::TaskCost& exponent = cost(after, "each@45");
  EXPECT_EQ(exponent.source, "measured on NVIDIA H200");
  EXPECT_EQ(exponent.latency, 700);
  EXPECT_EQ(exponent.issue, 700);
  std::int64_t most = 0;
  for (const auto& [unit, busy] : exponent.busy) most = std::max(most, busy);
  EXPECT_EQ(most, 350);
  // A product holds its role only while it is issued.
  const plan::TaskCost& product = cost(after, "gemm@31");
  EXPECT_EQ(product.latency, 300);
  EXPECT_EQ(product.busy.at(machine::UnitKind::tensor), 200);
  EXPECT_EQ(product.issue, cost(before, "gemm@31").issue);
  EXPECT_THAT(cost(after, "gemm@51").source, HasSubstr("modelled"));
  EXPECT_THAT(text(after), HasSubstr("2 tasks measured on NVIDIA H200; 10 tasks modelled"));
  EXPECT_GT(after.loops.at(0).ii, before.loops.at(0).ii);
}

TEST_F(StoredPlans, TheSamePlanComesBack) {
  Planned first = planned();
  EXPECT_EQ(kept(), 1);
  Planned again = planned();
  EXPECT_EQ(kept(), 1);
  EXPECT_EQ(text(first), text(again));
  EXPECT_EQ(roles::print(first.derived.program), roles::print(again.derived.program));
  EXPECT_EQ(plan::print(first.derived.schedule), plan::print(again.derived.schedule));
  EXPECT_EQ(again.loops.at(0).loc.str(), first.loops.at(0).loc.str());
}

TEST_F(StoredPlans, APlanIsReadNotMade) {
  planned();
  {
    auto store = store::Database::open(options_.store, store::Access::write);
    // A mark in what was kept shows where the next plan comes from.
    ASSERT_TRUE(store->run("UPDATE plans SET plan = replace(plan, '\"what\":\"modulo', '\"what\":\"kept')"));
  }
  EXPECT_THAT(planned().candidates.at(0).what, HasSubstr("kept"));
}

TEST_F(StoredPlans, AnythingElseIsAnotherPlan) {
  planned();
  options_.kind = Kind::greedy;
  planned();
  EXPECT_EQ(kept(), 2);
  options_.dims = {{"Sk", 4096}};
  planned();
  EXPECT_EQ(kept(), 3);
  measured("each@45", 700, 350);
  planned();
  EXPECT_EQ(kept(), 4);
}

TEST_F(StoredPlans, APlanThatWasChangedIsMadeAnew) {
  Planned first = planned();
  for (const char* broken : {"''", "'{}'", "'not JSON'", "replace(plan, 'stage 0', 'stage 9')"}) {
    auto store = store::Database::open(options_.store, store::Access::write);
    ASSERT_TRUE(store->run(fmt::format("UPDATE plans SET plan = {}", broken)));
    EXPECT_EQ(text(planned()), text(first)) << broken;
  }
}

TEST_F(StoredPlans, AFileThatCannotBeReadIsTold) {
  std::ofstream(options_.store) << std::string(200, 'x');
  Planned without = planned();
  EXPECT_FALSE(without.loops.empty());
  EXPECT_TRUE(notes(without, "planned without what was measured: "));
  EXPECT_TRUE(notes(without, "file is not a database"));
}

TEST_F(StoredPlans, AFolderThatCannotBeWrittenIsTold) {
  options_.store = "/proc/plait/store.sqlite";
  Planned made = planned();
  EXPECT_FALSE(made.loops.empty());
  EXPECT_TRUE(notes(made, "planned anew, and the plan is not kept: /proc/plait/store.sqlite"));
}

}  // namespace
}  // namespace plait::planner
