#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// What the program does with one array.
struct Use {
  int inits = 0;
  Loc first;  ///< use other than its init
  bool used = false, waited = false, arrived = false, expected = false, copied_to = false;
  /// Arrivals that one phase can get; `loops`: some arrive in a loop, whose rounds might belong to one phase.
  std::int64_t arrivals = 0;
  bool loops = false, unbounded = false;
};

/// The order of the prologue as far as mbarriers are concerned.
struct Prologue {
  enum class Event { init, fence, arrive, wait, sync, use };
  struct Entry {
    Event event;
    bool elect;
    const Stmt* stmt;
  };
  std::vector<Entry> entries;
};

class Mbars {
 public:
  explicit Mbars(const Check& check) : check_(check), program_(check.program) {}

  void run() {
    inits(program_.prologue, false, false);
    order();
    uses(program_.prologue, nullptr);
    for (const Role& role : program_.roles) uses(role.body, &role);
    for (const Mbar& mbar : program_.mbars) array(*mbar, uses_[mbar.get()]);
  }

 private:
  /// Threads that run a statement once, and how often in a phase.
  struct Around {
    std::int64_t threads = 1;
    std::int64_t times = 1;  ///< rounds of loops since the innermost one that waits; 0: unknown
    bool loops = false;
  };

  void error(Rule rule, const Loc& loc, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc.known() ? loc : program_.loc, std::move(message), std::move(fix));
  }
  void inits(const Body& body, bool elect, bool nested);
  void order();
  void uses(const Body& body, const Role* role);
  void statements(const Body& body, const Around& around);
  void statement(const Stmt& stmt, const Around& around);
  void arrival(const MbarRef& ref, const Around& around, bool remote);
  Around inside_loop(const Body& body, Around around, std::optional<std::int64_t> trips) const;
  void array(const MbarDecl& mbar, const Use& use);
  bool remote() const;

  const Check& check_;
  const Program& program_;
  std::map<const MbarDecl*, Use> uses_;
  Prologue prologue_;
  const Role* role_ = nullptr;  ///< whose body is looked at; null in the prologue
  std::int64_t elected_ = 1;    ///< threads that elect chooses there
};

/// Reads the prologue in the order of its text.
void Mbars::inits(const Body& body, bool elect, bool nested) {
  using Event = Prologue::Event;
  for (const StmtRef& stmt : body) {
    auto event = [&](Event e) { prologue_.entries.push_back({e, elect, stmt.get()}); };
    std::visit(
        Overload{[&](const MbarInit& s) {
                   ++uses_[s.mbar.get()].inits;
                   if (nested)
                     error(Rule::mbar_init_once, stmt->loc,
                           fmt::format("`{}` is initialised in a loop or branch", s.mbar->name),
                           "put mbar_init straight into elect in the prologue");
                   event(Event::init);
                 },
                 [&](const Fence& s) {
                   if (s.kind == FenceKind::mbar_init) event(Event::fence);
                 },
                 [&](const SyncThreads&) { event(Event::sync); }, [&](const ClusterArrive&) { event(Event::arrive); },
                 [&](const ClusterWait&) { event(Event::wait); }, [&](const Wait&) { event(Event::use); },
                 [&](const Arrive&) { event(Event::use); }, [&](const Expect&) { event(Event::use); },
                 [&](const TmaLoad&) { event(Event::use); }, [&](const BulkLoad&) { event(Event::use); },
                 [&](const Elect& s) { inits(s.body, true, nested); },
                 [&](const If& s) {
                   inits(s.then_body, elect, true);
                   inits(s.else_body, elect, true);
                 },
                 [&](const For& s) { inits(s.body, elect, true); }, [&](const While& s) { inits(s.body, elect, true); },
                 [&](const OneWarp& s) { inits(s.body, elect, true); }, [](const auto&) {}},
        stmt->node);
  }
}

bool Mbars::remote() const {
  bool found = false;
  for_each_body(program_, [&](const Body& body) {
    walk(body, [&](const Stmt& stmt) {
      const auto* arrive = std::get_if<Arrive>(&stmt.node);
      const auto* load = std::get_if<TmaLoad>(&stmt.node);
      found =
          found || (arrive != nullptr && arrive->rank != nullptr) || (load != nullptr && load->multicast != nullptr);
    });
  });
  return found;
}

/// init, then fence, then a barrier that all who use them pass.
void Mbars::order() {
  using Event = Prologue::Event;
  const auto& entries = prologue_.entries;
  auto is = [](Event event) { return [event](const Prologue::Entry& e) { return e.event == event; }; };
  auto last_init = std::find_if(entries.rbegin(), entries.rend(), is(Event::init));
  if (last_init == entries.rend()) return;
  auto from = last_init.base();
  const Loc& init = last_init->stmt->loc;
  auto fence = std::find_if(from, entries.end(), is(Event::fence));
  if (fence == entries.end())
    return error(Rule::mbar_init_seen, init, "no fence mbar_init stands behind this mbar_init");
  bool cluster = remote();
  auto sync = std::find_if(fence, entries.end(), is(cluster ? Event::arrive : Event::sync));
  if (sync == entries.end() && !cluster) sync = std::find_if(fence, entries.end(), is(Event::arrive));
  bool meets = sync != entries.end() &&
               (sync->event == Event::sync || std::find_if(sync, entries.end(), is(Event::wait)) != entries.end());
  if (!meets) {
    return error(Rule::mbar_init_seen, init,
                 cluster
                     ? "the blocks of the cluster do not meet behind this mbar_init, and reach each other's barriers"
                     : "the threads of the block do not meet behind this mbar_init",
                 cluster ? "put cluster_arrive and cluster_wait at the end of the prologue"
                         : "put sync_threads at the end of the prologue");
  }
  for (auto entry = entries.begin(); entry != sync; ++entry) {
    if (entry->event != Event::use) continue;
    if (entry > fence && entry->elect) continue;  // by the thread that initialised it
    error(Rule::mbar_init_seen, entry->stmt->loc, "a barrier is used before all mbar_init of the prologue are seen",
          "move it behind the barrier at the end of the prologue");
  }
}

void Mbars::uses(const Body& body, const Role* role) {
  role_ = role;
  elected_ = role == nullptr ? 1 : role->replicas;
  Around around;
  around.threads = role == nullptr ? thread_count(program_) : replica_threads(*role) * role->replicas;
  statements(body, around);
}

void Mbars::statements(const Body& body, const Around& around) {
  for (const StmtRef& stmt : body) statement(*stmt, around);
}

/// A loop that waits goes on to a new phase each round; the rounds of others may all belong to one.
Mbars::Around Mbars::inside_loop(const Body& body, Around around, std::optional<std::int64_t> trips) const {
  bool waits = false;
  walk(body, [&](const Stmt& stmt) { waits = waits || std::holds_alternative<Wait>(stmt.node); });
  around.loops = true;
  constexpr std::int64_t kMany = 1 << 20;
  if (waits) {
    around.times = 1;
  } else if (!trips || *trips > kMany || around.times > kMany) {
    around.times = 0;
  } else {
    around.times *= std::max<std::int64_t>(*trips, 1);
  }
  return around;
}

void Mbars::statement(const Stmt& stmt, const Around& around) {
  auto mbar = [&](const MbarRef& ref) -> Use& {
    Use& use = uses_[ref.mbar.get()];
    if (!use.used) use.first = loc_of(ref.loc, stmt);
    use.used = true;
    return use;
  };
  auto with_threads = [&](std::int64_t threads) {
    Around inner = around;
    inner.threads = threads;
    return inner;
  };
  std::visit(
      Overload{[&](const MbarInit& s) {
                 if (role_ != nullptr)
                   error(Rule::mbar_init_once, stmt.loc,
                         fmt::format("`{}` is initialised in role `{}`", s.mbar->name, role_->name),
                         "put mbar_init into elect in the prologue");
               },
               [&](const Wait& s) { mbar(s.mbar).waited = true; },
               [&](const Arrive& s) {
                 mbar(s.mbar).arrived = true;
                 arrival(s.mbar, around, s.rank != nullptr);
               },
               [&](const Expect& s) {
                 mbar(s.mbar).arrived = mbar(s.mbar).expected = true;
                 arrival(s.mbar, around, false);
               },
               [&](const TmaLoad& s) { mbar(s.mbar).copied_to = true; },
               [&](const BulkLoad& s) { mbar(s.mbar).copied_to = true; },
               [&](const For& s) {
                 auto begin = ir::as_int(s.begin), end = ir::as_int(s.end), step = ir::as_int(s.step);
                 std::optional<std::int64_t> trips;
                 if (begin && end && step && *end >= *begin) trips = (*end - *begin + *step - 1) / *step;
                 statements(s.body, inside_loop(s.body, around, trips));
               },
               [&](const While& s) { statements(s.body, inside_loop(s.body, around, std::nullopt)); },
               [&](const If& s) {
                 statements(s.then_body, around);
                 statements(s.else_body, around);
               },
               [&](const Elect& s) { statements(s.body, with_threads(elected_)); },
               [&](const OneWarp& s) { statements(s.body, with_threads(elected_ * kWarp)); }, [](const auto&) {}},
      stmt.node);
}

void Mbars::arrival(const MbarRef& ref, const Around& around, bool to_other_block) {
  Use& use = uses_[ref.mbar.get()];
  constexpr std::int64_t kEnough = 1 << 20;
  use.loops = use.loops || around.loops;
  use.unbounded = use.unbounded || around.times == 0 || around.times > kEnough || use.arrivals > kEnough;
  if (use.unbounded) return;
  use.arrivals += around.threads * around.times * (to_other_block ? program_.cluster : 1);
}

void Mbars::array(const MbarDecl& mbar, const Use& use) {
  if (!use.used && use.inits == 0) {
    check_.diags.add({Rule::mbar_protocol,
                      mbar.loc,
                      fmt::format("`{}` is never used", mbar.name),
                      "remove it",
                      {},
                      Severity::warning});
    return;
  }
  if (use.inits != 1) {
    error(Rule::mbar_init_once, use.used ? use.first : mbar.loc,
          fmt::format("`{}` is initialised {} in the prologue", mbar.name,
                      use.inits == 0 ? "nowhere" : fmt::format("{} times", use.inits)));
  }
  if (use.used && !use.waited) error(Rule::mbar_protocol, use.first, fmt::format("nobody waits on `{}`", mbar.name));
  if (use.used && !use.arrived)
    error(Rule::mbar_protocol, use.first,
          fmt::format("nobody arrives on `{}`, so its phases never complete", mbar.name));
  if (use.copied_to && !use.expected)
    error(Rule::mbar_protocol, use.first,
          fmt::format("copies complete on `{}`, and no expect says how many bytes", mbar.name));
  if (!use.arrived || use.unbounded || use.arrivals >= mbar.count) return;
  check_.diags.add({Rule::mbar_arrivals,
                    mbar.loc,
                    fmt::format("a phase of `{}` takes {} arrivals, and the program has {} for it", mbar.name,
                                mbar.count, use.arrivals),
                    {},
                    {},
                    use.loops ? Severity::warning : Severity::error});
}

}  // namespace

void check_mbars(const Check& check) { Mbars(check).run(); }

}  // namespace plait::roles
