#include "pipeline/instructions.h"

#include "ir/visit.h"

namespace plait::pipeline {

using namespace ir;
using plan::Instruction;

namespace {

plan::Atom product(const TileOp& op, const place::GemmAtom& gemm) {
  plan::Atom atom;
  atom.instruction = gemm.by_warps ? Instruction::mma : Instruction::wgmma;
  atom.m = gemm.by_warps ? 16 : static_cast<int>(place::kWarpgroupRows);
  atom.n = gemm.by_warps ? 8 : static_cast<int>(static_shape(*op.operands[2].buffer).back());
  atom.k = static_cast<int>(place::kDepthBytes * 8 / dtype_bits(op.operands[0].buffer->type));
  atom.a = gemm.a_in_registers ? plan::Operand::registers : plan::Operand::shared;
  return atom;
}

Instruction of_copy(place::CopyWay way) {
  switch (way) {
    case place::CopyWay::tma_load:
    case place::CopyWay::tma_store:
    case place::CopyWay::staged_store:
      return Instruction::tma;
    case place::CopyWay::cp_async_load:
    case place::CopyWay::gather_load:
      return Instruction::cp_async;
    case place::CopyWay::load_fragment:
    case place::CopyWay::store_fragment:
      return Instruction::vector;
    case place::CopyWay::staged_elements:
    case place::CopyWay::staged_rows:
    case place::CopyWay::load_elements:
    case place::CopyWay::move_fragment:
      return Instruction::scalar;
  }
  return Instruction::scalar;
}

}  // namespace

std::vector<plan::Atom> instructions_of(const place::Placed& placed) {
  const graph::Names names = graph::name_statements(placed.kernel);
  std::vector<plan::Atom> list;
  walk(placed.kernel.body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    auto found = placed.atoms.find(&stmt);
    bool named = op != nullptr && (op->kind == OpKind::gemm || op->kind == OpKind::copy);
    if (!named || found == placed.atoms.end()) return;
    plan::Atom made;
    made.instruction = op->kind == OpKind::gemm ? Instruction::fma : Instruction::scalar;
    if (const auto* gemm = std::get_if<place::GemmAtom>(&found->second)) made = product(*op, *gemm);
    if (const auto* copy = std::get_if<place::CopyAtom>(&found->second)) made.instruction = of_copy(copy->way);
    made.stmt = names.at(&stmt);
    list.push_back(std::move(made));
  });
  return list;
}

}  // namespace plait::pipeline
