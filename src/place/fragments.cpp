#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;
using roles::FragmentKind;

namespace {

const TileOp& op_of(const StmtRef& stmt) { return std::get<TileOp>(stmt->node); }

bool is_wgmma(FragmentKind kind) { return kind == FragmentKind::wgmma_acc || kind == FragmentKind::wgmma_a; }

/// The extents of a nest that runs from 0 by 1 over literal extents; none of another one.
std::optional<std::vector<std::int64_t>> plain_extents(const For& nest) {
  std::vector<std::int64_t> extents;
  for (const LoopAxis& axis : nest.axes) {
    auto end = as_int(axis.end);
    if (as_int(axis.begin) != 0 || as_int(axis.step) != 1 || !end) return {};
    extents.push_back(*end);
  }
  return extents;
}

/// Whether an element is that of the nest's column.
bool is_column(const std::vector<ExprRef>& index, const For& nest) {
  const auto* ref = index.size() == 1 ? std::get_if<VarRef>(&index.front()->node) : nullptr;
  return ref != nullptr && ref->var == nest.axes.back().var;
}

}  // namespace

/// Whether the buffer may lie so; what one product leaves, the next may take from the same registers where they lie
/// alike.
bool Placer::set_home(const Buffer& buffer, const FragmentHome& home) {
  auto [it, added] = placed_.fragments.emplace(buffer.get(), home);
  if (added) return true;
  FragmentKind a = it->second.kind, b = home.kind;
  return a == b || (dtype_bits(buffer->type) == 16 && is_wgmma(a) && is_wgmma(b));
}

bool Placer::alike(const Buffer& a, const Buffer& b) const {
  if (a == b) return true;
  const FragmentHome &x = placed_.fragments.at(a.get()), &y = placed_.fragments.at(b.get());
  if (x.kind == FragmentKind::rows && y.kind == FragmentKind::rows) {
    if (x.of == y.of) return true;
    const FragmentHome &of = placed_.fragments.at(x.of.get()), &other = placed_.fragments.at(y.of.get());
    if (static_shape(*x.of)[0] != static_shape(*y.of)[0]) return false;
    return (is_wgmma(of.kind) && is_wgmma(other.kind)) || (of.kind == other.kind && of.lanes == other.lanes);
  }
  if (x.kind == FragmentKind::columns && y.kind == FragmentKind::columns) return same_columns(x.of, y.of);
  if (static_shape(*a) != static_shape(*b)) return false;
  if (is_wgmma(x.kind) && is_wgmma(y.kind)) {
    if (x.kind == y.kind) return true;
    return dtype_bits((x.kind == FragmentKind::wgmma_a ? a : b)->type) == 16;
  }
  return x.kind == y.kind && x.vec == y.vec && x.lanes == y.lanes;
}

/// Whether columns of the one lie as those of the other.
bool Placer::same_columns(const Buffer& a, const Buffer& b) const {
  if (a == b) return true;
  const FragmentHome &x = placed_.fragments.at(a.get()), &y = placed_.fragments.at(b.get());
  return x.kind == y.kind && x.lanes == y.lanes && x.vec == y.vec && static_shape(*a)[1] == static_shape(*b)[1];
}

// ---- What goes together --------------------------------------------------------------------------------------------

/// Notes which fragments a nest ties together; the reason in words where it cannot run over one.
std::string Placer::relate_nest(const For& nest, const std::vector<NestLine>& lines) {
  auto extents = plain_extents(nest);
  if (!extents || extents->size() > 2) return "it runs over no whole fragment";
  auto shape = [](const Buffer& buffer) { return static_shape(*buffer); };
  for (const NestLine& line : lines) {
    if (!may_hold(line.buffer)) return fmt::format("it stores to `{}`", line.buffer->name);
    if (!indexed_by(line.index, nest.axes, nest.axes.size()) || shape(line.buffer) != *extents)
      return fmt::format("it stores to a part of `{}`, or elsewhere than at its own element", line.buffer->name);
  }
  Buffer full = lines.front().buffer, row;
  std::string why;
  auto meet = [&](const Buffer& buffer, const std::vector<ExprRef>& index) {
    if (!may_hold(buffer)) return;
    if (indexed_by(index, nest.axes, nest.axes.size()) && shape(buffer) == *extents) {
      if (full != buffer) relate(full, buffer);
    } else if (nest.axes.size() == 2 && indexed_by(index, nest.axes, 1) && shape(buffer)[0] == (*extents)[0]) {
      if (row != nullptr && row != buffer) relate(row, buffer);
      if (row == nullptr) row = buffer;
    } else if (nest.axes.size() == 2 && is_column(index, nest) && shape(buffer) == std::vector{(*extents)[1]}) {
      columns_.emplace_back(buffer, full);
    } else if (multiplied_.contains(buffer.get())) {
      why = fmt::format("it reads `{}` elsewhere than at its own element", buffer->name);
    } else {
      move_out(buffer, "it is read elsewhere than at a thread's own element");
    }
  };
  for (const NestLine& line : lines) {
    meet(line.buffer, line.index);
    walk(line.value, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) meet(load->buffer, load->index);
    });
  }
  if (row != nullptr) relate_rows(row, full);
  return why;
}

void Placer::relate_nests() {
  for (const StmtRef& stmt : nests_) {
    const NestLines& found = nest_lines_.at(stmt.get());
    std::string why = found.reason;
    if (why.empty() && !found.lines.empty()) why = relate_nest(std::get<For>(stmt->node), found.lines);
    if (!why.empty()) plain_nests_[stmt.get()] = why;
  }
}

void Placer::relate_copies() {
  for (const Copy& copy : copies_) {
    const Buffer &src = copy.src.buffer, &dst = copy.dst.buffer;
    if (may_hold(src) && may_hold(dst) && is_whole(copy.src) && is_whole(copy.dst) &&
        static_shape(*src) == static_shape(*dst))
      relate(src, dst);
  }
}

void Placer::relate_reductions() {
  for (const StmtRef& stmt : reductions_) {
    const TileOp& op = op_of(stmt);
    const Buffer &src = op.operands[0].buffer, &dst = op.operands[1].buffer;
    bool known = op.kind == OpKind::reduce_sum || op.kind == OpKind::reduce_max || op.kind == OpKind::reduce_min;
    bool word = dtype_bits(src->type) >= 32 && src->type != DType::tf32;
    bool rows = known && word && may_hold(src) && may_hold(dst) && src->shape.size() == 2 && dst->shape.size() == 1 &&
                std::get<ReduceAttrs>(op.attrs).dim == 1 && is_whole(op.operands[0]) && is_whole(op.operands[1]) &&
                src->type == dst->type;
    if (rows) relate_rows(dst, src);
  }
}

/// What products dictate spreads to all that lies alike.
void Placer::spread() {
  bool changed = true;
  auto give = [&](const Buffer& to, const FragmentHome& home) {
    changed |= placed_.fragments.emplace(to.get(), home).second;
  };
  while (changed) {
    changed = false;
    for (const auto& [a, b] : same_) {
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        auto it = placed_.fragments.find(from.get());
        if (it == placed_.fragments.end()) continue;
        FragmentHome home = it->second;
        if (home.kind == FragmentKind::wgmma_a) home.kind = FragmentKind::wgmma_acc;
        give(to, home);
      }
    }
    for (const auto& [rows, of] : rows_) {
      if (placed_.fragments.contains(of.get())) give(rows, {FragmentKind::rows, 1, 32, of});
    }
    // In the layouts of products many threads hold each column.
    for (const auto& [columns, of] : columns_) {
      auto it = placed_.fragments.find(of.get());
      if (it != placed_.fragments.end() && it->second.kind == FragmentKind::vector)
        give(columns, {FragmentKind::columns, 1, 32, of});
    }
  }
}

// ---- Whether they fit ----------------------------------------------------------------------------------------------

/// Why the home does not suit the buffer; empty where it does.
std::string Placer::home_error(const Buffer& buffer) const {
  std::vector<std::int64_t> shape = static_shape(*buffer);
  const FragmentHome& home = placed_.fragments.at(buffer.get());
  if (home.kind == FragmentKind::columns)
    return placed_.in_registers(home.of) ? "" : fmt::format("`{}` has no layout", home.of->name);
  if (shape[0] % placed_.replicas != 0)
    return fmt::format("it has {} rows, which {} warpgroups cannot share evenly", shape[0], placed_.replicas);
  if (home.kind == FragmentKind::rows)
    return placed_.in_registers(home.of) ? "" : fmt::format("`{}` has no layout", home.of->name);
  shape[0] /= placed_.replicas;
  BufferDecl own = *buffer;
  own.shape.clear();
  for (std::int64_t extent : shape) own.shape.push_back(typed_int(DType::i64, extent));
  roles::FragmentDecl decl{std::make_shared<const BufferDecl>(own), home.kind, home.vec, home.lanes, {}, buffer->loc};
  return layout::fragment_error(decl, std::int64_t{placed_.warps} * 32).value_or("");
}

/// One value a column is in registers only where all that reads it so has its columns alike.
void Placer::check_columns() {
  for (const auto& [columns, of] : columns_) {
    auto home = placed_.fragments.find(columns.get()), own = placed_.fragments.find(of.get());
    if (home == placed_.fragments.end()) continue;
    bool alike = home->second.kind == FragmentKind::columns && own != placed_.fragments.end() &&
                 same_columns(home->second.of, of);
    if (!alike) move_out(columns, "it is read elsewhere than at a thread's own element");
  }
  for (const auto& [rows, of] : rows_) {
    auto home = placed_.fragments.find(rows.get());
    if (home != placed_.fragments.end() && home->second.kind == FragmentKind::columns)
      move_out(rows, "its elements are read by rows and by columns");
  }
}

void Placer::check_homes() {
  for (const Buffer& buffer : buffers_) {
    if (!may_hold(buffer)) continue;
    if (!placed_.fragments.contains(buffer.get())) {
      move_out(buffer, buffer->shape.size() == 2 ? "its shape cannot be shared out over the threads"
                                                 : "nothing ties its elements to the rows of a 2-D fragment");
      continue;
    }
    std::string why = home_error(buffer);
    if (!why.empty()) move_out(buffer, why);
  }
}

}  // namespace plait::place
