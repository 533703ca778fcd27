#include <algorithm>

#include "analysis/accesses.h"
#include "analysis/expr_util.h"
#include "graph/flatten.h"
#include "graph/work.h"
#include "ir/visit.h"

namespace plait::graph {

using namespace ir;
using analysis::Dependence;
using analysis::DependenceKind;

namespace {

bool same_ranges(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Range& x, const Range& y) {
    return analysis::same_expr(x.begin, y.begin) && analysis::same_expr(x.extent, y.extent);
  });
}

void add_use(std::vector<Use>& uses, Use found) {
  for (const Use& old : uses) {
    if (old.buffer == found.buffer && same_ranges(old.ranges, found.ranges)) return;
  }
  uses.push_back(std::move(found));
}

class Builder {
 public:
  Builder(const For& loop, const analysis::Domain& outer, const Names& names)
      : loop_(loop), outer_(outer), names_(names), flat_(flatten(loop)) {}

  TaskGraph run() {
    for (const Item& item : flat_.items) add(item);
    graph_.asked = loop_.pipeline;
    graph_.written = flat_.written_on_chip;
    graph_.jump = flat_.jump;
    const Var& var = loop_.axes.front().var;
    graph_.loop = {var->name, var->loc.line, 1};
    graph_.loc = var->loc;
    buffer_edges();
    variable_edges();
    return std::move(graph_);
  }

 private:
  void add(const Item& item) {
    if (item.replayed) {
      graph_.statements.emplace_back(std::nullopt);
      graph_.replayed.push_back(item.stmt);
      return;
    }
    graph_.statements.emplace_back(graph_.nodes.size());
    Node node;
    auto name = names_.find(item.stmt.get());
    PLAIT_ASSERT(name != names_.end(), "a statement of the loop has no name");
    node.name = name->second;
    node.stmt = item.stmt;
    node.around = around(item);
    node.replay = wrap(item.stmt, node.around);
    node.unit = unit_of(*item.stmt);
    node.async = is_async(*item.stmt);
    node.latency = item.latency;
    node.ii = item.ii;
    Work work = work_of(*item.stmt);
    node.bytes = work.bytes;
    node.flop = work.flop;
    uses(node);
    if (const auto* let = std::get_if<Let>(&item.stmt->node)) scheduled_.emplace_back(let->var, graph_.nodes.size());
    graph_.nodes.push_back(std::move(node));
  }

  /// The lets of the loop body that the statement needs, in program order, before what stands around it.
  std::vector<Around> around(const Item& item) const {
    std::vector<Around> needed;
    std::unordered_set<const VarDecl*> wanted = variables_of(wrap(item.stmt, item.inner));
    for (auto it = graph_.replayed.rbegin(); it != graph_.replayed.rend(); ++it) {
      const auto* let = std::get_if<Let>(&(*it)->node);
      if (let == nullptr || !wanted.contains(let->var.get()) || is_inner(item, *it)) continue;
      needed.insert(needed.begin(), {*it, nullptr, true});
      wanted.merge(variables_of(*it));
    }
    for (const Around& inner : item.inner) {
      const auto* let = inner.let == nullptr ? nullptr : std::get_if<Let>(&inner.let->node);
      if (let == nullptr || wanted.contains(let->var.get())) needed.push_back(inner);
    }
    return needed;
  }
  static bool is_inner(const Item& item, const StmtRef& let) {
    return std::any_of(item.inner.begin(), item.inner.end(), [&](const Around& a) { return a.let == let; });
  }

  void uses(Node& node) {
    analysis::Domain domain = outer_;
    domain.add_loop(loop_);
    const StmtNode& own = node.stmt->node;
    bool elementwise = std::holds_alternative<For>(own) || std::holds_alternative<While>(own) ||
                       std::holds_alternative<If>(own) || std::holds_alternative<Task>(own);
    analysis::AccessWalker walker(domain, [&](const analysis::Access& access) {
      Use use{access.buffer, access.ranges, access.certain};
      bool known = !elementwise &&
                   std::all_of(use.ranges.begin(), use.ranges.end(), [](const Range& r) { return r.begin != nullptr; });
      if (!known) use = {access.buffer, {}, false};
      for (Range& range : use.ranges) {
        if (range.extent == nullptr) range.extent = analysis::int_expr(DType::i64, 1);
      }
      if (access.touch != analysis::Touch::write) add_use(node.reads, use);
      if (access.touch != analysis::Touch::read) add_use(node.writes, use);
    });
    walker.walk({node.replay});
  }

  /// The body that the analysis sees: each item where it stands, under its conditions; allocations go out of the loop.
  void buffer_edges() {
    For body = loop_;
    body.body.clear();
    std::vector<std::optional<std::size_t>> node_of;
    for (std::size_t i = 0; i < flat_.items.size(); ++i) {
      const Item& item = flat_.items[i];
      bool inner_let = item.replayed && !item.inner.empty();
      if (inner_let || std::holds_alternative<Alloc>(item.stmt->node)) continue;
      body.body.push_back(wrap(item.stmt, item.inner));
      node_of.push_back(graph_.statements[i]);
    }
    for (const Dependence& d : analysis::dependences(body, outer_)) {
      if (!node_of[d.from] || !node_of[d.to]) continue;
      Edge edge{d.kind, *node_of[d.from], *node_of[d.to], d.buffer, nullptr, d.distance, d.exact};
      if (keep(edge)) graph_.edges.push_back(std::move(edge));
    }
  }

  /// A buffer of one iteration hands nothing on to the next, though they may share its memory.
  bool keep(Edge& edge) const {
    bool own = flat_.own.contains(edge.buffer.get());
    if (!own || edge.kind != DependenceKind::flow || !edge.carried()) return true;
    if (edge.from >= edge.to || edge.least() > 0) return false;
    edge.distance = 0;
    edge.exact = true;
    return true;
  }

  /// A scheduled let has one register: its users read it before the next iteration defines it anew.
  void variable_edges() {
    for (const auto& [var, definition] : scheduled_) {
      for (std::size_t i = definition + 1; i < graph_.nodes.size(); ++i) {
        if (!variables_of(graph_.nodes[i].replay).contains(var.get())) continue;
        graph_.edges.push_back({DependenceKind::flow, definition, i, nullptr, var, 0, true});
        graph_.edges.push_back({DependenceKind::anti, i, definition, nullptr, var, 1, true});
      }
    }
  }

  const For& loop_;
  const analysis::Domain& outer_;
  const Names& names_;
  Flat flat_;
  TaskGraph graph_;
  std::vector<std::pair<Var, std::size_t>> scheduled_;
};

}  // namespace

std::optional<std::size_t> TaskGraph::find(const StmtName& name) const {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == name) return i;
  }
  return std::nullopt;
}

TaskGraph build(const For& loop, const analysis::Domain& outer, const Names& names) {
  return Builder(loop, outer, names).run();
}

std::vector<TaskGraph> build(const Kernel& kernel) {
  Names names = name_statements(kernel);
  std::vector<TaskGraph> graphs;
  analysis::for_each_loop(kernel, [&](const StmtRef& stmt, const For& loop, const analysis::Domain& outer) {
    if (loop.kind != LoopKind::pipelined) return;
    graphs.push_back(build(loop, outer, names));
    graphs.back().stmt = stmt;
    graphs.back().loop = names.at(stmt.get());
    graphs.back().loc = stmt->loc;
  });
  return graphs;
}

}  // namespace plait::graph
