#include <fmt/format.h>

#include <cmath>
#include <map>

#include "graph/graph.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::graph {

using namespace ir;

namespace {

/// What the text form writes as `clear`.
bool is_clear(const TileOp& op) {
  const auto* fill = std::get_if<FillAttrs>(&op.attrs);
  if (fill == nullptr) return false;
  const auto* real = std::get_if<FloatLit>(&fill->value->node);
  const auto* whole = std::get_if<IntLit>(&fill->value->node);
  return (real != nullptr && real->value == 0 && !std::signbit(real->value)) || (whole != nullptr && whole->value == 0);
}

std::string loop_kind(const For& loop) {
  if (loop.kind == LoopKind::pipelined) return loop.axes.front().var->name;
  return loop.kind == LoopKind::parallel ? "each" : "for";
}

std::string_view atomic_kind(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return "atomic_add";
    case AtomicOp::max:
      return "atomic_max";
    case AtomicOp::min:
      return "atomic_min";
  }
  return "";
}

std::string kind_of(const Stmt& stmt) {
  using Text = std::string;
  return std::visit(Overload{
                        [](const For& n) { return loop_kind(n); },
                        [](const While&) { return Text("while"); },
                        [](const If&) { return Text("if"); },
                        [](const Let&) { return Text("let"); },
                        [](const Alloc&) { return Text("alloc"); },
                        [](const Store&) { return Text("store"); },
                        [](const AtomicElement& n) { return Text(atomic_kind(n.op)); },
                        [](const TileOp& n) { return is_clear(n) ? Text("clear") : Text(op_info(n.kind).name); },
                        [](const Assert&) { return Text("assert"); },
                        [](const Print&) { return Text("print"); },
                        [](const Break&) { return Text("break"); },
                        [](const Continue&) { return Text("continue"); },
                        [](const Task&) { return Text("task"); },
                    },
                    stmt.node);
}

}  // namespace

std::string text_of(const StmtName& name) {
  std::string out = fmt::format("{}@{}", name.kind, name.line);
  return name.nth == 1 ? out : fmt::format("{}#{}", out, name.nth);
}

Names name_statements(const Body& body) {
  Names names;
  std::map<std::pair<std::string, int>, int> seen;
  walk(body, [&](const Stmt& stmt) {
    StmtName name{kind_of(stmt), stmt.loc.line, 1};
    name.nth = ++seen[{name.kind, name.line}];
    names.emplace(&stmt, std::move(name));
  });
  return names;
}

Names name_statements(const Kernel& kernel) { return name_statements(kernel.body); }

}  // namespace plait::graph
