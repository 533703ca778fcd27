#include "ir/build.h"
#include "pipeline/lowering.h"

// Products by mma.sync, in the layout of wgmma: each warp its 16 of 64 rows of the accumulator.
namespace plait::pipeline {

using namespace ir;
using roles::FragmentKind;
using roles::build::at;

/// For each step of k the operands go to registers, B once for all rows of the replica.
void Lowering::warp_product(const Stmt& stmt, const place::GemmAtom& atom) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const GemmAttrs& attrs = std::get<GemmAttrs>(op.attrs);
  const Buffer &a = op.operands[0].buffer, &b = op.operands[1].buffer, &c = op.operands[2].buffer;
  const std::int64_t step = place::kDepthBytes * 8 / dtype_bits(a->type), rows = own_rows(c);
  const std::int64_t depth = static_shape(*a)[attrs.trans_a ? 0 : 1], columns = static_shape(*c)[1];
  if (attrs.clear_accum) each(fragment(c), [&](const Values&) { return zero_of(c->type); });
  Fragment left, right = b_.fragment(fresh(b->name + "_k"), b->type, {columns, step}, FragmentKind::mma_b);
  if (!atom.a_in_registers) left = b_.fragment(fresh(a->name + "_k"), a->type, {rows, step}, FragmentKind::wgmma_a);
  BodyScope scope(*this);
  b_.unrolled(fresh("kk"), depth / step, [&](const Value& kk) {
    Value k = step * kk;
    if (left != nullptr) {
      Value row = placed_.replicas > 1 ? Value(b_.builtins().replica) * rows : Value(0);
      b_.add(roles::LdMatrix{at(left, {0, 0}), attrs.trans_a ? tile(a, {k, row}) : tile(a, {row, k}), attrs.trans_a});
    }
    b_.add(roles::LdMatrix{at(right, {0, 0}), attrs.trans_b ? tile(b, {0, k}) : tile(b, {k, 0}), !attrs.trans_b});
    b_.add(roles::Mma{fragment(c), left != nullptr ? at(left, {0, 0}) : at(fragment(a), {0, k}), right});
  });
}

}  // namespace plait::pipeline
