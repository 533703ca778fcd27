#include <fmt/format.h>

#include <bit>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;
using roles::FragmentKind;

namespace {

const TileOp& op_of(const StmtRef& stmt) { return std::get<TileOp>(stmt->node); }

}  // namespace

bool Placer::set_home(const Buffer& buffer, FragmentHome home, const Loc& loc) {
  auto [it, added] = placed_.fragments.emplace(buffer.get(), home);
  if (added) return true;
  FragmentKind a = it->second.kind, b = home.kind;
  // What one product leaves, the next may take from the same registers where they lie alike.
  bool alike = a == b || (dtype_bits(buffer->type) == 16 && a != FragmentKind::rows && b != FragmentKind::rows);
  if (!alike) {
    refuse(
        Rule::place_fragment, loc,
        fmt::format("`{}` is result of one product and left operand of another, which lie differently", buffer->name));
  }
  return alike;
}

// ---- What goes together --------------------------------------------------------------------------------------------

void Placer::relate_nests() {
  for (const StmtRef& stmt : nests_) {
    const For& nest = std::get<For>(stmt->node);
    NestLines found = lines_of(nest);
    if (!found.reason.empty()) {
      refuse(Rule::place_operation, stmt->loc, "the nest has no placement: " + found.reason);
      continue;
    }
    Buffer full, row;  // fragments at all of the nest's variables, and at its first
    auto meet = [&](const Buffer& buffer, const std::vector<ExprRef>& index) {
      if (!is_fragment(buffer)) return;
      if (indexed_by(index, nest.axes, nest.axes.size())) {
        if (full != nullptr && full != buffer) relate(full, buffer);
        if (full == nullptr) full = buffer;
      } else if (nest.axes.size() == 2 && indexed_by(index, nest.axes, 1)) {
        if (row != nullptr && row != buffer) relate(row, buffer);
        if (row == nullptr) row = buffer;
      }
    };
    for (const NestLine& line : found.lines) {
      meet(line.buffer, line.index);
      walk(line.value, [&](const Expr& e) {
        if (const auto* load = std::get_if<Load>(&e.node)) meet(load->buffer, load->index);
      });
    }
    if (full != nullptr && row != nullptr) relate_rows(row, full);
    lines_[stmt.get()] = std::move(found.lines);
  }
}

void Placer::relate_copies() {
  for (const Copy& copy : copies_) {
    if (is_fragment(copy.src.buffer) && is_fragment(copy.dst.buffer)) relate(copy.src.buffer, copy.dst.buffer);
  }
}

void Placer::relate_reductions() {
  for (const StmtRef& stmt : reductions_) {
    const TileOp& op = op_of(stmt);
    const Buffer &src = op.operands[0].buffer, &dst = op.operands[1].buffer;
    bool rows = is_fragment(src) && is_fragment(dst) && src->shape.size() == 2 && dst->shape.size() == 1 &&
                std::get<ReduceAttrs>(op.attrs).dim == 1 && is_whole(op.operands[0]) && is_whole(op.operands[1]) &&
                src->type == dst->type;
    if (rows) {
      relate_rows(dst, src);
    } else {
      refuse(Rule::place_operation, stmt->loc,
             fmt::format("{} from `{}` to `{}` has no placement yet", op_info(op.kind).name, src->name, dst->name),
             "reduce the columns (dim=1) of a whole 2-D fragment into a 1-D fragment of the same type");
    }
  }
}

// ---- Homes ---------------------------------------------------------------------------------------------------------

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
  }
}

/// Fragments that no product touches are read in the widest pieces, a row by as many lanes as it fills.
void Placer::choose_free() {
  for (const Buffer& buffer : buffers_) {
    if (!is_fragment(buffer) || placed_.fragments.contains(buffer.get()) || buffer->shape.size() != 2) continue;
    std::vector<std::int64_t> shape = static_shape(*buffer);
    std::int64_t bytes = std::max<std::int64_t>(dtype_bits(buffer->type) / 8, 1);
    FragmentHome home;
    home.vec = static_cast<int>(std::max<std::int64_t>(16 / bytes, 1));
    while (home.vec > 1 && shape[1] % home.vec != 0) home.vec /= 2;
    home.lanes = 32;
    while (home.lanes > 1 && shape[1] % (home.vec * home.lanes) != 0) home.lanes /= 2;
    placed_.fragments.emplace(buffer.get(), home);
    spread();
  }
}

void Placer::check_homes() {
  for (const Buffer& buffer : buffers_) {
    if (!is_fragment(buffer)) {
      if (buffer->scope == Scope::local)
        refuse(Rule::place_operation, buffer->loc,
               fmt::format("`{}` is local, which has no placement yet", buffer->name));
      continue;
    }
    auto it = placed_.fragments.find(buffer.get());
    if (it == placed_.fragments.end()) {
      refuse(Rule::place_fragment, buffer->loc,
             fmt::format("`{}` has no layout: nothing ties its elements to the rows of a 2-D fragment", buffer->name),
             "use it as one value a row of a 2-D fragment, or keep it in shared memory");
      continue;
    }
    if (static_shape(*buffer)[0] % placed_.replicas != 0) {
      refuse(Rule::place_fragment, buffer->loc,
             fmt::format("`{}` has {} rows, which {} warpgroups cannot share evenly", buffer->name,
                         static_shape(*buffer)[0], placed_.replicas));
    }
  }
  if (diags_.has_errors()) return;
  for (const Buffer& buffer : buffers_) {
    if (!is_fragment(buffer)) continue;
    const FragmentHome& home = placed_.fragments.at(buffer.get());
    if (home.kind == FragmentKind::rows) continue;
    std::vector<std::int64_t> shape = static_shape(*buffer);
    shape[0] /= placed_.replicas;
    BufferDecl own = *buffer;
    own.shape.clear();
    for (std::int64_t extent : shape) own.shape.push_back(typed_int(DType::i64, extent));
    roles::FragmentDecl decl{std::make_shared<const BufferDecl>(own), home.kind, home.vec, home.lanes, {}, buffer->loc};
    if (auto error = layout::fragment_error(decl, std::int64_t{placed_.warps} * 32))
      refuse(Rule::place_fragment, buffer->loc, fmt::format("`{}` {}", buffer->name, *error));
  }
}

}  // namespace plait::place
