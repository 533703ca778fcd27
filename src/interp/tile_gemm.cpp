#include <fmt/format.h>

#include <cmath>

#include "interp/tile.h"

namespace plait::interp {

using ir::DType;

namespace {

struct Shape {
  std::int64_t m = 0, n = 0, k = 0;
};

/// The last two extents, exchanged if the operand is transposed.
std::pair<std::int64_t, std::int64_t> matrix(const Box& box, bool transposed) {
  const std::size_t rank = box.extents.size();
  const std::int64_t rows = box.extents[rank - 2], columns = box.extents[rank - 1];
  return transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

/// The elements as T, row-major after the transposition.
template <typename T>
std::vector<T> packed(const std::vector<Value>& values, std::int64_t rows, std::int64_t columns, bool transposed,
                      bool floats) {
  std::vector<T> out(values.size());
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) {
      const Value value = values[static_cast<std::size_t>(transposed ? c * rows + r : r * columns + c)];
      out[static_cast<std::size_t>(r * columns + c)] = floats ? static_cast<T>(value.f) : static_cast<T>(value.i);
    }
  }
  return out;
}

#if defined(__x86_64__)
#define PLAIT_WITH_FMA __attribute__((target("avx2,fma")))
bool has_fma() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
#define PLAIT_WITH_FMA
bool has_fma() { return false; }
#endif

/// c[i, j] = fma(a[i, k], b[k, j], c[i, j]) with ascending k. The macro makes the same loops twice: with instructions
/// for fused multiply-adds, and for machines without, where the library does them right but slowly.
#define PLAIT_MULTIPLY(name, T, attribute)                                                \
  attribute void name(const Shape& s, const T* a, const T* b, T* c) {                     \
    for (std::int64_t i = 0; i < s.m; ++i) {                                              \
      for (std::int64_t k = 0; k < s.k; ++k) {                                            \
        const T factor = a[i * s.k + k];                                                  \
        const T* row = b + k * s.n;                                                       \
        T* sum = c + i * s.n;                                                             \
        for (std::int64_t j = 0; j < s.n; ++j) sum[j] = std::fma(factor, row[j], sum[j]); \
      }                                                                                   \
    }                                                                                     \
  }
PLAIT_MULTIPLY(multiply_f32, float, )
PLAIT_MULTIPLY(multiply_f64, double, )
PLAIT_MULTIPLY(multiply_f32_fma, float, PLAIT_WITH_FMA)
PLAIT_MULTIPLY(multiply_f64_fma, double, PLAIT_WITH_FMA)
#undef PLAIT_MULTIPLY

void multiply(const Shape& s, const float* a, const float* b, float* c) {
  return has_fma() ? multiply_f32_fma(s, a, b, c) : multiply_f32(s, a, b, c);
}
void multiply(const Shape& s, const double* a, const double* b, double* c) {
  return has_fma() ? multiply_f64_fma(s, a, b, c) : multiply_f64(s, a, b, c);
}
/// Wraps as one rounding to the type of C at the end does.
void multiply(const Shape& s, const std::uint64_t* a, const std::uint64_t* b, std::uint64_t* c) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t k = 0; k < s.k; ++k) {
      const std::uint64_t factor = a[i * s.k + k];
      for (std::int64_t j = 0; j < s.n; ++j) c[i * s.n + j] += factor * b[k * s.n + j];
    }
  }
}

struct Product {
  Box a, b, c;
  std::vector<Value> a_values, b_values, c_values;
  Shape shape;
};

template <typename T>
void accumulate(const ir::GemmAttrs& attrs, Product& p) {
  const bool floats = ir::is_float(p.c.type);
  const Shape& s = p.shape;
  const std::vector<T> a = packed<T>(p.a_values, s.m, s.k, attrs.trans_a, floats);
  const std::vector<T> b = packed<T>(p.b_values, s.k, s.n, attrs.trans_b, floats);
  std::vector<T> c = packed<T>(p.c_values, s.m, s.n, false, floats);
  multiply(s, a.data(), b.data(), c.data());
  for (std::size_t n = 0; n < c.size(); ++n) {
    p.c_values[n] = floats ? float_value(static_cast<double>(c[n]))
                           : int_value(ir::int_to_int(p.c.type, static_cast<std::int64_t>(c[n])));
  }
}

bool find_shape(Machine& m, const TileCode& tile, const ir::GemmAttrs& attrs, Product& p) {
  const auto [rows, depth] = matrix(p.a, attrs.trans_a);
  const auto [b_depth, columns] = matrix(p.b, attrs.trans_b);
  const auto [c_rows, c_columns] = matrix(p.c, false);
  p.shape = {rows, columns, depth};
  const bool single = p.a.count() == rows * depth && p.b.count() == depth * columns && p.c.count() == rows * columns;
  if (depth == b_depth && rows == c_rows && columns == c_columns && single) return true;
  return m.fail(tile.operands[2].reach.site, Rule::region_extent,
                fmt::format("the product of {}x{} and {}x{} elements does not fit {}x{}", rows, depth, b_depth, columns,
                            c_rows, c_columns),
                tile.operands[2].reach.buffer);
}

}  // namespace

bool run_gemm(Machine& m, const TileCode& tile) {
  const auto& attrs = std::get<ir::GemmAttrs>(tile.op->attrs);
  Product p;
  if (!make_box(m, tile.operands[0], Outside::error, p.a) || !make_box(m, tile.operands[1], Outside::error, p.b) ||
      !make_box(m, tile.operands[2], Outside::error, p.c) || !find_shape(m, tile, attrs, p)) {
    return false;
  }
  if (!gather(m, p.a, p.a_values) || !gather(m, p.b, p.b_values)) return false;
  if (!(attrs.clear_accum ? reserve(m, p.c, p.c_values) : gather(m, p.c, p.c_values))) return false;
  m.count_steps(p.shape.m * p.shape.n * p.shape.k);
  if (!ir::is_float(p.c.type)) {
    accumulate<std::uint64_t>(attrs, p);
  } else if (p.c.type == DType::f64) {
    accumulate<double>(attrs, p);
  } else {
    PLAIT_ASSERT(p.c.type == DType::f32, "the accumulator of a gemm is f32, f64 or an integer");
    accumulate<float>(attrs, p);
  }
  return scatter(m, p.c, p.c_values);
}

}  // namespace plait::interp
