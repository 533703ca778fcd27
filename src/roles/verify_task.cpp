#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "machine/device.h"
#include "roles/print.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// What a task may not do: wait, be waited for, or start something of its own.
bool is_foreign(const StmtNode& node) {
  return std::visit(Overload{[](const Elect&) { return true; },         [](const OneWarp&) { return true; },
                             [](const MbarInit&) { return true; },      [](const Wait&) { return true; },
                             [](const Arrive&) { return true; },        [](const Expect&) { return true; },
                             [](const Fence&) { return true; },         [](const SyncThreads&) { return true; },
                             [](const SyncWarp&) { return true; },      [](const ClusterArrive&) { return true; },
                             [](const ClusterWait&) { return true; },   [](const BarrierSync&) { return true; },
                             [](const BarrierArrive&) { return true; }, [](const TmaLoad&) { return true; },
                             [](const TmaStore&) { return true; },      [](const BulkLoad&) { return true; },
                             [](const BulkStore&) { return true; },     [](const BulkCommit&) { return true; },
                             [](const BulkWait&) { return true; },      [](const Prefetch&) { return true; },
                             [](const CpAsync&) { return true; },       [](const CpCommit&) { return true; },
                             [](const CpWait&) { return true; },        [](const Wgmma&) { return true; },
                             [](const WgmmaCommit&) { return true; },   [](const WgmmaAwait&) { return true; },
                             [](const Acquire&) { return true; },       [](const Publish&) { return true; },
                             [](const Receive&) { return true; },       [](const Release&) { return true; },
                             [](const Issue&) { return true; },         [](const auto&) { return false; }},
                    node);
}

class Tasks {
 public:
  explicit Tasks(const Check& check) : check_(check) {}

  void look(const Body& body, bool prologue) {
    walk(body, [&](const Stmt& stmt) {
      if (const auto* issue = std::get_if<Issue>(&stmt.node)) task(stmt, *issue, prologue);
    });
  }

 private:
  void task(const Stmt& stmt, const Issue& s, bool prologue) {
    std::string name = fmt::format("the task \"{}\"", s.task);
    if (prologue)
      check_.diags.error(Rule::task_body, stmt.loc, fmt::format("{} is issued in the prologue", name),
                         "issue it in a role");
    const auto& units = check_.limits.units;
    if (units && std::find(units->begin(), units->end(), s.unit) == units->end())
      check_.diags.error(Rule::task_unit, stmt.loc,
                         fmt::format("{} runs on unit `{}`, which `{}` does not have", name, machine::name_of(s.unit),
                                     check_.program.device));
    cycles(stmt, s.latency, name, "latency");
    cycles(stmt, s.ii, name, "ii");
    walk(s.body, [&](const Stmt& inner) {
      if (!is_foreign(inner.node)) return;
      std::string text = print(inner);
      check_.diags.error(Rule::task_body, inner.loc,
                         fmt::format("`{}` stands within {}", text.substr(0, text.find('\n')), name));
    });
  }

  void cycles(const Stmt& stmt, const ExprRef& e, const std::string& name, std::string_view what) {
    auto value = e == nullptr ? std::nullopt : ir::as_int(e);
    if (!value || *value >= 1) return;
    check_.diags.error(Rule::task_unit, loc_of(e->loc, stmt), fmt::format("{} has {} {}", name, what, *value),
                       "write at least one cycle");
  }

  const Check& check_;
};

}  // namespace

void check_tasks(const Check& check) {
  Tasks tasks(check);
  tasks.look(check.program.prologue, true);
  for (const Role& role : check.program.roles) tasks.look(role.body, false);
}

}  // namespace plait::roles
