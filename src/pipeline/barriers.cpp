#include "pipeline/barriers.h"

#include <algorithm>
#include <map>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/linear.h"
#include "roles/visit.h"
#include "support/result.h"

namespace plait::pipeline {

using namespace roles;
using ir::BufferDecl;

namespace {

/// How threads access a buffer, or may have since the last barrier.
struct Access {
  bool read = false, written = false;
  std::set<ir::AtomicOp> atomic = {};  ///< done to it, indivisibly: those of one kind need not meet each other
  bool copied = false;                 ///< into, by cp.async, which its readers await
  bool arrived = false;                ///< what was copied: its thread has awaited it
  bool by_copy_or_product = false;     ///< the read is one of the asynchronous proxy
  bool under_way = false;              ///< the read is one of a product that its thread has not awaited
  std::set<ExprRef> slots = {};        ///< that were read in the present iteration; of what was read before: `read`
  std::set<ExprRef> into = {};         ///< slots that are copied into
  bool operator==(const Access&) const = default;
  void join(const Access& other) {
    read = read || other.read;
    written = written || other.written;
    atomic.insert(other.atomic.begin(), other.atomic.end());
    copied = copied || other.copied;
    arrived = arrived || other.arrived;
    by_copy_or_product = by_copy_or_product || other.by_copy_or_product;
    under_way = under_way || other.under_way;
    slots.insert(other.slots.begin(), other.slots.end());
    into.insert(other.into.begin(), other.into.end());
  }
  bool reads() const { return read || !slots.empty(); }
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
    alone_ = {builtins.thread.get(), builtins.lane.get(), builtins.warp.get()};
    for (std::size_t known = 0; known != alone_.size();) {
      known = alone_.size();
      roles::walk(meeting.role.body, [&](const Stmt& stmt) { note_alone(stmt); });
    }
    // Loops that are cut where a replica's own rows decide have as many turns in all for each of them: what follows
    // from its number does not part the threads.
    alone_.insert(builtins.replica.get());
    roles::walk(meeting.role.body, [&](const Stmt& stmt) {
      if (const auto* set = std::get_if<Set>(&stmt.node)) changing_.insert(set->var.get());
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
    return all.written || all.copied || (!all.atomic.empty() && all.reads()) || all.atomic.size() > 1;
  }

  State accesses(const Stmt& stmt) const;
  State own_accesses(const Stmt& stmt) const;
  State within(const Stmt& stmt) const;
  bool differs(const ExprRef& e) const;
  void note_alone(const Stmt& stmt);
  bool is_alone(const Stmt& stmt) const;
  bool apart(const ExprRef& a, const ExprRef& b) const;
  bool copies_over(const Access& before, const Access& now) const;
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
  std::set<const ir::VarDecl*> alone_;     ///< what differs among the threads
  std::set<const ir::VarDecl*> changing_;  ///< what statements set
  State all_;
};

/// The slot of a tile that has several; null elsewhere.
ExprRef slot_of(const SmemRef& ref) { return ref.smem->buffer->shape.size() > 2 ? ref.index.front() : nullptr; }

/// What is left when all threads have met: reads that go on.
void met(State& state) {
  State left;
  for (const auto& [buffer, access] : state) {
    if (!access.under_way) continue;
    Access& kept = left[buffer];
    kept.read = access.read;
    kept.by_copy_or_product = access.by_copy_or_product;
    kept.under_way = true;
    kept.slots = access.slots;
  }
  state = std::move(left);
}

/// Slots whose numbers change with the iterations of the loop are for the next one just what was read before.
void end_iteration(const Stmt& loop, State& state) {
  std::set<const ir::VarDecl*> own;
  if (const auto* counted = std::get_if<For>(&loop.node)) own.insert(counted->var.get());
  roles::walk(*loop_body(loop), [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) own.insert(let->var.get());
    if (const auto* inner = std::get_if<For>(&stmt.node)) own.insert(inner->var.get());
  });
  auto changes = [&](const ExprRef& slot) {
    bool found = false;
    ir::walk(slot, [&](const ir::Expr& x) {
      const auto* ref = std::get_if<ir::VarRef>(&x.node);
      found = found || (ref != nullptr && own.contains(ref->var.get()));
    });
    return found;
  };
  for (auto& [buffer, access] : state) {
    access.into.clear();
    if (std::erase_if(access.slots, changes) > 0) access.read = true;
  }
}

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
  auto read = [&](const BufferDecl* buffer) { out[buffer].read = true; };
  auto read_tile = [&](const SmemRef& ref, bool async = false) {
    Access& access = out[ref.smem->buffer.get()];
    const ExprRef slot = slot_of(ref);
    if (slot != nullptr) access.slots.insert(slot);
    access.read = access.read || slot == nullptr;
    access.by_copy_or_product = access.by_copy_or_product || async;
  };
  auto multiply = [&](const SmemRef& ref) {
    read_tile(ref, true);
    out[ref.smem->buffer.get()].under_way = true;
  };
  auto copy = [&](const SmemRef& ref) {
    Access& access = out[ref.smem->buffer.get()];
    access.copied = true;
    access.into.insert(slot_of(ref));
  };
  auto write = [&](const BufferDecl* buffer) { out[buffer].written = true; };
  std::visit(
      Overload{[&](const PutShared& s) { write(s.dst.smem->buffer.get()); },
               [&](const StoreShared& s) { write(s.dst.smem->buffer.get()); },
               [&](const StMatrix& s) { write(s.dst.smem->buffer.get()); }, [&](const CpAsync& s) { copy(s.dst); },
               [&](const CpWait&) {
                 for (const auto& [buffer, access] : all_) {
                   if (access.copied) out[buffer].arrived = true;
                 }
               },
               [&](const LoadShared& s) { read_tile(s.src); }, [&](const LdMatrix& s) { read_tile(s.src); },
               [&](const PutTensor& s) { write(s.dst.tensor.get()); },
               [&](const PutPiece& s) {
                 read_tile(s.src);
                 write(s.dst.tensor.get());
               },
               [&](const StoreTensor& s) { write(s.dst.tensor.get()); },
               [&](const Atomic& s) { out[s.dst.tensor.get()].atomic.insert(s.op); },
               [&](const AtomicShared& s) { out[s.dst.smem->buffer.get()].atomic.insert(s.op); },
               [&](const LoadTensor& s) { read(s.src.tensor.get()); },
               [&](const TmaStore& s) { read_tile(s.src, true); }, [&](const BulkStore& s) { read_tile(s.src, true); },
               [&](const Wgmma& s) {
                 if (const auto* a = std::get_if<SmemRef>(&s.a)) multiply(*a);
                 multiply(s.b);
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

/// Whether threads may have different values of it.
bool Barriers::differs(const ExprRef& e) const {
  bool found = false;
  ir::walk(e, [&](const ir::Expr& x) {
    const auto* ref = std::get_if<ir::VarRef>(&x.node);
    found = found || (ref != nullptr && alone_.contains(ref->var.get()));
  });
  return found;
}

/// Variables that follow from what differs.
void Barriers::note_alone(const Stmt& stmt) {
  auto note = [&](const Var& var, const ExprRef& value) {
    if (differs(value)) alone_.insert(var.get());
  };
  if (const auto* s = std::get_if<Let>(&stmt.node)) note(s->var, s->value);
  if (const auto* s = std::get_if<VarDef>(&stmt.node)) note(s->var, s->init);
  if (const auto* s = std::get_if<Set>(&stmt.node)) note(s->var, s->value);
  if (const auto* s = std::get_if<For>(&stmt.node)) note(s->var, s->begin);
}

/// Whether threads go different ways through the statement, so that no barrier may stand inside, or none need stand
/// there.
bool Barriers::is_alone(const Stmt& stmt) const {
  if (std::holds_alternative<Elect>(stmt.node) || std::holds_alternative<OneWarp>(stmt.node)) return true;
  if (const auto* s = std::get_if<For>(&stmt.node))
    return meeting_.swept.contains(s->var.get()) || differs(s->begin) || differs(s->end);
  if (const auto* s = std::get_if<If>(&stmt.node)) return differs(s->cond);
  if (const auto* s = std::get_if<While>(&stmt.node)) return differs(s->cond);
  return false;
}

bool Barriers::conflict(const State& state, const State& use) const {
  return std::any_of(use.begin(), use.end(), [&](const auto& entry) {
    auto it = state.find(entry.first);
    if (it == state.end() || !watched(entry.first)) return false;
    const Access &before = it->second, &now = entry.second;
    bool used = now.reads() || now.written || !now.atomic.empty();
    if (before.written && (used || now.copied)) return true;
    if (before.arrived && used) return true;
    if ((before.reads() && now.written) || copies_over(before, now)) return true;
    if (!before.atomic.empty() && (now.reads() || now.written)) return true;
    if (!now.atomic.empty() && before.reads()) return true;
    return !before.atomic.empty() && !now.atomic.empty() && before.atomic != now.atomic;
  });
}

/// The next item goes to a slot that was read; it may follow the one before while that is under way.
bool Barriers::copies_over(const Access& before, const Access& now) const {
  if (!now.copied || before.read) return now.copied;
  return std::any_of(before.slots.begin(), before.slots.end(), [&](const ExprRef& read) {
    return std::any_of(now.into.begin(), now.into.end(), [&](const ExprRef& slot) { return !apart(read, slot); });
  });
}

/// Whether these are numbers of different slots: numbers of iterations modulo the depth.
bool Barriers::apart(const ExprRef& a, const ExprRef& b) const {
  if (a == nullptr || b == nullptr) return false;
  auto first = ir::as_int(a), second = ir::as_int(b);
  if (first && second) return *first != *second;
  const auto *x = std::get_if<ir::Binary>(&a->node), *y = std::get_if<ir::Binary>(&b->node);
  if (x == nullptr || y == nullptr || x->op != ir::BinaryOp::mod || y->op != ir::BinaryOp::mod) return false;
  auto depth = ir::as_int(x->b);
  if (!depth || depth != ir::as_int(y->b)) return false;
  auto values = [&](const ir::VarDecl& var) -> std::optional<Linear> {
    if (changing_.contains(&var)) return std::nullopt;
    return Linear::symbol(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&var)));
  };
  auto p = linear(x->a, values), q = linear(y->a, values);
  if (!p || !q) return false;
  const Linear difference = *p - *q;
  return difference.is_constant() && difference.constant % *depth != 0;
}

/// The barrier, behind a fence where products or copies read what was written.
void Barriers::meet(const State& state, const State&, const Loc& origin, Body& out) const {
  Loc loc = meeting_.role.loc;
  bool fence = std::any_of(state.begin(), state.end(), [&](const auto& entry) {
    const Access& access = entry.second;
    return (access.written || !access.atomic.empty() || access.arrived) && all_.at(entry.first).by_copy_or_product;
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
    end_iteration(stmt, around);
    if (again && conflict(around, head)) {
      meet(around, head, stmt.origin, made);
      met(around);
    }
    if (again) note(around, head);
    join(state, around);
    if (state == before) return made;
  }
}

/// Where threads meet in a loop over what was done before it, they meet before it, and once.
void Barriers::loop(const StmtRef& stmt, State& state, Body& out) {
  State head = accesses(*stmt);
  if (conflict(state, head)) {
    meet(state, head, stmt->origin, out);
    met(state);
  }
  State found = state;
  Body made = turn(*stmt, head, state);
  if (conflict(found, within(*stmt))) {
    State clean = found;
    met(clean);
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
  if (const auto* await = std::get_if<WgmmaAwait>(&stmt->node); await != nullptr && await->pending == 0) {
    for (auto& [buffer, access] : state) access.under_way = false;
  }
  if (std::holds_alternative<SyncThreads>(stmt->node)) met(state);
  bool alone = is_alone(*stmt);
  if (!alone && loop_body(*stmt) != nullptr) return loop(stmt, state, out);
  const auto* branch = std::get_if<If>(&stmt->node);
  State use = alone || branch == nullptr ? within(*stmt) : accesses(*stmt);
  if (conflict(state, use)) {
    meet(state, use, stmt->origin, out);
    met(state);
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
