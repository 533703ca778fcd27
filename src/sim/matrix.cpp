#include <fmt/format.h>

#include "ir/evaluate.h"
#include "sim/fragments.h"
#include "sim/multiply.h"
#include "sim/operand.h"

namespace plait::sim {
namespace {

/// A warp's own matrix of a fragment of the mma kinds.
std::int64_t matrix_begin(const Warp& w, const FragmentCode& f) { return w.index * f.rows * f.columns; }

bool all_written(Machine& m, Warp& w, int fragment) {
  const FragmentCode& f = fragment_code_of(w, fragment);
  FragmentStore& store = fragment_store(w, fragment);
  std::int64_t begin = matrix_begin(w, f);
  for (std::int64_t i = begin; i < begin + f.rows * f.columns; ++i) {
    if (!check_written(m, w, fragment, store, static_cast<std::size_t>(i), 0)) return false;
  }
  return true;
}

/// c += a·bᵀ, sums rounded to f16 at each step.
void multiply_half(const FragmentCode& c, const FragmentCode& a, float* sums, const float* left, const float* right) {
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; ++j) {
      float& sum = sums[i * c.columns + j];
      for (std::int64_t k = 0; k < a.columns; ++k) {
        sum = static_cast<float>(ir::evaluate_call(ir::Intrinsic::fma, c.decl->buffer->type, left[i * a.columns + k],
                                                   right[j * a.columns + k], sum));
      }
    }
  }
}

void multiply_warp(Warp& w, const act::Mma& a) {
  const FragmentCode &c = fragment_code_of(w, a.acc), &left = fragment_code_of(w, a.a);
  const FragmentCode& right = fragment_code_of(w, a.b);
  float* sums = fragment_store(w, a.acc).narrow.data() + matrix_begin(w, c);
  const float* x = fragment_store(w, a.a).narrow.data() + matrix_begin(w, left);
  const float* y = fragment_store(w, a.b).narrow.data() + matrix_begin(w, right);
  if (c.decl->buffer->type != ir::DType::f32) return multiply_half(c, left, sums, x, y);
  std::vector<float> b(static_cast<std::size_t>(right.rows * right.columns));
  for (std::int64_t n = 0; n < right.rows; ++n) {
    for (std::int64_t k = 0; k < right.columns; ++k)
      b[static_cast<std::size_t>(k * right.rows + n)] = y[n * right.columns + k];
  }
  multiply(c.rows, c.columns, left.columns, x, b.data(), sums, c.columns);
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
  for (int fragment : {a.acc, a.a, a.b}) {
    if (m.checks() && !all_written(m, w, fragment)) return Step::next;
  }
  if (m.checks()) multiply_warp(w, a);
  const FragmentCode& c = fragment_code_of(w, a.acc);
  double products = static_cast<double>(c.rows * c.columns * fragment_code_of(w, a.a).columns);
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
