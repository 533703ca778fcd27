#include <fmt/format.h>

#include "ir/evaluate.h"
#include "sim/fragments.h"
#include "sim/multiply.h"
#include "sim/operand.h"

namespace plait::sim {
namespace {

/// A warp's own matrix of a fragment of the mma kinds.
std::int64_t matrix_begin(const Warp& w, const FragmentCode& f) { return w.index * f.rows * f.columns; }

/// Rows that follow each other in a warp's part of a fragment: all of its own matrix, or of one of the wgmma kinds 16
/// of each 64.
struct Band {
  std::int64_t begin = 0;  ///< the first element
  std::int64_t rows = 0;
};
std::vector<Band> bands(const Warp& w, const FragmentCode& f) {
  constexpr std::int64_t height = 16, together = 64;
  if (f.section == 0) return {{matrix_begin(w, f), f.rows}};
  std::vector<Band> list;
  for (std::int64_t row = w.index % 4 * height; row < f.rows; row += together)
    list.push_back({row * f.columns, height});
  return list;
}

/// The warp's part of `columns` columns from `column` on.
bool all_written(Machine& m, Warp& w, int fragment, std::int64_t column, std::int64_t columns) {
  use_registers(m, w, fragment);
  const FragmentCode& f = fragment_code_of(w, fragment);
  FragmentStore& store = fragment_store(w, fragment);
  for (const Band& band : bands(w, f)) {
    for (std::int64_t i = 0; i < band.rows * columns; ++i) {
      std::int64_t slot = band.begin + i / columns * f.columns + column + i % columns;
      if (!check_written(m, w, fragment, store, static_cast<std::size_t>(slot), 0)) return false;
    }
  }
  return true;
}

/// c += a·bᵀ over `rows` rows, sums rounded to f16 at each step.
void multiply_half(const FragmentCode& c, std::int64_t rows, std::int64_t depth, float* sums, const float* left,
                   const float* right) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      float& sum = sums[i * c.columns + j];
      for (std::int64_t k = 0; k < depth; ++k) {
        sum = static_cast<float>(ir::evaluate_call(ir::Intrinsic::fma, c.decl->buffer->type, left[i * depth + k],
                                                   right[j * depth + k], sum));
      }
    }
  }
}

void multiply_warp(Warp& w, const act::Mma& a) {
  const FragmentCode &c = fragment_code_of(w, a.acc), &left = fragment_code_of(w, a.a.fragment);
  const FragmentCode& right = fragment_code_of(w, a.b);
  const float* y = fragment_store(w, a.b).narrow.data() + matrix_begin(w, right);
  std::vector<float> b(static_cast<std::size_t>(right.rows * right.columns));
  for (std::int64_t n = 0; n < right.rows; ++n) {
    for (std::int64_t k = 0; k < right.columns; ++k)
      b[static_cast<std::size_t>(k * right.rows + n)] = y[n * right.columns + k];
  }
  const std::vector<Band> of_c = bands(w, c), of_a = bands(w, left);
  for (std::size_t i = 0; i < of_c.size(); ++i) {
    float* sums = fragment_store(w, a.acc).narrow.data() + of_c[i].begin;
    std::vector<float> x;
    for (std::int64_t row = 0; row < of_a[i].rows; ++row) {
      auto begin = fragment_store(w, a.a.fragment).narrow.begin() + of_a[i].begin + row * left.columns + a.a.column;
      x.insert(x.end(), begin, begin + right.columns);
    }
    if (c.decl->buffer->type != ir::DType::f32) {
      multiply_half(c, of_c[i].rows, right.columns, sums, x.data(), y);
    } else {
      multiply(of_c[i].rows, c.columns, right.columns, x.data(), b.data(), sums, c.columns);
    }
  }
}

/// Eight neighbours of a row, or bytes for that many, that a lane's address names.
struct Row {
  int lane = 0;
  layout::Coord at;        ///< in the stored tile, from the part's first element
  std::int64_t begin = 0;  ///< byte of the arena
};

/// The rows of 16 bytes that a warp moves, each with the lane that gives its address.
template <typename Fn>
void for_each_matrix_row(const Warp& w, const std::vector<std::vector<layout::MatrixAccess>>& accesses,
                         const SmemCode& smem, const layout::SmemTile::Position& at, Fn fn) {
  const std::vector<layout::MatrixAccess>& own = accesses[static_cast<std::size_t>(w.index) % accesses.size()];
  for (const layout::MatrixAccess& access : own) {
    for (std::size_t lane = 0; lane < access.lanes.size(); ++lane) {
      layout::Coord c = access.lanes[lane];
      fn(Row{static_cast<int>(lane), c, smem_byte(smem, {at.copy, at.row + c.row, at.column + c.column})});
    }
  }
}

constexpr std::int64_t kRowBytes = 16;

void charge(Machine& m, Warp& w, std::size_t instructions) {
  double bytes = static_cast<double>(instructions) * 32 * kRowBytes;
  m.use(w.block.sm, Unit::smem, w.time, bytes / m.costs().smem_bytes);
  w.time += m.latency(m.costs().smem_access + static_cast<std::int64_t>(instructions) * m.costs().instruction);
}

bool aligned(Machine& m, const Warp& w, const Row& row) {
  if (row.begin % kRowBytes == 0) return true;
  m.fail(Rule::sim_align, w.site,
         fmt::format("{} moves a row of 16 bytes from byte {} of shared memory", m.site(w.site).word, row.begin));
  return false;
}

}  // namespace

Step run(Machine& m, Warp& w, const act::Mma& a) {
  if (!whole_warp(m, w)) return Step::next;
  const FragmentCode &c = fragment_code_of(w, a.acc), &b = fragment_code_of(w, a.b);
  if (m.checks()) {
    bool known = all_written(m, w, a.acc, 0, c.columns) && all_written(m, w, a.a.fragment, a.a.column, b.columns) &&
                 all_written(m, w, a.b, 0, b.columns);
    if (!known) return Step::next;
    multiply_warp(w, a);
  }
  std::int64_t rows = 0;
  for (const Band& band : bands(w, c)) rows += band.rows;
  auto products = static_cast<double>(rows * c.columns * b.columns);
  w.time = m.use(w.block.sm, Unit::tensor, w.time, products / m.costs().mma_fma);
  w.time += m.latency(m.costs().mma);
  return Step::next;
}

/// Values go by coordinates: (r, c) of the part is element (r, c) of the tile, or (c, r) of a transposed one.
Step run(Machine& m, Warp& w, const act::LdMatrix& a) {
  if (!whole_warp(m, w)) return Step::next;
  const FragmentCode& f = fragment_code_of(w, a.dst.fragment);
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.src.smem)];
  std::int64_t rows = f.rows - a.dst.row, columns = f.columns - a.dst.column;
  charge(m, w, a.accesses[static_cast<std::size_t>(w.index) % a.accesses.size()].size());
  auto at = smem_position(m, w, 0, a.src, a.trans ? layout::Coord{columns, rows} : layout::Coord{rows, columns});
  if (!at || !m.checks()) return Step::next;
  use_registers(m, w, a.dst.fragment, a.dst.row, rows);
  FragmentStore& store = fragment_store(w, a.dst.fragment);
  std::int64_t matrix = f.section != 0 ? 0 : matrix_begin(w, f), per_row = kRowBytes * 8 / smem.tile.bits;
  for_each_matrix_row(w, a.accesses, smem, *at, [&](const Row& row) {
    if (!aligned(m, w, row)) return;
    Bytes bytes{&w.block, a.src.smem, row.begin, kRowBytes};
    lane_access(m, w, row.lane, bytes, Kind::fetch);
    bool known = are_written(bytes);
    for (std::int64_t i = 0; i < per_row; ++i) {
      layout::Coord c{row.at.row, row.at.column + i};
      if (a.trans) std::swap(c.row, c.column);
      std::int64_t slot = matrix + (a.dst.row + c.row) * f.columns + a.dst.column + c.column;
      put(f, store, static_cast<std::size_t>(slot),
          load_value(smem.decl->buffer->type, w.block.smem.data() + row.begin, i));
      if (!known) store.content[static_cast<std::size_t>(slot)] = Content::unknown;
    }
  });
  return Step::next;
}

Step run(Machine& m, Warp& w, const act::StMatrix& a) {
  if (!whole_warp(m, w)) return Step::next;
  const FragmentCode& f = fragment_code_of(w, a.src.fragment);
  const SmemCode& smem = m.code().smem[static_cast<std::size_t>(a.dst.smem)];
  charge(m, w, a.accesses[static_cast<std::size_t>(w.index) % a.accesses.size()].size());
  auto at = smem_position(m, w, 0, a.dst, {64, a.columns});
  if (!at || !m.checks()) return Step::next;
  use_registers(m, w, a.src.fragment, a.src.row, 64);
  FragmentStore& store = fragment_store(w, a.src.fragment);
  ir::DType from = f.decl->buffer->type, to = smem.decl->buffer->type;
  std::int64_t matrix = f.section != 0 ? 0 : matrix_begin(w, f), per_row = kRowBytes * 8 / smem.tile.bits;
  for_each_matrix_row(w, a.accesses, smem, *at, [&](const Row& row) {
    if (!aligned(m, w, row)) return;
    lane_access(m, w, row.lane, {&w.block, a.dst.smem, row.begin, kRowBytes}, Kind::write);
    for (std::int64_t i = 0; i < per_row; ++i) {
      std::int64_t slot = matrix + (a.src.row + row.at.row) * f.columns + a.src.column + row.at.column + i;
      auto number = static_cast<std::size_t>(slot);
      check_written(m, w, a.src.fragment, store, number, row.lane);
      Value value = interp::convert(from, to, get(f, store, number));
      store_value(to, w.block.smem.data() + row.begin, i, value);
    }
  });
  return Step::next;
}

}  // namespace plait::sim
