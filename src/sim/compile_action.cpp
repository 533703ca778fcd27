#include "ir/build.h"
#include "ir/visit.h"
#include "sim/compiler.h"

namespace plait::sim {
namespace {

/// What elements outside of the tensor read as.
Value pad_of(const roles::LoadTensor& load) {
  const auto* value = load.pad == nullptr ? nullptr : std::get_if<ir::FloatLit>(&load.pad->node);
  if (value != nullptr) return interp::float_value(value->value);
  return interp::int_value(load.pad == nullptr ? 0 : ir::as_int(load.pad).value_or(0));
}

}  // namespace

// ---- Barriers ------------------------------------------------------------------------------------------------------

Action Compiler::action(const roles::MbarInit& n) { return act::MbarInit{mbar_number(n.mbar)}; }
Action Compiler::action(const roles::Wait& n) {
  MbarPlace at = place(n.mbar);
  return act::Wait{at, value(n.parity)};
}
Action Compiler::action(const roles::Arrive& n) {
  MbarPlace at = place(n.mbar);
  return act::Arrive{at, n.rank ? value(n.rank) : Reg{}};
}
Action Compiler::action(const roles::Expect& n) {
  MbarPlace at = place(n.mbar);
  return act::Expect{at, value(n.bytes)};
}
Action Compiler::action(const roles::Fence& n) { return act::Fence{n.kind}; }
Action Compiler::action(const roles::SyncThreads&) { return act::SyncThreads{}; }
Action Compiler::action(const roles::SyncWarp&) { return act::SyncWarp{}; }
Action Compiler::action(const roles::ClusterArrive&) { return act::ClusterArrive{}; }
Action Compiler::action(const roles::ClusterWait&) { return act::ClusterWait{}; }
Action Compiler::action(const roles::BarrierSync& n) { return act::Barrier{value(n.id), n.threads, true}; }
Action Compiler::action(const roles::BarrierArrive& n) { return act::Barrier{value(n.id), n.threads, false}; }

// ---- Copies --------------------------------------------------------------------------------------------------------

Action Compiler::action(const roles::TmaLoad& n) {
  act::TmaLoad a;
  a.dst = place(n.dst);
  a.map = map_number(n.map);
  a.at = values(n.at);
  a.mbar = place(n.mbar);
  if (n.multicast) a.multicast = value(n.multicast);
  return a;
}
Action Compiler::action(const roles::TmaStore& n) {
  act::TmaStore a;
  a.map = map_number(n.map);
  a.at = values(n.at);
  a.src = place(n.src);
  return a;
}
Action Compiler::action(const roles::BulkLoad& n) {
  act::BulkLoad a;
  a.dst = place(n.dst);
  a.src = place(n.src);
  a.bytes = value(n.bytes);
  a.mbar = place(n.mbar);
  return a;
}
Action Compiler::action(const roles::BulkStore& n) {
  act::BulkStore a;
  a.dst = place(n.dst);
  a.src = place(n.src);
  a.bytes = value(n.bytes);
  return a;
}
Action Compiler::action(const roles::BulkCommit&) { return act::BulkCommit{}; }
Action Compiler::action(const roles::BulkWait& n) { return act::BulkWait{n.pending, n.read}; }
Action Compiler::action(const roles::Prefetch&) { return act::Prefetch{}; }
Action Compiler::action(const roles::CpAsync& n) {
  SmemPlace dst = place(n.dst);
  TensorPlace src = place(n.src);
  return act::CpAsync{dst,       src,     n.rows,
                      n.columns, n.piece, n.where == nullptr ? std::nullopt : std::optional(value(n.where))};
}
Action Compiler::action(const roles::CpCommit&) { return act::CpCommit{}; }
Action Compiler::action(const roles::CpWait& n) { return act::CpWait{n.pending}; }

// ---- Matrix instructions -------------------------------------------------------------------------------------------

Action Compiler::action(const roles::Wgmma& n) {
  act::Wgmma a;
  a.acc = place(n.acc);
  if (const auto* registers = std::get_if<roles::FragmentRef>(&n.a)) {
    a.a_registers = place(*registers);
  } else {
    a.a = place(std::get<roles::SmemRef>(n.a));
  }
  a.trans_a = n.trans_a;
  a.b = place(n.b);
  a.trans_b = n.trans_b;
  if (n.clear) a.clear = value(n.clear);
  return a;
}
Action Compiler::action(const roles::WgmmaCommit&) { return act::WgmmaCommit{}; }
Action Compiler::action(const roles::WgmmaAwait& n) { return act::WgmmaAwait{n.pending}; }
Action Compiler::action(const roles::Mma& n) { return act::Mma{fragment(n.acc), place(n.a), fragment(n.b)}; }

namespace {

/// The instructions of each warp that move part of a fragment.
std::vector<std::vector<layout::MatrixAccess>> matrix_accesses(const FragmentCode& fragment, layout::Coord begin,
                                                               std::int64_t rows, std::int64_t columns, int bits,
                                                               bool trans) {
  std::vector<std::vector<layout::MatrixAccess>> of_warps;
  for (std::int64_t warp = 0; warp < fragment.map.threads() / kLanes; ++warp)
    of_warps.push_back(layout::matrix_accesses({fragment.map, bits, warp, begin, rows, columns, trans}));
  return of_warps;
}

}  // namespace

Action Compiler::action(const roles::LdMatrix& n) {
  act::LdMatrix a;
  a.dst = place(n.dst);
  a.src = place(n.src);
  a.trans = n.trans;
  const FragmentCode& dst = out_.fragments[static_cast<std::size_t>(a.dst.fragment)];
  a.accesses = matrix_accesses(dst, {a.dst.row, a.dst.column}, dst.rows - a.dst.row, dst.columns - a.dst.column,
                               ir::dtype_bits(dst.decl->buffer->type), n.trans);
  return a;
}

Action Compiler::action(const roles::StMatrix& n) {
  act::StMatrix a;
  a.dst = place(n.dst);
  a.src = place(n.src);
  a.columns = n.columns;
  const FragmentCode& src = out_.fragments[static_cast<std::size_t>(a.src.fragment)];
  int bits = ir::dtype_bits(n.dst.smem->buffer->type);
  a.accesses = matrix_accesses(src, {a.src.row, a.src.column}, 64, n.columns, bits, false);
  return a;
}

// ---- Element work --------------------------------------------------------------------------------------------------

Action Compiler::action(const roles::DefFragment& n) { return act::DefFragment{fragment(n.fragment)}; }

Action Compiler::action(const roles::Each& n) {
  act::Each each;
  each.domain = fragment(n.domain);
  domain_ = each.domain;
  for (const ir::Var& var : n.vars) each.vars.push_back(variable(var));
  operations_ = special_ = 0;
  for (const roles::ElementStore& store : n.stores) {
    auto begin = static_cast<std::int32_t>(out_.exprs.size());
    Reg from = value(store.value);
    int use = fragment_use(each.domain, fragment(store.fragment));
    each.stores.push_back(
        {{begin, static_cast<std::int32_t>(out_.exprs.size())}, use, from, store.fragment->buffer->type});
    ++operations_;
  }
  each.operations = operations_;
  each.special = special_;
  expr_begin_ = static_cast<std::int32_t>(out_.exprs.size());  // run a store at a time, not before the statement
  domain_ = -1;
  return each;
}

Action Compiler::action(const roles::RowReduce& n) {
  act::RowReduce a;
  a.op = n.op;
  a.dst = fragment(n.dst);
  a.src = fragment(n.src);
  const FragmentCode& dst = out_.fragments[static_cast<std::size_t>(a.dst)];
  const FragmentCode& src = out_.fragments[static_cast<std::size_t>(a.src)];
  for (const layout::Coord& row : dst.element_coord) {
    std::vector<std::int32_t> elements;
    for (std::size_t e = 0; e < src.element_coord.size(); ++e) {
      if (src.element_coord[e].row == row.row) elements.push_back(static_cast<std::int32_t>(e));
    }
    std::sort(elements.begin(), elements.end(), [&](std::int32_t x, std::int32_t y) {
      return src.element_coord[static_cast<std::size_t>(x)].column <
             src.element_coord[static_cast<std::size_t>(y)].column;
    });
    a.elements.push_back(std::move(elements));
  }
  return a;
}

Action Compiler::action(const roles::LaneReduce& n) { return act::LaneReduce{n.op, fragment(n.fragment), n.lanes}; }
Action Compiler::action(const roles::Keep&) { return act::Keep{}; }
Action Compiler::action(const roles::LoadTensor& n) {
  return act::LoadTensor{fragment(n.dst), place(n.src), pad_of(n)};
}
Action Compiler::action(const roles::StoreTensor& n) { return act::StoreTensor{place(n.dst), fragment(n.src)}; }
Action Compiler::action(const roles::LoadShared& n) { return act::LoadShared{fragment(n.dst), place(n.src)}; }
Action Compiler::action(const roles::StoreShared& n) { return act::StoreShared{place(n.dst), fragment(n.src)}; }
Action Compiler::action(const roles::PutTensor& n) {
  TensorPlace at = place(n.dst);
  return act::PutTensor{thread_work(n.value), at, value(n.value)};
}
Action Compiler::action(const roles::PutPiece& n) {
  TensorPlace to = place(n.dst);
  return act::PutPiece{to, place(n.src), n.piece};
}
Action Compiler::action(const roles::PutShared& n) {
  SmemPlace at = place(n.dst);
  return act::PutShared{thread_work(n.value), at, value(n.value)};
}
namespace {

ir::BinaryOp combination(ir::AtomicOp op) {
  return op == ir::AtomicOp::add ? ir::BinaryOp::add : op == ir::AtomicOp::max ? ir::BinaryOp::max : ir::BinaryOp::min;
}

}  // namespace

Action Compiler::action(const roles::Atomic& n) {
  TensorPlace at = place(n.dst);
  Reg other = value(n.value);
  return act::Atomic{thread_work(n.value), variable(n.result), at, other, combination(n.op)};
}
Action Compiler::action(const roles::AtomicShared& n) {
  SmemPlace at = place(n.dst);
  Reg other = value(n.value);
  return act::AtomicShared{thread_work(n.value), variable(n.result), at, other, combination(n.op)};
}
Action Compiler::action(const roles::Shuffle& n) {
  Reg from = value(n.value), lane = value(n.lane);
  return act::Shuffle{thread_work(n.value), variable(n.result), from, lane};
}
Action Compiler::action(const roles::Broadcast& n) {
  Reg from = value(n.value);
  return act::Broadcast{variable(n.result), from};
}
Action Compiler::action(const roles::Clock& n) { return act::ReadClock{variable(n.result), n.global}; }

// ---- Fragments -----------------------------------------------------------------------------------------------------

int Compiler::fragment(const roles::Fragment& decl) {
  auto [entry, added] = fragments_.try_emplace(decl->buffer.get(), static_cast<int>(out_.fragments.size()));
  if (added) out_.fragments.push_back(fragment_code(decl, std::int64_t{role_.warps} * kLanes));
  return entry->second;
}

int Compiler::fragment_number(const ir::BufferDecl* buffer) const {
  auto found = fragments_.find(buffer);
  PLAIT_ASSERT(found != fragments_.end(), buffer->name + " is no fragment of this role");
  return found->second;
}

int Compiler::fragment_use(int domain, int other) {
  const FragmentCode& from = out_.fragments[static_cast<std::size_t>(domain)];
  const FragmentCode& to = out_.fragments[static_cast<std::size_t>(other)];
  bool by_row = to.decl->kind == roles::FragmentKind::rows && from.decl->kind != roles::FragmentKind::rows;
  bool by_column = to.decl->kind == roles::FragmentKind::columns && from.decl->kind != roles::FragmentKind::columns;
  FragmentUse use{other, {}};
  for (const layout::Coord& at : from.element_coord) {
    auto found = std::find_if(to.element_coord.begin(), to.element_coord.end(), [&](const layout::Coord& c) {
      return by_row ? c.row == at.row : by_column ? c.column == at.column : c == at;
    });
    PLAIT_ASSERT(found != to.element_coord.end(), to.decl->buffer->name + " does not lie as the domain of each does");
    use.element.push_back(static_cast<std::int32_t>(found - to.element_coord.begin()));
  }
  out_.fragment_uses.push_back(std::move(use));
  return static_cast<int>(out_.fragment_uses.size() - 1);
}

FragmentCode fragment_code(const roles::Fragment& decl, std::int64_t threads) {
  FragmentCode f{decl, layout::fragment_map(*decl, threads)};
  ir::DType type = decl->buffer->type;
  f.rows = f.map.rows();
  f.columns = f.map.columns();
  f.floats = ir::is_float(type) && type != ir::DType::f64;
  f.matrix = f.map.replication() == 1;
  std::int64_t own = f.map.threads(), copies = threads / own, elements = f.map.elements_per_thread();
  bool wgmma = decl->kind == roles::FragmentKind::wgmma_acc || decl->kind == roles::FragmentKind::wgmma_a;
  f.section = wgmma ? 64 * f.columns : 0;
  f.size = f.matrix ? copies * f.rows * f.columns : threads * elements;
  for (std::int64_t e = 0; e < elements; ++e) {
    layout::Coord at = f.map.coord(0, e);
    f.element_coord.push_back(at);
    f.offset.push_back(static_cast<std::int32_t>(f.matrix ? at.row * f.columns + at.column : e * threads));
  }
  for (std::int64_t t = 0; t < threads; ++t) {
    layout::Coord at = f.map.coord(t % own, 0);
    f.thread_coord.push_back(at);
    std::int64_t matrix = t / own * f.rows * f.columns;
    f.base.push_back(static_cast<std::int32_t>(f.matrix ? matrix + at.row * f.columns + at.column : t));
  }
  const std::vector<layout::Digit>& digits = f.map.element_digits();
  if (!digits.empty() && digits[0].step == layout::Coord{0, 1}) f.run = digits[0].extent;
  return f;
}

}  // namespace plait::sim
