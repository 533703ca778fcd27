#include "profile/statements.h"

#include <algorithm>

#include "explain/steady.h"
#include "ir/visit.h"
#include "roles/visit.h"

namespace plait::profile {
namespace {

using roles::Stmt;
using roles::StmtRef;

/// What roles and replicas tell each other, which is none of the task's own time.
bool is_between(const Stmt& stmt, const roles::Role& role) {
  const auto* barrier = std::get_if<roles::BarrierSync>(&stmt.node);
  if (barrier != nullptr) return barrier->threads != std::int64_t{role.warps} * roles::kWarp;
  return std::holds_alternative<roles::Acquire>(stmt.node) || std::holds_alternative<roles::Publish>(stmt.node) ||
         std::holds_alternative<roles::Receive>(stmt.node) || std::holds_alternative<roles::Release>(stmt.node);
}

/// Statements of a task and what they name.
class Collector {
 public:
  Collector(const roles::Program& program, const roles::Role& role, const graph::TaskGraph& graph, std::size_t node)
      : program_(program), role_(role), nodes_of_(explain::nodes_by_origin(graph)), node_(node) {
    roles::walk(role.body, [&](const Stmt& stmt) {
      if (const auto* def = std::get_if<roles::DefFragment>(&stmt.node))
        of_role_[def->fragment->buffer.get()] = def->fragment;
      if (const auto* var = std::get_if<roles::VarDef>(&stmt.node)) counters_.insert(var->var.get());
    });
    const roles::For* loop = explain::steady_loop(role.body, graph);
    if (loop == nullptr) return;
    roles::walk(loop->body, [&](const Stmt& stmt) {
      if (const auto* var = std::get_if<roles::VarDef>(&stmt.node)) counters_.erase(var->var.get());
    });
    out_.body = filter(loop->body);
  }

  Statements run() {
    define(out_.body);
    names(out_.body);
    add_lets();
    builtins();
    return std::move(out_);
  }

 private:
  bool is_own(const Stmt& stmt) const {
    auto at = nodes_of_.find(explain::origin_of(stmt.origin));
    return at != nodes_of_.end() && at->second == std::vector<std::size_t>{node_};
  }

  roles::Body filter(const roles::Body& body) {
    roles::Body out;
    for (const StmtRef& stmt : body) {
      const auto* set = std::get_if<roles::Set>(&stmt->node);
      if (is_between(*stmt, role_) || (set != nullptr && counters_.contains(set->var.get()))) continue;
      if (StmtRef kept = with_body(stmt)) out.push_back(kept);
    }
    return out;
  }

  /// The statement with what its bodies hold of the task; null where that is nothing.
  StmtRef with_body(const StmtRef& stmt) {
    auto again = [&](auto node) {
      return std::make_shared<const Stmt>(Stmt{stmt->loc, stmt->origin, std::move(node)});
    };
    return std::visit(Overload{[&](const roles::If& n) -> StmtRef {
                                 roles::If made{n.cond, filter(n.then_body), filter(n.else_body)};
                                 return made.then_body.empty() && made.else_body.empty() ? nullptr
                                                                                         : again(std::move(made));
                               },
                               [&](const roles::For& n) -> StmtRef {
                                 roles::For made = n;
                                 made.body = filter(n.body);
                                 return made.body.empty() ? nullptr : again(std::move(made));
                               },
                               [&](const roles::Elect& n) -> StmtRef {
                                 roles::Elect made{filter(n.body)};
                                 return made.body.empty() ? nullptr : again(std::move(made));
                               },
                               [&](const roles::OneWarp& n) -> StmtRef {
                                 roles::OneWarp made{n.warp, filter(n.body)};
                                 return made.body.empty() ? nullptr : again(std::move(made));
                               },
                               [&](const auto&) -> StmtRef { return is_own(*stmt) ? stmt : nullptr; }},
                      stmt->node);
  }

  void define(const roles::Body& body) {
    roles::walk(body, [&](const Stmt& stmt) {
      roles::Visitor visitor;
      // A set names its variable as a definition, too, and defines none.
      if (!std::holds_alternative<roles::Set>(stmt.node))
        visitor.define = [&](const ir::Var& var) { defined_.insert(var.get()); };
      roles::visit(stmt, visitor);
      if (const auto* def = std::get_if<roles::DefFragment>(&stmt.node)) own_fragments_.insert(def->fragment.get());
    });
  }

  void names(const roles::Body& body) {
    roles::walk(body, [&](const Stmt& stmt) {
      roles::Visitor visitor;
      visitor.expr = [&](const ir::ExprRef& e) { expression(e); };
      visitor.define = [&](const ir::Var& var) { variable(var); };
      visitor.smem = [&](const roles::SmemRef& ref) { tile(ref.smem->buffer.get()); };
      visitor.fragment = [&](const roles::Fragment& f) { fragment(f); };
      visitor.fragment_at = [&](const roles::FragmentRef& ref) { fragment(ref.fragment); };
      if (!std::holds_alternative<roles::TmaLoad>(stmt.node)) {
        visitor.tensor = [&](const roles::TensorRef& ref) { add(out_.tensors, ref.tensor->name); };
        visitor.map = [&](const roles::Map& map) { add(out_.tensors, map->tensor->name); };
      }
      roles::visit(stmt, visitor);
      barrier(stmt);
    });
  }

  void barrier(const Stmt& stmt) {
    bool crosses = std::visit(
        Overload{[](const roles::BarrierArrive&) { return true; }, [](const roles::SyncThreads&) { return true; },
                 [](const roles::ClusterArrive&) { return true; }, [](const roles::ClusterWait&) { return true; },
                 [](const roles::Wait&) { return true; }, [](const roles::Arrive&) { return true; },
                 [](const roles::Expect&) { return true; }, [](const auto&) { return false; }},
        stmt.node);
    if (!crosses) return;
    std::string text = roles::print(stmt);
    add(out_.barriers, text.substr(0, text.find('\n')));
  }

  void expression(const ir::ExprRef& e) {
    ir::walk(e, [&](const ir::Expr& part) {
      if (const auto* ref = std::get_if<ir::VarRef>(&part.node)) variable(ref->var);
      const auto* load = std::get_if<ir::Load>(&part.node);
      if (load == nullptr) return;
      if (tile(load->buffer.get())) return;
      auto held = of_role_.find(load->buffer.get());
      if (held != of_role_.end()) return fragment(held->second);
      add(out_.tensors, load->buffer->name);
    });
  }

  void variable(const ir::Var& var) {
    if (defined_.contains(var.get())) return;
    if (std::find(out_.free.begin(), out_.free.end(), var) == out_.free.end()) out_.free.push_back(var);
  }

  bool tile(const ir::BufferDecl* buffer) {
    for (const roles::Smem& smem : program_.smem) {
      if (smem->buffer.get() != buffer) continue;
      if (std::find(out_.smem.begin(), out_.smem.end(), smem) == out_.smem.end()) out_.smem.push_back(smem);
      return true;
    }
    return false;
  }

  void fragment(const roles::Fragment& f) {
    if (own_fragments_.contains(f.get())) return;
    if (std::find(out_.fragments.begin(), out_.fragments.end(), f) != out_.fragments.end()) return;
    if (f->of != nullptr) fragment(f->of);
    out_.fragments.push_back(f);
  }

  /// Lets of the role that free variables name, and what those need in turn.
  void add_lets() {
    std::vector<StmtRef> lets;
    collect(role_.body, lets);
    std::set<const Stmt*> wanted;
    for (bool more = true; more;) {
      more = false;
      for (const StmtRef& let : lets) {
        const ir::Var& var = std::get<roles::Let>(let->node).var;
        auto at = std::find(out_.free.begin(), out_.free.end(), var);
        if (at == out_.free.end() || reads_memory(*let)) continue;
        out_.free.erase(at);
        defined_.insert(var.get());
        wanted.insert(let.get());
        names({let});
        more = true;
      }
    }
    for (const StmtRef& let : lets) {
      if (wanted.contains(let.get())) out_.lets.push_back(let);
    }
  }

  static bool reads_memory(const Stmt& let) {
    bool reads = false;
    ir::walk(std::get<roles::Let>(let.node).value,
             [&](const ir::Expr& e) { reads = reads || std::holds_alternative<ir::Load>(e.node); });
    return reads;
  }

  void collect(const roles::Body& body, std::vector<StmtRef>& lets) {
    for (const StmtRef& stmt : body) {
      if (std::holds_alternative<roles::Let>(stmt->node)) lets.push_back(stmt);
      if (const auto* loop = std::get_if<roles::For>(&stmt->node)) out_.zeros.insert(loop->var.get());
      if (const auto* var = std::get_if<roles::VarDef>(&stmt->node)) out_.zeros.insert(var->var.get());
      roles::Visitor visitor;
      visitor.body = [&](const roles::Body& inner) { collect(inner, lets); };
      roles::visit(*stmt, visitor);
    }
  }

  void builtins() {
    const roles::Builtins& b = program_.builtins;
    for (const ir::Var& var : {b.block, b.blocks, b.block_x, b.block_y, b.block_z, b.cluster_rank, b.sms, b.replica,
                               b.warp, b.lane, b.thread})
      std::erase(out_.free, var);
  }

  static void add(std::vector<std::string>& to, const std::string& name) {
    if (std::find(to.begin(), to.end(), name) == to.end()) to.push_back(name);
  }

  const roles::Program& program_;
  const roles::Role& role_;
  explain::NodesOf nodes_of_;
  std::size_t node_;
  std::set<const ir::VarDecl*> defined_;
  std::map<const ir::BufferDecl*, roles::Fragment> of_role_;
  std::set<const roles::FragmentDecl*> own_fragments_;
  std::set<const ir::VarDecl*> counters_;  ///< of the role, which count its turns
  Statements out_;
};

}  // namespace

Statements statements_of(const roles::Program& program, const roles::Role& role, const graph::TaskGraph& graph,
                         std::size_t node) {
  return Collector(program, role, graph, node).run();
}

}  // namespace plait::profile
