#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "roles/under_way.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// What may be under way at a place of a role.
struct State : UnderWay {
  Fragments dirty;  ///< accessed by other statements since the last fence wgmma
  bool operator==(const State&) const = default;

  void join(const State& other) {
    UnderWay::join(other);
    dirty.insert(other.dirty.begin(), other.dirty.end());
  }
};

/// Follows one role along its text; loops until nothing new comes out of them.
class Flow {
 public:
  explicit Flow(const Check& check) : check_(check) {}

  void run(const Role& role) {
    State state;
    body(role.body, state);
    if (state.idle() || exhausted()) return;
    check_.diags.error(Rule::wgmma_order, role.loc,
                       fmt::format("role `{}` ends while its wgmma may be under way", role.name),
                       "put wgmma_commit and wgmma_await 0 at its end");
  }

 private:
  /// Statements looked at, before the part gives up; a role is seldom longer than a hundred.
  static constexpr std::int64_t kMaxSteps = 1'000'000;
  bool exhausted() const { return steps_ > kMaxSteps; }

  void body(const Body& body, State& state) {
    for (const StmtRef& stmt : body) {
      if (++steps_ > kMaxSteps) return;
      stmt_ = stmt.get();
      std::visit([&](const auto& s) { step(s, state); }, stmt->node);
    }
    for (const StmtRef& stmt : body) {
      const auto* def = std::get_if<DefFragment>(&stmt->node);
      if (def != nullptr) leave(*def, *stmt, state);
    }
  }
  void leave(const DefFragment& s, const Stmt& stmt, State& state);
  void loop(const Body& inner, State& state);
  void access(const ir::BufferDecl* fragment, State& state, const Loc& loc = {});
  void access(const Fragment& fragment, State& state, const Loc& loc = {}) {
    access(fragment->buffer.get(), state, loc);
  }
  void operand(const Fragment& fragment, State& state, const Loc& loc);
  void error(Rule rule, const Loc& part, std::string message, std::string fix = {}) {
    if (quiet_ == 0) check_.diags.error(rule, loc_of(part, *stmt_), std::move(message), std::move(fix));
  }

  void step(const For& s, State& state) { loop(s.body, state); }
  void step(const While& s, State& state) { loop(s.body, state); }
  void step(const If& s, State& state) {
    State other = state;
    body(s.then_body, state);
    body(s.else_body, other);
    state.join(other);
  }
  void step(const Elect& s, State& state) { body(s.body, state); }
  void step(const OneWarp& s, State& state) { body(s.body, state); }
  void step(const Issue& s, State& state) { body(s.body, state); }
  void step(const DefFragment& s, State& state) { state.dirty.insert(s.fragment->buffer.get()); }
  void step(const Fence& s, State& state) {
    if (s.kind == FenceKind::wgmma) state.dirty.clear();
  }
  void step(const Wgmma& s, State& state);
  void step(const WgmmaCommit&, State& state) { state.commit(); }
  void step(const WgmmaAwait& s, State& state);
  void step(const Mma& s, State& state) {
    for (const Fragment& f : {s.acc, s.a.fragment, s.b}) access(f, state);
  }
  void step(const LdMatrix& s, State& state) { access(s.dst.fragment, state, s.dst.loc); }
  void step(const StMatrix& s, State& state) { access(s.src.fragment, state, s.src.loc); }
  void step(const Each& s, State& state);
  void step(const RowReduce& s, State& state) {
    access(s.src, state);
    access(s.dst, state);
  }
  void step(const LaneReduce& s, State& state) { access(s.fragment, state); }
  void step(const Keep& s, State& state) {
    for (const Fragment& f : s.fragments) access(f, state);
  }
  void step(const LoadTensor& s, State& state) { access(s.dst, state); }
  void step(const StoreTensor& s, State& state) { access(s.src, state); }
  void step(const LoadShared& s, State& state) { access(s.dst, state); }
  void step(const StoreShared& s, State& state) { access(s.src, state); }
  template <typename Other>
  void step(const Other&, State&) {}

  const Check& check_;
  const Stmt* stmt_ = nullptr;
  std::int64_t steps_ = 0;
  int quiet_ = 0;  ///< rounds of loops that only look for what may be under way
};

void Flow::leave(const DefFragment& s, const Stmt& stmt, State& state) {
  const ir::BufferDecl* fragment = s.fragment->buffer.get();
  if (state.locked(fragment)) {
    stmt_ = &stmt;
    error(Rule::wgmma_locked, s.fragment->loc,
          fmt::format("the body of `{}` ends while wgmma may work on it", fragment->name),
          "put wgmma_commit and wgmma_await 0 at the end of the body");
    state.open.erase(fragment);
    for (Fragments& group : state.groups) group.erase(fragment);
  }
  state.dirty.erase(fragment);
}

void Flow::loop(const Body& inner, State& state) {
  State entry = state, before;
  ++quiet_;
  do {
    before = state;
    body(inner, state);
    state.join(entry);
    state.join(before);
  } while (state != before && !exhausted());
  --quiet_;
  State once = state;
  body(inner, once);
}

void Flow::access(const ir::BufferDecl* fragment, State& state, const Loc& loc) {
  if (state.locked(fragment)) {
    bool waits = !state.open.contains(fragment);
    error(Rule::wgmma_locked, loc, fmt::format("`{}` is accessed while wgmma may work on it", fragment->name),
          waits ? "put wgmma_await 0 before it" : "put wgmma_commit and wgmma_await 0 before it");
  }
  state.dirty.insert(fragment);
}

void Flow::step(const Each& s, State& state) {
  for (const ElementStore& store : s.stores) {
    ir::walk(store.value, [&](const ir::Expr& x) {
      const auto* load = std::get_if<ir::Load>(&x.node);
      if (load != nullptr && load->buffer->scope == ir::Scope::fragment) access(load->buffer.get(), state, x.loc);
    });
    access(store.fragment, state);
  }
}

void Flow::operand(const Fragment& fragment, State& state, const Loc& loc) {
  const ir::BufferDecl* f = fragment->buffer.get();
  if (state.dirty.contains(f)) {
    error(Rule::wgmma_order, loc,
          fmt::format("no `fence wgmma` stands between other accesses to `{}` and this wgmma", f->name),
          "put fence wgmma before the first wgmma");
    state.dirty.erase(f);
  }
  state.open.insert(f);
}

void Flow::step(const Wgmma& s, State& state) {
  operand(s.acc.fragment, state, s.acc.loc);
  if (const auto* a = std::get_if<FragmentRef>(&s.a)) operand(a->fragment, state, a->loc);
}

void Flow::step(const WgmmaAwait& s, State& state) {
  if (!state.open.empty()) {
    const ir::BufferDecl* first = *std::min_element(state.open.begin(), state.open.end(),
                                                    [](const auto* a, const auto* b) { return a->name < b->name; });
    error(Rule::wgmma_order, {}, fmt::format("wgmma on `{}` was not committed before this await", first->name),
          "put wgmma_commit behind the wgmma statements");
  }
  state.await(s.pending);
}

}  // namespace

void check_flow(const Check& check) {
  for (const Role& role : check.program.roles) Flow(check).run(role);
}

}  // namespace plait::roles
