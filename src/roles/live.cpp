#include "roles/live.h"

#include <algorithm>

#include "ir/visit.h"
#include "roles/arena.h"
#include "roles/linear.h"
#include "roles/under_way.h"
#include "roles/visit.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// Instructions of one product that are looked at one by one.
constexpr int kMostExpanded = 4096;

/// Calls `fn` on every fragment that a statement itself names.
template <typename Fn>
void for_each_named(const Stmt& stmt, Fn fn) {
  Visitor look;
  look.fragment = [&](const Fragment& fragment) { fn(fragment->buffer.get()); };
  look.fragment_at = [&](const FragmentRef& ref) { fn(ref.fragment->buffer.get()); };
  look.expr = [&](const ExprRef& e) {
    ir::walk(e, [&](const ir::Expr& x) {
      const auto* load = std::get_if<ir::Load>(&x.node);
      if (load != nullptr && load->buffer->scope == ir::Scope::fragment) fn(load->buffer.get());
    });
  };
  visit(stmt, look);
}

/// Also those of the bodies within it.
template <typename Fn>
void for_each_named_within(const Stmt& stmt, Fn fn) {
  for_each_named(stmt, fn);
  Visitor look;
  look.body = [&](const Body& body) {
    for (const StmtRef& inner : body) for_each_named_within(*inner, fn);
  };
  visit(stmt, look);
}

using Values = std::map<const ir::VarDecl*, std::int64_t>;

std::optional<std::int64_t> value_of(const ExprRef& e, const Values& known) {
  auto found = linear(e, [&](const ir::VarDecl& var) -> std::optional<Linear> {
    auto it = known.find(&var);
    return it == known.end() ? std::nullopt : std::optional(Linear::of(it->second));
  });
  return found && found->is_constant() ? std::optional(found->constant) : std::nullopt;
}

/// The instructions of a product: a wgmma, or unrolled loops over nothing else.
class Product {
 public:
  /// Nothing where the statement is none.
  static std::optional<Product> of(const Stmt& stmt) {
    Product product;
    if (!product.is_one(stmt)) return std::nullopt;
    Values values;
    product.expand(stmt, values);
    return product;
  }

  Fragments read;  ///< operands in registers
  /// Accumulators; whether all of each is overwritten before it is added to.
  std::map<const ir::BufferDecl*, bool> written() const {
    std::map<const ir::BufferDecl*, bool> out;
    for (const auto& [acc, parts] : parts_) {
      bool all = known_ && static_cast<std::int64_t>(parts.size()) * kRows == ir::static_shape(*acc).front();
      out[acc] = all && std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.second; });
    }
    return out;
  }

 private:
  static constexpr std::int64_t kRows = 64;

  bool is_one(const Stmt& stmt) const {
    if (std::holds_alternative<Wgmma>(stmt.node)) return true;
    const auto* loop = std::get_if<For>(&stmt.node);
    return loop != nullptr && loop->unroll == Unroll::full && !loop->body.empty() &&
           std::all_of(loop->body.begin(), loop->body.end(), [&](const StmtRef& s) { return is_one(*s); });
  }

  void expand(const Stmt& stmt, Values& values) {
    if (const auto* one = std::get_if<Wgmma>(&stmt.node)) return instruction(*one, values);
    const For& loop = std::get<For>(stmt.node);
    auto begin = value_of(loop.begin, values), end = value_of(loop.end, values), step = value_of(loop.step, values);
    known_ = known_ && begin && end && step && *step > 0;
    if (!known_) begin = 0, end = 1, step = 1;
    for (std::int64_t i = *begin; i < *end && expanded_ < kMostExpanded; i += *step) {
      values[loop.var.get()] = i;
      for (const StmtRef& inner : loop.body) expand(*inner, values);
    }
    values.erase(loop.var.get());
  }

  void instruction(const Wgmma& one, const Values& values) {
    known_ = known_ && ++expanded_ < kMostExpanded;
    if (const auto* a = std::get_if<FragmentRef>(&one.a)) read.insert(a->fragment->buffer.get());
    auto row = value_of(one.acc.begin.front(), values);
    known_ = known_ && row;
    auto& parts = parts_[one.acc.fragment->buffer.get()];
    auto fresh = one.clear == nullptr ? std::optional(false) : holds(one.clear, [&](const ir::VarDecl& var) {
      auto it = values.find(&var);
      return it == values.end() ? std::nullopt : std::optional(Linear::of(it->second));
    });
    parts.try_emplace(row.value_or(0), fresh.value_or(false));
  }

  bool known_ = true;
  int expanded_ = 0;
  std::map<const ir::BufferDecl*, std::map<std::int64_t, bool>> parts_;  ///< by row: whether it is cleared first
};

/// What wgmma may be working on behind each statement, found along the text.
class Locks {
 public:
  explicit Locks(const Body& all) {
    UnderWay state;
    body(all, state);
  }
  Fragments at(const Stmt& stmt) const {
    auto it = found_.find(&stmt);
    return it == found_.end() ? Fragments{} : it->second;
  }

 private:
  void body(const Body& body, UnderWay& state) {
    for (const StmtRef& stmt : body) {
      if (++steps_ > kMaxSteps) return;
      std::visit([&](const auto& s) { step(s, state); }, stmt->node);
      found_[stmt.get()].merge(state.locked());
    }
  }
  void loop(const Body& inner, UnderWay& state) {
    UnderWay before;
    do {
      before = state;
      body(inner, state);
      state.join(before);
    } while (state != before && steps_ <= kMaxSteps);
  }
  void step(const For& s, UnderWay& state) { loop(s.body, state); }
  void step(const While& s, UnderWay& state) { loop(s.body, state); }
  void step(const If& s, UnderWay& state) {
    UnderWay other = state;
    body(s.then_body, state);
    body(s.else_body, other);
    state.join(other);
  }
  void step(const Elect& s, UnderWay& state) { body(s.body, state); }
  void step(const OneWarp& s, UnderWay& state) { body(s.body, state); }
  void step(const Issue& s, UnderWay& state) { body(s.body, state); }
  void step(const Wgmma& s, UnderWay& state) {
    state.open.insert(s.acc.fragment->buffer.get());
    if (const auto* a = std::get_if<FragmentRef>(&s.a)) state.open.insert(a->fragment->buffer.get());
  }
  void step(const WgmmaCommit&, UnderWay& state) { state.commit(); }
  void step(const WgmmaAwait& s, UnderWay& state) { state.await(s.pending); }
  template <typename Other>
  void step(const Other&, UnderWay&) {}

  /// Statements looked at, before it gives up, as the verifier does.
  static constexpr std::int64_t kMaxSteps = 1'000'000;
  std::int64_t steps_ = 0;
  std::map<const Stmt*, Fragments> found_;
};

/// What a statement does to what lives: `gen` lives before it, `kill` does not, all else lives before it as behind it.
struct Effect {
  Fragments gen, kill;

  Fragments before(Fragments live) const {
    for (const ir::BufferDecl* fragment : kill) live.erase(fragment);
    live.insert(gen.begin(), gen.end());
    return live;
  }
  void use(const ir::BufferDecl* fragment) { gen.insert(fragment); }
  void overwrite(const ir::BufferDecl* fragment) {
    gen.erase(fragment);
    kill.insert(fragment);
  }
  /// Puts the effect of what stands before it in front.
  void behind(const Effect& first) {
    gen = first.before(std::move(gen));
    kill.insert(first.kill.begin(), first.kill.end());
  }
};

/// Effects of statements; each is looked at once.
class Effects {
 public:
  const Effect& of(const Stmt& stmt) {
    auto it = found_.find(&stmt);
    if (it == found_.end()) it = found_.emplace(&stmt, make(stmt)).first;
    return it->second;
  }
  Effect of(const Body& body) {
    Effect all;
    for (std::size_t i = body.size(); i-- > 0;) all.behind(of(*body[i]));
    return all;
  }

 private:
  Effect make(const Stmt& stmt) {
    if (auto product = Product::of(stmt)) return of_product(*product);
    return std::visit([&](const auto& s) { return step(s, stmt); }, stmt.node);
  }
  static Effect of_product(const Product& product) {
    Effect effect;
    for (const auto& [acc, fresh] : product.written()) fresh ? effect.overwrite(acc) : effect.use(acc);
    for (const ir::BufferDecl* operand : product.read) effect.use(operand);
    return effect;
  }
  /// Of what some threads do, or what may be done no time at all.
  static Effect perhaps(Effect effect) {
    effect.kill.clear();
    return effect;
  }
  Effect step(const For& s, const Stmt&) {
    auto begin = value_of(s.begin, {}), end = value_of(s.end, {});
    return begin && end && *begin < *end ? of(s.body) : perhaps(of(s.body));
  }
  Effect step(const While& s, const Stmt&) { return perhaps(of(s.body)); }
  Effect step(const Elect& s, const Stmt&) { return perhaps(of(s.body)); }
  Effect step(const OneWarp& s, const Stmt&) { return perhaps(of(s.body)); }
  Effect step(const If& s, const Stmt&) {
    Effect effect = of(s.then_body), other = of(s.else_body);
    effect.gen.merge(other.gen);
    std::erase_if(effect.kill, [&](const ir::BufferDecl* fragment) { return !other.kill.contains(fragment); });
    return effect;
  }
  Effect step(const Issue& s, const Stmt& stmt) {
    Effect effect = of(s.body);
    for_each_named(stmt, [&](const ir::BufferDecl* fragment) { effect.use(fragment); });
    return effect;
  }
  static Effect step(const Each& s, const Stmt&) {
    Effect effect;
    for (auto store = s.stores.rbegin(); store != s.stores.rend(); ++store) {
      effect.overwrite(store->fragment->buffer.get());
      ir::walk(store->value, [&](const ir::Expr& x) {
        const auto* load = std::get_if<ir::Load>(&x.node);
        if (load != nullptr && load->buffer->scope == ir::Scope::fragment) effect.use(load->buffer.get());
      });
    }
    return effect;
  }
  static Effect overwritten(const Fragment& fragment) {
    Effect effect;
    effect.overwrite(fragment->buffer.get());
    return effect;
  }
  static Effect step(const DefFragment& s, const Stmt&) { return overwritten(s.fragment); }
  static Effect step(const LoadTensor& s, const Stmt&) { return overwritten(s.dst); }
  static Effect step(const LoadShared& s, const Stmt&) { return overwritten(s.dst); }
  static Effect step(const LdMatrix& s, const Stmt&) {  // of the other kinds a part
    return s.dst.fragment->kind == FragmentKind::mma_b ? overwritten(s.dst.fragment) : Effect{};
  }
  template <typename Other>
  static Effect step(const Other&, const Stmt& stmt) {
    Effect effect;
    for_each_named(stmt, [&](const ir::BufferDecl* fragment) { effect.use(fragment); });
    return effect;
  }

  std::map<const Stmt*, Effect> found_;
};

/// Goes backward through a role, with what is read later.
class Lives {
 public:
  explicit Lives(const Role& role) : threads_(std::int64_t{role.warps} * kWarp), locks_(role.body) {
    walk(role.body, [&](const Stmt& stmt) {
      if (const auto* def = std::get_if<DefFragment>(&stmt.node)) known_[def->fragment->buffer.get()] = def->fragment;
    });
    body(role.body, {});
  }

  Pressure most() && { return std::move(most_); }

 private:
  void body(const Body& body, Fragments live) {
    // A part of a fragment may be written before all of it is: nothing lives before it is named for the first time.
    std::map<const ir::BufferDecl*, std::size_t> first;
    for (std::size_t i = body.size(); i-- > 0;) {
      const auto* def = std::get_if<DefFragment>(&body[i]->node);
      if (def != nullptr) first[def->fragment->buffer.get()] = SIZE_MAX;
    }
    for (std::size_t i = body.size(); i-- > 0 && !first.empty();) {
      if (std::holds_alternative<DefFragment>(body[i]->node)) continue;
      for_each_named_within(*body[i], [&](const ir::BufferDecl* fragment) {
        if (auto it = first.find(fragment); it != first.end()) it->second = i;
      });
    }
    for (std::size_t i = body.size(); i-- > 0;) {
      for (const auto& [fragment, from] : first) {
        if (i < from) unnamed_.insert(fragment);
      }
      statement(*body[i], live);
      live = effects_.of(*body[i]).before(std::move(live));
      for (const auto& [fragment, from] : first) unnamed_.erase(fragment);
    }
  }

  void statement(const Stmt& stmt, const Fragments& after) {
    Visitor look;
    bool nested = false;
    const bool loops = std::holds_alternative<For>(stmt.node) || std::holds_alternative<While>(stmt.node);
    if (!Product::of(stmt)) {
      look.body = [&](const Body& inner) {
        nested = true;
        body(inner, loops ? effects_.of(inner).before(after) : after);
      };
      visit(stmt, look);
    }
    if (!nested) note(stmt, after);
  }

  void note(const Stmt& stmt, const Fragments& after) {
    if (std::holds_alternative<DefFragment>(stmt.node)) return;
    const Effect& effect = effects_.of(stmt);
    Fragments live = after;
    for (const Fragments* more : {&effect.gen, &effect.kill}) live.insert(more->begin(), more->end());
    if (const auto* part = std::get_if<LdMatrix>(&stmt.node)) live.insert(part->dst.fragment->buffer.get());
    live.merge(locks_.at(stmt));
    Pressure here;
    for (const ir::BufferDecl* buffer : live) {
      if (unnamed_.contains(buffer)) continue;
      const Fragment& fragment = known_.at(buffer);
      here.registers += fragment_registers(*fragment, threads_);
      here.fragments.push_back(fragment);
    }
    if (here.registers <= most_.registers) return;
    std::sort(here.fragments.begin(), here.fragments.end(), [&](const Fragment& a, const Fragment& b) {
      return std::make_tuple(-fragment_registers(*a, threads_), a->buffer->name) <
             std::make_tuple(-fragment_registers(*b, threads_), b->buffer->name);
    });
    most_ = std::move(here);
  }

  std::int64_t threads_;
  Locks locks_;
  Effects effects_;
  std::map<const ir::BufferDecl*, Fragment> known_;
  Fragments unnamed_;
  Pressure most_;
};

}  // namespace

Pressure pressure(const Role& role) { return Lives(role).most(); }

}  // namespace plait::roles
