#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/visit.h"
#include "pipeline/lowering.h"
#include "roles/arena.h"

// The head of the role program: what all roles share.
namespace plait::pipeline {

using namespace ir;

namespace {

/// Kept for mbarriers and the alignment of tiles.
constexpr std::int64_t kBarrierBytes = 2048;

}  // namespace

TileDims tile_dims(const Region& global, const std::vector<std::int64_t>& shape) {
  TileDims out;
  out.box.assign(global.ranges.size(), 1);
  out.of.resize(shape.size());
  std::size_t from = global.ranges.size();
  for (std::size_t d = shape.size(); d-- > 0;) {
    while (from > 0) {
      --from;
      auto extent = as_int(global.ranges[from].extent);
      if (extent == shape[d]) break;
    }
    out.of[d] = from;
    out.box[from] = shape[d];
  }
  return out;
}

void Lowering::head() {
  work_.declare();
  declare_sums();
  declare_homes();
  declare_meetings();
  deepen_rings();
  deepen_fetches();
  fit_rings();
  for (const Ring& ring : rings_.all()) staged_bytes_ += ring.depth * ring.slot_bytes();
  declare_maps(kernel_.body);
  check_stagings();
  declare_rings();
  fresh_.close_head();
}

namespace {

/// TMA writes to multiples of 128 bytes: rows that nothing uses fill a slot up.
void pad_slot(std::vector<std::int64_t>& shape, DType type) {
  constexpr std::int64_t kBits = 128 * 8;
  auto bits = [&] { return shape[0] * shape[1] * dtype_bits(type); };
  while (bits() % kBits != 0) ++shape[0];
}

}  // namespace

/// Of what a tile in a ring is made: elements narrower than a byte lie as they came, in bytes.
DType Lowering::slot_type(const BufferDecl& buffer) const {
  return placed_.shared.at(&buffer).packed ? DType::u8 : buffer.type;
}

/// Tiles that are loaded once a work item are loaded ahead for the next one where blocks stay and memory is left.
void Lowering::declare_rings() {
  std::int64_t room = shared_limit() - kBarrierBytes - staged_bytes_;
  for (std::size_t r = 0; r < rings_.all().size(); ++r) {
    const Ring& ring = rings_.all()[r];
    bool ahead = work_.stays() && !ring.planned && !ring.own;
    if (!ahead || ring.depth > 1 || ring.slot_bytes() > room) continue;
    room -= ring.slot_bytes();
    rings_.deepen(r, 2);
  }
  for (const Ring& ring : rings_.all()) {
    std::vector<roles::Smem> tiles;
    for (const Buffer& buffer : ring.buffers) {
      std::vector<std::int64_t> shape = static_shape(*buffer);
      if (shape.size() == 1) shape.insert(shape.begin(), 1);
      const place::SharedHome& home = placed_.shared.at(buffer.get());
      if (home.packed) shape.back() = place::row_bytes(buffer);
      const DType type = slot_type(*buffer);
      if (ring.depth > 1 && !ring.own) pad_slot(shape, type);
      shape.insert(shape.begin(), ring.depth);
      tiles.push_back(b_.smem(fresh_in_head(buffer->name), type, shape, {home.swizzle}));
      tiles_[buffer.get()] = tiles.back();
    }
    channels_.push_back(
        ring.own ? nullptr
                 : b_.channel(fresh_.in_head(ring.name, {"", "_full", "_empty"}), ring.depth, std::move(tiles)));
  }
}

roles::Map Lowering::map_of(const Buffer& tensor, const std::vector<std::int64_t>& box, roles::Swizzle swizzle) {
  std::string key = fmt::format("{} {} {}", tensor->name, fmt::join(box, " "), roles::swizzle_span(swizzle));
  auto it = maps_.find(key);
  if (it == maps_.end())
    it = maps_.emplace(key, b_.map(fresh_in_head(tensor->name + "_map"), tensor, box, swizzle)).first;
  return it->second;
}

/// Whether a fragment goes to a tensor by slices in shared memory.
bool Lowering::is_staged(const Stmt& stmt) const {
  auto atom = placed_.atoms.find(&stmt);
  const auto* copy = atom == placed_.atoms.end() ? nullptr : std::get_if<place::CopyAtom>(&atom->second);
  return copy != nullptr && (copy->way == place::CopyWay::staged_store ||
                             copy->way == place::CopyWay::staged_elements || copy->way == place::CopyWay::staged_rows);
}

/// The fragment that goes so.
Buffer Lowering::staged_fragment(const Stmt& stmt) {
  if (const auto* op = std::get_if<TileOp>(&stmt.node)) return op->operands[0].buffer;
  return graph::row_scatter(stmt)->tile;
}

void Lowering::declare_maps(const Body& body) {
  walk(body, [&](const Stmt& stmt) {
    if (is_staged(stmt)) declare_staging(stmt);
  });
}

/// What a schedule says of stores is what they take.
void Lowering::check_stagings() {
  for (const plan::Staging& asked : schedule_.place.stagings) {
    std::int64_t taken = 0;
    for (const auto& [stmt, made] : stagings_) {
      if (staged_fragment(*stmt)->name == asked.buffer) taken += roles::smem_bytes(*made.smem);
    }
    if (taken == asked.bytes) continue;
    refuse_schedule(asked.at.loc, taken == 0
                                      ? fmt::format("`{}`, which is not stored through shared memory,", asked.buffer)
                                      : fmt::format("{} bytes for the stores of `{}` (they go through {})", asked.bytes,
                                                    asked.buffer, taken));
  }
}

/// Types of loads' maps are declared where they are used; those of stores need memory, which is declared before.
void Lowering::declare_staging(const Stmt& stmt) {
  const auto* op = std::get_if<TileOp>(&stmt.node);
  const Buffer from = staged_fragment(stmt);
  const Buffer to = op != nullptr ? op->operands[1].buffer : graph::row_scatter(stmt)->tensor;
  std::int64_t columns = static_shape(*from)[1], rows = own_rows(from), bytes = dtype_bits(to->type) / 8;
  roles::Swizzle swizzle = place::widest_swizzle(columns * bytes);
  Staging made;
  made.chunk = roles::swizzle_span(swizzle) / bytes;
  made.slices = std::min<std::int64_t>(2, columns / made.chunk);
  std::int64_t slice = placed_.replicas * rows * made.chunk * bytes;
  if (staged_bytes_ + made.slices * slice > shared_limit() - kBarrierBytes) made.slices = 1;
  staged_bytes_ += made.slices * slice;
  made.smem = b_.smem(fresh_in_head(from->name + "_stage"), to->type, {placed_.replicas, made.slices, rows, made.chunk},
                      {swizzle});
  bool by_tma = std::get<place::CopyAtom>(placed_.atom(stmt)).way == place::CopyWay::staged_store;
  if (by_tma) {
    TileDims dims = tile_dims(op->operands[1], static_shape(*from));
    dims.box[dims.row()] = std::min(rows, kMaxBox);
    dims.box[dims.column()] = made.chunk;
    made.map = map_of(to, dims.box, swizzle);
  }
  stagings_[&stmt] = std::move(made);
}

}  // namespace plait::pipeline
