#include "sim/varying.h"

#include <unordered_map>

#include "ir/visit.h"
#include "support/result.h"

namespace plait::sim {
namespace {

/// Repeats passes over the bodies until no variable is added.
class Finder {
 public:
  explicit Finder(const roles::Builtins& builtins) : varying_{builtins.lane.get(), builtins.thread.get()} {}

  VarSet run(const std::vector<const roles::Body*>& bodies) {
    do {
      changed_ = false;
      for (const roles::Body* body : bodies) walk(*body, 0);
    } while (changed_);
    return varying_;
  }

 private:
  bool differs(const ir::ExprRef& expr) const { return is_varying(expr, varying_); }
  void add(const ir::Var& var) { changed_ |= varying_.insert(var.get()).second; }

  /// `depth`: conditions around that hold in some lanes only.
  void walk(const roles::Body& body, int depth) {
    for (const roles::StmtRef& stmt : body) walk(*stmt, depth);
  }
  void walk(const roles::Stmt& stmt, int depth) {
    std::visit(Overload{
                   [&](const roles::Let& n) {
                     if (differs(n.value)) add(n.var);
                   },
                   [&](const roles::VarDef& n) {
                     depth_[n.var.get()] = depth;
                     if (differs(n.init)) add(n.var);
                   },
                   [&](const roles::Set& n) {
                     if (differs(n.value) || depth > depth_[n.var.get()]) add(n.var);
                   },
                   [&](const roles::For& n) {
                     bool some = differs(n.begin) || differs(n.end) || differs(n.step);
                     if (some) add(n.var);
                     walk(n.body, depth + (some ? 1 : 0));
                   },
                   [&](const roles::While& n) { walk(n.body, depth + (differs(n.cond) ? 1 : 0)); },
                   [&](const roles::If& n) {
                     int inner = depth + (differs(n.cond) ? 1 : 0);
                     walk(n.then_body, inner);
                     walk(n.else_body, inner);
                   },
                   [&](const roles::Elect& n) { walk(n.body, depth + 1); },
                   [&](const roles::OneWarp& n) { walk(n.body, depth); },
                   [&](const roles::Issue& n) { walk(n.body, depth); },
                   [&](const roles::Atomic& n) { add(n.result); },
                   [&](const roles::AtomicShared& n) { add(n.result); },
                   [&](const roles::Shuffle& n) {
                     if (differs(n.value) && differs(n.lane)) add(n.result);
                   },
                   [&](const roles::Each& n) {
                     for (const ir::Var& var : n.vars) add(var);
                   },
                   [&](const auto&) {},
               },
               stmt.node);
  }

  VarSet varying_;
  std::unordered_map<const ir::VarDecl*, int> depth_;
  bool changed_ = false;
};

}  // namespace

VarSet varying_variables(const roles::Builtins& builtins, const std::vector<const roles::Body*>& bodies) {
  return Finder(builtins).run(bodies);
}

bool is_varying(const ir::ExprRef& expr, const VarSet& varying) {
  bool found = false;
  ir::walk(expr, [&](const ir::Expr& e) {
    const auto* ref = std::get_if<ir::VarRef>(&e.node);
    if (ref != nullptr && varying.count(ref->var.get()) > 0) found = true;
    const auto* load = std::get_if<ir::Load>(&e.node);
    if (load != nullptr && load->buffer->scope == ir::Scope::fragment) found = true;
  });
  return found;
}

}  // namespace plait::sim
