#include "npu/costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/expr_util.h"
#include "graph/work.h"
#include "ir/visit.h"

namespace plait::npu {

using namespace ir;
using machine::Device;
using machine::MemoryKind;
using machine::Transfer;
using machine::UnitKind;
using plan::TaskCost;

namespace {

constexpr std::int64_t kLeastSlice = 16;  // elements of K that one step of the cube unit takes

std::int64_t round_up(double cycles) { return static_cast<std::int64_t>(std::ceil(cycles - 1e-9)); }

std::int64_t bits_to_bytes(std::int64_t elements, DType type) { return (elements * dtype_bits(type) + 7) / 8; }

/// Elements of a region; of the whole buffer where its extents are no literals.
std::int64_t elements_of(const Region& region) {
  std::int64_t count = 1;
  bool known = true;
  for (const Range& range : region.ranges) {
    auto extent = analysis::small_literal(range.extent);
    known = known && extent;
    count *= extent.value_or(1);
  }
  if (known || region.buffer->scope == Scope::global) return count;
  count = 1;
  for (std::int64_t extent : static_shape(*region.buffer)) count *= extent;
  return count;
}

void merge(TaskCost& into, const TaskCost& more, std::int64_t times = 1) {
  for (const auto& [unit, cycles] : more.busy) into.busy[unit] += times * cycles;
  into.latency += times * more.latency;
  if (into.source.empty()) into.source = more.source;
}

std::string source_of(const Device& device, const machine::Figure& figure, std::string_view function) {
  return figure.measured() ? figure.source : fmt::format("modelled: {} of {}", function, device.name);
}

/// The cost functions of one model.
class Model {
 public:
  Model(const Homes& homes, const Device& device, int cores) : homes_(homes), device_(device), cores_(cores) {}

  TaskCost of(const Stmt& stmt) {
    return std::visit(
        Overload{[&](const TileOp& op) { return operation(stmt, op); }, [&](const For& loop) { return of(stmt, loop); },
                 [&](const If& node) {
                   TaskCost then = body(node.then_body), otherwise = body(node.else_body);
                   return then.latency >= otherwise.latency ? then : otherwise;
                 },
                 [&](const Task& task) { return overruled(body(task.body), task.latency, task.ii); },
                 [&](const While& loop) { return body(loop.body); }, [&](const Store&) { return vector(stmt); },
                 [&](const AtomicElement&) { return vector(stmt); }, [&](const Let&) { return scalar(); },
                 [](const auto&) { return TaskCost{}; }},
        stmt.node);
  }

  Diagnostics diagnostics;

 private:
  TaskCost of(const Stmt& stmt, const For& loop) {
    if (loop.kind == LoopKind::parallel) return vector(stmt);
    const LoopAxis& axis = loop.axes.front();
    auto begin = analysis::small_literal(axis.begin), end = analysis::small_literal(axis.end),
         step = analysis::small_literal(axis.step);
    std::int64_t trips = begin && end && step && *step > 0 ? (*end - *begin + *step - 1) / *step : 1;
    TaskCost cost;
    merge(cost, body(loop.body), std::max<std::int64_t>(trips, 0));
    return cost;
  }

  TaskCost body(const Body& body) {
    TaskCost cost;
    for (const StmtRef& stmt : body) merge(cost, of(*stmt));
    return cost;
  }

  TaskCost operation(const Stmt& stmt, const TileOp& op) {
    if (op.kind == OpKind::gemm) return product(stmt, op);
    if (op.kind == OpKind::fill) return fill(stmt, op);
    if (op.kind != OpKind::copy) return vector(stmt);
    MemoryKind from = homes_.of(op.operands[0].buffer), to = homes_.of(op.operands[1].buffer);
    if (from == MemoryKind::ub && to == MemoryKind::ub) return vector(stmt);
    bool shared = from == MemoryKind::ub || to == MemoryKind::ub;
    return route(stmt, from, to, copied_bytes(op, shared ? cores_ : 1));
  }

  /// Directly, or by way of global memory.
  TaskCost route(const Stmt& stmt, MemoryKind from, MemoryKind to, std::int64_t bytes) {
    if (const Transfer* direct = device_.transfer(from, to)) return cost_of_transfer(*direct, bytes);
    const Transfer *out = device_.transfer(from, MemoryKind::global), *in = device_.transfer(MemoryKind::global, to);
    if (out == nullptr || in == nullptr) {
      diagnostics.error(Rule::place_operation, stmt.loc,
                        fmt::format("nothing of {} moves data from {} to {}", device_.name, machine::name_of(from),
                                    machine::name_of(to)),
                        "go by way of a tile that `parallel` code uses");
      return {};
    }
    TaskCost cost = cost_of_transfer(*out, bytes);
    merge(cost, cost_of_transfer(*in, bytes));
    return cost;
  }

  /// Results are cleared by their first product; tiles in L1 are written as by a transfer that waits for nothing.
  TaskCost fill(const Stmt& stmt, const TileOp& op) {
    MemoryKind to = homes_.of(op.operands[0].buffer);
    if (to == MemoryKind::ub) return vector(stmt);
    TaskCost cost;
    cost.latency = 1;
    if (to == MemoryKind::l1) {
      const Transfer& by = *device_.transfer(MemoryKind::global, MemoryKind::l1);
      cost.latency = std::max<std::int64_t>(
          round_up(static_cast<double>(bits_to_bytes(elements_of(op.operands[0]), op.operands[0].buffer->type)) /
                   by.bandwidth.value),
          1);
    }
    cost.busy[to == MemoryKind::l1 ? UnitKind::mte2 : UnitKind::cube] = cost.latency;
    cost.source = fmt::format("modelled: fill of {}", machine::name_of(to));
    return cost;
  }

  TaskCost product(const Stmt& stmt, const TileOp& op) {
    const GemmAttrs& attrs = std::get<GemmAttrs>(op.attrs);
    const Region &a = op.operands[0], &c = op.operands[2];
    DType type = a.buffer->type;
    auto rate = device_.rate(UnitKind::cube, type);
    std::int64_t slice = slice_of(op, device_);
    if (!rate) {
      diagnostics.error(Rule::place_product, stmt.loc,
                        fmt::format("the cube unit of {} multiplies no {}", device_.name, dtype_name(type)),
                        "convert the operands to a type that `plait devices` lists for it");
      return {};
    }
    if (slice == 0) {
      diagnostics.error(
          Rule::place_product, stmt.loc,
          fmt::format("two slices of {} of K do not fit in L0A and L0B of {}", kLeastSlice, device_.name));
      return {};
    }
    std::int64_t mn = elements_of(c);
    std::int64_t k = analysis::small_literal(a.ranges[a.ranges.size() - (attrs.trans_a ? 2 : 1)].extent).value_or(1);
    std::int64_t busy = std::max<std::int64_t>(round_up(static_cast<double>(mn) * static_cast<double>(k) / *rate), 1);
    TaskCost cost;
    cost.busy[UnitKind::cube] = busy;
    std::int64_t brought = bring(op, slice, k);
    cost.busy[UnitKind::mte1] = brought;
    cost.latency = device_.cube_cost->latency.integer() + std::max(busy, brought);
    cost.source = source_of(device_, device_.cube_cost->latency, "product");
    return cost;
  }

  /// Cycles in which both operands are brought to L0, slice after slice, while the cube unit works on those before.
  std::int64_t bring(const TileOp& op, std::int64_t slice, std::int64_t k) const {
    std::int64_t cycles = 0;
    for (std::size_t side = 0; side < 2; ++side) {
      const Region& region = op.operands[side];
      const Transfer& by = *device_.transfer(MemoryKind::l1, side == 0 ? MemoryKind::l0a : MemoryKind::l0b);
      std::int64_t rows = elements_of(region) / std::max<std::int64_t>(k, 1);
      for (std::int64_t done = 0; done < k; done += slice) {
        std::int64_t bytes = bits_to_bytes(rows * std::min(slice, k - done), region.buffer->type);
        cycles += std::max(round_up(static_cast<double>(bytes) / by.bandwidth.value), by.interval.integer());
      }
    }
    return cycles;
  }

  TaskCost scalar() const {
    TaskCost cost;
    cost.latency = 1;
    cost.busy[UnitKind::scalar] = 1;
    cost.source = "modelled: one instruction of the scalar unit";
    return cost;
  }

  /// Element work: instructions on whole vectors, or the bytes that it touches.
  TaskCost vector(const Stmt& stmt) {
    const machine::VectorCost& by = *device_.vector_cost;
    Footprint touched = footprint(stmt);
    std::int64_t flop = graph::work_of(stmt).flop.value_or(0);
    double share = cores_;
    double instructions = std::ceil(static_cast<double>(flop * touched.element) / by.width.value / share);
    std::int64_t moving = round_up(static_cast<double>(touched.bytes) / by.bandwidth.value / share);
    TaskCost cost;
    cost.latency = std::max({static_cast<std::int64_t>(instructions), moving, std::int64_t{1}});
    cost.busy[UnitKind::vector] =
        std::max<std::int64_t>(round_up(static_cast<double>(cost.latency) / by.overlap.value), 1);
    cost.source = source_of(device_, by.bandwidth, "element work");
    if (touched.global == 0) return cost;
    const Transfer& in = *device_.transfer(MemoryKind::global, MemoryKind::ub);
    merge(cost, cost_of_transfer(in, touched.global / cores_));
    return cost;
  }

  struct Footprint {
    std::int64_t bytes = 0, global = 0;  ///< on chip; read from and written to tensors by elements
    std::int64_t element = 1;            ///< bytes of the widest
  };
  /// Each buffer on chip counts once, as a whole.
  static Footprint footprint(const Stmt& stmt) {
    Footprint out;
    std::set<const BufferDecl*> seen;
    auto add = [&](const Buffer& buffer) {
      out.element = std::max<std::int64_t>(out.element, dtype_bits(buffer->type) / 8);
      if (buffer->scope == Scope::global || !seen.insert(buffer.get()).second) return;
      std::int64_t count = 1;
      for (std::int64_t extent : static_shape(*buffer)) count *= extent;
      out.bytes += bits_to_bytes(count, buffer->type);
    };
    walk(Body{std::make_shared<const Stmt>(stmt)}, [&](const Stmt& inner) {
      if (const auto* op = std::get_if<TileOp>(&inner.node)) {
        for (const Region& region : op->operands) add(region.buffer);
      }
      if (const auto* store = std::get_if<Store>(&inner.node)) add(store->buffer);
      if (const auto* atomic = std::get_if<AtomicElement>(&inner.node)) add(atomic->buffer);
      for_each_expr(inner, [&](const ExprRef& root) {
        walk(root, [&](const Expr& e) {
          if (const auto* load = std::get_if<Load>(&e.node)) add(load->buffer);
        });
      });
    });
    out.global = graph::work_of(stmt).bytes.value_or(0);
    return out;
  }

  const Homes& homes_;
  const Device& device_;
  int cores_;
};

}  // namespace

std::int64_t copied_bytes(const TileOp& op, int cores) {
  std::int64_t count = 1;
  for (const Region& side : op.operands) count = std::max(count, elements_of(side));
  std::int64_t bytes = 0;
  for (const Region& side : op.operands) bytes = std::max(bytes, bits_to_bytes(count, side.buffer->type));
  return (bytes + cores - 1) / cores;
}

TaskCost cost_of_transfer(const Transfer& by, std::int64_t bytes) {
  TaskCost cost;
  std::int64_t moving = round_up(static_cast<double>(bytes) / by.bandwidth.value);
  cost.latency = by.latency.integer() + moving;
  cost.busy[by.unit] = std::max({moving, by.interval.integer(), std::int64_t{1}});
  cost.source = by.latency.measured()
                    ? by.latency.source
                    : fmt::format("modelled: {} to {}", machine::name_of(by.from), machine::name_of(by.to));
  return cost;
}

TaskCost overruled(TaskCost cost, std::optional<std::int64_t> latency, std::optional<std::int64_t> ii) {
  if (!latency && !ii) return cost;
  cost.latency = latency.value_or(std::max(cost.latency, ii.value_or(0)));
  for (auto& [unit, cycles] : cost.busy) cycles = ii.value_or(cost.latency);
  cost.source = "author";
  return cost;
}

std::int64_t slice_of(const TileOp& product, const Device& device) {
  const GemmAttrs& attrs = std::get<GemmAttrs>(product.attrs);
  const Region& a = product.operands[0];
  std::int64_t k = analysis::small_literal(a.ranges[a.ranges.size() - (attrs.trans_a ? 2 : 1)].extent).value_or(1);
  std::int64_t slice = std::min(device.cube_cost->slice.integer(), std::max<std::int64_t>(k, 1));
  auto fits = [&](std::size_t side, MemoryKind memory) {
    const Region& region = product.operands[side];
    std::int64_t rows = elements_of(region) / std::max<std::int64_t>(k, 1);
    return 2 * bits_to_bytes(rows * slice, region.buffer->type) <= device.memory(memory)->capacity.integer();
  };
  while (slice > 0 && !(fits(0, MemoryKind::l0a) && fits(1, MemoryKind::l0b)))
    slice = slice > kLeastSlice ? std::max(slice / 2, kLeastSlice) : 0;
  return slice;
}

Result<TaskCost> cost_of(const Stmt& stmt, const Homes& homes, const Device& device, int cores) {
  Model model(homes, device, cores);
  TaskCost cost = model.of(stmt);
  if (model.diagnostics.has_errors()) return model.diagnostics;
  return cost;
}

Result<TaskCost> cost_of(const graph::Node& node, const Homes& homes, const Device& device, int cores) {
  auto cost = cost_of(*node.stmt, homes, device, cores);
  if (!cost) return cost;
  return overruled(std::move(*cost), node.latency, node.ii);
}

Result<std::vector<TaskCost>> costs_of(const graph::TaskGraph& graph, const Device& device) {
  Homes homes(graph);
  Diagnostics found;
  std::vector<TaskCost> costs;
  for (const graph::Node& node : graph.nodes) {
    auto cost = cost_of(node, homes, device);
    if (!cost) found.append(cost.diagnostics());
    if (cost) costs.push_back(std::move(*cost));
  }
  if (found.has_errors()) return found;
  return costs;
}

}  // namespace plait::npu
