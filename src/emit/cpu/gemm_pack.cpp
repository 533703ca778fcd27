#include <fmt/format.h>

#include "emit/cpu/gemm_ir.h"
#include "llvm/ADT/SmallVector.h"

namespace plait::cpu {

using llvm::Function;
using llvm::IRBuilder;
using llvm::SmallVector;
using llvm::Value;

namespace {

using Square = SmallVector<Value*, 16>;

/// One step of the transposition of a square of lanes × lanes: swaps the off-diagonal blocks of `size`.
void swap_blocks(IRBuilder<>& b, Square& rows, int size) {
  const int lanes = static_cast<int>(rows.size());
  SmallVector<int, 16> upper;
  SmallVector<int, 16> lower;
  for (int lane = 0; lane < lanes; ++lane) {
    const bool second = (lane & size) != 0;
    upper.push_back(second ? lanes + lane - size : lane);
    lower.push_back(second ? lanes + lane : lane + size);
  }
  for (int i = 0; i < lanes; ++i) {
    if ((i & size) != 0) continue;
    Value*& first = rows[static_cast<std::size_t>(i)];
    Value*& second = rows[static_cast<std::size_t>(i + size)];
    Value* old = first;
    first = b.CreateShuffleVector(old, second, upper);
    second = b.CreateShuffleVector(old, second, lower);
  }
}

/// Packs panels of B, whose element (k, n) may lie at k·ldb + n or n·ldb + k.
class PackB {
 public:
  PackB(IRBuilder<>& b, const GemmPlan& plan, Value* source, Value* panel, int vectors, int tail)
      : b_(b),
        plan_(plan),
        types_(b.getContext(), plan),
        source_(source),
        panel_(panel),
        vectors_(vectors),
        tail_(tail) {}

  void emit() {
    if (plan_.shape.trans_b) {
      transposed();
    } else {
      straight();
    }
  }

 private:
  static constexpr std::int64_t unroll = 4;

  int valid(int vector) const { return vector == vectors_ - 1 ? tail_ : 0; }
  std::int64_t width() const { return static_cast<std::int64_t>(vectors_) * plan_.lanes; }
  Value* index(Value* i, std::int64_t factor) {
    return b_.CreateMul(i, b_.getInt64(static_cast<std::uint64_t>(factor)));
  }

  void straight_rows(Value* source, Value* panel, std::int64_t count) {
    for (std::int64_t k = 0; k < count; ++k) {
      for (int v = 0; v < vectors_; ++v) {
        const std::int64_t lane = static_cast<std::int64_t>(v) * plan_.lanes;
        Value* from = element_at(b_, types_.memory, source, k * plan_.shape.ldb + lane);
        Value* value = load_lanes(b_, types_.memory, plan_.lanes, from, valid(v));
        store_lanes(b_, widen(b_, plan_, value), element_at(b_, types_.packed, panel, k * width() + lane), 0);
      }
    }
  }

  void straight() {
    const std::int64_t turns = plan_.shape.k / unroll;
    counted_loop(b_, turns, [&](Value* i) {
      straight_rows(element_at(b_, types_.memory, source_, index(i, unroll * plan_.shape.ldb)),
                    element_at(b_, types_.packed, panel_, index(i, unroll * width())), unroll);
    });
    const std::int64_t done = turns * unroll;
    straight_rows(element_at(b_, types_.memory, source_, done * plan_.shape.ldb),
                  element_at(b_, types_.packed, panel_, done * width()), plan_.shape.k - done);
  }

  /// Columns [lane 0 of vector v, …) for `steps` values of k (0: a full square) from the given addresses.
  void square(Value* source, Value* panel, int v, int steps) {
    const int columns = valid(v) == 0 ? plan_.lanes : valid(v);
    const std::int64_t lane = static_cast<std::int64_t>(v) * plan_.lanes;
    Square rows;
    for (int i = 0; i < plan_.lanes; ++i) {
      Value* from = element_at(b_, types_.memory, source, (lane + i) * plan_.shape.ldb);
      rows.push_back(i < columns ? widen(b_, plan_, load_lanes(b_, types_.memory, plan_.lanes, from, steps))
                                 : llvm::Constant::getNullValue(types_.vector));
    }
    for (int size = 1; size < plan_.lanes; size *= 2) swap_blocks(b_, rows, size);
    const int count = steps == 0 ? plan_.lanes : steps;
    for (int k = 0; k < count; ++k) {
      store_lanes(b_, rows[static_cast<std::size_t>(k)], element_at(b_, types_.packed, panel, k * width() + lane), 0);
    }
  }

  void transposed() {
    const std::int64_t turns = plan_.shape.k / plan_.lanes;
    const std::int64_t done = turns * plan_.lanes;
    for (int v = 0; v < vectors_; ++v) {
      counted_loop(b_, turns, [&](Value* i) {
        square(element_at(b_, types_.memory, source_, index(i, plan_.lanes)),
               element_at(b_, types_.packed, panel_, index(i, plan_.lanes * width())), v, 0);
      });
      if (done == plan_.shape.k) continue;
      square(element_at(b_, types_.memory, source_, done), element_at(b_, types_.packed, panel_, done * width()), v,
             static_cast<int>(plan_.shape.k - done));
    }
  }

  IRBuilder<>& b_;
  const GemmPlan& plan_;
  GemmTypes types_;
  Value* source_;
  Value* panel_;
  int vectors_;
  int tail_;
};

/// A [m, k] widened, row by row.
void pack_a_rows(IRBuilder<>& b, const GemmPlan& plan, Value* source, Value* packed) {
  const GemmTypes types(b.getContext(), plan);
  const GemmShape& s = plan.shape;
  const auto scaled = [&](Value* i, std::int64_t by) {
    return b.CreateMul(i, b.getInt64(static_cast<std::uint64_t>(by)));
  };
  counted_loop(b, s.m, [&](Value* i) {
    Value* from = element_at(b, types.memory, source, scaled(i, s.lda));
    Value* to = element_at(b, types.packed, packed, scaled(i, s.k));
    const auto move = [&](Value* k, int valid) {
      Value* value = load_lanes(b, types.memory, plan.lanes, element_at(b, types.memory, from, k), valid);
      store_lanes(b, widen(b, plan, value), element_at(b, types.packed, to, k), valid);
    };
    counted_loop(b, s.k / plan.lanes, [&](Value* k) { move(scaled(k, plan.lanes), 0); });
    const std::int64_t rest = s.k % plan.lanes;
    if (rest > 0) move(b.getInt64(static_cast<std::uint64_t>(s.k - rest)), static_cast<int>(rest));
  });
}

/// A [k, m] to panels: the rows of a block are neighbours in each row of A.
void pack_a_panels(IRBuilder<>& b, const GemmPlan& plan, Value* source, Value* packed) {
  const GemmTypes types(b.getContext(), plan);
  const GemmShape& s = plan.shape;
  const auto scaled = [&](Value* i, std::int64_t by) {
    return b.CreateMul(i, b.getInt64(static_cast<std::uint64_t>(by)));
  };
  for (const RowRun& run : plan.rows(plan.block_vectors)) {
    counted_loop(b, run.count, [&](Value* i) {
      Value* from = element_at(b, types.memory, source, scaled(i, run.rows), run.begin);
      Value* to = element_at(b, types.packed, packed, scaled(i, run.rows * s.k), run.begin * s.k);
      counted_loop(b, s.k, [&](Value* k) {
        Value* value = load_lanes(b, types.memory, run.rows, element_at(b, types.memory, from, scaled(k, s.lda)), 0);
        store_lanes(b, widen(b, plan, value), element_at(b, types.packed, to, scaled(k, run.rows)), 0);
      });
    });
  }
}

}  // namespace

Function* pack_b_kernel(Function* like, const GemmPlan& plan, int vectors, int tail) {
  const std::string name = fmt::format("plait.gemm.pack_b.{}.v{}t{}.k{}.ld{}{}", static_cast<int>(plan.shape.element),
                                       vectors, tail, plan.shape.k, plan.shape.ldb, plan.shape.trans_b ? ".trans" : "");
  return internal_function(like, plan.target, name, 2, [&](IRBuilder<>& b, Function* function) {
    PackB(b, plan, function->getArg(0), function->getArg(1), vectors, tail).emit();
  });
}

Function* pack_a_kernel(Function* like, const GemmPlan& plan) {
  const bool panels = plan.pack_a == PackA::panels;
  const std::string name =
      fmt::format("plait.gemm.pack_a.{}.m{}.k{}.ld{}{}", static_cast<int>(plan.shape.element), plan.shape.m,
                  plan.shape.k, plan.shape.lda, panels ? ".panels" + std::to_string(plan.block_vectors) : "");
  return internal_function(like, plan.target, name, 2, [&](IRBuilder<>& b, Function* function) {
    (panels ? pack_a_panels : pack_a_rows)(b, plan, function->getArg(0), function->getArg(1));
  });
}

}  // namespace plait::cpu
