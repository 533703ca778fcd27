#include "roles/uniform.h"

#include <algorithm>

#include "ir/visit.h"
#include "roles/visit.h"
#include "support/result.h"

namespace plait::roles {

Uniformity::Uniformity(const Program& program, const Body& body) {
  const Builtins& b = program.builtins;
  levels_[b.replica.get()] = Uniform::replica;
  levels_[b.warp.get()] = Uniform::warp;
  levels_[b.lane.get()] = levels_[b.thread.get()] = Uniform::none;
  // Levels only rise, so this ends; a chain of variables longer than any real one is cut short.
  constexpr int kMaxPasses = 32;
  for (int pass = 0; changed_ || pass == 0; ++pass) {
    changed_ = false;
    walk(body, pass < kMaxPasses ? Uniform::block : Uniform::none);
  }
}

Uniform Uniformity::of(const ExprRef& e) const {
  Uniform level = Uniform::block;
  ir::walk(e, [&](const ir::Expr& x) {
    if (const auto* ref = std::get_if<ir::VarRef>(&x.node)) {
      auto it = levels_.find(ref->var.get());
      if (it != levels_.end()) level = std::max(level, it->second);
    }
    const auto* load = std::get_if<ir::Load>(&x.node);
    if (load != nullptr && load->buffer->scope == ir::Scope::fragment) level = Uniform::none;
  });
  return level;
}

void Uniformity::raise(const Var& var, Uniform level) {
  Uniform& known = levels_[var.get()];
  if (level <= known) return;
  known = level;
  changed_ = true;
}

void Uniformity::walk(const Body& body, Uniform around) {
  for (const StmtRef& stmt : body) statement(*stmt, around);
}

void Uniformity::statement(const Stmt& stmt, Uniform around) {
  std::visit(
      Overload{[&](const Let& s) { raise(s.var, of(s.value)); }, [&](const VarDef& s) { raise(s.var, of(s.init)); },
               [&](const Set& s) { raise(s.var, std::max(of(s.value), around)); },
               [&](const For& s) {
                 Uniform bounds = std::max({of(s.begin), of(s.end), of(s.step)});
                 raise(s.var, bounds);
                 walk(s.body, std::max(around, bounds));
               },
               [&](const While& s) { walk(s.body, std::max(around, of(s.cond))); },
               [&](const If& s) {
                 Uniform cond = std::max(around, of(s.cond));
                 walk(s.then_body, cond);
                 walk(s.else_body, cond);
               },
               [&](const Elect& s) { walk(s.body, Uniform::none); }, [&](const Issue& s) { walk(s.body, around); },
               [&](const OneWarp& s) { walk(s.body, std::max(around, Uniform::warp)); },
               [&](const Atomic& s) { raise(s.result, Uniform::none); },
               [&](const AtomicShared& s) { raise(s.result, Uniform::none); },
               [&](const Shuffle& s) {
                 // The value of one lane is the same in all of them.
                 raise(s.result, of(s.lane) <= Uniform::warp ? std::min(of(s.value), Uniform::warp) : of(s.value));
               },
               [&](const Clock& s) { raise(s.result, Uniform::none); },
               [&](const Broadcast& s) { raise(s.result, std::min(of(s.value), Uniform::warp)); }, [](const auto&) {}},
      stmt.node);
}

}  // namespace plait::roles
