#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"
#include "pipeline/teams.h"
#include "roles/arena.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

/// In what elements are kept that are narrower than a byte: every value of theirs is one of it.
DType stored_as(DType type) {
  if (dtype_bits(type) >= 8) return type;
  if (ir::is_float(type)) return DType::f16;
  return ir::is_signed_integer(type) ? DType::i8 : DType::u8;
}

/// Rows and columns; a row where there is one dimension.
std::vector<std::int64_t> tile_shape(const BufferDecl& buffer) {
  std::vector<std::int64_t> shape = static_shape(buffer);
  while (shape.size() < 2) shape.insert(shape.begin(), 1);
  return shape;
}

}  // namespace

// ---- What lies in shared memory ------------------------------------------------------------------------------------

void Lowering::declare_home(const Buffer& buffer, std::int64_t copies) {
  std::vector<std::int64_t> shape = copies == 1 ? tile_shape(*buffer) : static_shape(*buffer);
  if (copies != 1) shape.insert(shape.begin(), copies);
  roles::build::SmemOptions options;
  auto home = placed_.shared.find(buffer.get());
  if (home != placed_.shared.end()) options.swizzle = home->second.swizzle;
  if (options.swizzle == roles::Swizzle::none) options.pad = buffer->pad;
  tiles_[buffer.get()] = b_.smem(fresh_in_head(buffer->name), stored_as(buffer->type), shape, options);
  staged_bytes_ += roles::smem_bytes(*tiles_[buffer.get()]);
}

/// Buffers that no ring fills, locals of nests, one a thread, and room for fragments that statements need in memory.
void Lowering::declare_homes() {
  std::int64_t threads = std::int64_t{placed_.replicas} * placed_.warps * 32;
  std::set<const BufferDecl*> local;
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    if (loop == nullptr || loop->kind != LoopKind::parallel) return;
    walk(loop->body, [&](const Stmt& inner) {
      if (const auto* alloc = std::get_if<Alloc>(&inner.node)) local.insert(alloc->buffer.get());
    });
  });
  walk(kernel_.body, [&](const Stmt& stmt) {
    if (const auto* alloc = std::get_if<Alloc>(&stmt.node)) {
      bool own = local.contains(alloc->buffer.get());
      if (own) locals_.insert(alloc->buffer.get());
      if (own || (placed_.shared.contains(alloc->buffer.get()) && !rings_.ring_of(alloc->buffer)))
        declare_home(alloc->buffer, own ? threads : 1);
    }
    auto atom = placed_.atoms.find(&stmt);
    if (atom == placed_.atoms.end() || !std::holds_alternative<place::ThreadsAtom>(atom->second)) return;
    if (const auto* op = std::get_if<TileOp>(&stmt.node); op != nullptr && runs_along_lines(op->kind))
      declare_parts(*op);
    Touched use = touched(stmt);
    use.reads.insert(use.writes.begin(), use.writes.end());
    for (const Buffer& buffer : use.reads) {
      if (!placed_.in_registers(buffer) || scratch_.contains(buffer.get())) continue;
      std::vector<std::int64_t> shape = tile_shape(*buffer);
      const place::FragmentHome& home = placed_.fragments.at(buffer.get());
      if (home.kind == roles::FragmentKind::rows) {
        const place::FragmentHome& of = placed_.fragments.at(home.of.get());
        shape = {shape[1], of.kind == roles::FragmentKind::vector ? of.lanes : std::int64_t{8}};
      }
      scratch_[buffer.get()] = b_.smem(fresh_in_head(buffer->name + "_out"), buffer->type, shape, {});
      staged_bytes_ += roles::smem_bytes(*scratch_[buffer.get()]);
    }
  });
}

/// Room for what warps that share a line leave each other.
void Lowering::declare_parts(const TileOp& op) {
  const std::int64_t warps = std::int64_t{placed_.replicas} * placed_.warps;
  if (team_of(op, warps).warps == 1) return;
  const std::vector<DType> types = held_types(op);
  for (std::size_t i = 0; i < types.size(); ++i) {
    roles::Smem& made = parts_of_lines_[{i, types[i]}];
    if (made != nullptr) continue;
    made = b_.smem(fresh_in_head(i == 0 ? "parts" : "parts_at"), types[i], {1, warps}, {});
    staged_bytes_ += roles::smem_bytes(*made);
  }
}

/// Rings give way to what else lies in shared memory.
void Lowering::fit_rings() {
  if (staged_bytes_ == 0) return;
  std::int64_t stores = 0;
  walk(kernel_.body, [&](const Stmt& stmt) {
    if (is_staged(stmt)) stores += static_shape(*staged_fragment(stmt))[0] * 128 + kTileAlignment;
  });
  auto limit = shared_limit() - kTileAlignment * 2 - stores;
  share_homes(limit);
  while (true) {
    std::int64_t bytes = staged_bytes_ + ring_bytes();
    std::optional<std::size_t> largest;
    for (std::size_t r = 0; r < rings_.all().size(); ++r) {
      const Ring& ring = rings_.all()[r];
      if (ring.depth > ring.least && (!largest || ring.slot_bytes() > rings_.all()[*largest].slot_bytes())) largest = r;
    }
    if (bytes <= limit || !largest) return;
    rings_.deepen(*largest, rings_.all()[*largest].depth - 1);
    const Ring& ring = rings_.all()[*largest];
    remarks_.push_back({kernel_.loc, fmt::format("`{}` has {} slots and no more: other buffers take the shared memory",
                                                 ring.name, ring.depth)});
  }
}

// ---- Elements ------------------------------------------------------------------------------------------------------

/// Where an element lies in shared memory.
roles::SmemRef Lowering::place_of(const Buffer& buffer, const Values& index) {
  Values place = index;
  if (locals_.contains(buffer.get())) {
    Value thread = placed_.replicas == 1
                       ? Value(b_.builtins().thread)
                       : Value(b_.builtins().replica) * (placed_.warps * 32) + Value(b_.builtins().thread);
    place.insert(place.begin(), thread);
    return at(tiles_.at(buffer.get()), place);
  }
  if (placed_.in_registers(buffer)) {
    if (place.size() == 1) place.emplace_back(0);
    return at(scratch_.at(buffer.get()), place);
  }
  while (place.size() < 2) place.insert(place.begin(), Value(0));
  return tile(buffer, place);
}

/// An element narrower than a byte, which shares one with its neighbours, the first in the lowest bits.
Value Lowering::read_packed(const Buffer& buffer, const Values& index) {
  const int bits = dtype_bits(buffer->type), each = 8 / bits;
  Values place = index;
  Value column = place.back();
  place.back() = column / each;
  roles::SmemRef ref = place_of(buffer, place);
  Value byte = roles::build::element(ref.smem, Values(ref.index.begin(), ref.index.end()));
  return roles::build::cast(buffer->type, byte >> roles::build::cast(DType::u8, column % each * bits));
}

/// An element of a tensor, or of a buffer in shared memory.
Value Lowering::read(const Buffer& buffer, const Values& index) {
  if (buffer->scope == Scope::global) return roles::build::element(buffer, index);
  auto home = placed_.shared.find(buffer.get());
  if (home != placed_.shared.end() && home->second.packed) return read_packed(buffer, index);
  roles::SmemRef ref = place_of(buffer, index);
  Value value = roles::build::element(ref.smem, Values(ref.index.begin(), ref.index.end()));
  return stored_as(buffer->type) == buffer->type ? value : roles::build::cast(buffer->type, value);
}

}  // namespace plait::pipeline
