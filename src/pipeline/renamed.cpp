#include "pipeline/renamed.h"

#include <functional>
#include <map>

#include "pipeline/rings.h"

namespace plait::pipeline {

using namespace ir;

namespace {

/// Pairs the statements of two bodies, of which one was made of the other statement by statement.
void for_each_pair(const Body& written, const Body& made, const std::function<void(const Stmt&, const Stmt&)>& fn) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const Stmt &a = *written[i], &b = *made[i];
    fn(a, b);
    std::vector<const Body*> inner, other;
    for_each_body_of(a, [&](const Body& body) { inner.push_back(&body); });
    for_each_body_of(b, [&](const Body& body) { other.push_back(&body); });
    if (inner.size() != other.size()) continue;  // a copy became a nest
    for (std::size_t n = 0; n < inner.size(); ++n) for_each_pair(*inner[n], *other[n], fn);
  }
}

}  // namespace

plan::Schedule renamed(plan::Schedule schedule, const Kernel& written, const Kernel& made) {
  if (made.body == written.body) return schedule;
  graph::Names before = graph::name_statements(written), after = graph::name_statements(made);
  std::map<std::string, graph::StmtName> names;
  for_each_pair(written.body, made.body,
                [&](const Stmt& a, const Stmt& b) { names[graph::text_of(before.at(&a))] = after.at(&b); });
  auto rename = [&](graph::StmtName& name) {
    auto found = names.find(graph::text_of(name));
    if (found != names.end()) name = found->second;
  };
  for (plan::Atom& atom : schedule.place.atoms) rename(atom.stmt);
  for (plan::LoopPlan& loop : schedule.loops) {
    rename(loop.loop);
    for (plan::Slot& slot : loop.slots) rename(slot.stmt);
    for (plan::Token& token : loop.tokens) {
      rename(token.from);
      rename(token.to);
    }
  }
  return schedule;
}

}  // namespace plait::pipeline
