#include "explain/steady.h"

#include <algorithm>
#include <set>

#include "ir/visit.h"
#include "roles/visit.h"

namespace plait::explain {

NodesOf nodes_by_origin(const graph::TaskGraph& graph) {
  NodesOf out;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    ir::walk(ir::Body{graph.nodes[i].stmt}, [&](const ir::Stmt& stmt) {
      std::vector<std::size_t>& nodes = out[origin_of(stmt.loc)];
      if (nodes.empty() || nodes.back() != i) nodes.push_back(i);
    });
  }
  return out;
}

namespace {

std::set<std::size_t> nodes_in(const roles::Body& body, const NodesOf& nodes_of) {
  std::set<std::size_t> out;
  roles::walk(body, [&](const roles::Stmt& stmt) {
    auto it = nodes_of.find(origin_of(stmt.origin));
    if (it != nodes_of.end()) out.insert(it->second.begin(), it->second.end());
  });
  return out;
}

/// Whether a loop of a role runs over the iterations of this one: its variable is called so, perhaps with a number.
bool runs_over(const roles::For& loop, const std::string& variable) {
  const std::string& name = loop.var->name;
  if (!name.starts_with(variable) || loop.unroll != roles::Unroll::none) return false;
  std::string rest = name.substr(variable.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '_' &&
                          std::all_of(rest.begin() + 1, rest.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

}  // namespace

const roles::For* steady_loop(const roles::Body& body, const graph::TaskGraph& graph) {
  const NodesOf nodes_of = nodes_by_origin(graph);
  const roles::For* best = nullptr;
  std::size_t most = 0;
  roles::walk(body, [&](const roles::Stmt& stmt) {
    const auto* loop = std::get_if<roles::For>(&stmt.node);
    if (loop == nullptr || !runs_over(*loop, graph.loop.kind)) return;
    std::size_t count = nodes_in(loop->body, nodes_of).size();
    if (count > most) {
      most = count;
      best = loop;
    }
  });
  return best;
}

}  // namespace plait::explain
