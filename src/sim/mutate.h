#pragma once

#include <functional>

#include "sim/trial.h"

/// The test of the simulator on a program: every synchronisation removed or weakened is noticed, unless the program is
/// right without it.
namespace plait::sim {

/// A program with one synchronisation less.
struct Mutant {
  std::string what;  ///< "wait full[n % 4] parity n / 4: removed"
  Loc loc;
  roles::Program program;
};
std::vector<Mutant> mutants(const roles::Program& program);

enum class Verdict {
  caught,
  redundant,  ///< on all calls no access races and all bytes are the same
  unreached,  ///< no thread runs the statement in any call
  missed,     ///< bytes differ, and nothing was reported
};
struct MutantResult {
  std::string what;
  Loc loc;
  Verdict verdict = Verdict::missed;
  Rule rule = Rule::sim_missed;  ///< caught: by this one
};
struct MutationReport {
  std::vector<MutantResult> results;
  int count(Verdict verdict) const;
};

struct MutationOptions {
  std::vector<int> sms = {1, 2};
  std::uint64_t interleavings = 3;  ///< of each call: the usual one and random ones
  Options simulation;
  std::function<bool(std::size_t)> chosen = {};  ///< which of `mutants(program)`, by number; null: all
};
/// Runs the mutants on the calls. The program itself must run without errors; its diagnostics otherwise.
Result<MutationReport> test_mutants(const roles::Program& program, const std::vector<Call>& calls,
                                    const MutationOptions& options);

}  // namespace plait::sim
