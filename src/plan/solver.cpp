#include "plan/solver.h"

#include <fmt/format.h>
#include <z3++.h>

#include <algorithm>

#include "support/result.h"

namespace plait::plan {

namespace {

/// What Z3 does by itself with linear integer arithmetic, without what it gives up after some seconds for something
/// else: what is found must not depend on how fast the machine is, or how busy.
z3::solver untimed_solver(z3::context& context) {
  auto with = [&](const char* tactic, auto... settings) {
    z3::params params(context);
    (params.set(settings.first, settings.second), ...);
    return z3::with(z3::tactic(context, tactic), params);
  };
  using Flag = std::pair<const char*, bool>;
  using Number = std::pair<const char*, unsigned>;
  z3::tactic simplified = z3::tactic(context, "simplify") & z3::tactic(context, "propagate-values") &
                          with("ctx-simplify", Number{"max_depth", 30}, Number{"max_steps", 5'000'000}) &
                          with("simplify", Flag{"pull_cheap_ite", true}, Flag{"push_ite_arith", false},
                               Flag{"local_ctx", true}, Number{"local_ctx_limit", 10'000'000}) &
                          z3::tactic(context, "solve-eqs") & z3::tactic(context, "elim-uncnstr") &
                          with("simplify", Flag{"arith_lhs", true}) & z3::tactic(context, "propagate-ineqs");
  z3::tactic branched =
      with("smt", Flag{"auto_config", false}, Number{"arith.branch_cut_ratio", 10'000'000}, Number{"random_seed", 100});
  z3::params all(context);
  all.set("elim_and", true);
  all.set("som", true);
  all.set("blast_distinct", true);
  all.set("blast_distinct_threshold", 128U);
  return z3::with(simplified & branched, all).mk_solver();
}

/// The question whether there are times for one interval, in integer arithmetic.
class Question {
 public:
  /// `ii`: of a loop; without one, one run of the body that ends by `horizon`.
  Question(const Problem& problem, std::optional<std::int64_t> ii, std::int64_t horizon, std::int64_t steps)
      : problem_(problem), ii_(ii), horizon_(horizon), solver_(untimed_solver(context_)) {
    z3::params params(context_);
    params.set("random_seed", 1U);
    // Whoever interrupts the process means the process: an answer that was cut short would be taken for the planner's.
    params.set("ctrl_c", false);
    params.set("rlimit", static_cast<unsigned>(steps));
    solver_.set(params);
    times();
    for (const Problem::Edge& e : problem.edges) edge(e);
    for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
      for (std::size_t j = i + 1; j < problem.tasks.size(); ++j) pair(i, j);
    }
  }

  /// From the first issue to the last end.
  void shorter_than(std::int64_t makespan) {
    z3::expr first = context_.int_const("first");
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      solver_.add(issue_[i] >= first);
      solver_.add(run_[i] + whole(longest(i)) <= first + whole(makespan));
    }
  }

  Solver::Answer ask(Steps* steps) {
    z3::check_result result = solver_.check();
    if (steps != nullptr) steps->left -= taken();
    if (result == z3::unsat) return {std::nullopt, true};
    if (result == z3::unknown) return {};
    z3::model model = solver_.get_model();
    Timetable table;
    auto value = [&](const z3::expr& e) { return model.eval(e, true).get_numeral_int64(); };
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      table.issue.push_back(value(issue_[i]));
      table.run.push_back(value(run_[i]));
    }
    std::int64_t first = *std::min_element(table.issue.begin(), table.issue.end());
    for (std::int64_t& time : table.issue) time -= first;
    for (std::int64_t& time : table.run) time -= first;
    table.ii = ii_.value_or(0);
    return {std::move(table), true};
  }

 private:
  std::int64_t taken() {
    z3::stats stats = solver_.statistics();
    for (unsigned i = 0; i < stats.size(); ++i) {
      if (stats.key(i) == "rlimit count") return stats.uint_value(i);
    }
    return 0;
  }

  z3::expr whole(std::int64_t value) { return context_.int_val(value); }
  const Problem::Task& task(std::size_t i) const { return problem_.tasks[i]; }
  std::int64_t longest(std::size_t i) const { return std::max(task(i).cost.latency, turn(task(i))); }

  void times() {
    for (std::size_t i = 0; i < problem_.tasks.size(); ++i) {
      issue_.push_back(context_.int_const(fmt::format("issue{}", i).c_str()));
      run_.push_back(task(i).async ? context_.int_const(fmt::format("run{}", i).c_str()) : issue_[i]);
      if (!ii_) {
        solver_.add(issue_[i] >= 0 && run_[i] >= issue_[i] && run_[i] + whole(longest(i)) <= whole(horizon_));
        continue;
      }
      // All times may be moved together: the first task holds them.
      std::int64_t far = i == 0 ? 0 : horizon_;
      solver_.add(issue_[i] >= whole(-far) && issue_[i] <= whole(far));
      if (!task(i).async) continue;
      solver_.add(run_[i] >= issue_[i] && run_[i] <= issue_[i] + whole(*ii_));
    }
  }

  void edge(const Problem::Edge& e) {
    if (!ii_ && e.distance > 0) return;
    const z3::expr &begin = e.chained ? run_[e.to] : issue_[e.to], &from = run_[e.from];
    std::int64_t delay = e.chained ? turn(task(e.from)) : task(e.from).cost.latency;
    solver_.add(begin + whole(ii_.value_or(0) * e.distance) >= from + whole(delay));
  }

  /// b stands `turns` whole periods and a rest behind a, the rest long enough for both.
  void apart(const z3::expr& a, std::int64_t a_long, const z3::expr& b, std::int64_t b_long, std::int64_t period,
             const z3::expr& turns) {
    z3::expr between = b - a - whole(period) * turns;
    solver_.add(between >= whole(a_long) && between <= whole(period - b_long));
  }

  void pair(std::size_t i, std::size_t j) {
    const Problem::Task &a = task(i), &b = task(j);
    bool one_role = a.role == b.role, one_unit = a.unit && a.unit == b.unit;
    if (!one_role && !one_unit) return;
    // Issued and run in one order, whatever the iterations: the same number of turns between them.
    bool in_order = one_role && one_unit && a.async && b.async;
    if (!ii_) return pair_once(i, j, one_role, one_unit, in_order);
    auto turns = [&](std::string_view what) { return context_.int_const(fmt::format("{}{}_{}", what, i, j).c_str()); };
    z3::expr issued = turns("issued"), ran = turns("ran");
    if (one_role) apart(issue_[i], a.cost.issue, issue_[j], b.cost.issue, *ii_, issued);
    if (!one_unit) return;
    const std::int64_t period = *ii_ / problem_.replicas;
    apart(run_[i], turn(a), run_[j], turn(b), period, ran);
    if (!in_order) return;
    if (problem_.replicas == 1) {
      solver_.add(issued == ran);
    } else {
      z3::expr order = turns("order");
      solver_.add(order == issued);
      z3::expr between = run_[j] - run_[i] - whole(*ii_) * order;
      solver_.add(between >= 0 && between <= whole(*ii_));
    }
  }

  void pair_once(std::size_t i, std::size_t j, bool one_role, bool one_unit, bool in_order) {
    const Problem::Task &a = task(i), &b = task(j);
    z3::expr issued = context_.bool_const(fmt::format("issued{}_{}", i, j).c_str());
    z3::expr ran = in_order ? issued : context_.bool_const(fmt::format("ran{}_{}", i, j).c_str());
    if (one_role) {
      solver_.add(z3::implies(issued, issue_[i] + whole(a.cost.issue) <= issue_[j]));
      solver_.add(z3::implies(!issued, issue_[j] + whole(b.cost.issue) <= issue_[i]));
    }
    if (one_unit) {
      solver_.add(z3::implies(ran, run_[i] + whole(turn(a)) <= run_[j]));
      solver_.add(z3::implies(!ran, run_[j] + whole(turn(b)) <= run_[i]));
    }
  }

  const Problem& problem_;
  std::optional<std::int64_t> ii_;
  std::int64_t horizon_;
  z3::context context_;
  z3::solver solver_;
  std::vector<z3::expr> issue_, run_;
};

/// What Z3 throws is a fault of ours: every question is well-formed.
template <typename F>
Solver::Answer asked(const F& ask) {
  try {
    return ask();
  } catch (const z3::exception& e) {
    throw InternalError(fmt::format("the solver: {}", e.msg()));
  }
}

}  // namespace

std::int64_t Solver::steps() const {
  return options_.steps == nullptr ? options_.question_steps
                                   : std::clamp<std::int64_t>(options_.steps->left, 0, options_.question_steps);
}

Solver::Answer Solver::solve(std::int64_t ii, std::optional<std::int64_t> makespan) const {
  for (const Problem::Task& task : problem_.tasks) {
    if (task.cost.issue > ii || turn(task) > ii / problem_.replicas) return {std::nullopt, true};
  }
  if (steps() == 0) return {};
  return asked([&] {
    Question question(problem_, ii, ii * options_.most_turns, steps());
    if (makespan) question.shorter_than(*makespan);
    return question.ask(options_.steps);
  });
}

Solver::Answer Solver::solve_once(std::int64_t makespan) const {
  if (steps() == 0) return {};
  return asked([&] { return Question(problem_, std::nullopt, makespan, steps()).ask(options_.steps); });
}

}  // namespace plait::plan
