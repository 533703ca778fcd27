#include "npu/homes.h"

#include "ir/visit.h"

namespace plait::npu {

using namespace ir;
using machine::MemoryKind;
using machine::UnitKind;

Homes::Homes(const Body& body) {
  walk(body, [&](const Stmt& stmt) { add(stmt); });
}

Homes::Homes(const graph::TaskGraph& graph) {
  for (const graph::Node& node : graph.nodes) walk(Body{node.stmt}, [&](const Stmt& stmt) { add(stmt); });
}

void Homes::add(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr || op->kind != OpKind::gemm) return;
  factors_.insert(op->operands[0].buffer.get());
  factors_.insert(op->operands[1].buffer.get());
  results_.insert(op->operands[2].buffer.get());
}

MemoryKind Homes::of(const Buffer& buffer) const {
  if (buffer->scope == Scope::global) return MemoryKind::global;
  if (results_.contains(buffer.get())) return MemoryKind::l0c;
  return factors_.contains(buffer.get()) ? MemoryKind::l1 : MemoryKind::ub;
}

Core core_of(const Stmt& stmt, const Homes& homes) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) return Core::vector;
  if (op->kind == OpKind::gemm) return Core::cube;
  if (op->kind == OpKind::fill) return homes.of(op->operands[0].buffer) == MemoryKind::ub ? Core::vector : Core::cube;
  if (op->kind != OpKind::copy) return Core::vector;
  MemoryKind from = homes.of(op->operands[0].buffer), to = homes.of(op->operands[1].buffer);
  bool brings = from == MemoryKind::global && to == MemoryKind::l1;
  return brings || from == MemoryKind::l0c || from == MemoryKind::l1 ? Core::cube : Core::vector;
}

UnitKind unit_of(const Stmt& stmt, const Homes& homes) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  if (op == nullptr) {
    bool scalar = std::holds_alternative<Let>(stmt.node);
    return scalar ? UnitKind::scalar : UnitKind::vector;
  }
  if (op->kind == OpKind::gemm) return UnitKind::cube;
  MemoryKind to = homes.of(op->operands[op->kind == OpKind::copy ? 1 : 0].buffer);
  if (op->kind == OpKind::fill && to == MemoryKind::l0c) return UnitKind::cube;
  if (op->kind == OpKind::fill && to == MemoryKind::l1) return UnitKind::mte2;
  if (op->kind != OpKind::copy) return UnitKind::vector;
  MemoryKind from = homes.of(op->operands[0].buffer);
  if (from == MemoryKind::l0c) return UnitKind::fixpipe;
  if (from == MemoryKind::global) return to == MemoryKind::l1 ? UnitKind::mte2 : UnitKind::aiv_mte2;
  return to == MemoryKind::ub ? UnitKind::vector : UnitKind::mte3;
}

}  // namespace plait::npu
