#include "pipeline/barriers.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/visit.h"
#include "support/result.h"

namespace plait::pipeline {

using namespace roles;
using ir::BufferDecl;

namespace {

/// How threads access a buffer, or may have since the last barrier.
struct Access {
  bool read = false, written = false;
  bool added = false;               ///< to, indivisibly: such need not meet each other
  bool copied = false;              ///< into, by cp.async, which its readers await
  bool arrived = false;             ///< what was copied: its thread has awaited it
  bool by_copy_or_product = false;  ///< the read is one of the asynchronous proxy
  bool operator==(const Access&) const = default;
  void join(const Access& other) {
    read = read || other.read;
    written = written || other.written;
    added = added || other.added;
    copied = copied || other.copied;
    arrived = arrived || other.arrived;
    by_copy_or_product = by_copy_or_product || other.by_copy_or_product;
  }
};
using State = std::map<const BufferDecl*, Access>;

void join(State& into, const State& other) {
  for (const auto& [buffer, access] : other) into[buffer].join(access);
}

const Body* loop_body(const Stmt& stmt) {
  if (const auto* loop = std::get_if<For>(&stmt.node)) return &loop->body;
  if (const auto* loop = std::get_if<While>(&stmt.node)) return &loop->body;
  return nullptr;
}

class Barriers {
 public:
  Barriers(const Meeting& meeting, const Builtins& builtins) : meeting_(meeting) {
    // A tensor that is only written, or a tile that is only read by threads, needs no barrier.
    alone_ = {builtins.thread.get(), builtins.lane.get(), builtins.warp.get(), builtins.replica.get()};
    roles::walk(meeting.role.body, [&](const Stmt& stmt) {
      State own = accesses(stmt);
      for (const auto& [buffer, access] : own) {
        all_[buffer].join(access);
      }
    });
  }

  Body run() {
    State state;
    return body(meeting_.role.body, state);
  }

 private:
  bool watched(const BufferDecl* buffer) const {
    if (meeting_.apart.contains(buffer)) return false;
    const Access& all = all_.at(buffer);
    return all.written || all.copied || (all.added && all.read);
  }

  State accesses(const Stmt& stmt) const;
  State own_accesses(const Stmt& stmt) const;
  State within(const Stmt& stmt) const;
  bool is_alone(const Stmt& stmt) const;
  bool conflict(const State& state, const State& use) const;
  void note(State& state, const State& use) const {
    for (const auto& [buffer, access] : use) {
      if (watched(buffer)) state[buffer].join(access);
    }
  }
  void meet(const State& state, const State& use, const Loc& origin, Body& out) const;
  void statement(const StmtRef& stmt, State& state, Body& out);
  Body turn(const Stmt& stmt, const State& head, State& state);
  void loop(const StmtRef& stmt, State& state, Body& out);
  std::int64_t meetings(const Body& body) const;
  Body body(const Body& body, State& state);

  const Meeting& meeting_;
  std::set<const ir::VarDecl*> alone_;  ///< what differs among the threads
  State all_;
};

/// What the statement itself accesses; bodies within it apart.
State Barriers::accesses(const Stmt& stmt) const {
  State own = own_accesses(stmt);
  if (meeting_.together.empty()) return own;
  State out;
  for (const auto& [buffer, access] : own) {
    auto found = meeting_.together.find(buffer);
    out[found == meeting_.together.end() ? buffer : found->second].join(access);
  }
  return out;
}

State Barriers::own_accesses(const Stmt& stmt) const {
  State out;
  auto read = [&](const BufferDecl* buffer, bool async = false) {
    out[buffer].read = true;
    out[buffer].by_copy_or_product = out[buffer].by_copy_or_product || async;
  };
  auto write = [&](const BufferDecl* buffer) { out[buffer].written = true; };
  std::visit(Overload{[&](const PutShared& s) { write(s.dst.smem->buffer.get()); },
                      [&](const StoreShared& s) { write(s.dst.smem->buffer.get()); },
                      [&](const StMatrix& s) { write(s.dst.smem->buffer.get()); },
                      [&](const CpAsync& s) { out[s.dst.smem->buffer.get()].copied = true; },
                      [&](const CpWait&) {
                        for (const auto& [buffer, access] : all_) {
                          if (access.copied) out[buffer].arrived = true;
                        }
                      },
                      [&](const LoadShared& s) { read(s.src.smem->buffer.get()); },
                      [&](const LdMatrix& s) { read(s.src.smem->buffer.get()); },
                      [&](const PutTensor& s) { write(s.dst.tensor.get()); },
                      [&](const StoreTensor& s) { write(s.dst.tensor.get()); },
                      [&](const AtomicAdd& s) { out[s.dst.tensor.get()].added = true; },
                      [&](const LoadTensor& s) { read(s.src.tensor.get()); },
                      [&](const TmaStore& s) { read(s.src.smem->buffer.get(), true); },
                      [&](const BulkStore& s) { read(s.src.smem->buffer.get(), true); },
                      [&](const Wgmma& s) {
                        if (const auto* a = std::get_if<SmemRef>(&s.a)) read(a->smem->buffer.get(), true);
                        read(s.b.smem->buffer.get(), true);
                      },
                      [](const auto&) {}},
             stmt.node);
  Visitor look;
  look.expr = [&](const ExprRef& e) {
    ir::walk(e, [&](const ir::Expr& x) {
      const auto* load = std::get_if<ir::Load>(&x.node);
      if (load != nullptr && load->buffer->scope != ir::Scope::fragment) read(load->buffer.get());
    });
  };
  visit(stmt, look);
  return out;
}

/// With the bodies.
State Barriers::within(const Stmt& stmt) const {
  State out = accesses(stmt);
  Visitor inner;
  inner.body = [&](const Body& body) { roles::walk(body, [&](const Stmt& s) { join(out, accesses(s)); }); };
  visit(stmt, inner);
  return out;
}

/// Whether threads go different ways through the statement, so that no barrier may stand inside.
bool Barriers::is_alone(const Stmt& stmt) const {
  auto differs = [&](const ExprRef& e) {
    bool found = false;
    ir::walk(e, [&](const ir::Expr& x) {
      const auto* ref = std::get_if<ir::VarRef>(&x.node);
      found = found || (ref != nullptr && alone_.contains(ref->var.get()));
    });
    return found;
  };
  if (std::holds_alternative<Elect>(stmt.node) || std::holds_alternative<OneWarp>(stmt.node)) return true;
  if (const auto* s = std::get_if<For>(&stmt.node)) return differs(s->begin) || differs(s->end);
  if (const auto* s = std::get_if<If>(&stmt.node)) return differs(s->cond);
  return false;
}

bool Barriers::conflict(const State& state, const State& use) const {
  return std::any_of(use.begin(), use.end(), [&](const auto& entry) {
    auto it = state.find(entry.first);
    if (it == state.end() || !watched(entry.first)) return false;
    const Access &before = it->second, &now = entry.second;
    bool used = now.read || now.written || now.added;
    if (before.written && (used || now.copied)) return true;
    if (before.arrived && used) return true;
    // The next item goes to a slot that was read; it may follow the one before while that is under way.
    if (before.read && (now.written || now.copied)) return true;
    return (before.added && (now.read || now.written)) || (now.added && before.read);
  });
}

/// The barrier, behind a fence where products or copies read what was written.
void Barriers::meet(const State& state, const State&, const Loc& origin, Body& out) const {
  Loc loc = meeting_.role.loc;
  bool fence = std::any_of(state.begin(), state.end(), [&](const auto& entry) {
    return (entry.second.written || entry.second.arrived) && all_.at(entry.first).by_copy_or_product;
  });
  if (fence) out.push_back(std::make_shared<const Stmt>(Stmt{loc, origin, Fence{FenceKind::proxy_async}}));
  std::int64_t threads = std::int64_t{meeting_.role.replicas} * meeting_.role.warps * 32;
  BarrierSync sync{ir::typed_int(DType::i32, meeting_.id), threads};
  out.push_back(std::make_shared<const Stmt>(Stmt{loc, origin, sync}));
}

/// The body of a loop that begins so, again until nothing new comes around: what an iteration leaves is what the next
/// one finds.
Body Barriers::turn(const Stmt& stmt, const State& head, State& state) {
  bool again = std::holds_alternative<While>(stmt.node);  // its condition is asked each time
  note(state, head);
  while (true) {
    State before = state, around = state;
    Body made = body(*loop_body(stmt), around);
    if (again && conflict(around, head)) {
      meet(around, head, stmt.origin, made);
      around.clear();
    }
    if (again) note(around, head);
    join(state, around);
    if (state == before) return made;
  }
}

/// Where threads meet in a loop over what was done before it, they meet before it, and once.
void Barriers::loop(const StmtRef& stmt, State& state, Body& out) {
  State head = accesses(*stmt), clean;
  if (conflict(state, head)) {
    meet(state, head, stmt->origin, out);
    state.clear();
  }
  State found = state;
  Body made = turn(*stmt, head, state);
  if (conflict(found, within(*stmt))) {
    Body apart = turn(*stmt, head, clean);
    if (meetings(apart) < meetings(made)) {
      meet(found, head, stmt->origin, out);
      made = std::move(apart);
      state = std::move(clean);
    }
  }
  Stmt copy = *stmt;
  if (auto* loop = std::get_if<For>(&copy.node)) {
    loop->body = std::move(made);
  } else if (auto* other = std::get_if<While>(&copy.node)) {
    other->body = std::move(made);
  }
  out.push_back(std::make_shared<const Stmt>(std::move(copy)));
}

std::int64_t Barriers::meetings(const Body& body) const {
  std::int64_t count = 0;
  roles::walk(body, [&](const Stmt& stmt) {
    const auto* sync = std::get_if<BarrierSync>(&stmt.node);
    count += sync != nullptr && ir::as_int(sync->id) == meeting_.id ? 1 : 0;
  });
  return count;
}

void Barriers::statement(const StmtRef& stmt, State& state, Body& out) {
  // What a slot held before has nothing to do with the item that is now there.
  if (const auto* s = std::get_if<Receive>(&stmt->node)) {
    for (const Smem& tile : s->item.channel->tiles) state.erase(tile->buffer.get());
  }
  if (const auto* s = std::get_if<Release>(&stmt->node)) {
    for (const Smem& tile : s->item.channel->tiles) state.erase(tile->buffer.get());
  }
  if (std::holds_alternative<SyncThreads>(stmt->node)) state.clear();
  bool alone = is_alone(*stmt);
  if (!alone && loop_body(*stmt) != nullptr) return loop(stmt, state, out);
  const auto* branch = std::get_if<If>(&stmt->node);
  State use = alone || branch == nullptr ? within(*stmt) : accesses(*stmt);
  if (conflict(state, use)) {
    meet(state, use, stmt->origin, out);
    state.clear();
  }
  note(state, use);
  if (alone || branch == nullptr) {
    out.push_back(stmt);
    return;
  }
  State other = state;
  If made{branch->cond, body(branch->then_body, state), body(branch->else_body, other)};
  join(state, other);
  out.push_back(std::make_shared<const Stmt>(Stmt{stmt->loc, stmt->origin, std::move(made)}));
}

Body Barriers::body(const Body& body, State& state) {
  Body out;
  for (const StmtRef& stmt : body) statement(stmt, state, out);
  return out;
}

}  // namespace

Body with_barriers(const Meeting& meeting, const Builtins& builtins) { return Barriers(meeting, builtins).run(); }

}  // namespace plait::pipeline
