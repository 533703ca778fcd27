#include "planner/time.h"

#include <algorithm>
#include <cmath>

#include "explain/busy.h"
#include "explain/explain.h"
#include "explain/npu.h"
#include "pipeline/touched.h"
#include "runtime/eval.h"

namespace plait::planner {
namespace {

using runtime::Env;

std::optional<std::int64_t> value_of(const ir::ExprRef& expr, const Env& env) {
  runtime::Evaluated found = runtime::evaluate(*expr, env);
  return found.value ? std::optional(found.value->i) : std::nullopt;
}

std::optional<Env> env_of(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  Env env;
  for (const ir::Var& dim : kernel.dims) {
    auto known = dims.find(dim->name);
    if (known == dims.end()) return std::nullopt;
    env[dim.get()] = runtime::int_value(known->second);
  }
  return env;
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

/// What an iteration takes, by loop: of the unit by which plans are compared, and of L2.
struct Load {
  double unit = 0, l2 = 0;
};

std::optional<double> cycles_of(const ir::Kernel& kernel, const machine::Device& device, const Planning& planned,
                                const std::map<std::string, Load>& loads, double together,
                                const std::map<std::string, std::int64_t>& dims) {
  if (planned.candidates.empty() || !planned.candidates.front().predicted || *planned.candidates.front().predicted <= 0)
    return std::nullopt;
  auto called = env_of(kernel, dims);
  auto tiles = tiles_of(kernel, dims);
  if (!called || !tiles) return std::nullopt;
  auto bytes = tensor_bytes(kernel, *called);
  Env first = *called, last = *called;
  for (const ir::GridAxis& axis : kernel.grid) {
    std::int64_t extent = value_of(axis.extent, *called).value_or(1);
    first[axis.var.get()] = runtime::int_value(0);
    last[axis.var.get()] = runtime::int_value(std::max<std::int64_t>(extent - 1, 0));
  }
  auto of_first = Iterations(first).run(kernel.body), of_last = Iterations(last).run(kernel.body);
  if (!bytes || !of_first || !of_last) return std::nullopt;
  double unit = 0, l2 = 0;
  graph::Names names = graph::name_statements(kernel);
  for (const auto& [stmt, trips] : *of_first) {
    auto load = loads.find(graph::text_of(names.at(stmt)));
    if (load == loads.end()) continue;
    double mean = (trips + of_last->at(stmt)) / 2;
    unit += load->second.unit * mean;
    l2 += load->second.l2 * mean;
  }
  sim::Costs costs = sim::costs_of(device);
  double tile = std::max(unit / *planned.candidates.front().predicted, l2);
  double rounds = std::ceil(static_cast<double>(*tiles) / (costs.sms * together)) * together;
  return std::max(rounds * tile, *bytes / costs.memory_bytes);
}

}  // namespace

std::optional<std::int64_t> tiles_of(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  auto env = env_of(kernel, dims);
  std::optional<std::int64_t> tiles;
  if (env) tiles = 1;
  for (const ir::GridAxis& axis : kernel.grid) {
    auto extent = tiles ? value_of(axis.extent, *env) : std::nullopt;
    tiles = extent ? std::optional(*tiles * *extent) : std::nullopt;
  }
  return tiles;
}

std::optional<double> predicted_cycles(const ir::Kernel& kernel, const machine::Device& device, const Planned& planned,
                                       const std::map<std::string, std::int64_t>& dims) {
  std::map<std::string, Load> loads;
  for (const explain::Loop& loop : explain::explain_loops(planned.derived.program, sim::costs_of(device),
                                                          graph::build(kernel), planned.derived.schedule))
    loads[loop.name] = {loop.busy.of(planned.compared), loop.busy.l2_share};
  return cycles_of(kernel, device, planned, loads, planned.derived.schedule.place.work.occupancy, dims);
}

std::optional<double> predicted_cycles(const machine::Device& device, const NpuPlanned& planned,
                                       const std::map<std::string, std::int64_t>& dims) {
  std::map<std::string, Load> loads;
  for (const explain::NpuLoop& loop : explain::explain(planned.derived, device).loops) {
    for (const auto& [unit, cycles] : loop.busy) {
      if (machine::name_of(unit) == explain::unit_name(planned.compared))
        loads[loop.name] = {static_cast<double>(cycles), 0};
    }
  }
  return cycles_of(planned.derived.kernel, device, planned, loads, 1, dims);
}

}  // namespace plait::planner
