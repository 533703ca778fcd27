#include "interp/tile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interp/handlers.h"

namespace plait::interp {

namespace {

/// Elements that an operation gathers at once.
constexpr std::int64_t max_gathered = std::int64_t{1} << 28;

std::int64_t bounded_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? far_outside : std::min(product, far_outside);
}

bool report_outside(Machine& m, const RegionCode& code, std::size_t dim, std::int64_t extent) {
  const std::int64_t begin = m.integer(code.begin[dim]);
  const std::int64_t end =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + static_cast<std::uint64_t>(extent));
  return m.fail(code.reach.site, Rule::out_of_bounds,
                fmt::format("elements {}:{} of dimension {} of {} are not all inside [0, {})", begin, end, dim,
                            m.describe(code.reach.buffer), m.storage(code.reach).extents[dim]),
                code.reach.buffer);
}

bool read_extents(Machine& m, const RegionCode& code, Box& box) {
  for (std::size_t d = 0; d < code.extent.size(); ++d) {
    const std::int64_t extent = m.integer(code.extent[d]);
    if (extent < 0) {
      return m.fail(
          code.reach.site, Rule::region_extent,
          fmt::format("the extent of dimension {} of this part of {} is {}", d, m.describe(code.reach.buffer), extent),
          code.reach.buffer);
    }
    box.extents.push_back(std::min(extent, far_outside));
  }
  return true;
}

void add_dim(const Storage& storage, std::size_t d, std::int64_t begin, Box& box) {
  const std::int64_t number_step = storage.steps[d];
  const std::int64_t offset_step = storage.on_chip() ? 0 : storage.strides[d];
  if (box.extents[d] != 1) {
    box.dims.push_back({box.extents[d], begin, storage.extents[d], number_step, offset_step, d});
  } else if (begin < 0 || begin >= storage.extents[d]) {
    box.nothing = true;
  } else {
    box.base.number += begin * number_step;
    box.base.offset += begin * offset_step;
  }
}

std::vector<std::int64_t> folded_extents(const Box& box) {
  std::vector<std::int64_t> extents;
  for (const Box::Dim& dim : box.dims) extents.push_back(dim.extent);
  return extents;
}

}  // namespace

std::int64_t Box::count() const {
  std::int64_t count = 1;
  for (const Dim& dim : dims) {
    if (dim.extent == 0) return 0;
    count = bounded_product(count, dim.extent);
  }
  return count;
}

bool make_box(Machine& m, const RegionCode& code, Outside outside, Box& box, const std::int64_t* row) {
  const Storage& storage = m.storage(code.reach);
  box.code = &code;
  box.type = storage.type;
  box.global = !storage.on_chip();
  if (!read_extents(m, code, box)) return false;
  const bool empty = std::find(box.extents.begin(), box.extents.end(), 0) != box.extents.end();
  for (std::size_t d = 0; d < box.extents.size(); ++d) {
    std::int64_t begin = std::clamp(m.integer(code.begin[d]), -far_outside, far_outside);
    if (row != nullptr && d + 2 == std::max<std::size_t>(box.extents.size(), 2))
      begin += std::clamp(*row, -far_outside, far_outside);
    const std::int64_t size = storage.extents[d];
    const bool inside = begin >= 0 && begin <= size - box.extents[d];
    const bool clips = box.global && outside == Outside::clipped;
    if (!inside && !empty && !clips) return report_outside(m, code, d, box.extents[d]);
    add_dim(storage, d, begin, box);
  }
  if (row != nullptr && *row < 0) box.nothing = true;
  if (box.dims.empty()) box.dims.push_back({});
  m.count_steps(box.count());
  return true;
}

bool same_shape(Machine& m, const Box& a, const Box& b) {
  if (folded_extents(a) == folded_extents(b)) return true;
  return m.fail(
      b.code->reach.site, Rule::region_extent,
      fmt::format("the two sides have the extents ({}) of {} and ({}) of {}", fmt::join(a.extents, ", "),
                  m.describe(a.code->reach.buffer), fmt::join(b.extents, ", "), m.describe(b.code->reach.buffer)),
      b.code->reach.buffer);
}

bool for_each_row(const Box& box, const std::function<bool(const RowIndex&)>& fn) {
  if (box.count() == 0) return true;
  const std::size_t outer = box.dims.size() - 1;
  RowIndex index(outer, 0);
  while (true) {
    if (!fn(index)) return false;
    std::size_t d = outer;
    while (d > 0 && ++index[d - 1] == box.dims[d - 1].extent) index[--d] = 0;
    if (d == 0) return true;
  }
}

namespace {

/// Index in the buffer of index `at` of dims[d].
std::int64_t position(const Box& box, std::size_t d, std::int64_t at) {
  const bool mapped = d == 0 && box.rows != nullptr;
  return box.dims[d].begin + (mapped ? (*box.rows)[static_cast<std::size_t>(at)] : at);
}

bool row_is_there(const Box& box, const RowIndex& index) {
  if (box.nothing) return false;
  if (box.rows != nullptr && (*box.rows)[static_cast<std::size_t>(index[0])] < 0) return false;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::int64_t at = position(box, d, index[d]);
    if (at < 0 || at >= box.dims[d].size) return false;
    if (!box.limits.empty() && index[d] >= box.limits[d]) return false;
  }
  return true;
}

}  // namespace

Window window(const Box& box, const RowIndex& index) {
  if (!row_is_there(box, index)) return {};
  const Box::Dim& last = box.dims.back();
  Window part{std::max<std::int64_t>(0, -last.begin), std::min(last.extent, last.size - last.begin)};
  if (!box.limits.empty()) part.to = std::min(part.to, box.limits.back());
  return part;
}

Row row_at(const Box& box, const RowIndex& index, Window window) {
  const Box::Dim& last = box.dims.back();
  Row row{box.base, last.number_step, last.offset_step, window.to - window.from};
  const auto move = [&row](const Box::Dim& dim, std::int64_t by) {
    row.first.number += by * dim.number_step;
    row.first.offset += by * dim.offset_step;
  };
  for (std::size_t d = 0; d < index.size(); ++d) move(box.dims[d], position(box, d, index[d]));
  move(last, last.begin + window.from);
  return row;
}

bool reserve(Machine& m, const Box& box, std::vector<Value>& out) {
  if (box.count() > max_gathered) {
    return m.fail(
        box.code->reach.site, Rule::memory_limit,
        fmt::format("a tile of {} elements is more than the {} that the interpreter holds", box.count(), max_gathered));
  }
  out.resize(static_cast<std::size_t>(box.count()));
  return true;
}

bool gather(Machine& m, const Box& box, std::vector<Value>& out) {
  if (!reserve(m, box, out)) return false;
  Value* next = out.data();
  return for_each_row(box, [&](const RowIndex& index) {
    const bool ok = m.read(box.code->reach, row_at(box, index, {0, box.row_length()}), next);
    next += box.row_length();
    return ok;
  });
}

bool scatter(Machine& m, const Box& box, const std::vector<Value>& in) {
  const Value* next = in.data();
  return for_each_row(box, [&](const RowIndex& index) {
    const bool ok = m.write(box.code->reach, row_at(box, index, {0, box.row_length()}), next);
    next += box.row_length();
    return ok;
  });
}

namespace {

bool run(Machine& m, const TileCode& tile) {
  switch (tile.op->kind) {
    case ir::OpKind::copy:
      return run_copy(m, tile);
    case ir::OpKind::fill:
      return run_fill(m, tile);
    case ir::OpKind::gemm:
      return run_gemm(m, tile);
    case ir::OpKind::reduce_sum:
    case ir::OpKind::reduce_max:
    case ir::OpKind::reduce_min:
    case ir::OpKind::reduce_abssum:
    case ir::OpKind::reduce_absmax:
    case ir::OpKind::reduce_bitand:
    case ir::OpKind::reduce_bitor:
    case ir::OpKind::reduce_bitxor:
      return run_reduce(m, tile);
    case ir::OpKind::reduce_argmax:
    case ir::OpKind::reduce_argmin:
      return run_arg_reduce(m, tile);
    case ir::OpKind::cumsum:
      return run_cumsum(m, tile);
    case ir::OpKind::transpose:
      return run_transpose(m, tile);
    case ir::OpKind::atomic_add:
    case ir::OpKind::atomic_max:
    case ir::OpKind::atomic_min:
      return run_atomic_tile(m, tile);
  }
  throw InternalError("a tile operation of no kind");
}

}  // namespace

const Instr* run_tile(Machine& m, const Instr& in) {
  return run(m, m.program().tiles[static_cast<std::size_t>(in.a)]) ? &in + 1 : nullptr;
}

}  // namespace plait::interp
