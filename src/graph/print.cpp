#include <fmt/format.h>

#include "graph/graph.h"
#include "support/result.h"

namespace plait::graph {

using namespace ir;
using analysis::DependenceKind;

namespace {

std::string_view name_of(Unit unit) {
  switch (unit) {
    case Unit::dma:
      return "dma";
    case Unit::matrix:
      return "matrix";
    case Unit::vector:
      return "vector";
  }
  return "";
}

std::string_view name_of(DependenceKind kind) {
  switch (kind) {
    case DependenceKind::flow:
      return "flow";
    case DependenceKind::anti:
      return "anti";
    case DependenceKind::output:
      return "output";
  }
  return "";
}

/// `1`, `0 or more`, `any`
std::string distance_text(const Edge& edge) {
  if (!edge.distance) return "any";
  return edge.exact ? fmt::format("{}", *edge.distance) : fmt::format("{} or more", *edge.distance);
}

std::string what_text(const Edge& edge) { return edge.buffer != nullptr ? edge.buffer->name : edge.var->name; }

std::string use_text(const Use& use) {
  std::string out;
  for (const Range& range : use.ranges) {
    std::string begin = print(*range.begin), extent = print(*range.extent);
    out += fmt::format("{}{} +{}", out.empty() ? "" : ", ", begin, extent);
  }
  return out.empty() ? use.buffer->name : fmt::format("{}[{}]", use.buffer->name, out);
}

std::string uses_text(std::string_view verb, const std::vector<Use>& uses) {
  std::string out;
  for (const Use& use : uses) out += (out.empty() ? "" : ", ") + use_text(use);
  return out.empty() ? out : fmt::format("    {} {}\n", verb, out);
}

std::string count_text(std::optional<std::int64_t> count, std::string_view unit) {
  if (count == 0) return "";
  return count ? fmt::format(", {} {}", *count, unit) : fmt::format(", ? {}", unit);
}

std::string guards_text(const Node& node) {
  std::string out;
  for (const Around& around : node.around) {
    if (around.let != nullptr) continue;
    out += fmt::format("    if {}{}\n", around.holds ? "" : "not ", print(*around.cond));
  }
  return out;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string text_of(const TaskGraph& graph) {
  std::string out = fmt::format("loop {}\n", text_of(graph.loop));
  for (const Node& node : graph.nodes) {
    out += fmt::format("  {}: {}{}{}{}\n", text_of(node.name), name_of(node.unit), node.async ? ", async" : "",
                       count_text(node.bytes, "bytes"), count_text(node.flop, "flop"));
    if (node.latency) out += fmt::format("    latency {}\n", *node.latency);
    if (node.ii) out += fmt::format("    ii {}\n", *node.ii);
    out += guards_text(node) + uses_text("reads", node.reads) + uses_text("writes", node.writes);
  }
  for (const Edge& edge : graph.edges) {
    out += fmt::format("  {} -> {}: {} {}, distance {}\n", text_of(graph.nodes[edge.from].name),
                       text_of(graph.nodes[edge.to].name), name_of(edge.kind), what_text(edge), distance_text(edge));
  }
  return out;
}

std::string graphviz(const TaskGraph& graph) {
  std::string out =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=monospace];\n", escaped(text_of(graph.loop)));
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    std::string_view colour = node.unit == Unit::dma ? "#dbe9f6" : node.unit == Unit::matrix ? "#fde3c8" : "#e3f2dd";
    out +=
        fmt::format("  n{} [label=\"{}\\n{}{}{}\", style=filled, fillcolor=\"{}\"];\n", i, escaped(text_of(node.name)),
                    name_of(node.unit), count_text(node.bytes, "B"), count_text(node.flop, "flop"), colour);
  }
  for (const Edge& edge : graph.edges) {
    std::string_view style = edge.kind == DependenceKind::flow ? "solid" : "dashed";
    std::string_view colour = edge.carried() ? "#b03a2e" : "#2c3e50";
    out += fmt::format("  n{} -> n{} [label=\"{} {}\", style={}, color=\"{}\"];\n", edge.from, edge.to,
                       escaped(what_text(edge)), distance_text(edge), style, colour);
  }
  return out + "}\n";
}

}  // namespace plait::graph
