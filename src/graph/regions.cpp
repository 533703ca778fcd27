#include "graph/regions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/rebuild.h"
#include "ir/visit.h"

namespace plait::graph {

using namespace ir;

namespace {

/// Whether a statement stays where it is and nothing passes it.
bool is_wall(const StmtRef& stmt) {
  bool wall = false;
  walk(Body{stmt}, [&](const Stmt& inner) {
    const auto* loop = std::get_if<For>(&inner.node);
    wall = wall || (loop != nullptr && loop->kind != LoopKind::parallel) || std::holds_alternative<While>(inner.node) ||
           std::holds_alternative<Break>(inner.node) || std::holds_alternative<Continue>(inner.node) ||
           std::holds_alternative<Assert>(inner.node) || std::holds_alternative<Print>(inner.node);
  });
  return wall;
}

/// How often a loop runs its body, where that is a literal.
std::optional<std::int64_t> trips_of(const For& loop) {
  std::int64_t trips = 1;
  for (const LoopAxis& axis : loop.axes) {
    auto begin = as_int(axis.begin), end = as_int(axis.end), step = as_int(axis.step);
    if (!begin || !end || !step) return std::nullopt;
    trips *= std::max<std::int64_t>((*end - *begin + *step - 1) / *step, 0);
  }
  return trips;
}

class Finder {
 public:
  explicit Finder(const Kernel& kernel) : names_(name_statements(kernel)), domain_(analysis::kernel_domain(kernel)) {}

  std::vector<StraightRegion> run(const Body& body) {
    visit(body, 1);
    return std::move(found_);
  }

 private:
  void visit(const Body& body, std::int64_t times) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= body.size(); ++i) {
      if (i < body.size() && !is_wall(body[i])) continue;
      add(body, begin, i, times);
      begin = i + 1;
      if (i < body.size()) inside(*body[i], times);
    }
  }

  void inside(const Stmt& stmt, std::int64_t times) {
    if (const auto* loop = std::get_if<For>(&stmt.node)) {
      // The tasks of a pipelined loop have a plan of their own.
      if (loop->kind == LoopKind::pipelined) return;
      analysis::Domain outer = domain_;
      domain_.add_loop(*loop);
      visit(loop->body, times * trips_of(*loop).value_or(1));
      domain_ = std::move(outer);
    } else if (const auto* branch = std::get_if<If>(&stmt.node)) {
      visit(branch->then_body, times);
      visit(branch->else_body, times);
    }
  }

  void add(const Body& body, std::size_t begin, std::size_t end, std::int64_t times) {
    StraightRegion region;
    region.begin = begin;
    region.end = end;
    region.times = times;
    region.statements.assign(body.begin() + static_cast<std::ptrdiff_t>(begin),
                             body.begin() + static_cast<std::ptrdiff_t>(end));
    For once{LoopKind::serial, {}, {}, region.statements};
    Var var = std::make_shared<VarDecl>();
    once.axes.push_back({std::move(var), analysis::int_expr(DType::i64, 0), analysis::int_expr(DType::i64, 1),
                         analysis::int_expr(DType::i64, 1)});
    region.graph = build(once, domain_, names_);
    std::unordered_set<const Stmt*> replayed;
    for (const StmtRef& stmt : region.graph.replayed) replayed.insert(stmt.get());
    std::unordered_map<const Stmt*, std::size_t> task_of;
    for (std::size_t i = 0; i < region.statements.size(); ++i) {
      if (replayed.contains(region.statements[i].get())) continue;
      walk(Body{region.statements[i]}, [&](const Stmt& inner) { task_of[&inner] = region.tasks.size(); });
      region.tasks.push_back(i);
      region.names.push_back(names_.at(region.statements[i].get()));
    }
    if (region.tasks.size() < 2) return;
    for (const Node& node : region.graph.nodes) region.task_of.push_back(task_of.at(node.stmt.get()));
    region.loc = region.statements[region.tasks.front()]->loc;
    region.name = {"body", region.loc.line, 1};
    region.name.nth = ++seen_[region.loc.line];
    region.graph.loop = region.name;
    region.graph.loc = region.loc;
    wait(region);
    found_.push_back(std::move(region));
  }

  static void wait(StraightRegion& region) {
    std::set<std::pair<std::size_t, std::size_t>> known;
    auto add = [&](std::size_t from, std::size_t to, std::string why) {
      if (from < to && known.emplace(from, to).second) region.waits.push_back({from, to, std::move(why)});
    };
    for (const Edge& edge : region.graph.edges) {
      if (edge.from >= edge.to || edge.least() > 0) continue;
      add(region.task_of[edge.from], region.task_of[edge.to],
          fmt::format("it depends on it through `{}`", edge.buffer != nullptr ? edge.buffer->name : edge.var->name));
    }
    // They are named by where they stand among each other.
    for (std::size_t to = 0; to < region.names.size(); ++to) {
      for (std::size_t from = 0; from < to; ++from) {
        if (region.names[from].kind == region.names[to].kind && region.names[from].line == region.names[to].line)
          add(from, to, "they are of one kind and stand in one line");
      }
    }
  }

  Names names_;
  analysis::Domain domain_;
  std::map<int, int> seen_;
  std::vector<StraightRegion> found_;
};

}  // namespace

std::vector<StraightRegion> regions_of(const Kernel& kernel) { return Finder(kernel).run(kernel.body); }

std::string text_of(const StraightRegion& region) {
  std::string out = fmt::format("region {}\n", text_of(region.name));
  for (std::size_t task = 0; task < region.names.size(); ++task) {
    std::string before;
    for (const StraightRegion::Wait& wait : region.waits) {
      if (wait.to == task) before += (before.empty() ? ": behind " : ", ") + text_of(region.names[wait.from]);
    }
    out += fmt::format("  {}{}\n", text_of(region.names[task]), before);
  }
  return out;
}

Kernel with_regions(const Kernel& kernel, const std::vector<StraightRegion>& regions,
                    const std::function<Body(const StraightRegion&)>& change) {
  std::unordered_map<const Stmt*, const StraightRegion*> first;
  for (const StraightRegion& region : regions) first[region.statements.front().get()] = &region;
  std::function<Body(const Body&)> rebuilt = [&](const Body& body) {
    Body out;
    for (std::size_t i = 0; i < body.size(); ++i) {
      auto region = first.find(body[i].get());
      if (region == first.end()) {
        out.push_back(with_bodies(body[i], rebuilt));
        continue;
      }
      Body made = change(*region->second);
      out.insert(out.end(), made.begin(), made.end());
      i += region->second->statements.size() - 1;
    }
    return out;
  };
  Kernel out = kernel;
  out.body = rebuilt(kernel.body);
  return out;
}

}  // namespace plait::graph
