#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;
using place::kDepthBytes;
using place::kWarpgroupRows;
using roles::build::assign;
using roles::build::at;

// ---- Products ------------------------------------------------------------------------------------------------------

void Lowering::product(const Stmt& stmt, const place::GemmAtom& atom) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const GemmAttrs& attrs = std::get<GemmAttrs>(op.attrs);
  const Buffer &a = op.operands[0].buffer, &b = op.operands[1].buffer, &c = op.operands[2].buffer;
  Fragment acc = fragment(c);
  std::int64_t rows = own_rows(c), step = kDepthBytes * 8 / dtype_bits(a->type);
  std::int64_t depth = static_shape(*a)[attrs.trans_a ? 0 : 1];
  BodyScope scope(*this);
  b_.add(roles::Fence{roles::FenceKind::wgmma});
  b_.unrolled(fresh("kk"), depth / step, [&](const Value& kk) {
    for (std::int64_t row = 0; row < rows; row += kWarpgroupRows) {
      roles::MatrixOperand left;
      if (atom.a_in_registers) {
        left = at(fragment(a), {row, step * kk});
      } else {
        Value own = row == 0 && placed_.replicas > 1 ? Value(b_.builtins().replica) * rows : row_of(row, rows);
        left = attrs.trans_a ? tile(a, {step * kk, own}) : tile(a, {own, step * kk});
      }
      roles::SmemRef right = attrs.trans_b ? tile(b, {0, step * kk}) : tile(b, {step * kk, 0});
      ExprRef clear;
      if (attrs.clear_accum) clear = kk == 0;
      b_.add(roles::Wgmma{at(acc, {row, 0}), left, attrs.trans_a, right, attrs.trans_b, clear});
    }
  });
  b_.add(roles::WgmmaCommit{});
  under_way_.push_back({{{a, b}, {c}}, {}});
}

// ---- Elements ------------------------------------------------------------------------------------------------------

void Lowering::nest(const Stmt& stmt, const place::NestAtom& atom) {
  if (atom.lines.empty()) return;
  const For& loop = std::get<For>(stmt.node);
  if (masks_.contains(&stmt) && mask_mode_ == MaskMode::none) return;
  if (masks_.contains(&stmt) && mask_mode_ == MaskMode::always) return each_of_nest(loop, atom);
  auto idle = nothing_to_mask(loop, atom);
  if (!idle) return each_of_nest(loop, atom);
  b_.if_(!*idle, [&] { each_of_nest(loop, atom); });
}

void Lowering::each_of_nest(const For& loop, const place::NestAtom& atom) {
  BodyScope scope(*this);
  Fragment domain = fragment(atom.domain);
  std::vector<std::string> names;
  for (const LoopAxis& axis : loop.axes) names.push_back(fresh(axis.var->name));
  b_.each(domain, names, [&](const Values& own) {
    scalars_.add_loop(loop);
    for (std::size_t d = 0; d < own.size(); ++d)
      scalars_.bind(loop.axes[d].var, d == 0 ? row_of(atom.domain, own[d]) : own[d]);
    auto element = [&](const Load& load, const Values& index) -> Value {
      if (!placed_.in_registers(load.buffer)) return read(load.buffer, index);
      Fragment from = fragment(load.buffer);
      if (from->kind == roles::FragmentKind::columns) return roles::build::element(from, {own.back()});
      return roles::build::element(from, from->buffer->shape.size() == 1 ? Values{own[0]} : own);
    };
    std::vector<roles::ElementStore> stores;
    for (const place::NestLine& line : atom.lines)
      stores.push_back(assign(fragment(line.buffer), own, scalars_.convert(line.value, element)));
    return stores;
  });
}

void Lowering::fill(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& dst = op.operands[0];
  Value value = scalars_.convert(std::get<FillAttrs>(op.attrs).value);
  each(fragment(dst.buffer), [&](const Values&) { return value; });
}

void Lowering::move(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  each(fragment(op.operands[1].buffer), fragment(op.operands[0].buffer));
}

// ---- All of them ---------------------------------------------------------------------------------------------------

void Lowering::operation(const Stmt& stmt) {
  std::visit(
      Overload{[&](const place::GemmAtom& atom) { atom.by_warps ? warp_product(stmt, atom) : product(stmt, atom); },
               [&](const place::EachGemmAtom&) { Threads(*this).each_product(stmt); },
               [&](const place::ThreadsAtom&) { Threads(*this).run(stmt); },
               [&](const place::NestAtom& atom) { nest(stmt, atom); }, [&](const place::FillAtom&) { fill(stmt); },
               [&](const place::ReduceAtom&) { reduce(stmt); },
               [&](const place::CopyAtom& atom) {
                 switch (atom.way) {
                   case place::CopyWay::staged_store:
                     return staged_store(stmt);
                   case place::CopyWay::staged_rows:
                     return staged_rows(stmt);
                   case place::CopyWay::staged_elements:
                     return staged_elements(stmt);
                   case place::CopyWay::load_elements:
                     return Threads(*this).load_elements(stmt);
                   case place::CopyWay::store_fragment:
                     return store_elements(stmt);
                   case place::CopyWay::load_fragment:
                     return load_elements(stmt);
                   case place::CopyWay::move_fragment:
                     return move(stmt);
                   case place::CopyWay::tma_store:
                     return store_tile(stmt);
                   case place::CopyWay::tma_load:
                   case place::CopyWay::cp_async_load:
                   case place::CopyWay::gather_load:
                     break;
                 }
                 diags_.error(Rule::place_operation, stmt.loc, "this copy has no placement yet");
               }},
      placed_.atom(stmt));
}

}  // namespace plait::pipeline
