#include "graph/graph.h"

#include <fmt/format.h>

#include "graph/regions.h"
#include "lang/suggest.h"
#include "session.h"

namespace plait::cli {
namespace {

struct GraphOptions {
  ProgramOptions program;
  std::string loop;
  bool dot = false, regions = false;
};

std::string_view name_of(analysis::DependenceKind kind) {
  switch (kind) {
    case analysis::DependenceKind::flow:
      return "flow";
    case analysis::DependenceKind::anti:
      return "anti";
    case analysis::DependenceKind::output:
      return "output";
  }
  return "";
}

void set_count(Report& report, std::string_view key, std::optional<std::int64_t> count) {
  if (count) report.set(key, *count);
}

Report node_report(const graph::Node& node) {
  Report report;
  report.set("name", graph::text_of(node.name));
  report.set("line", static_cast<std::int64_t>(node.loc().line));
  report.set("unit", node.unit == ir::Unit::dma ? "dma" : node.unit == ir::Unit::matrix ? "matrix" : "vector");
  report.set("async", node.async);
  set_count(report, "bytes", node.bytes);
  set_count(report, "flop", node.flop);
  set_count(report, "latency", node.latency);
  set_count(report, "ii", node.ii);
  for (const auto& [key, uses] : {std::pair("reads", &node.reads), std::pair("writes", &node.writes)}) {
    std::vector<std::string> names;
    for (const graph::Use& use : *uses) names.push_back(use.buffer->name);
    report.set(key, names);
  }
  return report;
}

Report graph_report(const graph::TaskGraph& graph) {
  Report report;
  report.set("loop", graph::text_of(graph.loop));
  std::vector<Report> nodes, edges;
  for (const graph::Node& node : graph.nodes) nodes.push_back(node_report(node));
  for (const graph::Edge& edge : graph.edges) {
    Report e;
    e.set("kind", std::string(name_of(edge.kind)));
    e.set("from", graph::text_of(graph.nodes[edge.from].name));
    e.set("to", graph::text_of(graph.nodes[edge.to].name));
    e.set("of", edge.buffer != nullptr ? edge.buffer->name : edge.var->name);
    set_count(e, "distance", edge.distance);
    e.set("exact", edge.exact);
    edges.push_back(std::move(e));
  }
  report.set("nodes", nodes);
  report.set("edges", edges);
  return report;
}

/// What a schedule may put in another order outside of the loops.
void show_regions(const ir::Kernel& kernel, Outcome& outcome) {
  std::vector<Report> list;
  for (const graph::StraightRegion& region : graph::regions_of(kernel)) {
    outcome.text += graph::text_of(region);
    Report one;
    std::vector<std::string> names;
    for (const graph::StmtName& name : region.names) names.push_back(graph::text_of(name));
    std::vector<Report> waits;
    for (const graph::StraightRegion::Wait& wait : region.waits) {
      Report w;
      w.set("from", names[wait.from]);
      w.set("to", names[wait.to]);
      w.set("why", wait.why);
      waits.push_back(std::move(w));
    }
    one.set("region", graph::text_of(region.name));
    one.set("tasks", names);
    one.set("waits", waits);
    list.push_back(std::move(one));
  }
  outcome.report.set("regions", list);
}

Outcome show(const GraphOptions& options) {
  refuse_roles(options.program, "graph");
  lang::Bindings bindings = parse_assignments(options.program.bindings, "-D");
  auto session = load_kernel(options.program.path, options.program.kernel, bindings);
  if (!session) return failed(session.diagnostics());
  std::vector<graph::TaskGraph> graphs = graph::build(session->kernel);
  std::vector<std::string> names;
  std::vector<Report> reports;
  Outcome outcome;
  for (const graph::TaskGraph& graph : graphs) {
    names.push_back(graph::text_of(graph.loop));
    if (!options.loop.empty() && names.back() != options.loop) continue;
    outcome.text += options.dot ? graph::graphviz(graph) : graph::text_of(graph);
    reports.push_back(graph_report(graph));
  }
  if (!options.loop.empty() && reports.empty()) {
    throw UsageError{fmt::format("--loop: there is no pipelined loop '{}'; the kernel has {}", options.loop,
                                 lang::quoted_list(names))};
  }
  if (graphs.empty()) outcome.remarks = fmt::format("note: {} has no pipelined loop\n", session->kernel_name);
  outcome.report.set("kernel", session->kernel_name);
  outcome.report.set("loops", reports);
  if (options.regions) show_regions(session->kernel, outcome);
  return outcome;
}

}  // namespace

void add_graph(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "graph", "Show the tasks of each pipelined loop and what they wait for");
  auto options = std::make_shared<GraphOptions>();
  add_program_options(sub, command, options->program, true, "tile program");
  sub.add("--loop", options->loop, "one loop alone, by its variable and line, e.g. k@11");
  sub.flag("--dot", options->dot, "for Graphviz");
  sub.flag("--regions", options->regions,
           "also the statements outside of these loops, which a schedule may put in another order");
  sub.chosen([options, &command] { command.action = [options] { return show(*options); }; });
}

}  // namespace plait::cli
