#include <algorithm>

#include "analysis/expr_util.h"
#include "analysis/flow.h"

namespace plait::analysis {

using namespace ir;

namespace {

/// The dependences of more accesses to one buffer than this are not worked out.
constexpr std::size_t max_accesses = 40;

std::size_t count_vars(const std::vector<Step>& path, std::size_t steps) {
  return static_cast<std::size_t>(std::count_if(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(steps),
                                                [](const Step& step) { return step.var != nullptr; }));
}

bool same_ranges(const Access& a, const Access& b) {
  auto same = [](const ExprRef& x, const ExprRef& y) { return x == y || (x && y && same_expr(x, y)); };
  return std::equal(a.ranges.begin(), a.ranges.end(), b.ranges.begin(), b.ranges.end(),
                    [&](const Range& x, const Range& y) { return same(x.begin, y.begin) && same(x.extent, y.extent); });
}

bool same_access(const LoopAccess& a, const LoopAccess& b) {
  return a.access.stmt == b.access.stmt && a.access.touch == b.access.touch && a.access.certain == b.access.certain &&
         a.path.size() == b.path.size() && a.inner.conditions == b.inner.conditions && same_ranges(a.access, b.access);
}

template <typename T>
std::vector<T> beyond(const std::vector<T>& all, const std::vector<T>& outer) {
  return {all.begin() + static_cast<std::ptrdiff_t>(outer.size()), all.end()};
}

/// The accesses of a loop body by buffer, in the order in which the buffers are met; an atomic operation reads and
/// writes.
class AccessCollector {
 public:
  struct Group {
    Buffer buffer;
    std::vector<LoopAccess> accesses;
    bool written = false;
  };

  std::vector<Group> collect(const For& loop, const Domain& outer) {
    AccessWalker walker(outer, [&](const Access& access) { add(access, loop, outer); });
    walker_ = &walker;
    walker.walk_loop(loop);
    return std::move(groups_);
  }

 private:
  void add(const Access& access, const For& loop, const Domain& outer) {
    const auto& ro = outer.read_only;
    if (std::find(ro.begin(), ro.end(), access.buffer) != ro.end()) return;
    auto it = std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.buffer == access.buffer; });
    if (it == groups_.end()) it = groups_.insert(it, Group{access.buffer, {}, false});
    const Domain& d = walker_->domain();
    LoopAccess found;
    found.access = access;
    found.path = walker_->path();
    found.inner = {beyond(d.vars, outer.vars), beyond(d.conditions, outer.conditions), beyond(d.lets, outer.lets), {}};
    found.statement = found.path[loop.axes.size()].number;
    if (auto steps = walker_->allocated(access.buffer)) found.private_vars = count_vars(found.path, *steps);
    for (Touch touch : {Touch::read, Touch::write}) {
      if (access.touch != touch && access.touch != Touch::atomic) continue;
      found.access.touch = touch;
      it->written = it->written || touch == Touch::write;
      bool known = std::any_of(it->accesses.begin(), it->accesses.end(),
                               [&](const LoopAccess& old) { return same_access(old, found); });
      if (!known) it->accesses.push_back(found);
    }
  }

  const AccessWalker* walker_ = nullptr;
  std::vector<Group> groups_;
};

std::optional<DependenceKind> kind_of(const LoopAccess& from, const LoopAccess& to) {
  bool first = from.access.touch == Touch::write, second = to.access.touch == Touch::write;
  if (first) return second ? DependenceKind::output : DependenceKind::flow;
  return second ? std::optional(DependenceKind::anti) : std::nullopt;
}

/// Everything depends on everything.
std::vector<FlowEdge> all_edges(const std::vector<LoopAccess>& accesses) {
  std::vector<FlowEdge> edges;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t j = 0; j < accesses.size(); ++j) {
      auto kind = kind_of(accesses[i], accesses[j]);
      if (!kind) continue;
      bool within = accesses[i].private_vars > 0;
      if (!within) edges.push_back({*kind, i, j, std::nullopt, false});
      if (within && accesses[i].statement < accesses[j].statement) edges.push_back({*kind, i, j, 0, true});
    }
  }
  return edges;
}

void merge(std::vector<Dependence>& into, Dependence found) {
  for (Dependence& old : into) {
    bool same = old.kind == found.kind && old.from == found.from && old.to == found.to && old.buffer == found.buffer;
    if (!same) continue;
    old.exact = old.exact && found.exact && old.distance == found.distance;
    if (!old.distance || !found.distance) {
      old.distance = std::nullopt;
    } else {
      old.distance = std::min(*old.distance, *found.distance);
    }
    return;
  }
  into.push_back(std::move(found));
}

}  // namespace

std::vector<Dependence> dependences(const For& loop, const Domain& outer) {
  std::vector<Dependence> result;
  for (const auto& group : AccessCollector().collect(loop, outer)) {
    if (!group.written) continue;
    std::optional<std::vector<FlowEdge>> edges;
    if (group.accesses.size() <= max_accesses) edges = flow_edges(group.accesses, loop, outer);
    if (!edges) edges = all_edges(group.accesses);
    for (const FlowEdge& edge : *edges) {
      std::size_t from = group.accesses[edge.from].statement, to = group.accesses[edge.to].statement;
      merge(result, {edge.kind, from, to, group.buffer, edge.distance, edge.exact});
    }
  }
  return result;
}

}  // namespace plait::analysis
