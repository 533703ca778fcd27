#include "sim/mutate.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "roles/lower_channels.h"
#include "roles/print.h"
#include "roles/visit.h"

namespace plait::sim {
namespace {

/// What takes the place of a statement; nothing: it is removed.
using Replacements = std::unordered_map<const roles::Stmt*, std::optional<roles::StmtNode>>;

roles::Body rewrite(const roles::Body& body, const Replacements& replacements) {
  roles::Body out;
  for (const roles::StmtRef& stmt : body) {
    auto found = replacements.find(stmt.get());
    if (found != replacements.end() && !found->second) continue;
    roles::Stmt copy = *stmt;
    if (found != replacements.end()) copy.node = *found->second;
    std::visit(Overload{
                   [&](roles::For& n) { n.body = rewrite(n.body, replacements); },
                   [&](roles::While& n) { n.body = rewrite(n.body, replacements); },
                   [&](roles::If& n) {
                     n.then_body = rewrite(n.then_body, replacements);
                     n.else_body = rewrite(n.else_body, replacements);
                   },
                   [&](roles::Elect& n) { n.body = rewrite(n.body, replacements); },
                   [&](roles::OneWarp& n) { n.body = rewrite(n.body, replacements); },
                   [&](auto&) {},
               },
               copy.node);
    out.push_back(std::make_shared<const roles::Stmt>(std::move(copy)));
  }
  return out;
}

ir::ExprRef plus(const ir::ExprRef& e, std::int64_t value) {
  if (const auto* literal = std::get_if<ir::IntLit>(&e->node))
    return std::make_shared<const ir::Expr>(ir::Expr{e->type, e->loc, ir::IntLit{literal->value + value}});
  auto number = std::make_shared<const ir::Expr>(ir::Expr{e->type, e->loc, ir::IntLit{value}});
  return std::make_shared<const ir::Expr>(ir::Expr{e->type, e->loc, ir::Binary{ir::BinaryOp::add, e, number}});
}

class Mutator {
 public:
  explicit Mutator(const roles::Program& program) : program_(program) {}

  std::vector<Mutant> run() {
    roles::for_each_body(program_, [&](const roles::Body& body) { bodies(body); });
    counts();
    return std::move(list_);
  }

 private:
  void bodies(const roles::Body& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      statement(*body[i]);
      if (i + 1 < body.size()) pair(*body[i], *body[i + 1]);
      roles::Visitor inner;
      inner.body = [&](const roles::Body& b) { bodies(b); };
      roles::visit(*body[i], inner);
    }
  }

  static std::string text_of(const roles::Stmt& stmt) {
    std::string text = roles::print(stmt);
    return text.substr(0, text.find('\n'));
  }
  void add(std::string what, const Loc& loc, const Replacements& replacements) {
    roles::Program copy = program_;
    copy.prologue = rewrite(copy.prologue, replacements);
    for (roles::Role& role : copy.roles) role.body = rewrite(role.body, replacements);
    list_.push_back({std::move(what), loc, std::move(copy)});
  }
  void remove(const roles::Stmt& stmt) { add(text_of(stmt) + ": removed", stmt.loc, {{&stmt, std::nullopt}}); }
  void replace(const roles::Stmt& stmt, roles::StmtNode node) {
    roles::Stmt changed = stmt;
    changed.node = node;
    add(fmt::format("{}: {}", text_of(stmt), text_of(changed)), stmt.loc, {{&stmt, std::move(node)}});
  }
  /// An await, removed and with one more group left under way.
  template <typename T>
  void weaken(const roles::Stmt& stmt, T node) {
    remove(stmt);
    ++node.pending;
    replace(stmt, node);
  }

  void statement(const roles::Stmt& stmt) {
    std::visit(Overload{
                   [&](const roles::Wait& n) {
                     remove(stmt);
                     replace(stmt, roles::Wait{n.mbar, plus(n.parity, 1)});
                   },
                   [&](const roles::Arrive&) { remove(stmt); },
                   [&](const roles::Expect& n) {
                     remove(stmt);
                     replace(stmt, roles::Expect{n.mbar, plus(n.bytes, 16)});
                     replace(stmt, roles::Expect{n.mbar, plus(n.bytes, -16)});
                     replace(stmt, roles::Arrive{n.mbar, nullptr});
                   },
                   [&](const roles::MbarInit&) { remove(stmt); },
                   [&](const roles::Fence&) { remove(stmt); },
                   [&](const roles::SyncThreads&) { remove(stmt); },
                   [&](const roles::SyncWarp&) { remove(stmt); },
                   [&](const roles::ClusterArrive&) { remove(stmt); },
                   [&](const roles::ClusterWait&) { remove(stmt); },
                   [&](const roles::BarrierSync& n) {
                     remove(stmt);
                     replace(stmt, roles::BarrierArrive{n.id, n.threads});
                   },
                   [&](const roles::BarrierArrive&) { remove(stmt); },
                   [&](const roles::BulkCommit&) { remove(stmt); },
                   [&](const roles::BulkWait& n) {
                     weaken(stmt, n);
                     if (!n.read) replace(stmt, roles::BulkWait{n.pending, true});
                   },
                   [&](const roles::CpCommit&) { remove(stmt); },
                   [&](const roles::CpWait& n) { weaken(stmt, n); },
                   [&](const roles::WgmmaCommit&) { remove(stmt); },
                   [&](const roles::WgmmaAwait& n) { weaken(stmt, n); },
                   [&](const auto&) {},
               },
               stmt.node);
  }

  /// A whole cluster barrier.
  void pair(const roles::Stmt& a, const roles::Stmt& b) {
    if (!std::holds_alternative<roles::ClusterArrive>(a.node) || !std::holds_alternative<roles::ClusterWait>(b.node))
      return;
    add("cluster_arrive and cluster_wait: removed", a.loc, {{&a, std::nullopt}, {&b, std::nullopt}});
  }

  void counts() {
    for (std::size_t i = 0; i < program_.mbars.size(); ++i) {
      for (std::int64_t step : {1, -1}) {
        if (program_.mbars[i]->count + step >= 1) count(i, program_.mbars[i]->count + step);
      }
    }
  }

  /// A barrier with another count, wherever the program names it.
  void count(std::size_t number, std::int64_t value) {
    const roles::Mbar& old = program_.mbars[number];
    roles::MbarDecl decl = *old;
    decl.count = value;
    auto changed = std::make_shared<const roles::MbarDecl>(decl);
    Replacements replacements;
    auto rename = [&](const roles::Stmt& stmt) {
      roles::StmtNode node = stmt.node;
      bool names = false;
      auto swap = [&](roles::Mbar& mbar) {
        if (mbar != old) return;
        mbar = changed;
        names = true;
      };
      std::visit(Overload{
                     [&](roles::MbarInit& n) { swap(n.mbar); },
                     [&](roles::Wait& n) { swap(n.mbar.mbar); },
                     [&](roles::Arrive& n) { swap(n.mbar.mbar); },
                     [&](roles::Expect& n) { swap(n.mbar.mbar); },
                     [&](roles::TmaLoad& n) { swap(n.mbar.mbar); },
                     [&](roles::BulkLoad& n) { swap(n.mbar.mbar); },
                     [&](auto&) {},
                 },
                 node);
      if (names) replacements[&stmt] = node;
    };
    roles::for_each_body(program_, [&](const roles::Body& body) { roles::walk(body, rename); });
    add(fmt::format("mbar {}[{}] count {}: count {}", old->name, old->size, old->count, value), old->loc, replacements);
    list_.back().program.mbars[number] = changed;
  }

  const roles::Program& program_;
  std::vector<Mutant> list_;
};

// ---- Judging -------------------------------------------------------------------------------------------------------

bool same_place(const Loc& a, const Loc& b) { return a.source == b.source && a.line == b.line && a.column == b.column; }

/// One run of the program and its result, with which those of the mutants are compared.
struct Sample {
  const Call* call = nullptr;
  int sms = 1;
  Options options;
  Trial trial;
};

Result<std::vector<Sample>> run_original(const roles::Program& program, const std::vector<Call>& calls,
                                         const MutationOptions& options) {
  std::vector<Sample> samples;
  for (const Call& call : calls) {
    for (int sms : options.sms) {
      for (std::uint64_t i = 0; i < options.interleavings; ++i) {
        Options simulation = options.simulation;
        simulation.interleaving = i;
        auto trial = run_trial(program, call, sms, simulation);
        if (!trial) return trial.diagnostics();
        if (trial->outcome.diagnostics.has_errors()) return trial->outcome.diagnostics;
        simulation.max_errors = 1;
        simulation.max_steps = 10'000 + 8 * trial->outcome.steps;
        samples.push_back({&call, sms, simulation, std::move(*trial)});
      }
    }
  }
  return samples;
}

bool is_reached(const Loc& loc, const std::vector<Sample>& samples) {
  return std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
    const std::vector<Loc>& executed = sample.trial.outcome.executed;
    return std::any_of(executed.begin(), executed.end(), [&](const Loc& at) { return same_place(at, loc); });
  });
}

MutantResult judge(const Mutant& mutant, const roles::Program& program, const std::vector<Sample>& samples) {
  MutantResult result{mutant.what, mutant.loc};
  bool is_count = std::any_of(program.mbars.begin(), program.mbars.end(),
                              [&](const roles::Mbar& mbar) { return same_place(mbar->loc, mutant.loc); });
  if (!is_count && !is_reached(mutant.loc, samples)) {
    result.verdict = Verdict::unreached;
    return result;
  }
  bool differs = false;
  for (const Sample& sample : samples) {
    auto trial = run_trial(mutant.program, *sample.call, sample.sms, sample.options);
    PLAIT_ASSERT(trial.ok(), "a mutant is launched as the program is");
    const Diagnostics& found = trial->outcome.diagnostics;
    if (found.has_errors()) {
      result.verdict = Verdict::caught;
      result.rule = found.list().front().rule;
      return result;
    }
    differs = differs || first_difference(*trial, sample.trial) >= 0;
  }
  result.verdict = differs ? Verdict::missed : Verdict::redundant;
  return result;
}

}  // namespace

std::vector<Mutant> mutants(const roles::Program& program) {
  roles::Program lowered = roles::lower_channels(program);
  return Mutator(lowered).run();
}

int MutationReport::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(results.begin(), results.end(),
                                        [&](const MutantResult& result) { return result.verdict == verdict; }));
}

Result<MutationReport> test_mutants(const roles::Program& source, const std::vector<Call>& calls,
                                    const MutationOptions& options) {
  const roles::Program program = roles::lower_channels(source);
  auto samples = run_original(program, calls, options);
  if (!samples) return samples.diagnostics();
  MutationReport report;
  const std::vector<Mutant> all = mutants(program);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!options.chosen || options.chosen(i)) report.results.push_back(judge(all[i], program, *samples));
  }
  return report;
}

}  // namespace plait::sim
