#include <fmt/format.h>

#include "plan/problem.h"

// What a timetable breaks, by the definitions of docs/planners.md and nothing else.
namespace plait::plan {

namespace {

class Certifier {
 public:
  /// `once`: one run of the body, which nothing follows.
  Certifier(const Problem& problem, const Timetable& table, bool once)
      : problem_(problem), table_(table), once_(once) {}

  std::vector<std::string> run() {
    if (table_.issue.size() != problem_.tasks.size() || table_.run.size() != problem_.tasks.size())
      return {"a task has no time"};
    if (!once_ && (table_.ii < 1 || table_.ii % problem_.replicas != 0)) return {"the interval is no multiple"};
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) task(i);
    for (const Problem::Edge& e : problem_.edges) edge(e);
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      for (std::size_t j = i + 1; j < problem_.tasks.size(); ++j) pair(i, j);
    }
    if (!once_) shared_units();
    return std::move(broken_);
  }

 private:
  const Problem::Task& at(std::size_t i) const { return problem_.tasks[i]; }

  void task(std::size_t i) {
    if (table_.run[i] < table_.issue[i]) broken_.push_back(fmt::format("{} runs before it is issued", at(i).name));
    if (!at(i).async && table_.run[i] != table_.issue[i])
      broken_.push_back(fmt::format("{} does not run when it is issued", at(i).name));
    if (once_) return;
    if (at(i).cost.issue > table_.ii || turn(at(i)) > table_.ii / problem_.replicas)
      broken_.push_back(fmt::format("{} takes more than an interval", at(i).name));
  }

  void edge(const Problem::Edge& e) {
    if (once_ && e.distance > 0) return;
    std::int64_t later = e.distance * table_.ii;
    std::int64_t end = table_.run[e.from] + (e.chained ? turn(at(e.from)) : at(e.from).cost.latency);
    std::int64_t begin = e.chained ? table_.run[e.to] : table_.issue[e.to];
    if (begin + later < end)
      broken_.push_back(
          fmt::format("{} begins {} cycles before {} ends", at(e.to).name, end - begin - later, at(e.from).name));
  }

  /// Whether [a, a + a_long) and [b, b + b_long) meet, each repeated every `period`.
  bool meet(std::int64_t a, std::int64_t a_long, std::int64_t b, std::int64_t b_long, std::int64_t period) const {
    if (a_long == 0 || b_long == 0) return false;
    if (once_) return a < b + b_long && b < a + a_long;
    std::int64_t between = ((b - a) % period + period) % period;
    return between < a_long || period - between < b_long;
  }

  void pair(std::size_t i, std::size_t j) {
    const Problem::Task &a = at(i), &b = at(j);
    if (a.role == b.role && meet(table_.issue[i], a.cost.issue, table_.issue[j], b.cost.issue, table_.ii))
      broken_.push_back(fmt::format("{} and {} are issued at once", a.name, b.name));
    if (!a.unit || a.unit != b.unit) return;
    if (meet(table_.run[i], turn(a), table_.run[j], turn(b), table_.ii / problem_.replicas))
      broken_.push_back(fmt::format("{} and {} run on {} at once", a.name, b.name, machine::name_of(*a.unit)));
    if (a.role == b.role && a.async && b.async) fifo(i, j);
  }

  /// What is issued first runs first, whatever the iterations.
  void fifo(std::size_t i, std::size_t j) {
    const std::int64_t period = once_ ? 1 : table_.ii;
    std::int64_t far = once_ ? 0 : 1 + (makespan(problem_, table_) + period - 1) / period;
    for (std::int64_t turns = -far; turns <= far; ++turns) {
      bool issued = table_.issue[i] + turns * period < table_.issue[j];
      bool ran = table_.run[i] + turns * period < table_.run[j];
      if (issued == ran) continue;
      broken_.push_back(fmt::format("{} and {} run in another order than they are issued", at(i).name, at(j).name));
      return;
    }
  }

  void shared_units() {
    std::map<machine::UnitKind, std::int64_t> units;
    for (const Problem::Task& task : problem_.tasks) {
      for (const auto& [unit, cycles] : task.cost.busy) units[unit] += cycles * problem_.replicas;
    }
    for (const auto& [unit, cycles] : units) {
      if (cycles > table_.ii)
        broken_.push_back(fmt::format("{} is busy for {} cycles of {}", machine::name_of(unit), cycles, table_.ii));
    }
  }

  const Problem& problem_;
  const Timetable& table_;
  bool once_;
  std::vector<std::string> broken_;
};

}  // namespace

std::vector<std::string> certify(const Problem& problem, const Timetable& table) {
  return Certifier(problem, table, false).run();
}

std::vector<std::string> certify_once(const Problem& problem, const Timetable& table) {
  return Certifier(problem, table, true).run();
}

}  // namespace plait::plan
