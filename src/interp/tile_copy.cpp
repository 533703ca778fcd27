#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "interp/tile.h"

namespace plait::interp {

namespace {

struct Copy {
  Box src, dst;
  std::vector<std::int64_t> rows;
  Value pad = int_value(0);
};

bool read_rows(Machine& m, const TileCode& tile, std::vector<std::int64_t>& rows) {
  Box box;
  std::vector<Value> values;
  if (!make_box(m, tile.rows[0], Outside::error, box) || !gather(m, box, values)) return false;
  for (const Value value : values) rows.push_back(std::clamp<std::int64_t>(value.i, -1, far_outside));
  return true;
}

bool fits_rows(Machine& m, const Copy& copy, const Box& mapped, std::int64_t extent) {
  if (extent == static_cast<std::int64_t>(copy.rows.size())) return true;
  return m.fail(mapped.code->reach.site, Rule::region_extent,
                fmt::format("rows has {} entries for the {} rows of this part of {}", copy.rows.size(), extent,
                            m.describe(mapped.code->reach.buffer)),
                mapped.code->reach.buffer);
}

/// A map of several rows applies to the first dimension that is not folded; the row of a map of one is folded already.
bool map_rows(Machine& m, Copy& copy, Box& mapped, Box& other) {
  const std::size_t rank = mapped.extents.size();
  if (copy.rows.size() == 1) return fits_rows(m, copy, mapped, mapped.extents[rank < 2 ? 0 : rank - 2]);
  if (mapped.dims.size() == 1) {
    // A column: a second dimension keeps the mapped one from being walked along.
    mapped.dims.push_back({});
    other.dims.push_back({});
  }
  mapped.rows = &copy.rows;
  return fits_rows(m, copy, mapped, mapped.dims[0].extent);
}

/// `valid` stands for the dimensions of the on-chip side, aligned right, and limits `limited`.
void limit(Machine& m, const TileCode& tile, const Box& on_chip, Box& limited) {
  const std::size_t rank = on_chip.extents.size();
  std::vector<std::int64_t> all(rank, std::numeric_limits<std::int64_t>::max());
  for (std::size_t n = 0; n < std::min(rank, tile.valid.size()); ++n) {
    all[rank - 1 - n] = m.integer(tile.valid[tile.valid.size() - 1 - n]);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (on_chip.extents[d] == 1 && all[d] <= 0) limited.nothing = true;
  }
  for (const Box::Dim& dim : on_chip.dims) limited.limits.push_back(dim.extent == 1 ? 1 : all[dim.source]);
}

bool prepare(Machine& m, const TileCode& tile, Copy& copy) {
  if (!tile.rows.empty() && !read_rows(m, tile, copy.rows)) return false;
  const bool scatter = std::get<ir::CopyAttrs>(tile.op->attrs).scatter;
  const bool one_row = copy.rows.size() == 1;
  const std::int64_t* src_row = one_row && !scatter ? copy.rows.data() : nullptr;
  const std::int64_t* dst_row = one_row && scatter ? copy.rows.data() : nullptr;
  if (!make_box(m, tile.operands[0], Outside::clipped, copy.src, src_row)) return false;
  if (!make_box(m, tile.operands[1], Outside::clipped, copy.dst, dst_row)) return false;
  if (!same_shape(m, copy.src, copy.dst)) return false;
  if (!tile.rows.empty()) {
    const bool ok = scatter ? map_rows(m, copy, copy.dst, copy.src) : map_rows(m, copy, copy.src, copy.dst);
    if (!ok) return false;
  }
  if (!tile.valid.empty()) {
    const Box& on_chip = copy.dst.global && !copy.src.global ? copy.src : copy.dst;
    limit(m, tile, on_chip, copy.dst.global ? copy.dst : copy.src);
  }
  if (tile.value >= 0) copy.pad = m.reg(tile.value);
  return true;
}

/// Reads what the destination takes of one row into `out`, converted, and pads what the source lacks.
bool read_row(Machine& m, const Copy& copy, const RowIndex& index, Value* out) {
  const Window wanted = window(copy.dst, index);
  Window there = window(copy.src, index);
  there = {std::max(there.from, wanted.from), std::min(there.to, wanted.to)};
  for (std::int64_t n = wanted.from; n < wanted.to; ++n) out[n] = copy.pad;
  if (there.empty()) return true;
  if (!m.read(copy.src.code->reach, row_at(copy.src, index, there), out + there.from)) return false;
  if (copy.src.type == copy.dst.type) return true;
  for (std::int64_t n = there.from; n < there.to; ++n) out[n] = convert(copy.src.type, copy.dst.type, out[n]);
  return true;
}

bool write_row(Machine& m, const Copy& copy, const RowIndex& index, const Value* in) {
  const Window wanted = window(copy.dst, index);
  return wanted.empty() || m.write(copy.dst.code->reach, row_at(copy.dst, index, wanted), in + wanted.from);
}

}  // namespace

/// Everything is read before anything is written, as the sides may overlap.
bool run_copy(Machine& m, const TileCode& tile) {
  Copy copy;
  std::vector<Value> elements;
  if (!prepare(m, tile, copy) || !reserve(m, copy.dst, elements)) return false;
  const std::int64_t length = copy.dst.row_length();
  Value* next = elements.data();
  const bool read = for_each_row(copy.dst, [&](const RowIndex& index) {
    const bool ok = read_row(m, copy, index, next);
    next += length;
    return ok;
  });
  next = elements.data();
  return read && for_each_row(copy.dst, [&](const RowIndex& index) {
           const bool ok = write_row(m, copy, index, next);
           next += length;
           return ok;
         });
}

bool run_fill(Machine& m, const TileCode& tile) {
  Box box;
  if (!make_box(m, tile.operands[0], Outside::error, box)) return false;
  const std::vector<Value> row(box.count() == 0 ? 0 : static_cast<std::size_t>(box.row_length()), m.reg(tile.value));
  return for_each_row(box, [&](const RowIndex& index) {
    return m.write(box.code->reach, row_at(box, index, {0, box.row_length()}), row.data());
  });
}

/// The last two dimensions are exchanged; those before, if any, are not.
bool run_transpose(Machine& m, const TileCode& tile) {
  Box src, dst;
  std::vector<Value> from, to;
  if (!make_box(m, tile.operands[0], Outside::error, src) || !make_box(m, tile.operands[1], Outside::error, dst))
    return false;
  const std::size_t rank = src.extents.size(), dst_rank = dst.extents.size();
  const std::int64_t rows = src.extents[rank - 2], columns = src.extents[rank - 1];
  if (dst.extents[dst_rank - 2] != columns || dst.extents[dst_rank - 1] != rows || src.count() != dst.count()) {
    return m.fail(tile.operands[1].reach.site, Rule::region_extent,
                  fmt::format("the transpose of {}x{} elements does not fit {}x{}", rows, columns,
                              dst.extents[dst_rank - 2], dst.extents[dst_rank - 1]),
                  tile.operands[1].reach.buffer);
  }
  if (!gather(m, src, from)) return false;
  to.resize(from.size());
  const std::int64_t tiles = from.empty() ? 0 : static_cast<std::int64_t>(from.size()) / (rows * columns);
  for (std::int64_t t = 0; t < tiles; ++t) {
    const Value* in = from.data() + t * rows * columns;
    Value* out = to.data() + t * rows * columns;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) out[c * rows + r] = convert(src.type, dst.type, in[r * columns + c]);
    }
  }
  return scatter(m, dst, to);
}

bool run_atomic_tile(Machine& m, const TileCode& tile) {
  Box dst, src;
  std::vector<Value> operands;
  if (!make_box(m, tile.operands[0], Outside::clipped, dst) || !make_box(m, tile.operands[1], Outside::error, src))
    return false;
  if (!same_shape(m, dst, src) || !gather(m, src, operands)) return false;
  const ir::AtomicOp op = tile.op->kind == ir::OpKind::atomic_add   ? ir::AtomicOp::add
                          : tile.op->kind == ir::OpKind::atomic_max ? ir::AtomicOp::max
                                                                    : ir::AtomicOp::min;
  const Value* next = operands.data();
  return for_each_row(dst, [&](const RowIndex& index) {
    const Window there = window(dst, index);
    Row row = there.empty() ? Row{} : row_at(dst, index, there);
    for (std::int64_t n = there.from; n < there.to; ++n) {
      if (!m.update(dst.code->reach, row.first, op, convert(src.type, dst.type, next[n]))) return false;
      row.first.number += row.number_step;
      row.first.offset += row.offset_step;
    }
    next += dst.row_length();
    return true;
  });
}

}  // namespace plait::interp
