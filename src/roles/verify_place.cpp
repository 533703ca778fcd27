#include <fmt/format.h>

#include <algorithm>

#include "roles/print.h"
#include "roles/uniform.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// Who must run a statement together.
enum class Reach {
  thread,     ///< each thread for itself
  one,        ///< one thread alone: within elect
  warp,       ///< whole warps
  replica,    ///< every thread of the replica
  warpgroup,  ///< every thread of the replica, which is a warpgroup
  block,      ///< every thread of the block
};

Reach reach_of(const StmtNode& node) {
  return std::visit(
      Overload{[](const Let&) { return Reach::thread; },
               [](const VarDef&) { return Reach::thread; },
               [](const Set&) { return Reach::thread; },
               [](const For&) { return Reach::thread; },
               [](const While&) { return Reach::thread; },
               [](const If&) { return Reach::thread; },
               [](const Elect&) { return Reach::thread; },
               [](const OneWarp&) { return Reach::thread; },
               [](const DefFragment&) { return Reach::warp; },
               [](const MbarInit&) { return Reach::one; },
               [](const Wait&) { return Reach::thread; },
               [](const Arrive&) { return Reach::thread; },
               [](const Expect&) { return Reach::one; },
               [](const Fence& s) { return s.kind == FenceKind::wgmma ? Reach::warpgroup : Reach::thread; },
               [](const SyncThreads&) { return Reach::block; },
               [](const SyncWarp&) { return Reach::warp; },
               [](const ClusterArrive&) { return Reach::block; },
               [](const ClusterWait&) { return Reach::block; },
               [](const BarrierSync&) { return Reach::warp; },
               [](const BarrierArrive&) { return Reach::warp; },
               [](const TmaLoad&) { return Reach::one; },
               [](const TmaStore&) { return Reach::one; },
               [](const BulkLoad&) { return Reach::one; },
               [](const BulkStore&) { return Reach::one; },
               [](const BulkCommit&) { return Reach::one; },
               [](const BulkWait&) { return Reach::one; },
               [](const Prefetch&) { return Reach::one; },
               [](const CpAsync&) { return Reach::replica; },
               [](const CpCommit&) { return Reach::warp; },
               [](const CpWait&) { return Reach::warp; },
               [](const Wgmma&) { return Reach::warpgroup; },
               [](const WgmmaCommit&) { return Reach::warpgroup; },
               [](const WgmmaAwait&) { return Reach::warpgroup; },
               [](const Mma&) { return Reach::warp; },
               [](const LdMatrix&) { return Reach::warp; },
               [](const StMatrix&) { return Reach::warp; },
               [](const Each&) { return Reach::warp; },
               [](const RowReduce&) { return Reach::warp; },
               [](const LaneReduce&) { return Reach::warp; },
               [](const Keep&) { return Reach::thread; },
               [](const LoadTensor&) { return Reach::warp; },
               [](const StoreTensor&) { return Reach::warp; },
               [](const LoadShared&) { return Reach::warp; },
               [](const StoreShared&) { return Reach::warp; },
               [](const PutTensor&) { return Reach::thread; },
               [](const PutShared&) { return Reach::thread; },
               [](const PutPiece&) { return Reach::thread; },
               [](const Atomic&) { return Reach::thread; },
               [](const AtomicShared&) { return Reach::thread; },
               [](const Broadcast&) { return Reach::warp; },
               [](const Shuffle&) { return Reach::warp; },
               [](const Clock&) { return Reach::thread; },
               [](const Acquire&) { return Reach::thread; },
               [](const Publish&) { return Reach::thread; },
               [](const Receive&) { return Reach::thread; },
               [](const Release&) { return Reach::thread; },
               [](const Issue&) { return Reach::replica; }},
      node);
}

/// Statements of each thread that only need their warp to be whole, not to be together.
bool may_diverge(const StmtNode& node) {
  return std::visit(Overload{[](const DefFragment&) { return true; }, [](const Each&) { return true; },
                             [](const RowReduce&) { return true; }, [](const LoadTensor&) { return true; },
                             [](const StoreTensor&) { return true; }, [](const LoadShared&) { return true; },
                             [](const StoreShared&) { return true; }, [](const CpCommit&) { return true; },
                             [](const CpWait&) { return true; }, [](const auto&) { return false; }},
                    node);
}

/// Walks the prologue or one role.
class Places {
 public:
  Places(const Check& check, const Role* role, int first_warp, const Body& body)
      : check_(check), role_(role), first_warp_(first_warp), uniform_(check.program, body) {
    walk(body);
  }
  /// Barriers of the whole block that every thread reaches, in order.
  const std::vector<std::string>& barriers() const { return barriers_; }

 private:
  void walk(const Body& body) {
    for (const StmtRef& stmt : body) statement(*stmt);
  }
  void statement(const Stmt& stmt);
  void inner(const Stmt& stmt);
  void nested(const Body& body, const ExprRef& cond);
  void place(const Stmt& stmt, Reach reach);
  void block_barrier(const Stmt& stmt);
  void warpgroup(const Stmt& stmt);
  void uniform(const Stmt& stmt, Uniform wanted);
  void error(Rule rule, const Stmt& stmt, std::string message, std::string fix = {}) {
    check_.diags.error(rule, stmt.loc, std::move(message), std::move(fix));
  }

  const Check& check_;
  const Role* role_;
  int first_warp_;
  Uniformity uniform_;
  bool elect_ = false;
  std::optional<int> warp_;
  int control_ = 0;                  ///< loops and conditions around
  std::vector<ExprRef> conditions_;  ///< of loops and branches around
  std::vector<std::string> barriers_;
};

void Places::statement(const Stmt& stmt) {
  Reach reach = reach_of(stmt.node);
  if (reach != Reach::thread) place(stmt, reach);
  inner(stmt);
}

void Places::nested(const Body& body, const ExprRef& cond) {
  conditions_.push_back(cond);
  ++control_;
  walk(body);
  --control_;
  conditions_.pop_back();
}

void Places::inner(const Stmt& stmt) {
  std::visit(
      Overload{
          [&](const For& s) {
            conditions_.push_back(s.begin);
            conditions_.push_back(s.step);
            nested(s.body, s.end);
            conditions_.resize(conditions_.size() - 2);
          },
          [&](const While& s) { nested(s.body, s.cond); },
          [&](const If& s) {
            nested(s.then_body, s.cond);
            nested(s.else_body, s.cond);
          },
          [&](const Elect& s) {
            if (elect_) error(Rule::nested_choice, stmt, "elect stands within elect");
            if (warp_)
              error(Rule::nested_choice, stmt, fmt::format("elect stands within warp {}", *warp_),
                    "elect is thread 0 of the replica: move it out of warp, or give its work to a role of one warp");
            bool outer = std::exchange(elect_, true);
            walk(s.body);
            elect_ = outer;
          },
          [&](const OneWarp& s) {
            if (elect_ || warp_)
              error(Rule::nested_choice, stmt,
                    fmt::format("warp {} stands within {}", s.warp, elect_ ? "elect" : "another warp"));
            if (role_ == nullptr) {
              error(Rule::nested_choice, stmt, "warp N belongs to a role, and this is the prologue");
            } else if (s.warp < 0 || s.warp >= role_->warps) {
              error(Rule::nested_choice, stmt,
                    fmt::format("role `{}` has {} warps a replica and no warp {}", role_->name, role_->warps, s.warp));
            }
            auto outer = std::exchange(warp_, s.warp);
            walk(s.body);
            warp_ = outer;
          },
          [&](const Issue& s) { walk(s.body); }, [](const auto&) {}},
      stmt.node);
}

void Places::place(const Stmt& stmt, Reach reach) {
  if (reach == Reach::one) {
    if (elect_) return;
    return error(Rule::one_thread, stmt, fmt::format("every thread would run `{}`", first_line(stmt)));
  }
  if (elect_) {
    return error(Rule::whole_warp, stmt, fmt::format("one thread alone cannot run `{}`", first_line(stmt)));
  }
  if (warp_ && reach != Reach::warp) {
    return error(Rule::whole_warp, stmt, fmt::format("one warp alone cannot run `{}`", first_line(stmt)),
                 "move the statement out of warp");
  }
  if (reach == Reach::block) return block_barrier(stmt);
  if (reach == Reach::warpgroup) warpgroup(stmt);
  if (!may_diverge(stmt.node)) uniform(stmt, reach == Reach::warp ? Uniform::warp : Uniform::replica);
}

void Places::uniform(const Stmt& stmt, Uniform wanted) {
  for (const ExprRef& cond : conditions_) {
    if (uniform_.of(cond) <= wanted) continue;
    check_.diags
        .error(
            Rule::uniform_condition, stmt.loc,
            fmt::format("threads that must run `{}` together may differ in `{}`", first_line(stmt), value_text(cond)))
        .notes.push_back({cond->loc, "the condition or bound is here"});
    return;
  }
}

/// All threads of the block pass it: at the top of the prologue; as often at the top of every role; or anywhere under
/// uniform conditions in the only role.
void Places::block_barrier(const Stmt& stmt) {
  barriers_.push_back(first_line(stmt));
  if (!std::holds_alternative<SyncThreads>(stmt.node) && check_.program.cluster == 1)
    error(Rule::cluster_use, stmt, fmt::format("`{}`, and the program has no cluster", first_line(stmt)),
          "write sync_threads, or add cluster 2 to the head");
  if (control_ == 0) return;
  if (role_ == nullptr || check_.program.roles.size() == 1) return uniform(stmt, Uniform::block);
  error(Rule::block_barrier, stmt,
        fmt::format("`{}` stands in a loop or branch of one role, and waits for the threads of all", first_line(stmt)));
}

void Places::warpgroup(const Stmt& stmt) {
  if (role_ == nullptr)
    return error(Rule::warpgroup, stmt,
                 fmt::format("`{}` belongs to a role, and this is the prologue", first_line(stmt)));
  if (role_->warps != kWarpgroupWarps) {
    return error(Rule::warpgroup, stmt,
                 fmt::format("role `{}` has {} warps a replica, and wgmma takes the 4 of a warpgroup", role_->name,
                             role_->warps));
  }
  if (first_warp_ % kWarpgroupWarps == 0) return;
  error(Rule::warpgroup, stmt,
        fmt::format("role `{}` begins at warp {} of the block, inside a warpgroup", role_->name, first_warp_));
}

}  // namespace

namespace {

template <typename Barrier>
void named_barrier(const Check& check, const Met& met, const Barrier& s) {
  constexpr std::int64_t kMaxId = 15;
  Range id = met.ranges.of(s.id);
  if (id.most < 1 || id.least > kMaxId) {
    check.diags.error(Rule::barrier_id, s.id->loc.known() ? s.id->loc : met.stmt.loc,
                      id.constant() ? fmt::format("there is no named barrier {}", id.least)
                                    : fmt::format("`{}` is never 1 to 15", value_text(s.id)));
  }
  std::int64_t threads = thread_count(check.program);
  if (s.threads % kWarp == 0 && s.threads >= kWarp && s.threads <= threads) return;
  check.diags.error(Rule::barrier_id, met.stmt.loc,
                    fmt::format("a barrier over {} threads, and the block has {}", s.threads, threads),
                    "write a multiple of 32: the threads of all that arrive at it");
}

void check_barriers(const Check& check) {
  scan(check, [&](const Met& met) {
    if (const auto* sync = std::get_if<BarrierSync>(&met.stmt.node)) named_barrier(check, met, *sync);
    if (const auto* arrive = std::get_if<BarrierArrive>(&met.stmt.node)) named_barrier(check, met, *arrive);
  });
}

}  // namespace

void check_places(const Check& check) {
  const Program& program = check.program;
  check_barriers(check);
  Places prologue(check, nullptr, 0, program.prologue);
  int first_warp = 0;
  std::vector<std::string> expected;
  for (const Role& role : program.roles) {
    Places places(check, &role, first_warp, role.body);
    if (&role == &program.roles.front()) expected = places.barriers();
    if (places.barriers() != expected) {
      check.diags.error(Rule::block_barrier, role.loc,
                        fmt::format("role `{}` passes {} barriers of the block, role `{}` {}", role.name,
                                    places.barriers().size(), program.roles.front().name, expected.size()),
                        "every role passes the same ones in the same order, or use barrier_sync");
    }
    first_warp += role.replicas * role.warps;
  }
}

}  // namespace plait::roles
