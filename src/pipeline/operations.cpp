#include <algorithm>
#include <cmath>
#include <cstdint>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/threads.h"

namespace plait::pipeline {

using namespace ir;
using place::kDepthBytes;
using place::kWarpgroupRows;
using roles::FragmentKind;
using roles::build::assign;
using roles::build::at;

namespace {

/// Lanes among which a row of a fragment is shared out.
int lanes_of(const roles::FragmentDecl& fragment) { return fragment.kind == FragmentKind::vector ? fragment.lanes : 4; }

/// What changes no value under the reduction.
Value neutral(OpKind kind, DType type) {
  if (kind == OpKind::reduce_sum) return zero_of(type);
  bool lowest = kind == OpKind::reduce_max;
  if (ir::is_float(type)) return typed_literal(type, lowest ? -INFINITY : INFINITY);
  std::int64_t bits = dtype_bits(type);
  std::int64_t least = ir::is_signed_integer(type) ? -(std::int64_t{1} << (bits - 1)) : 0;
  std::int64_t most = ir::is_signed_integer(type) ? -(least + 1) : (bits == 64 ? -1 : (std::int64_t{1} << bits) - 1);
  return typed_int(type, lowest ? least : most);
}

}  // namespace

// ---- Fragments -----------------------------------------------------------------------------------------------------

/// Rows of a fragment that one replica has.
std::int64_t Lowering::own_rows(const Buffer& buffer) const { return static_shape(*buffer)[0] / placed_.replicas; }

Value Lowering::row_of(const Value& own, std::int64_t rows) const {
  return placed_.replicas == 1 ? own : Value(b_.builtins().replica) * rows + own;
}

/// All at the start of the role, in the order of the program, those that have rows of another behind it.
void Lowering::define_fragments() {
  std::vector<Buffer> later;
  auto define = [&](const Buffer& buffer) {
    const place::FragmentHome& home = placed_.fragments.at(buffer.get());
    std::vector<std::int64_t> shape = static_shape(*buffer);
    shape[0] /= placed_.replicas;
    Fragment of = home.of == nullptr ? nullptr : fragments_.at(home.of.get());
    fragments_[buffer.get()] =
        b_.fragment(fresh(buffer->name), buffer->type, shape, home.kind, {home.vec, home.lanes, of});
  };
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc == nullptr || !placed_.in_registers(alloc->buffer)) return;
    if (placed_.fragments.at(alloc->buffer.get()).of != nullptr) {
      later.push_back(alloc->buffer);
    } else {
      define(alloc->buffer);
    }
  });
  for (const Buffer& buffer : later) define(buffer);
}

/// A fragment that lies as another does, of another type.
Lowering::Fragment Lowering::like(const Fragment& of, const std::string& name, DType type) {
  std::vector<std::int64_t> shape = static_shape(*of->buffer);
  FragmentKind kind = of->kind == FragmentKind::wgmma_a ? FragmentKind::wgmma_acc : of->kind;
  return b_.fragment(fresh(name), type, shape, kind, {of->vec, of->lanes, of->of});
}

void Lowering::each(const Fragment& domain, const std::function<Value(const Values&)>& value) {
  BodyScope scope(*this);
  bool flat = domain->buffer->shape.size() == 1;
  std::vector<std::string> names = flat ? std::vector<std::string>{"r"} : std::vector<std::string>{"r", "c"};
  for (std::string& name : names) name = fresh(name);
  b_.each(domain, names, [&](const Values& own) { return std::vector{assign(domain, own, value(own))}; });
}

/// Element by element, converted.
void Lowering::each(const Fragment& dst, const Fragment& src) {
  each(dst, [&](const Values& own) {
    Value value = roles::build::element(src, own);
    return dst->buffer->type == src->buffer->type ? value : roles::build::cast(dst->buffer->type, value);
  });
}

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
  std::int64_t rows = own_rows(atom.domain);
  std::vector<std::string> names;
  for (const LoopAxis& axis : loop.axes) names.push_back(fresh(axis.var->name));
  b_.each(domain, names, [&](const Values& own) {
    scalars_.add_loop(loop);
    for (std::size_t d = 0; d < own.size(); ++d)
      scalars_.bind(loop.axes[d].var, d == 0 ? row_of(own[d], rows) : own[d]);
    auto element = [&](const Load& load, const Values& index) -> Value {
      if (!placed_.in_registers(load.buffer)) return read(load.buffer, index);
      Fragment from = fragment(load.buffer);
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

/// Each thread reduces what it has of a row, then the lanes of the row exchange. A sum that adds to what is there does
/// so at the end, so that every lane adds it once.
void Lowering::reduce(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  Fragment src = fragment(op.operands[0].buffer), dst = fragment(op.operands[1].buffer);
  bool clear = std::get<ReduceAttrs>(op.attrs).clear;
  roles::ReduceOp kind = op.kind == OpKind::reduce_sum   ? roles::ReduceOp::sum
                         : op.kind == OpKind::reduce_max ? roles::ReduceOp::max
                                                         : roles::ReduceOp::min;
  DType type = dst->buffer->type;
  auto run = [&](const Fragment& into) {
    b_.add(roles::RowReduce{kind, into, src});
    if (int lanes = lanes_of(*src); lanes > 1) b_.add(roles::LaneReduce{kind, into, lanes});
  };
  if (sums_.has(op.operands[1].buffer)) {
    b_.add(roles::RowReduce{kind, dst, src});
    if (lanes_of(*src) > 1) partial_.insert(op.operands[1].buffer);
    return;
  }
  if (clear || kind != roles::ReduceOp::sum) {
    if (clear) each(dst, [&](const Values&) { return neutral(op.kind, type); });
    return run(dst);
  }
  Fragment own = like(dst, dst->buffer->name + "_part", type);
  each(own, [&](const Values&) { return zero_of(type); });
  run(own);
  each(dst, [&](const Values& at) { return roles::build::element(dst, at) + roles::build::element(own, at); });
}

/// Before a statement that needs a sum whole, the lanes exchange their parts.
void Lowering::complete_sums(const Stmt& stmt) {
  std::set<const Stmt*> inside = {&stmt};
  if (const auto* loop = std::get_if<For>(&stmt.node)) walk(loop->body, [&](const Stmt& s) { inside.insert(&s); });
  for (auto it = partial_.begin(); it != partial_.end();) {
    const std::set<const Stmt*>& readers = sums_.readers.at(*it);
    bool needed = std::any_of(readers.begin(), readers.end(), [&](const Stmt* s) { return inside.contains(s); });
    if (needed) {
      Fragment sum = fragment(*it);
      b_.add(roles::LaneReduce{roles::ReduceOp::sum, sum, lanes_of(*sum->of)});
    }
    it = needed ? partial_.erase(it) : std::next(it);
  }
}

void Lowering::move(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  each(fragment(op.operands[1].buffer), fragment(op.operands[0].buffer));
}

// ---- All of them ---------------------------------------------------------------------------------------------------

void Lowering::operation(const Stmt& stmt) {
  std::visit(Overload{[&](const place::GemmAtom& atom) { product(stmt, atom); },
                      [&](const place::EachGemmAtom&) { Threads(*this).each_product(stmt); },
                      [&](const place::ThreadsAtom&) { Threads(*this).run(stmt); },
                      [&](const place::NestAtom& atom) { nest(stmt, atom); },
                      [&](const place::FillAtom&) { fill(stmt); }, [&](const place::ReduceAtom&) { reduce(stmt); },
                      [&](const place::CopyAtom& atom) {
                        switch (atom.way) {
                          case place::CopyWay::staged_store:
                            return staged_store(stmt);
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
                          case place::CopyWay::tma_load:
                          case place::CopyWay::tma_store:
                            break;
                        }
                        diags_.error(Rule::place_operation, stmt.loc, "this copy has no placement yet");
                      }},
             placed_.atom(stmt));
}

}  // namespace plait::pipeline
