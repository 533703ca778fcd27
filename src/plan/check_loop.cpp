#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "lang/suggest.h"
#include "plan/check.h"
#include "plan/edges.h"
#include "plan/rules.h"

namespace plait::plan {

using analysis::DependenceKind;
using graph::Edge;
using graph::Node;
using graph::TaskGraph;

namespace {

/// The place in the schedule, where it was read from a text, else the one in the program.
Loc place(const At& at, const Loc& program) { return at.loc.known() ? at.loc : program; }

std::string quoted(const StmtName& name) { return fmt::format("'{}'", graph::text_of(name)); }

class LoopChecker {
 public:
  LoopChecker(const LoopPlan& plan, const TaskGraph& graph, const std::vector<Role>& roles, Diagnostics& diags)
      : plan_(plan), graph_(graph), roles_(roles), diags_(diags) {}

  void run() {
    names();
    role_names();
    stages_and_orders();
    copies();
    if (diags_.has_errors()) return;
    Positions at(graph_, plan_.slots);
    for (const BrokenEdge& broken : broken_edges(graph_, plan_)) report(broken, at);
    for (const Edge& edge : graph_.edges) {
      if (!at.same_role(edge.from, edge.to)) crossing(edge, at);
    }
    for (const Ring& ring : plan_.rings) depth(ring, at);
    completion(at);
    tokens();
  }

 private:
  Loc slot_loc(const Slot& slot) const {
    auto node = graph_.find(slot.stmt);
    return place(slot.at, node ? graph_.nodes[*node].loc() : graph_.loc);
  }
  Loc node_loc(std::size_t node) const { return slot_loc(*plan_.find(graph_.nodes[node].name)); }
  void note(Diagnostic& found, std::size_t node, std::string_view does) const {
    found.notes.push_back(
        {graph_.nodes[node].loc(), fmt::format("{} {}", graph::text_of(graph_.nodes[node].name), does)});
  }

  // ---- Names
  // -----------------------------------------------------------------------------------------------------------

  void names() {
    std::vector<std::string> known;
    for (const Node& node : graph_.nodes) known.push_back(graph::text_of(node.name));
    for (const Slot& slot : plan_.slots) {
      auto same = [&](const Slot& other) { return other.stmt == slot.stmt; };
      if (!graph_.find(slot.stmt)) {
        diags_.error(
            Rule::schedule_name, place(slot.at, graph_.loc),
            fmt::format("the loop {} has no scheduled statement {}", graph::text_of(graph_.loop), quoted(slot.stmt)),
            lang::did_you_mean(graph::text_of(slot.stmt), known, "it has " + lang::quoted_list(known)));
      } else if (&*std::find_if(plan_.slots.begin(), plan_.slots.end(), same) != &slot) {
        diags_.error(Rule::schedule_complete, slot_loc(slot), fmt::format("{} has a second line", quoted(slot.stmt)));
      }
    }
    for (const Node& node : graph_.nodes) {
      if (plan_.find(node.name) != nullptr) continue;
      diags_
          .error(Rule::schedule_complete, place(plan_.at, graph_.loc), fmt::format("{} has no line", quoted(node.name)))
          .notes.push_back({node.loc(), "the statement"});
    }
  }

  void role_names() {
    std::vector<std::string> known;
    for (const Role& role : roles_) known.push_back(role.name);
    for (const Slot& slot : plan_.slots) {
      bool named = !slot.role.empty();
      if (named && std::find(known.begin(), known.end(), slot.role) == known.end()) {
        diags_.error(Rule::schedule_name, slot_loc(slot), fmt::format("there is no role '{}'", slot.role),
                     lang::did_you_mean(slot.role, known, "the roles are " + lang::quoted_list(known)));
      } else if (!named && known.size() > 1) {
        diags_.error(Rule::schedule_name, slot_loc(slot), fmt::format("{} names no role", quoted(slot.stmt)),
                     "the roles are " + lang::quoted_list(known));
      }
    }
  }

  /// A unit that cannot do what the statement does.
  void unit(const Slot& slot) {
    auto node = graph_.find(slot.stmt);
    if (!node) return;
    using machine::UnitKind;
    ir::Unit work = graph_.nodes[*node].unit;
    bool multiplies = slot.unit == UnitKind::tensor || slot.unit == UnitKind::cube, moves = slot.unit == UnitKind::tma;
    bool wrong = (multiplies && work != ir::Unit::matrix) || (moves && work != ir::Unit::dma);
    if (!wrong) return;
    diags_.error(Rule::schedule_value, slot_loc(slot),
                 fmt::format("{} has unit {}, which {}", quoted(slot.stmt), machine::name_of(slot.unit),
                             multiplies ? "multiplies matrices" : "moves boxes of tensors"),
                 "leave the unit that `plait schedule` prints");
  }

  void stages_and_orders() {
    std::map<int, const Slot*> orders;
    for (const Slot& slot : plan_.slots) {
      if (slot.stage < 0)
        diags_.error(Rule::schedule_stage, slot_loc(slot),
                     fmt::format("{} has stage {}", quoted(slot.stmt), slot.stage));
      if (slot.stage > 0 && graph_.jump != nullptr) {
        diags_
            .error(Rule::schedule_stage, slot_loc(slot),
                   fmt::format("{} has stage {} in a loop that may end early", quoted(slot.stmt), slot.stage),
                   "give every statement stage 0")
            .notes.push_back({graph_.jump->loc, "the loop may end here"});
      }
      unit(slot);
      if (slot.order < 0)
        diags_.error(Rule::schedule_order, slot_loc(slot),
                     fmt::format("{} has order {}", quoted(slot.stmt), slot.order));
      auto [first, fresh] = orders.emplace(slot.order, &slot);
      if (fresh) continue;
      diags_.error(
          Rule::schedule_order, slot_loc(slot),
          fmt::format("{} has order {}, as {} has", quoted(slot.stmt), slot.order, quoted(first->second->stmt)));
    }
  }

  // ---- Copies
  // ----------------------------------------------------------------------------------------------------------

  ir::Buffer written(const std::string& name) const {
    for (const ir::Buffer& buffer : graph_.written) {
      if (buffer->name == name) return buffer;
    }
    return nullptr;
  }

  void copies() {
    std::set<std::string> seen;
    for (const Ring& ring : plan_.rings) {
      Loc loc = place(ring.at, graph_.loc);
      if (ring.depth < 1) diags_.error(Rule::schedule_depth, loc, fmt::format("the ring has {} slots", ring.depth));
      for (const std::string& name : ring.buffers) buffer_copies(name, ring.depth, loc, seen);
      for (const std::string& name : ring.buffers) {
        ir::Buffer buffer = written(name);
        if (buffer == nullptr || buffer->scope == ir::Scope::shared) continue;
        diags_.error(
            Rule::schedule_channel, loc,
            fmt::format("'{}' lies in {} memory and passes through no ring", name, ir::scope_name(buffer->scope)),
            "put a shared buffer between the roles");
      }
    }
    for (const Versions& versions : plan_.versions) {
      Loc loc = place(versions.at, graph_.loc);
      if (versions.count < 1)
        diags_.error(Rule::schedule_value, loc, fmt::format("'{}' has {} versions", versions.buffer, versions.count));
      buffer_copies(versions.buffer, versions.count, loc, seen);
    }
  }

  void buffer_copies(const std::string& name, int count, const Loc& loc, std::set<std::string>& seen) {
    ir::Buffer buffer = written(name);
    if (buffer == nullptr) {
      std::vector<std::string> known;
      for (const ir::Buffer& other : graph_.written) known.push_back(other->name);
      diags_.error(Rule::schedule_name, loc,
                   fmt::format("the loop {} writes no on-chip buffer '{}'", graph::text_of(graph_.loop), name),
                   lang::did_you_mean(name, known, "it writes " + lang::quoted_list(known)));
      return;
    }
    if (!seen.insert(name).second)
      diags_.error(Rule::schedule_channel, loc, fmt::format("the copies of '{}' are given twice", name),
                   "name each buffer in one ring, or in one line of versions");
    if (count < 2 || may_version(graph_, buffer)) return;
    Diagnostic& found = diags_.error(Rule::schedule_carried, loc, fmt::format("'{}' has {} versions", name, count));
    for (const Edge& edge : graph_.edges) {
      if (edge.kind != DependenceKind::flow || edge.buffer != buffer || !edge.carried()) continue;
      note(found, edge.to,
           fmt::format("may read what {} left in an earlier iteration", graph::text_of(graph_.nodes[edge.from].name)));
      return;
    }
  }

  // ---- Edges
  // -----------------------------------------------------------------------------------------------------------

  static std::string_view does(DependenceKind kind, bool first) {
    switch (kind) {
      case DependenceKind::flow:
        return first ? "writes" : "reads";
      case DependenceKind::anti:
        return first ? "reads" : "overwrites";
      case DependenceKind::output:
        return first ? "writes" : "overwrites";
    }
    return "";
  }
  static std::string what(const Edge& edge) { return edge.buffer != nullptr ? edge.buffer->name : edge.var->name; }

  void report(const BrokenEdge& broken, const Positions& at) {
    const Edge& edge = broken.edge;
    const Node &from = graph_.nodes[edge.from], &to = graph_.nodes[edge.to];
    bool flow = edge.kind == DependenceKind::flow;
    Position before = flow ? at.issue(edge.from) : at.end(edge.from), after = at.issue(edge.to);
    std::string message =
        fmt::format("{} {} '{}' too early: stage {} + distance {}, order {}, is not behind {} with stage {}, order {}",
                    graph::text_of(to.name), does(edge.kind, false), what(edge), after.turn, broken.distance,
                    after.order, graph::text_of(from.name), before.turn, before.order);
    Rule rule = flow || edge.buffer == nullptr ? Rule::schedule_edge : Rule::schedule_storage;
    Diagnostic& found = diags_.error(rule, node_loc(edge.to), std::move(message));
    note(found, edge.from, fmt::format("{} '{}'", does(edge.kind, true), what(edge)));
    note(found, edge.to, fmt::format("{} it", does(edge.kind, false)));
  }

  const Ring* ring_of(const ir::Buffer& buffer) const {
    for (const Ring& ring : plan_.rings) {
      if (std::find(ring.buffers.begin(), ring.buffers.end(), buffer->name) != ring.buffers.end()) return &ring;
    }
    return nullptr;
  }

  /// Who hands the buffers of a ring on: the role of the first node that writes one of them.
  std::string producer(const Ring& ring) const {
    for (const Node& node : graph_.nodes) {
      for (const graph::Use& use : node.writes) {
        if (std::find(ring.buffers.begin(), ring.buffers.end(), use.buffer->name) != ring.buffers.end())
          return plan_.find(node.name)->role;
      }
    }
    return {};
  }

  void crossing(const Edge& edge, const Positions& at) {
    const Ring* ring = edge.buffer == nullptr ? nullptr : ring_of(edge.buffer);
    bool flow = edge.kind == DependenceKind::flow;
    std::string why;
    if (edge.buffer == nullptr) {
      why = "is a scalar of one role";
    } else if (edge.buffer->scope != ir::Scope::shared) {
      why = fmt::format("lies in {} memory", ir::scope_name(edge.buffer->scope));
    } else if (ring == nullptr) {
      why = "is in no ring";
    } else if (flow && edge.least() > 0) {
      why = "is read in a later iteration";
    } else if (flow && producer(*ring) != at.slot(edge.from).role) {
      why = fmt::format("is handed on by role '{}' too", producer(*ring));
    } else {
      return;
    }
    const Node &from = graph_.nodes[edge.from], &to = graph_.nodes[edge.to];
    Diagnostic& found = diags_.error(Rule::schedule_channel, node_loc(edge.to),
                                     fmt::format("'{}' passes from role '{}' to role '{}', but it {}", what(edge),
                                                 at.slot(edge.from).role, at.slot(edge.to).role, why));
    found.notes.push_back({from.loc(), fmt::format("{} {} it", graph::text_of(from.name), does(edge.kind, true))});
    found.notes.push_back({to.loc(), fmt::format("{} {} it", graph::text_of(to.name), does(edge.kind, false))});
  }

  // ---- Channels
  // --------------------------------------------------------------------------------------------------------

  /// First and last touch of a ring's item by one role, the latter as when it is known to have ended.
  struct Hold {
    std::size_t first_node = 0, last_node = 0;
    Position first, last;
  };

  std::map<std::string, Hold> readers(const Ring& ring, const Positions& at) const {
    std::map<std::string, Hold> found;
    std::string writer = producer(ring);
    auto touches = [&](const std::vector<graph::Use>& uses) {
      return std::any_of(uses.begin(), uses.end(), [&](const graph::Use& use) {
        return std::find(ring.buffers.begin(), ring.buffers.end(), use.buffer->name) != ring.buffers.end();
      });
    };
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const std::string& role = at.slot(i).role;
      if (role == writer || (!touches(graph_.nodes[i].reads) && !touches(graph_.nodes[i].writes))) continue;
      Position first = at.issue(i), last = at.end(i);
      auto [it, fresh] = found.emplace(role, Hold{i, i, first, last});
      if (fresh) continue;
      if (first < it->second.first) {
        it->second.first = first;
        it->second.first_node = i;
      }
      if (last > it->second.last) {
        it->second.last = last;
        it->second.last_node = i;
      }
    }
    return found;
  }

  void depth(const Ring& ring, const Positions& at) {
    for (const auto& [role, hold] : readers(ring, at)) {
      std::int64_t turns = hold.last.turn - hold.first.turn;
      std::int64_t acquired = turns == 0 ? 0 : turns - 1 + (hold.first.order <= hold.last.order ? 1 : 0);
      if (ring.depth >= 1 + acquired) continue;
      Diagnostic& found = diags_.error(
          Rule::schedule_depth, place(ring.at, graph_.loc),
          fmt::format("the ring has {} slot{}; role '{}' takes {} more before it gives one back, so it needs {}",
                      ring.depth, ring.depth == 1 ? "" : "s", role, acquired, acquired + 1));
      note(found, hold.first_node, "takes an item first");
      note(found, hold.last_node, "is the last to end with it");
    }
  }

  // ---- Completion
  // ------------------------------------------------------------------------------------------------------

  void completion(const Positions& at) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (at.slot(i).in_flight > 0 && !graph_.nodes[i].async) {
        diags_.error(Rule::schedule_fifo, node_loc(i),
                     fmt::format("{} is in flight {}, but ends when it is issued", quoted(graph_.nodes[i].name),
                                 at.slot(i).in_flight),
                     "leave `in flight` out");
      }
      std::vector<std::size_t> all = at.issuer(i);
      auto self = static_cast<std::size_t>(std::find(all.begin(), all.end(), i) - all.begin());
      for (std::size_t step = 1; self < all.size() && step <= all.size(); ++step) {
        std::size_t later = all[(self + step) % all.size()];
        auto allowed = static_cast<std::int64_t>(step) + at.slot(later).in_flight;
        if (at.slot(i).in_flight <= allowed) continue;
        Diagnostic& found = diags_.error(
            Rule::schedule_fifo, node_loc(i),
            fmt::format("{} is in flight {}, but {} behind it is awaited before that, and with it all earlier work of "
                        "unit {}",
                        quoted(graph_.nodes[i].name), at.slot(i).in_flight, quoted(graph_.nodes[later].name),
                        machine::name_of(at.slot(i).unit)),
            fmt::format("write in flight {} at most", allowed));
        note(found, later, fmt::format("is in flight {}", at.slot(later).in_flight));
        break;
      }
    }
  }

  void tokens() {
    for (const Token& token : plan_.tokens) {
      const Slot *from = plan_.find(token.from), *to = plan_.find(token.to);
      Loc loc = place(token.at, graph_.loc);
      for (const auto& [name, slot] : {std::pair(&token.from, from), std::pair(&token.to, to)}) {
        if (slot == nullptr)
          diags_.error(Rule::schedule_name, loc, fmt::format("the loop has no scheduled statement {}", quoted(*name)));
      }
      if (from == nullptr || to == nullptr) continue;
      auto role = std::find_if(roles_.begin(), roles_.end(), [&](const Role& r) { return r.name == from->role; });
      if (from->role != to->role) {
        diags_.error(Rule::schedule_token, loc,
                     fmt::format("the token passes from role '{}' to role '{}'", from->role, to->role));
      } else if (role == roles_.end() || role->replicas < 2) {
        diags_.error(Rule::schedule_token, loc, fmt::format("role '{}' has one replica", from->role));
      }
    }
  }

  const LoopPlan& plan_;
  const TaskGraph& graph_;
  const std::vector<Role>& roles_;
  Diagnostics& diags_;
};

}  // namespace

Diagnostics check(const LoopPlan& plan, const TaskGraph& graph, const std::vector<Role>& roles) {
  Diagnostics diags;
  LoopChecker(plan, graph, roles, diags).run();
  return diags;
}

}  // namespace plait::plan
