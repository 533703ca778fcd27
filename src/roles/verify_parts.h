#pragma once

#include "roles/range.h"
#include "roles/verify.h"
#include "roles/visit.h"

namespace plait::roles {

/// Takes the first findings and drops the others.
class Reports {
 public:
  explicit Reports(Diagnostics& to) : to_(to) {}

  /// The result is valid until the next call.
  Diagnostic& error(Rule rule, Loc loc, std::string message, std::string fix = {}) {
    if (!full()) return to_.error(rule, std::move(loc), std::move(message), std::move(fix));
    return dropped_ = {rule, std::move(loc), std::move(message), std::move(fix), {}, Severity::error};
  }
  void add(Diagnostic diagnostic) {
    if (!full()) to_.add(std::move(diagnostic));
  }
  bool has_errors() const { return to_.has_errors(); }
  bool full() const { return to_.list().size() >= kMax; }

 private:
  static constexpr std::size_t kMax = 50;

  Diagnostics& to_;
  Diagnostic dropped_;
};

/// What every part of the verifier gets. The parts run in the order in which they stand here; each relies on what those
/// before it found to be right.
struct Check {
  const Program& program;
  const Limits& limits;
  Reports& diags;
};

/// Names, scopes, operands, types, numbers of indices.
void check_names(const Check& check);
/// Statements that the machine lacks the hardware for.
void check_features(const Check& check);
/// Channels: their ends, copies and bytes.
void check_channels(const Check& check);
/// Channels: slots taken and given on.
void check_rings(const Check& check);
/// Tasks on units of the machine.
void check_tasks(const Check& check);
/// Declarations, threads, registers, shared memory, what the host computes.
void check_declarations(const Check& check);
/// Which threads reach a statement: elect, warps, uniform conditions, barriers.
void check_places(const Check& check);
/// TMA, bulk copies, cp.async, single elements.
void check_copies(const Check& check);
/// wgmma, mma, ldmatrix, stmatrix.
void check_matrix(const Check& check);
/// Fragments: each, reductions, vector accesses, registers.
void check_elements(const Check& check);
/// Fragments under wgmma: locked registers, fences, commits.
void check_flow(const Check& check);
/// mbarriers: initialised, waited on, arrived on.
void check_mbars(const Check& check);

// ---- Shared by the parts -------------------------------------------------------------------------------------------

constexpr int kWarpgroupWarps = 4;

/// Registers a thread has until setmaxnreg: the file shared evenly.
int launch_registers(const Program& program, const Limits& limits);
inline std::int64_t replica_threads(const Role& role) { return std::int64_t{role.warps} * kWarp; }

/// Of the text of a statement, without its body.
std::string first_line(const Stmt& stmt);

/// A statement met in a walk that expands unrolled loops, for one replica.
struct Met {
  const Stmt& stmt;
  const Ranges& ranges;
  const Role* role;  ///< null in the prologue
};
/// Calls `fn` on the statements of the prologue and of each role, for each replica; bodies come behind their
/// statement. Where the expansion is too large a rule is reported and the walk ends.
void scan(const Check& check, const std::function<void(const Met&)>& fn);

/// Where a shared tile is entered.
struct TilePlace {
  Range row = Range::of(0), column = Range::of(0);
  std::vector<Range> copies;  ///< leading indices
};
TilePlace place_of(const SmemRef& ref, const Ranges& ranges);

/// Reports what `error` says about `what`; true where there is nothing to report.
bool clean(const Check& check, Rule rule, const Loc& loc, const std::string& what,
           const std::optional<std::string>& error, std::string fix = {});
/// Reports a tile of rows x columns entered at `place` that does not lie inside the tile of `ref` for any value that
/// the indices may have.
bool inside(const Check& check, const SmemRef& ref, const TilePlace& place, std::int64_t rows, std::int64_t columns);
/// The place where a statement's reference stands, or the statement.
const Loc& loc_of(const Loc& part, const Stmt& stmt);

}  // namespace plait::roles
