// plait: tile programs written in C++, the same language as the text form.
//
//   plait::KernelBuilder b("scale");
//   auto N = b.dim("N");
//   auto X = b.input("X", plait::f32, {N}), Y = b.output("Y", plait::f32, {N});
//   auto [bx] = b.grid(ceildiv(N, 256));
//   auto x = b.fragment(plait::f32, {256});
//   b.copy(X(bx * 256), x);
//   b.parallel({256}, [&](plait::Var i) { x(i) *= 2; });
//   b.copy(x, Y(bx * 256));
//   plait::Kernel kernel = b.build();   // throws plait::Error with every diagnostic
//
// A Value is an expression: it is evaluated by the statement that uses it, not where C++ computes it. `let` fixes a
// value. C++ variables, ifs, loops and functions around these calls are the compile-time part of a program.
// docs/language.md states what each call means.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/error.hpp"

namespace plait {

namespace ir {
struct Expr;
struct BufferDecl;
struct Kernel;
}  // namespace ir
namespace detail {
class BuilderState;
}

class Value;
class Ref;
class Buffer;

// ---- Types
// -----------------------------------------------------------------------------------------------------------------

enum class Round { nearest_even, toward_zero, down, up };
struct CastOptions {
  std::optional<Round> round = {};
  bool saturate = false;
};

/// An element type; called with a value it is a cast: f16(x).
class PLAIT_API DType {
 public:
  constexpr DType(plait_dtype type) : type_(type) {}        // NOLINT(google-explicit-constructor)
  constexpr operator plait_dtype() const { return type_; }  // NOLINT(google-explicit-constructor)
  Value operator()(const Value& x, const CastOptions& options = {}) const;

 private:
  plait_dtype type_;
};

inline constexpr DType bool_ = PLAIT_BOOL;
inline constexpr DType i1 = PLAIT_I1, i2 = PLAIT_I2, i4 = PLAIT_I4, i8 = PLAIT_I8;
inline constexpr DType i16 = PLAIT_I16, i32 = PLAIT_I32, i64 = PLAIT_I64;
inline constexpr DType u1 = PLAIT_U1, u2 = PLAIT_U2, u4 = PLAIT_U4, u8 = PLAIT_U8;
inline constexpr DType u16 = PLAIT_U16, u32 = PLAIT_U32, u64 = PLAIT_U64;
inline constexpr DType e2m1 = PLAIT_E2M1, e4m3 = PLAIT_E4M3, e5m2 = PLAIT_E5M2;
inline constexpr DType f16 = PLAIT_F16, bf16 = PLAIT_BF16, tf32 = PLAIT_TF32, f32 = PLAIT_F32, f64 = PLAIT_F64;

// ---- Values
// ----------------------------------------------------------------------------------------------------------------

/// A scalar expression. C++ numbers are literals: they take the type of the other operand.
class PLAIT_API Value {
 public:
  template <typename T>
    requires std::is_arithmetic_v<T>
  Value(T literal)  // NOLINT(google-explicit-constructor)
      : Value(from(literal)) {}
  /// Reads the element.
  Value(const Ref& element);  // NOLINT(google-explicit-constructor)

 private:
  friend class detail::BuilderState;
  using State = std::shared_ptr<detail::BuilderState>;
  Value(State state, std::shared_ptr<const ir::Expr> expr, std::int64_t nodes, int depth)
      : state_(std::move(state)), expr_(std::move(expr)), nodes_(nodes), depth_(depth) {}
  static Value from_bool(bool literal);
  static Value from_signed(std::int64_t literal);
  static Value from_unsigned(std::uint64_t literal);
  static Value from_float(double literal);
  template <typename T>
  static Value from(T literal) {
    if constexpr (std::is_same_v<T, bool>)
      return from_bool(literal);
    else if constexpr (std::is_floating_point_v<T>)
      return from_float(static_cast<double>(literal));
    else if constexpr (std::is_signed_v<T>)
      return from_signed(static_cast<std::int64_t>(literal));
    else
      return from_unsigned(static_cast<std::uint64_t>(literal));
  }

  State state_;                           ///< null: made of literals alone
  std::shared_ptr<const ir::Expr> expr_;  ///< null: wrong, which build() reports
  std::int64_t nodes_ = 1;                ///< of the tree, shared parts counted as often as they occur
  int depth_ = 1;
};

/// A dim, a scalar argument, a block coordinate, a loop variable or a let.
class Var : public Value {
 public:
  explicit Var(Value value) : Value(std::move(value)) {}
};

PLAIT_API Value operator+(const Value& a, const Value& b);
PLAIT_API Value operator-(const Value& a, const Value& b);
PLAIT_API Value operator*(const Value& a, const Value& b);
PLAIT_API Value operator/(const Value& a, const Value& b);  ///< integers: toward zero
PLAIT_API Value operator%(const Value& a, const Value& b);
PLAIT_API Value operator&(const Value& a, const Value& b);
PLAIT_API Value operator|(const Value& a, const Value& b);
PLAIT_API Value operator^(const Value& a, const Value& b);
PLAIT_API Value operator<<(const Value& a, const Value& b);
PLAIT_API Value operator>>(const Value& a, const Value& b);
PLAIT_API Value operator==(const Value& a, const Value& b);
PLAIT_API Value operator!=(const Value& a, const Value& b);
PLAIT_API Value operator<(const Value& a, const Value& b);
PLAIT_API Value operator<=(const Value& a, const Value& b);
PLAIT_API Value operator>(const Value& a, const Value& b);
PLAIT_API Value operator>=(const Value& a, const Value& b);
PLAIT_API Value operator&&(const Value& a, const Value& b);  ///< in the program b is evaluated only when a is true
PLAIT_API Value operator||(const Value& a, const Value& b);
PLAIT_API Value operator-(const Value& a);
PLAIT_API Value operator~(const Value& a);
PLAIT_API Value operator!(const Value& a);

PLAIT_API Value ceildiv(const Value& a, const Value& b);
PLAIT_API Value min(const Value& a, const Value& b);
PLAIT_API Value max(const Value& a, const Value& b);
/// Evaluates only the chosen operand.
PLAIT_API Value select(const Value& cond, const Value& if_true, const Value& if_false);
PLAIT_API Value bitcast(DType type, const Value& x);
PLAIT_API Value exp(const Value& x);
PLAIT_API Value exp2(const Value& x);
PLAIT_API Value log(const Value& x);
PLAIT_API Value log2(const Value& x);
PLAIT_API Value sqrt(const Value& x);
PLAIT_API Value rsqrt(const Value& x);
PLAIT_API Value sin(const Value& x);
PLAIT_API Value cos(const Value& x);
PLAIT_API Value tanh(const Value& x);
PLAIT_API Value erf(const Value& x);
PLAIT_API Value sigmoid(const Value& x);
PLAIT_API Value floor(const Value& x);
PLAIT_API Value ceil(const Value& x);
PLAIT_API Value round(const Value& x);
PLAIT_API Value trunc(const Value& x);
PLAIT_API Value abs(const Value& x);
PLAIT_API Value pow(const Value& x, const Value& y);
PLAIT_API Value fma(const Value& a, const Value& b, const Value& c);
PLAIT_API Value isnan(const Value& x);
PLAIT_API Value isinf(const Value& x);

// ---- Buffers and tiles
// -----------------------------------------------------------------------------------------------------

/// `:` of the text form, the whole dimension: A(all, 3).
struct All {};
inline constexpr All all;

/// What stands at one dimension between the parentheses of a buffer: a value, slice(a, b) or all.
class Index {
 public:
  template <typename T>
    requires std::convertible_to<T, Value>
  Index(T&& at) : begin_(Value(std::forward<T>(at))) {}  // NOLINT(google-explicit-constructor)
  Index(All) : range_(true) {}                           // NOLINT(google-explicit-constructor)

 private:
  friend class detail::BuilderState;
  friend Index slice(Value begin, Value end);
  Index(Value begin, Value end) : begin_(std::move(begin)), end_(std::move(end)), range_(true) {}
  std::optional<Value> begin_, end_;
  bool range_ = false;
};
/// `begin : end` of the text form.
inline Index slice(Value begin, Value end) { return {std::move(begin), std::move(end)}; }

/// An element or a tile of a buffer: A(i, j). As a value it reads the element, assignment stores it, in tile operations
/// it is the tile that starts there.
class PLAIT_API Ref {
 public:
  Ref(const Ref&) = default;
  // Stores return nothing useful on purpose: a store is a statement.
  void operator=(const Value& value) const;  // NOLINT(misc-unconventional-assign-operator)
  void operator=(const Ref& value) const;    // NOLINT(misc-unconventional-assign-operator)
  void operator+=(const Value& value) const;
  void operator-=(const Value& value) const;
  void operator*=(const Value& value) const;
  void operator/=(const Value& value) const;
  void operator%=(const Value& value) const;
  void operator&=(const Value& value) const;
  void operator|=(const Value& value) const;
  void operator^=(const Value& value) const;

 private:
  friend class Buffer;
  friend class Tile;
  friend class detail::BuilderState;
  Ref(const Buffer& buffer, std::vector<Index> index, std::source_location at);
  std::shared_ptr<detail::BuilderState> state_;
  std::shared_ptr<const ir::BufferDecl> buffer_;
  std::vector<Index> index_;
  std::source_location at_;
};

/// A parameter or an on-chip buffer.
class PLAIT_API Buffer {
 public:
  using At = std::source_location;
  Ref operator()(const Index& i, At at = At::current()) const;
  Ref operator()(const Index& i, const Index& j, At at = At::current()) const;
  Ref operator()(const Index& i, const Index& j, const Index& k, At at = At::current()) const;
  Ref operator()(const Index& i, const Index& j, const Index& k, const Index& l, At at = At::current()) const;
  Ref operator()(const Index& i, const Index& j, const Index& k, const Index& l, const Index& m,
                 At at = At::current()) const;
  Ref operator()(const Index& i, const Index& j, const Index& k, const Index& l, const Index& m, const Index& n,
                 At at = At::current()) const;
  /// Any number of dimensions.
  Ref operator()(const std::vector<Index>& index, At at = At::current()) const;

 private:
  friend class Ref;
  friend class Tile;
  friend class detail::BuilderState;
  Buffer(std::shared_ptr<detail::BuilderState> state, std::shared_ptr<const ir::BufferDecl> buffer)
      : state_(std::move(state)), buffer_(std::move(buffer)) {}
  std::shared_ptr<detail::BuilderState> state_;
  std::shared_ptr<const ir::BufferDecl> buffer_;  ///< null: wrong, which build() reports
};

/// Operand of a tile operation: a whole buffer, or a tile of it.
class PLAIT_API Tile {
 public:
  Tile(const Buffer& whole);  // NOLINT(google-explicit-constructor)
  Tile(const Ref& part);      // NOLINT(google-explicit-constructor)

 private:
  friend class detail::BuilderState;
  std::shared_ptr<detail::BuilderState> state_;
  std::shared_ptr<const ir::BufferDecl> buffer_;
  std::vector<Index> index_;
  std::source_location at_;
};

/// What an atomic operation adds: a tile, or a value for one element.
class Source {
 public:
  Source(const Buffer& whole) : tile_(whole) {}  // NOLINT(google-explicit-constructor)
  Source(const Ref& part) : tile_(part) {}       // NOLINT(google-explicit-constructor)
  template <typename T>
    requires(std::convertible_to<T, Value> && !std::same_as<std::remove_cvref_t<T>, Ref>)
  Source(T&& value) : value_(Value(std::forward<T>(value))) {}  // NOLINT(google-explicit-constructor)

 private:
  friend class detail::BuilderState;
  std::optional<Tile> tile_;
  std::optional<Value> value_;
};

/// Extents of a buffer or a loop nest: {M, 64}.
class Extents {
 public:
  Extents(std::initializer_list<Value> values) : values_(values) {}
  Extents(std::vector<Value> values) : values_(std::move(values)) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
    requires std::convertible_to<T, Value>
  Extents(T&& value) : values_{Value(std::forward<T>(value))} {}  // NOLINT(google-explicit-constructor)

 private:
  friend class detail::BuilderState;
  std::vector<Value> values_;
};

/// Bounds of a serial loop: end, {begin, end} or {begin, end, step}.
class Bounds {
 public:
  template <typename T>
    requires std::convertible_to<T, Value>
  Bounds(T&& end) : begin_(0), end_(Value(std::forward<T>(end))), step_(1) {}  // NOLINT(google-explicit-constructor)
  Bounds(Value begin, Value end, Value step = 1)
      : begin_(std::move(begin)), end_(std::move(end)), step_(std::move(step)) {}

 private:
  friend class detail::BuilderState;
  Value begin_, end_, step_;
};

/// An axis of the grid, with a name when it should not be bx, by or bz.
class Axis {
 public:
  template <typename T>
    requires std::convertible_to<T, Value>
  Axis(T&& extent) : extent_(Value(std::forward<T>(extent))) {}  // NOLINT(google-explicit-constructor)
  Axis(std::string name, Value extent) : name_(std::move(name)), extent_(std::move(extent)) {}

 private:
  friend class detail::BuilderState;
  std::string name_;
  Value extent_;
};

// ---- Options
// ---------------------------------------------------------------------------------------------------------------

/// Wish for the order of an on-chip buffer in memory.
struct Layout {
  enum class Kind { automatic, row_major, column_major, swizzle, strided } kind = Kind::automatic;
  int swizzle_bytes = 0;
  std::vector<std::int64_t> strides = {};
};
inline const Layout row_major = {Layout::Kind::row_major};
inline const Layout column_major = {Layout::Kind::column_major};
inline Layout swizzle(int bytes) { return {Layout::Kind::swizzle, bytes}; }
inline Layout strided(std::vector<std::int64_t> strides) { return {Layout::Kind::strided, 0, std::move(strides)}; }

struct TensorOptions {
  std::vector<Value> strides = {};  ///< empty: contiguous
};
/// `name` is what diagnostics and the printed program call the buffer; it is made unique.
struct BufferOptions {
  std::string name = {};
  Layout layout = {};
  std::int64_t pad = 0;
};
/// `names` of the loop variables in the printed program; they are made unique.
struct LoopOptions {
  std::vector<std::string> names = {};
};
struct PipelineOptions {
  std::optional<int> stages = {};
  std::vector<int> order = {}, stage = {};
  std::string name = {};
};
enum class RowSide { automatic, src, dst };
enum class Cache { none, evict_first, evict_last };
struct CopyOptions {
  std::optional<Tile> rows = {};
  RowSide row_side = RowSide::automatic;
  std::vector<Value> valid = {};
  std::optional<Value> pad = {};
  Cache cache = Cache::none;
};
enum class Policy { automatic, rows, columns, square };
struct GemmOptions {
  bool trans_A = false, trans_B = false, clear_accum = false;
  Policy policy = Policy::automatic;
};
struct ReduceOptions {
  int dim = -1;  ///< negative: from the last dimension backwards
  bool clear = true;
};
struct ArgReduceOptions {
  int dim = -1;
};
struct CumsumOptions {
  int dim = -1;
  bool reverse = false;
};
struct TaskOptions {
  std::optional<std::int64_t> latency = {}, ii = {};
};

// ---- Kernels
// ---------------------------------------------------------------------------------------------------------------

/// A built tile program; copies share it.
class PLAIT_API Kernel {
 public:
  explicit Kernel(std::shared_ptr<const ir::Kernel> ir) : ir_(std::move(ir)) {}
  const std::string& name() const;
  /// The program in the text form.
  std::string text() const;
  const std::shared_ptr<const ir::Kernel>& ir() const { return ir_; }

 private:
  std::shared_ptr<const ir::Kernel> ir_;
};

namespace detail {

/// Calls `f` with as many of `vars` as it takes.
template <typename F>
constexpr std::size_t loop_arity() {
  if constexpr (std::invocable<F, Var>)
    return 1;
  else if constexpr (std::invocable<F, Var, Var>)
    return 2;
  else if constexpr (std::invocable<F, Var, Var, Var>)
    return 3;
  else if constexpr (std::invocable<F, Var, Var, Var, Var>)
    return 4;
  else if constexpr (std::invocable<F, Var, Var, Var, Var, Var>)
    return 5;
  else
    return std::invocable<F, Var, Var, Var, Var, Var, Var> ? 6 : 0;
}
template <typename F, std::size_t... I>
void call_with(F& f, const std::vector<Var>& vars, std::index_sequence<I...>) {
  f(vars[I]...);
}

using LoopBody = std::function<void(const std::vector<Var>&)>;
enum class LoopKind { range, unrolled, vectorized, parallel, persistent };

}  // namespace detail

/// Writes one tile program. Calls outside of any lambda are the kernel's top level; the body of a loop or branch is
/// what its lambda calls.
class PLAIT_API KernelBuilder {
 public:
  using At = std::source_location;
  explicit KernelBuilder(std::string name, At at = At::current());

  // The header.
  Var dim(const std::string& name, At at = At::current());
  template <typename... Names>
    requires(std::convertible_to<Names, std::string> && ...)
  std::array<Var, sizeof...(Names)> dims(const Names&... names) {
    return {Var(dim(names, at_))...};
  }
  Buffer input(const std::string& name, DType type, const Extents& shape, const TensorOptions& options = {},
               At at = At::current());
  Buffer output(const std::string& name, DType type, const Extents& shape, const TensorOptions& options = {},
                At at = At::current());
  Buffer inout(const std::string& name, DType type, const Extents& shape, const TensorOptions& options = {},
               At at = At::current());
  Var scalar(const std::string& name, DType type, const std::optional<Value>& default_value = {},
             At at = At::current());
  std::array<Var, 1> grid(const Axis& x, At at = At::current());
  std::array<Var, 2> grid(const Axis& x, const Axis& y, At at = At::current());
  std::array<Var, 3> grid(const Axis& x, const Axis& y, const Axis& z, At at = At::current());
  void threads(int count, At at = At::current());
  void require(const Value& cond, const std::string& message = {}, At at = At::current());
  void fast_math();

  // Buffers and lets.
  Buffer shared(DType type, const Extents& shape, const BufferOptions& options = {}, At at = At::current());
  Buffer fragment(DType type, const Extents& shape, const BufferOptions& options = {}, At at = At::current());
  Buffer local(DType type, const Extents& shape, const BufferOptions& options = {}, At at = At::current());
  /// The value of `value` here and now, whatever is stored later.
  Var let(const Value& value, At at = At::current()) { return let("t", value, at); }
  Var let(const std::string& name, const Value& value, At at = At::current());

  // Loops and branches; the lambdas are called once, before the call returns.
  template <typename F>
  void range(const Bounds& bounds, F&& body, At at = At::current()) {
    range(bounds, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void range(const Bounds& bounds, const LoopOptions& options, F&& body, At at = At::current()) {
    serial(detail::LoopKind::range, bounds, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  template <typename F>
  void unrolled(const Bounds& bounds, F&& body, At at = At::current()) {
    unrolled(bounds, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void unrolled(const Bounds& bounds, const LoopOptions& options, F&& body, At at = At::current()) {
    serial(detail::LoopKind::unrolled, bounds, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  template <typename F>
  void vectorized(const Bounds& bounds, F&& body, At at = At::current()) {
    vectorized(bounds, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void vectorized(const Bounds& bounds, const LoopOptions& options, F&& body, At at = At::current()) {
    serial(detail::LoopKind::vectorized, bounds, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  template <typename F>
  void pipelined(const Bounds& bounds, F&& body, At at = At::current()) {
    pipelined(bounds, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void pipelined(const Bounds& bounds, const PipelineOptions& options, F&& body, At at = At::current()) {
    pipeline(bounds, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  template <typename F>
  void parallel(const Extents& extents, F&& body, At at = At::current()) {
    parallel(extents, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void parallel(const Extents& extents, const LoopOptions& options, F&& body, At at = At::current()) {
    nest(detail::LoopKind::parallel, extents, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  template <typename F>
  void persistent(const Extents& extents, F&& body, At at = At::current()) {
    persistent(extents, {}, std::forward<F>(body), at);
  }
  template <typename F>
  void persistent(const Extents& extents, const LoopOptions& options, F&& body, At at = At::current()) {
    nest(detail::LoopKind::persistent, extents, options, wrap(body), detail::loop_arity<F&>(), at);
  }
  void while_(const Value& cond, const std::function<void()>& body, At at = At::current());
  void if_(const Value& cond, const std::function<void()>& body, At at = At::current());
  /// Directly behind an if_ or elif_.
  void elif_(const Value& cond, const std::function<void()>& body, At at = At::current());
  void else_(const std::function<void()>& body, At at = At::current());
  void task(const TaskOptions& options, const std::function<void()>& body, At at = At::current());
  void break_(At at = At::current());
  void continue_(At at = At::current());

  // Tile operations.
  void copy(const Tile& src, const Tile& dst, const CopyOptions& options = {}, At at = At::current());
  void fill(const Tile& dst, const Value& value, At at = At::current());
  void clear(const Tile& dst, At at = At::current());
  void gemm(const Tile& A, const Tile& B, const Tile& C, const GemmOptions& options = {}, At at = At::current());
  void reduce_sum(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_max(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_min(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_abssum(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_absmax(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_bitand(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_bitor(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_bitxor(const Tile& src, const Tile& dst, const ReduceOptions& options = {}, At at = At::current());
  void reduce_argmax(const Tile& src, const Tile& dst, const ArgReduceOptions& options = {}, At at = At::current());
  void reduce_argmin(const Tile& src, const Tile& dst, const ArgReduceOptions& options = {}, At at = At::current());
  void cumsum(const Tile& src, const Tile& dst, const CumsumOptions& options = {}, At at = At::current());
  void transpose(const Tile& src, const Tile& dst, At at = At::current());
  void atomic_add(const Tile& dst, const Source& src, At at = At::current());
  void atomic_max(const Tile& dst, const Source& src, At at = At::current());
  void atomic_min(const Tile& dst, const Source& src, At at = At::current());

  // The rest.
  void assert_(const Value& cond, const std::string& message = {}, At at = At::current());
  /// `{}` in the text stands for the next value.
  void print(const std::string& text, std::initializer_list<Value> values = {}, At at = At::current());

  /// The finished kernel; the builder takes no further calls. Throws Error with all that is wrong.
  Kernel build();

 private:
  template <typename F>
  static detail::LoopBody wrap(F& body) {
    constexpr std::size_t arity = detail::loop_arity<F&>();
    static_assert(arity > 0, "the body of a loop takes one Var for each axis");
    return [&body](const std::vector<Var>& vars) { detail::call_with(body, vars, std::make_index_sequence<arity>()); };
  }
  void serial(detail::LoopKind kind, const Bounds& bounds, const LoopOptions& options, const detail::LoopBody& body,
              std::size_t arity, At at);
  void pipeline(const Bounds& bounds, const PipelineOptions& options, const detail::LoopBody& body, std::size_t arity,
                At at);
  void nest(detail::LoopKind kind, const Extents& extents, const LoopOptions& options, const detail::LoopBody& body,
            std::size_t arity, At at);

  std::shared_ptr<detail::BuilderState> state_;
  At at_;
};

}  // namespace plait
