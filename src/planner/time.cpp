#include "planner/time.h"

#include <algorithm>
#include <cmath>

#include "explain/explain.h"
#include "pipeline/touched.h"
#include "runtime/eval.h"

namespace plait::planner {
namespace {

using runtime::Env;

std::optional<std::int64_t> value_of(const ir::ExprRef& expr, const Env& env) {
  runtime::Evaluated found = runtime::evaluate(*expr, env);
  return found.value ? std::optional(found.value->i) : std::nullopt;
}

/// Iterations of each pipelined loop, in the first and the last tile.
class Iterations {
 public:
  explicit Iterations(Env env) : env_(std::move(env)) {}

  std::optional<std::map<const ir::Stmt*, double>> run(const ir::Body& body) {
    visit(body);
    return known_ ? std::optional(found_) : std::nullopt;
  }

 private:
  void visit(const ir::Body& body) {
    for (const ir::StmtRef& stmt : body) {
      if (const auto* let = std::get_if<ir::Let>(&stmt->node)) {
        runtime::Evaluated value = runtime::evaluate(*let->value, env_);
        if (value.value) env_[let->var.get()] = *value.value;
      }
      const auto* loop = std::get_if<ir::For>(&stmt->node);
      if (loop != nullptr && loop->kind == ir::LoopKind::pipelined) {
        auto begin = value_of(loop->axes.front().begin, env_), end = value_of(loop->axes.front().end, env_);
        known_ = known_ && begin && end;
        if (known_) found_[stmt.get()] = static_cast<double>(std::max<std::int64_t>(*end - *begin, 0));
        continue;
      }
      pipeline::for_each_body_of(*stmt, [&](const ir::Body& inner) { visit(inner); });
    }
  }

  Env env_;
  bool known_ = true;
  std::map<const ir::Stmt*, double> found_;
};

std::optional<double> tensor_bytes(const ir::Kernel& kernel, const Env& env) {
  double bytes = 0;
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    double size = ir::dtype_bits(param.buffer->type) / 8.0;
    for (const ir::ExprRef& extent : param.buffer->shape) {
      auto value = value_of(extent, env);
      if (!value) return std::nullopt;
      size *= static_cast<double>(*value);
    }
    bytes += size;
  }
  return bytes;
}

}  // namespace

std::optional<double> predicted_cycles(const ir::Kernel& kernel, const machine::Device& device, const Planned& planned,
                                       const std::map<std::string, std::int64_t>& dims) {
  if (planned.candidates.empty() || !planned.candidates.front().predicted || *planned.candidates.front().predicted <= 0)
    return std::nullopt;
  Env first;
  for (const ir::Var& dim : kernel.dims) {
    auto known = dims.find(dim->name);
    if (known == dims.end()) return std::nullopt;
    first[dim.get()] = runtime::int_value(known->second);
  }
  auto bytes = tensor_bytes(kernel, first);
  Env last = first;
  double tiles = 1;
  for (const ir::GridAxis& axis : kernel.grid) {
    auto extent = value_of(axis.extent, first);
    if (!extent) return std::nullopt;
    tiles *= static_cast<double>(*extent);
    first[axis.var.get()] = runtime::int_value(0);
    last[axis.var.get()] = runtime::int_value(std::max<std::int64_t>(*extent - 1, 0));
  }
  auto of_first = Iterations(first).run(kernel.body), of_last = Iterations(last).run(kernel.body);
  if (!bytes || !of_first || !of_last) return std::nullopt;
  sim::Costs costs = sim::costs_of(device);
  double unit = 0, l2 = 0;
  graph::Names names = graph::name_statements(kernel);
  for (const explain::Loop& loop :
       explain::explain_loops(planned.derived.program, costs, graph::build(kernel), planned.derived.schedule)) {
    for (const auto& [stmt, trips] : *of_first) {
      if (graph::text_of(names.at(stmt)) != loop.name) continue;
      double mean = (trips + of_last->at(stmt)) / 2;
      unit += loop.busy.of(planned.compared) * mean;
      l2 += loop.busy.l2_share * mean;
    }
  }
  const double together = planned.derived.schedule.place.work.occupancy;
  double tile = std::max(unit / *planned.candidates.front().predicted, l2);
  double rounds = std::ceil(tiles / (costs.sms * together)) * together;
  return std::max(rounds * tile, *bytes / costs.memory_bytes);
}

}  // namespace plait::planner
