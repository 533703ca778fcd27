#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;
using roles::FragmentKind;

namespace {

constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kPieceBits = 128;

std::vector<std::int64_t> tile_extents(const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> tile;
  for (std::int64_t extent : extents) {
    if (extent != 1) tile.push_back(extent);
  }
  return tile;
}

bool is_zero(const ExprRef& e) {
  if (e == nullptr) return true;
  if (const auto* value = std::get_if<FloatLit>(&e->node)) return value->value == 0;
  return as_int(e) == 0;
}

}  // namespace

// ---- Copies --------------------------------------------------------------------------------------------------------

/// Why TMA cannot move this tile; empty where it can.
std::string Placer::tma_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  const Buffer &tensor = global.buffer, &buffer = tile.buffer;
  if (placed_.assumptions.unaligned.contains(tensor->name))
    return fmt::format("the rows of `{}` do not start at multiples of 16 bytes", tensor->name);
  if (attrs.rows) return "its rows are chosen by a table";
  if (!attrs.valid.empty()) return "only a part of the tile is valid";
  if (!is_zero(attrs.pad)) return "it is padded with other than zero";
  if (tensor->type != buffer->type)
    return fmt::format("it converts {} to {}", dtype_name(tensor->type), dtype_name(buffer->type));
  if (tensor->shape.size() > kMaxRank) return fmt::format("the tensor has {} dimensions", tensor->shape.size());
  if (!tensor->strides.empty() && as_int(tensor->strides.back()) != 1)
    return "the last stride of the tensor is not known to be 1";
  auto extents = literal_extents(global);
  if (!extents) return "the extents of the tile are no literals";
  if (tile_extents(*extents) != tile_extents(static_shape(*buffer))) return "it fills a part of the tile";
  if (extents->back() * dtype_bits(buffer->type) % kPieceBits != 0)
    return fmt::format("its rows of {} elements are no multiple of 16 bytes", extents->back());
  return {};
}

void Placer::load_shared(const Copy& copy) {
  std::string why = tma_obstacle(copy.src, copy.dst, copy.attrs);
  if (why.empty()) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::tma_load};
  } else {
    refuse(Rule::place_operation, copy.stmt->loc,
           fmt::format("the copy from `{}` to `{}` has no placement yet: {}", copy.src.buffer->name,
                       copy.dst.buffer->name, why));
  }
}

void Placer::store_global(const Copy& copy) {
  const FragmentHome& home = placed_.fragments.at(copy.src.buffer.get());
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  bool narrow = dtype_bits(to->type) == 16 && (from->type == DType::f32 || from->type == to->type);
  bool wide = from->shape.size() == 2 && static_shape(*from)[1] % 16 == 0;
  bool whole = literal_extents(copy.dst).has_value() && is_whole(copy.src);
  if (home.kind == FragmentKind::wgmma_acc && narrow && wide && whole &&
      !placed_.assumptions.unaligned.contains(to->name) && to->shape.size() <= kMaxRank && copy.attrs.valid.empty() &&
      !copy.attrs.rows && (to->strides.empty() || as_int(to->strides.back()) == 1)) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::staged_store};
    return;
  }
  if (!whole || !copy.attrs.valid.empty() || copy.attrs.rows) {
    return refuse(Rule::place_operation, copy.stmt->loc,
                  fmt::format("the copy from `{}` to `{}` has no placement yet: it is not the whole fragment",
                              from->name, to->name));
  }
  remark(copy.stmt->loc, fmt::format("`{}` is stored from registers, each thread what it owns", from->name));
  placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::store_fragment};
}

void Placer::place_copy(const Copy& copy) {
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  if (is_global(from) && is_shared(to)) return load_shared(copy);
  if (is_fragment(from) && is_global(to)) return store_global(copy);
  if (is_fragment(from) && is_fragment(to) && is_whole(copy.src) && is_whole(copy.dst)) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::move_fragment};
    return;
  }
  bool plain = !copy.attrs.rows && copy.attrs.valid.empty();
  if (!is_fragment(from) && is_fragment(to) && is_whole(copy.dst) && plain && literal_extents(copy.src) &&
      (is_zero(copy.attrs.pad) || is_shared(from))) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::load_fragment};
    return;
  }
  refuse(Rule::place_operation, copy.stmt->loc,
         fmt::format("the copy from `{}` to `{}` has no placement yet", from->name, to->name));
}

// ---- Nests and reductions ------------------------------------------------------------------------------------------

bool Placer::nest_line(const StmtRef& stmt, const For& nest, const NestLine& line, const Buffer& domain) {
  auto say = [&](std::string what) {
    refuse(Rule::place_operation, stmt->loc, "the nest has no placement yet: " + what);
    return false;
  };
  if (!is_fragment(line.buffer)) return say(fmt::format("it stores to `{}`, which is no fragment", line.buffer->name));
  if (!indexed_by(line.index, nest.axes, nest.axes.size()))
    return say(fmt::format("it stores to `{}` elsewhere than at its own element", line.buffer->name));
  bool ok = true;
  walk(line.value, [&](const Expr& e) {
    const auto* load = std::get_if<Load>(&e.node);
    if (load == nullptr || !is_fragment(load->buffer) || !ok) return;
    bool row = placed_.fragments.at(load->buffer.get()).kind == FragmentKind::rows && nest.axes.size() == 2;
    if (!indexed_by(load->index, nest.axes, row ? 1 : nest.axes.size()))
      ok = say(fmt::format("it reads `{}` elsewhere than at its own element", load->buffer->name));
  });
  std::vector<std::int64_t> shape = static_shape(*domain);
  for (std::size_t d = 0; d < nest.axes.size() && ok; ++d) {
    const LoopAxis& axis = nest.axes[d];
    if (as_int(axis.begin) != 0 || as_int(axis.end) != shape[d] || as_int(axis.step) != 1)
      ok = say(fmt::format("it does not run over all of `{}`", domain->name));
  }
  return ok;
}

void Placer::place_nest(const StmtRef& stmt) {
  const For& nest = std::get<For>(stmt->node);
  const std::vector<NestLine>& lines = lines_.at(stmt.get());
  if (lines.empty()) {
    placed_.atoms[stmt.get()] = NestAtom{};
    return;
  }
  for (const NestLine& line : lines) {
    if (!nest_line(stmt, nest, line, lines.front().buffer)) return;
  }
  placed_.atoms[stmt.get()] = NestAtom{lines.front().buffer, lines};
}

void Placer::place_reduction(const StmtRef& stmt) { placed_.atoms[stmt.get()] = ReduceAtom{}; }

}  // namespace plait::place
