#include "runtime/compare.h"

#include <cmath>
#include <limits>
#include <span>

#include "ir/numeric.h"
#include "ir/visit.h"

namespace plait::runtime {

using ir::DType;

double default_tolerance(DType type) {
  switch (type) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 5e-5;
    case DType::tf32:
    case DType::f16:
      return 2e-3;
    case DType::bf16:
      return 1.6e-2;
    case DType::e4m3:
      return 0.13;
    case DType::e5m2:
      return 0.26;
    case DType::e2m1:
      return 0.51;
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
      return 0;
  }
  return 0;
}

namespace {

/// Keeps the type with the largest tolerance it has seen.
class Coarsest {
 public:
  explicit Coarsest(DType start) : type_(start) {}
  void see(DType type) {
    if (ir::is_float(type) && default_tolerance(type) > default_tolerance(type_)) type_ = type;
  }
  DType type() const { return type_; }

 private:
  DType type_;
};

void see_expr(const ir::Expr& e, Coarsest& coarsest) {
  std::visit(Overload{
                 [&](const ir::Unary&) { coarsest.see(e.type); },
                 [&](const ir::Binary&) { coarsest.see(e.type); },
                 [&](const ir::Call&) { coarsest.see(e.type); },
                 [&](const ir::Cast& n) {
                   // A cast to a wider type is exact.
                   if (default_tolerance(n.a->type) < default_tolerance(e.type) || !ir::is_float(n.a->type))
                     coarsest.see(e.type);
                 },
                 [](const auto&) {},
             },
             e.node);
}

void see_op(const ir::TileOp& op, Coarsest& coarsest) {
  DType source = op.operands.front().buffer->type, result = op.operands.back().buffer->type;
  bool moves = op.kind == ir::OpKind::copy || op.kind == ir::OpKind::transpose;
  if (op.kind == ir::OpKind::fill || (moves && source == result)) return;
  coarsest.see(result);
}

}  // namespace

DType coarsest_rounding(const ir::Kernel& kernel, DType output) {
  Coarsest coarsest(output);
  ir::walk(kernel.body, [&](const ir::Stmt& stmt) {
    ir::for_each_expr(
        stmt, [&](const ir::ExprRef& root) { ir::walk(root, [&](const ir::Expr& e) { see_expr(e, coarsest); }); });
    if (const auto* op = std::get_if<ir::TileOp>(&stmt.node)) see_op(*op, coarsest);
  });
  return coarsest.type();
}

namespace {

double root_mean_square(std::span<const double> values) {
  double sum = 0;
  std::int64_t count = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    sum += v * v;
    ++count;
  }
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

/// The usual size of the values of each row of the last dimension, and at least that of the whole tensor.
std::vector<double> row_sizes(const std::vector<double>& values, std::size_t columns) {
  const double whole = root_mean_square(values);
  std::vector<double> sizes;
  for (std::size_t at = 0; at + columns <= values.size(); at += columns)
    sizes.push_back(std::max(whole, root_mean_square(std::span(values).subspan(at, columns))));
  return sizes;
}

/// As the language converts it to the type.
double converted_to(DType type, double value) {
  if (ir::is_float(type)) return ir::round_to(type, value);
  // A double holds the largest numbers of the type as this one, which the type has not.
  if (type == DType::u64 && value == 0x1p64) return value;
  std::int64_t whole = ir::float_to_int(type, value);
  return type == DType::u64 ? static_cast<double>(static_cast<std::uint64_t>(whole)) : static_cast<double>(whole);
}

/// Whether an integer or bool is what some number within `slack` of `want` is converted to.
bool converts_to(DType type, double want, double slack, double got) {
  if (got == converted_to(type, want)) return true;
  double low = want - slack, high = want + slack;
  if (ir::is_bool(type)) return got != 0 ? low != 0 || high != 0 : low <= 0 && high >= 0;
  low = converted_to(type, low);
  high = converted_to(type, high);
  // Where the conversion wraps within the range there is no order to go by.
  return got == low || got == high || (low <= high && high - low <= 2 * slack + 1 && low <= got && got <= high);
}

/// Absolute error; infinite where only one side is NaN or infinite, or the infinities differ.
double distance(double got, double want) {
  if (std::isnan(got) && std::isnan(want)) return 0;
  if (got == want) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return std::numeric_limits<double>::infinity();
  return std::fabs(got - want);
}

}  // namespace

Comparison compare(const ir::TensorView& got, const std::vector<double>& want, double limit,
                   const std::vector<bool>& skip) {
  Comparison result;
  result.limit = limit;
  const std::size_t columns =
      got.shape.empty() ? 1 : std::max<std::size_t>(1, static_cast<std::size_t>(got.shape.back()));
  const std::vector<double> sizes = row_sizes(want, columns);
  double worst_error = -1;
  std::size_t number = 0;
  for (ElementWalk walk(got); !walk.done(); walk.next(), ++number) {
    if (!skip.empty() && skip[number]) continue;
    ++result.elements;
    double x = load_number(got, walk.offset()), y = converted_to(got.type, want[number]);
    double size = std::max(std::fabs(want[number]), sizes[number / columns]);
    if (!ir::is_float(got.type) && converts_to(got.type, want[number], limit * size, x)) continue;
    double error = distance(x, y);
    double relative = std::isfinite(error) && error > 0 ? error / size : error;
    result.max_abs_err = std::max(result.max_abs_err, error);
    result.max_rel_err = std::max(result.max_rel_err, relative);
    if (relative <= limit && ir::is_float(got.type)) continue;
    ++result.failures;
    if (relative > worst_error) {
      worst_error = relative;
      result.worst = static_cast<std::int64_t>(number);
      result.worst_got = x;
      result.worst_want = y;
    }
  }
  return result;
}

std::vector<std::int64_t> index_of(std::int64_t number, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    index[d] = number % shape[d];
    number /= shape[d];
  }
  return index;
}

}  // namespace plait::runtime
