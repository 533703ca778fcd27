#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;
using roles::FragmentKind;

namespace {

constexpr std::size_t kMaxRank = 5;

bool is_plain(const CopyAttrs& attrs) { return !attrs.rows && attrs.valid.empty(); }

bool is_zero_begin(const Region& region) {
  return std::all_of(region.ranges.begin(), region.ranges.end(), [](const Range& r) { return as_int(r.begin) == 0; });
}

/// Whether the tile runs along the last dimensions of the region.
bool is_trailing(const Region& region, const std::vector<std::int64_t>& shape) {
  auto extents = literal_extents(region);
  if (!extents || extents->size() < shape.size()) return false;
  std::size_t lead = extents->size() - shape.size();
  for (std::size_t d = 0; d < extents->size(); ++d) {
    if ((*extents)[d] != (d < lead ? 1 : shape[d - lead])) return false;
  }
  return true;
}

}  // namespace

ExprRef pad_as(DType type, const ExprRef& pad) {
  if (is_zero(pad)) return is_float(type) ? typed_literal(type, 0) : typed_int(type, 0);
  const auto* real = std::get_if<FloatLit>(&pad->node);
  if (real == nullptr || !is_float(type)) return nullptr;
  ExprRef made = typed_literal(type, real->value);
  return std::get<FloatLit>(made->node).value == real->value ? made : nullptr;
}

/// Neighbouring elements of the type that a thread moves at once.
int Placer::piece_of(const Buffer& fragment, DType type) const {
  const FragmentHome& home = placed_.fragments.at(fragment.get());
  if (home.kind == FragmentKind::rows) return 1;
  if (home.kind == FragmentKind::columns) return piece_of(home.of, type);
  return home.kind == FragmentKind::vector ? std::min(home.vec, widest_piece(type)) : 2;
}

bool is_zero(const ExprRef& e) {
  if (e == nullptr) return true;
  if (const auto* value = std::get_if<FloatLit>(&e->node)) return value->value == 0;
  return as_int(e) == 0;
}

// ---- Copies --------------------------------------------------------------------------------------------------------

/// Why vector accesses cannot move the fragment; empty where they can.
std::string Placer::vector_obstacle(const Region& memory, const Buffer& fragment) const {
  const Buffer& buffer = memory.buffer;
  if (!is_trailing(memory, static_shape(*fragment))) return "it runs along other than the last dimensions";
  int piece = piece_of(fragment, buffer->type);
  if (dtype_bits(buffer->type) < 8) return fmt::format("it moves elements of {} bits", dtype_bits(buffer->type));
  if (piece * dtype_bits(buffer->type) < 32) return "a thread would move less than 4 bytes at once";
  if (!is_multiple(memory.ranges.back().begin, piece))
    return fmt::format("it may begin within {} elements that are moved at once", piece);
  if (!is_global(buffer)) {
    bool fits = (static_shape(*buffer).back() + buffer->pad) % piece == 0;
    return fits ? "" : "the rows of the tile do not suit vector accesses";
  }
  if (piece > 1 && !buffer->strides.empty() && as_int(buffer->strides.back()) != 1)
    return "the last stride of the tensor is not known to be 1";
  const Assumptions& known = placed_.assumptions;
  if (piece > 1 && (known.unaligned.contains(buffer->name) || known.ragged.contains(buffer->name)))
    return fmt::format("the rows of `{}` are no multiples of 16 bytes", buffer->name);
  return {};
}

void Placer::load_shared(const Copy& copy) {
  const std::string& tile = copy.dst.buffer->name;
  const bool boxes = is_hopper(placed_.device);
  const std::string no_box = boxes ? tma_obstacle(copy.src, copy.dst, copy.attrs) : "";
  const bool by_tma = boxes && no_box.empty();
  std::string why = by_tma ? "" : cp_async_obstacle(copy.src, copy.dst, copy.attrs);
  auto asked = wishes_.in_order.find(copy.stmt.get());
  if (why.empty() && asked != wishes_.in_order.end()) why = asked->second;
  if (!why.empty())
    return by_threads(copy.stmt, fmt::format("`{}` is loaded where the program says, not ahead,", tile), why);
  CopyAtom atom{CopyWay::tma_load};
  if (by_tma && dtype_bits(copy.dst.buffer->type) < 8)
    placed_.shared[copy.dst.buffer.get()] = {packed_swizzle(copy.dst.buffer), true};
  if (!by_tma) atom = {CopyWay::cp_async_load, cp_async_piece(copy.src.buffer, copy.src.ranges.back().begin)};
  if (!no_box.empty())
    remark(copy.stmt->loc,
           fmt::format("`{}` is loaded by the threads that compute (cp.async, {} bytes a piece), not by "
                       "TMA: {}",
                       tile, atom.piece, no_box));
  placed_.atoms[copy.stmt.get()] = atom;
}

void Placer::load_fragment(const Copy& copy) {
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  if (!is_whole(copy.dst) || !literal_extents(copy.src))
    return by_threads(copy.stmt, fmt::format("the copy to `{}`", to->name), "it is not the whole fragment");
  std::string why = is_plain(copy.attrs) ? vector_obstacle(copy.src, to) : "it has a row map or a valid part";
  if (why.empty() && is_global(from) && pad_as(from->type, copy.attrs.pad) == nullptr)
    why = fmt::format("it is padded with what is no literal of {}", dtype_name(from->type));
  if (why.empty()) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::load_fragment};
    return;
  }
  remark(copy.stmt->loc, fmt::format("`{}` is loaded element by element: {}", to->name, why));
  placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::load_elements};
}

/// Whether slices of the fragment go through shared memory by stmatrix on their way to such a tensor.
bool Placer::goes_by_slices(const Buffer& from, const Buffer& to) const {
  bool narrow = dtype_bits(to->type) == 16 && (from->type == DType::f32 || from->type == to->type);
  bool wide = from->shape.size() == 2 && static_shape(*from)[1] % 16 == 0;
  return placed_.fragments.at(from.get()).kind == FragmentKind::wgmma_acc && narrow && wide && is_float(from->type) &&
         is_float(to->type) && placed_.device.has(machine::Feature::stmatrix);
}

void Placer::store_global(const Copy& copy) {
  const FragmentHome& home = placed_.fragments.at(copy.src.buffer.get());
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  bool whole = literal_extents(copy.dst).has_value() && is_whole(copy.src);
  bool staged = whole && is_plain(copy.attrs) && goes_by_slices(from, to);
  if (staged && !read_.contains(to.get()) && !placed_.assumptions.unaligned.contains(to->name) &&
      to->shape.size() <= kMaxRank && (to->strides.empty() || as_int(to->strides.back()) == 1)) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::staged_store};
    return;
  }
  std::string why = whole && is_plain(copy.attrs) ? vector_obstacle(copy.dst, from) : "it is not the whole fragment";
  if (why.empty() && roles::is_side(home.kind)) why = "several threads hold each element";
  if (why.empty()) {
    remark(copy.stmt->loc, fmt::format("`{}` is stored from registers, each thread what it owns", from->name));
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::store_fragment};
  } else if (staged) {
    remark(copy.stmt->loc, fmt::format("`{}` is stored element by element, not by TMA: {}", from->name, why));
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::staged_elements};
  } else {
    by_threads(copy.stmt, fmt::format("the copy from `{}`", from->name), why);
  }
}

/// Registers to shared memory.
void Placer::store_shared(const Copy& copy) {
  std::string why = is_whole(copy.src) && is_plain(copy.attrs) && is_zero_begin(copy.dst)
                        ? vector_obstacle(copy.dst, copy.src.buffer)
                        : "it is not the whole fragment";
  bool side = roles::is_side(placed_.fragments.at(copy.src.buffer.get()).kind);
  if (why.empty() && side) why = "several threads hold each element";
  if (!why.empty()) return by_threads(copy.stmt, fmt::format("the copy from `{}`", copy.src.buffer->name), why);
  placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::store_fragment};
}

/// Whether no other statement writes the tensor.
bool Placer::is_only_writer(const Stmt& stmt, const Buffer& tensor) const {
  bool alone = true;
  walk(kernel_.body, [&](const Stmt& other) {
    if (&other == &stmt) return;
    if (const auto* op = std::get_if<TileOp>(&other.node)) {
      const std::vector<Effect>& effects = op_info(op->kind).effects;
      for (std::size_t i = 0; i < op->operands.size(); ++i)
        alone = alone && (op->operands[i].buffer != tensor || effects[i] == Effect::read);
    }
    if (const auto* store = std::get_if<Store>(&other.node)) alone = alone && store->buffer != tensor;
    if (const auto* atomic = std::get_if<AtomicElement>(&other.node)) alone = alone && atomic->buffer != tensor;
  });
  return alone;
}

/// Shared memory to a tensor. What TMA stores is in no order with what threads read and write of the same tensor.
void Placer::store_tile(const Copy& copy) {
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  std::string why = is_hopper(placed_.device) ? "" : fmt::format("{} has no TMA", placed_.device.name);
  if (why.empty() && from->type != to->type)
    why = fmt::format("it converts {} to {}", dtype_name(from->type), dtype_name(to->type));
  if (why.empty()) why = tma_obstacle(copy.dst, copy.src, copy.attrs);
  if (why.empty() && (read_.contains(to.get()) || !is_only_writer(*copy.stmt, to)))
    why = fmt::format("other statements access `{}`", to->name);
  if (why.empty()) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::tma_store};
    return;
  }
  by_threads(copy.stmt, fmt::format("the copy from `{}` to `{}`", from->name, to->name), why);
}

void Placer::move_fragment(const Copy& copy) {
  const Buffer &from = copy.src.buffer, &to = copy.dst.buffer;
  if (is_whole(copy.src) && is_whole(copy.dst) && static_shape(*from) == static_shape(*to) && alike(from, to)) {
    placed_.atoms[copy.stmt.get()] = CopyAtom{CopyWay::move_fragment};
    return;
  }
  by_threads(copy.stmt, fmt::format("the copy from `{}` to `{}`", from->name, to->name), "they lie differently");
}

void Placer::place_copy(const Copy& copy) {
  bool from_registers = in_registers(copy.src.buffer), to_registers = in_registers(copy.dst.buffer);
  if (from_registers && to_registers) return move_fragment(copy);
  if (to_registers) return load_fragment(copy);
  if (from_registers) return is_global(copy.dst.buffer) ? store_global(copy) : store_shared(copy);
  if (is_global(copy.src.buffer) && is_shared(copy.dst.buffer)) return load_shared(copy);
  if (is_global(copy.dst.buffer) && !is_global(copy.src.buffer)) return store_tile(copy);
  by_threads(copy.stmt, fmt::format("the copy from `{}` to `{}`", copy.src.buffer->name, copy.dst.buffer->name),
             "both sides lie in memory");
}

// ---- Nests, reductions, fills --------------------------------------------------------------------------------------

/// Why the nest cannot run over one fragment, each thread what it owns; empty where it can.
std::string Placer::nest_obstacle(const For& nest, const std::vector<NestLine>& lines) const {
  const Buffer& domain = lines.front().buffer;
  std::string why;
  auto meet = [&](const Buffer& buffer, const std::vector<ExprRef>& index) {
    if (!in_registers(buffer) || !why.empty()) return;
    const FragmentHome& home = placed_.fragments.at(buffer.get());
    bool row = home.kind == FragmentKind::rows && nest.axes.size() == 2;
    if (home.kind == FragmentKind::columns && nest.axes.size() == 2) return;  // check_columns has seen to it
    if (!indexed_by(index, nest.axes, row ? 1 : nest.axes.size())) {
      why = fmt::format("it reads `{}` elsewhere than at its own element", buffer->name);
    } else if (row) {
      const FragmentHome &of = placed_.fragments.at(home.of.get()), &own = placed_.fragments.at(domain.get());
      bool vector = of.kind == FragmentKind::vector || own.kind == FragmentKind::vector;
      if (vector && (of.kind != own.kind || of.lanes != own.lanes))
        why = fmt::format("the rows of `{}` do not lie as those of `{}`", buffer->name, domain->name);
    } else if (!alike(buffer, domain)) {
      why = fmt::format("`{}` does not lie as `{}` does", buffer->name, domain->name);
    }
  };
  for (const NestLine& line : lines) {
    meet(line.buffer, line.index);
    walk(line.value, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node)) meet(load->buffer, load->index);
    });
  }
  return why;
}

void Placer::place_nest(const StmtRef& stmt) {
  if (place_gather(stmt) || place_scatter(stmt)) return;
  const For& nest = std::get<For>(stmt->node);
  const std::vector<NestLine>& lines = nest_lines_.at(stmt.get()).lines;
  auto plain = plain_nests_.find(stmt.get());
  std::string why = plain != plain_nests_.end() ? plain->second : "";
  if (why.empty() && lines.empty()) {
    placed_.atoms[stmt.get()] = NestAtom{};
    return;
  }
  if (why.empty()) why = nest_obstacle(nest, lines);
  if (!why.empty()) return by_threads(stmt, "the nest", why);
  placed_.atoms[stmt.get()] = NestAtom{lines.front().buffer, lines};
}

void Placer::place_reduction(const StmtRef& stmt) {
  const TileOp& op = std::get<TileOp>(stmt->node);
  const Buffer &src = op.operands[0].buffer, &dst = op.operands[1].buffer;
  auto is_rows_of = [&](const std::pair<Buffer, Buffer>& pair) { return pair == std::pair(dst, src); };
  bool related = std::any_of(rows_.begin(), rows_.end(), is_rows_of);
  if (related && in_registers(src) && in_registers(dst)) {
    const FragmentHome &rows = placed_.fragments.at(dst.get()), &own = placed_.fragments.at(src.get());
    const FragmentHome* of = rows.of == nullptr ? nullptr : &placed_.fragments.at(rows.of.get());
    bool same = of != nullptr && (of->kind == FragmentKind::vector) == (own.kind == FragmentKind::vector) &&
                (own.kind != FragmentKind::vector || of->lanes == own.lanes);
    if (same) {
      placed_.atoms[stmt.get()] = ReduceAtom{};
      return;
    }
  }
  by_threads(stmt, std::string(op_info(op.kind).name), "it is no sum, maximum or minimum along the rows in registers");
}

void Placer::place_fill(const StmtRef& stmt) {
  const Region& dst = std::get<TileOp>(stmt->node).operands[0];
  if (in_registers(dst.buffer) && is_whole(dst)) {
    placed_.atoms[stmt.get()] = FillAtom{};
    return;
  }
  by_threads(stmt, fmt::format("the fill of `{}`", dst.buffer->name),
             in_registers(dst.buffer) ? "it is not the whole fragment" : "it lies in memory");
}

void Placer::by_threads(const StmtRef& stmt, const std::string& what, const std::string& why) {
  std::set<Buffer> touched;
  auto note = [&](const Stmt& s) {
    if (const auto* op = std::get_if<TileOp>(&s.node)) {
      for (const Region& region : op->operands) touched.insert(region.buffer);
    }
    if (const auto* store = std::get_if<Store>(&s.node)) touched.insert(store->buffer);
    if (const auto* atomic = std::get_if<AtomicElement>(&s.node)) touched.insert(atomic->buffer);
    for_each_expr(s, [&](const ExprRef& root) {
      walk(root, [&](const Expr& e) {
        if (const auto* load = std::get_if<Load>(&e.node)) touched.insert(load->buffer);
      });
    });
  };
  note(*stmt);
  if (const auto* nest = std::get_if<For>(&stmt->node)) walk(nest->body, note);
  for (const Buffer& buffer : touched) {
    if (!in_registers(buffer)) continue;
    const FragmentHome& home = placed_.fragments.at(buffer.get());
    bool vector = home.kind == FragmentKind::vector ||
                  (home.kind == FragmentKind::rows && placed_.fragments.at(home.of.get()).kind == FragmentKind::vector);
    bool held = (multiplied_.contains(buffer.get()) || !vector || !looped_.contains(stmt.get())) &&
                home.kind != FragmentKind::columns;
    if (!held) move_out(buffer, fmt::format("the statement at line {} needs it in memory", stmt->loc.line));
  }
  remark(stmt->loc, fmt::format("{} is done element by element by all threads: {}", what, why));
  placed_.atoms[stmt.get()] = ThreadsAtom{};
}

}  // namespace plait::place
