// Plans by what was measured, and plans of before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include "machine/load.h"
#include "planner/npu.h"
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

/// Plans with a file of their own.
class Stored : public testing::Test {
 protected:
  Stored() {
    std::string name = fs::temp_directory_path() / "plait_plans_XXXXXX";
    folder_ = mkdtemp(name.data());
    options_.kind = Kind::modulo;
    options_.store = (folder_ / "store.sqlite").string();
  }
  ~Stored() override { fs::remove_all(folder_); }

  std::int64_t kept() const {
    auto store = store::Database::open(options_.store, store::Access::read);
    auto rows = store->run("SELECT count(*) FROM plans");
    return rows->empty() ? 0 : std::get<std::int64_t>(rows->front().front());
  }
  /// Puts something else in the place of each plan that is kept.
  void change(const std::string& plan) const {
    auto store = store::Database::open(options_.store, store::Access::write);
    ASSERT_TRUE(store->run("UPDATE plans SET plan = " + plan));
  }
  static bool notes(const std::vector<place::Remark>& remarks, const std::string& text) {
    return std::any_of(remarks.begin(), remarks.end(),
                       [&](const place::Remark& remark) { return remark.text.find(text) != std::string::npos; });
  }

  // A mark in what was kept shows where a plan comes from.
  static constexpr const char* kMark = "replace(plan, '\"what\":\"modulo', '\"what\":\"kept')";
  static constexpr std::array kBroken = {"''", "'{}'", "'not JSON'", "replace(plan, 'stage 0', 'stage 9')",
                                         "replace(plan, '\"line\":', '\"line\":1')"};

  fs::path folder_;
  Options options_;
};

class StoredPlans : public Stored {
 protected:
  StoredPlans() : device_(*machine::load_device("h200")) {
    kernel_ =
        kernel_of(library_text("attention"), {{"dtype", "bf16"}, {"D", "64"}, {"block_M", "64"}, {"block_N", "64"}});
  }

  Planned planned() const {
    auto made = plan(kernel_, device_, options_);
    if (!made) throw InternalError(made.diagnostics().render());
    return std::move(*made);
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

  machine::Device device_;
  ir::Kernel kernel_;
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
  change(kMark);
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
  for (const char* broken : kBroken) {
    change(broken);
    EXPECT_EQ(text(planned()), text(first)) << broken;
  }
}

TEST_F(StoredPlans, AFileThatCannotBeReadIsTold) {
  std::ofstream(options_.store) << std::string(200, 'x');
  Planned without = planned();
  EXPECT_FALSE(without.loops.empty());
  EXPECT_TRUE(notes(without.derived.remarks, "planned without what was measured: "));
  EXPECT_TRUE(notes(without.derived.remarks, "file is not a database"));
}

TEST_F(StoredPlans, AFolderThatCannotBeWrittenIsTold) {
  options_.store = "/proc/plait/store.sqlite";
  Planned made = planned();
  EXPECT_FALSE(made.loops.empty());
  EXPECT_TRUE(notes(made.derived.remarks, "planned anew, and the plan is not kept: /proc/plait/store.sqlite"));
}

class StoredNpuPlans : public Stored {
 protected:
  StoredNpuPlans() : device_(*machine::load_device("ascend950")) {
    kernel_ =
        kernel_of(library_text("attention"), {{"dtype", "bf16"}, {"D", "64"}, {"block_M", "64"}, {"block_N", "64"}});
  }

  NpuPlanned planned() const {
    auto made = plan_on_npu(kernel_, device_, options_);
    if (!made) throw InternalError(made.diagnostics().render());
    return std::move(*made);
  }

  machine::Device device_;
  ir::Kernel kernel_;
};

TEST_F(StoredNpuPlans, TheSamePlanComesBack) {
  NpuPlanned first = planned();
  EXPECT_EQ(kept(), 1);
  NpuPlanned again = planned();
  EXPECT_EQ(kept(), 1);
  EXPECT_EQ(text(first), text(again));
  EXPECT_EQ(again.target, machine::Target::npu);
  EXPECT_EQ(roles::print(first.derived.made.program), roles::print(again.derived.made.program));
  EXPECT_EQ(plan::print(first.derived.made.schedule), plan::print(again.derived.made.schedule));
  EXPECT_EQ(again.loops.at(0).loc.str(), first.loops.at(0).loc.str());
  EXPECT_EQ(again.loops.at(0).tasks.size(), first.loops.at(0).tasks.size());
}

TEST_F(StoredNpuPlans, APlanIsReadNotMade) {
  planned();
  change(kMark);
  EXPECT_THAT(planned().candidates.at(0).what, HasSubstr("kept"));
}

TEST_F(StoredNpuPlans, AnythingElseIsAnotherPlan) {
  planned();
  options_.kind = Kind::greedy;
  planned();
  EXPECT_EQ(kept(), 2);
  options_.dims = {{"Sk", 4096}};
  planned();
  EXPECT_EQ(kept(), 3);
  device_ = *machine::load_device("ascend910b");
  planned();
  EXPECT_EQ(kept(), 4);
}

TEST_F(StoredNpuPlans, APlanThatWasChangedIsMadeAnew) {
  NpuPlanned first = planned();
  for (const char* broken : kBroken) {
    change(broken);
    EXPECT_EQ(text(planned()), text(first)) << broken;
  }
}

TEST_F(StoredNpuPlans, AFileThatCannotBeReadIsTold) {
  std::ofstream(options_.store) << std::string(200, 'x');
  NpuPlanned made = planned();
  EXPECT_FALSE(made.loops.empty());
  EXPECT_TRUE(notes(made.derived.made.remarks, "planned anew, and the plan is not kept: "));
  EXPECT_TRUE(notes(made.derived.made.remarks, "file is not a database"));
}

TEST_F(StoredNpuPlans, AFolderThatCannotBeWrittenIsTold) {
  options_.store = "/proc/plait/store.sqlite";
  NpuPlanned made = planned();
  EXPECT_FALSE(made.loops.empty());
  EXPECT_TRUE(notes(made.derived.made.remarks, "planned anew, and the plan is not kept: /proc/plait/store.sqlite"));
}

}  // namespace
}  // namespace plait::planner
