#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "roles/channel.h"
#include "roles/linear.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

/// The item that a statement takes (acquire, receive) or gives on (publish, release); null for other statements.
const ChannelRef* item_of(const Stmt& stmt) {
  return std::visit(Overload{[](const Acquire& s) { return &s.item; }, [](const Publish& s) { return &s.item; },
                             [](const Receive& s) { return &s.item; }, [](const Release& s) { return &s.item; },
                             [](const auto&) -> const ChannelRef* { return nullptr; }},
                    stmt.node);
}
bool takes(const Stmt& stmt) {
  return std::holds_alternative<Acquire>(stmt.node) || std::holds_alternative<Receive>(stmt.node);
}
bool of_writer(const Stmt& stmt) {
  return std::holds_alternative<Acquire>(stmt.node) || std::holds_alternative<Publish>(stmt.node);
}

// ---- As many given as taken ----------------------------------------------------------------------------------------

/// Counts the ends of channels in each loop and role.
class Balance {
 public:
  explicit Balance(const Check& check) : check_(check) {}

  void run(const Role& role) { judge(count(role.body), fmt::format("role `{}`", role.name)); }

 private:
  struct Count {
    std::int64_t taken = 0, given = 0;
    bool maybe = false;  ///< some of them in a branch or loop within
    const Stmt* take = nullptr;
    const Stmt* give = nullptr;
  };
  using End = std::pair<const ChannelDecl*, bool>;  ///< a channel's writing end, or its reading one
  struct Counts {
    std::map<End, Count> of;
    std::vector<End> order;  ///< as they are met
  };
  static constexpr std::int64_t kMany = std::int64_t{1} << 30;

  static Count& at(Counts& counts, const End& end) {
    auto [it, fresh] = counts.of.try_emplace(end);
    if (fresh) counts.order.push_back(end);
    return it->second;
  }

  static void add(Counts& to, const Counts& from, std::int64_t times, bool maybe) {
    for (const End& end : from.order) {
      const Count& more = from.of.at(end);
      Count& sum = at(to, end);
      sum.taken = std::min(kMany, sum.taken + std::min(kMany, more.taken) * times);
      sum.given = std::min(kMany, sum.given + std::min(kMany, more.given) * times);
      sum.maybe = sum.maybe || more.maybe || maybe;
      if (sum.take == nullptr) sum.take = more.take;
      if (sum.give == nullptr) sum.give = more.give;
    }
  }

  Counts count(const Body& body) {
    Counts out;
    for (const StmtRef& stmt : body) {
      if (const ChannelRef* item = item_of(*stmt)) direct(*stmt, *item, out);
      std::visit(
          Overload{[&](const Elect& s) { add(out, count(s.body), 1, false); },
                   [&](const OneWarp& s) { add(out, count(s.body), 1, false); },
                   [&](const If& s) {
                     add(out, count(s.then_body), 1, true);
                     add(out, count(s.else_body), 1, true);
                   },
                   [&](const For& s) { loop(s, out); }, [&](const While& s) { loop(s.body, out); }, [](const auto&) {}},
          stmt->node);
    }
    return out;
  }

  static void direct(const Stmt& stmt, const ChannelRef& item, Counts& out) {
    Count& sum = at(out, {item.channel.get(), of_writer(stmt)});
    const Stmt*& first = takes(stmt) ? sum.take : sum.give;
    if (first == nullptr) first = &stmt;
    ++(takes(stmt) ? sum.taken : sum.given);
  }

  void loop(const For& s, Counts& out) {
    auto begin = ir::as_int(s.begin), end = ir::as_int(s.end), step = ir::as_int(s.step);
    if (s.unroll != Unroll::full || !begin || !end || !step || *step < 1) return loop(s.body, out);
    std::int64_t trips = *end <= *begin ? 0 : (*end - *begin - 1) / *step + 1;
    if (trips > 0) add(out, count(s.body), std::min(trips, kMany), false);
  }
  void loop(const Body& body, Counts& out) {
    Counts inner = count(body);
    judge(inner, "this loop");
    add(out, inner, 1, true);
  }

  void judge(const Counts& counts, const std::string& where) {
    for (const End& end : counts.order) {
      const Count& n = counts.of.at(end);
      bool one_kind = n.take == nullptr || n.give == nullptr;
      if (!one_kind && (n.maybe || n.taken == n.given)) continue;
      const char *take = end.second ? "acquired" : "received", *give = end.second ? "published" : "released";
      std::string said = n.give == nullptr ? fmt::format("is {} and never {} in {}", take, give, where)
                         : n.take == nullptr
                             ? fmt::format("is {} and never {} in {}", give, take, where)
                             : fmt::format("is {} {} times and {} {} times in {}", take, n.taken, give, n.given, where);
      const Stmt* first = n.take != nullptr ? n.take : n.give;
      if (!told_.insert({first, end}).second) continue;
      check_.diags.error(Rule::channel_balance, first->loc, fmt::format("`{}` {}", end.first->name, said));
    }
  }

  const Check& check_;
  std::set<std::pair<const Stmt*, End>> told_;
};

// ---- Slots held ----------------------------------------------------------------------------------------------------

/// Runs a role once, as far as what is known of its integers leads, and counts the slots that it holds. Loops go round
/// until a ring that is too short is full; branches of unknown conditions are taken, as they give slots back.
class Holding {
 public:
  Holding(const Check& check, const ChannelPlan& plan, std::size_t role)
      : check_(check), plan_(plan), number_(role), role_(check.program.roles[role]) {}

  void run() { body(role_.body); }

 private:
  using Item = std::optional<Linear>;  ///< its number; nothing: unknown
  static constexpr int kMaxSteps = 10'000;

  std::optional<Linear> known(const ir::VarDecl& var) {
    auto [it, fresh] = values_.try_emplace(&var);
    if (fresh) it->second = Linear::symbol(symbols_++);
    return it->second;
  }
  std::optional<Linear> value(const ExprRef& e) {
    return linear(e, [&](const ir::VarDecl& var) { return known(var); });
  }
  void define(const Var& var, const std::optional<Linear>& value) {
    values_[var.get()] = value ? *value : Linear::symbol(symbols_++);
  }

  void body(const Body& body) {
    for (const StmtRef& stmt : body) {
      if (++steps_ > kMaxSteps) return;
      statement(*stmt);
    }
  }
  void statement(const Stmt& stmt);
  void loop(const For& s);
  void branch(const If& s);
  void take(const Stmt& stmt, const ChannelRef& item);
  void give(const ChannelRef& item);
  /// Rounds that show what every round does.
  static std::int64_t rounds(const Body& body);
  /// The deepest channel that the body uses outside of loops within it; 0: none.
  static std::int64_t deepest(const Body& body);
  std::int64_t end_behind(const Linear& trips);

  const Check& check_;
  const ChannelPlan& plan_;
  std::size_t number_;
  const Role& role_;
  int steps_ = 0;
  int unsure_ = 0;  ///< branches around whose conditions are unknown
  std::int64_t symbols_ = 0;
  std::map<const ir::VarDecl*, Linear> values_;
  std::map<const ChannelDecl*, std::vector<Item>> held_;
  std::set<const Stmt*> told_;
};

void Holding::statement(const Stmt& stmt) {
  std::visit(Overload{[&](const Let& s) { define(s.var, value(s.value)); },
                      [&](const VarDef& s) { define(s.var, value(s.init)); },
                      [&](const Set& s) {
                        // In a branch that may not be taken, what moves by an unknown number stays where it was.
                        auto set = value(s.value), old = known(*s.var);
                        if (unsure_ == 0 || (set && (*set - *old).is_constant())) define(s.var, set);
                      },
                      [&](const For& s) { loop(s); },
                      [&](const While& s) {
                        for (std::int64_t i = rounds(s.body); i > 0 && steps_ <= kMaxSteps; --i) body(s.body);
                      },
                      [&](const If& s) { branch(s); }, [&](const Elect& s) { body(s.body); },
                      [&](const OneWarp& s) { body(s.body); }, [&](const Acquire& s) { take(stmt, s.item); },
                      [&](const Receive& s) { take(stmt, s.item); },
                      [&](const Publish& s) {
                        // Who reads the channel too has the slot until its own release.
                        if (!plan_.use(number_, *s.item.channel).reads()) give(s.item);
                      },
                      [&](const Release& s) { give(s.item); }, [](const auto&) {}},
             stmt.node);
}

std::int64_t Holding::rounds(const Body& body) { return std::max<std::int64_t>(2, deepest(body) + 1); }

std::int64_t Holding::deepest(const Body& body) {
  std::int64_t out = 0;
  std::function<void(const Body&)> look = [&](const Body& inner) {
    for (const StmtRef& stmt : inner) {
      if (const ChannelRef* item = item_of(*stmt)) out = std::max(out, item->channel->depth);
      bool loop = std::holds_alternative<While>(stmt->node) || std::holds_alternative<For>(stmt->node);
      Visitor within;
      within.body = look;
      if (!loop) visit(*stmt, within);
    }
  };
  look(body);
  return out;
}

/// The loop ends there in all that follows and, having unknown trips, after enough of them for every channel: so what
/// its last turns do differently shows, and what counts by trips goes on from there.
std::int64_t Holding::end_behind(const Linear& trips) {
  auto one = std::find_if(trips.terms.rbegin(), trips.terms.rend(), [](const auto& term) { return term.second == 1; });
  std::int64_t turns = 2;
  for (const Channel& channel : check_.program.channels) turns = std::max<std::int64_t>(turns, channel->depth + 1);
  if (one == trips.terms.rend()) return turns;
  turns += std::max<std::int64_t>(trips.constant, 0);
  const std::int64_t symbol = one->first;
  const Linear is = Linear::of(turns) - (trips - Linear::symbol(symbol));
  auto put = [&](Linear& at) {
    auto term = at.terms.find(symbol);
    if (term != at.terms.end()) at = at + (is - Linear::symbol(symbol)) * term->second;
  };
  for (auto& [var, value] : values_) put(value);
  for (auto& [channel, items] : held_) {
    for (Item& item : items) {
      if (item) put(*item);
    }
  }
  return turns;
}

void Holding::loop(const For& s) {
  auto begin = value(s.begin), end = value(s.end), step = value(s.step);
  std::int64_t most = s.unroll == Unroll::full ? INT64_MAX : rounds(s.body);
  bool by_ones = step && *step == Linear::of(1), unknown = begin && end && !(*end - *begin).is_constant();
  if (s.unroll != Unroll::full && by_ones && unknown && deepest(s.body) > 0) {
    most = end_behind(*end - *begin);
    begin = value(s.begin), end = value(s.end);
  }
  Linear var = begin ? *begin : Linear::symbol(symbols_++);
  for (std::int64_t i = 0; i < most && steps_ <= kMaxSteps; ++i) {
    if (end && (*end - var).is_constant() && (*end - var).constant <= 0) return;
    if (++steps_ > kMaxSteps) return;
    values_[s.var.get()] = var;
    body(s.body);
    var = step ? var + *step : Linear::symbol(symbols_++);
  }
}

void Holding::branch(const If& s) {
  auto cond = holds(s.cond, [&](const ir::VarDecl& var) { return known(var); });
  if (cond) return body(*cond ? s.then_body : s.else_body);
  auto before = held_;
  ++unsure_;
  body(s.else_body);
  if (!s.then_body.empty()) {
    held_ = std::move(before);
    body(s.then_body);
  }
  --unsure_;
}

void Holding::take(const Stmt& stmt, const ChannelRef& item) {
  std::vector<Item>& held = held_[item.channel.get()];
  Item number = value(item.index);
  if (number && std::find(held.begin(), held.end(), number) != held.end()) return;
  auto count = static_cast<std::int64_t>(held.size());
  held.push_back(number);
  if (item.channel->depth > count || !told_.insert(&stmt).second) return;
  std::string text = print(stmt);
  check_.diags.error(
      Rule::channel_depth, stmt.loc,
      fmt::format("role `{}` holds {} slot{} of `{}` at `{}`, and the channel has {}", role_.name, count,
                  count == 1 ? "" : "s", item.channel->name, text.substr(0, text.find('\n')), item.channel->depth),
      fmt::format("give it depth {}, or give the slots on before", count + 1));
}

void Holding::give(const ChannelRef& item) {
  std::vector<Item>& held = held_[item.channel.get()];
  Item number = value(item.index);
  auto it = number ? std::find(held.begin(), held.end(), number) : held.begin();
  if (it == held.end()) it = std::find(held.begin(), held.end(), std::nullopt);
  if (it != held.end()) held.erase(it);
}

}  // namespace

void check_rings(const Check& check) {
  Balance balance(check);
  ChannelPlan plan(check.program);
  for (std::size_t r = 0; r < check.program.roles.size(); ++r) {
    balance.run(check.program.roles[r]);
    Holding(check, plan, r).run();
  }
}

}  // namespace plait::roles
