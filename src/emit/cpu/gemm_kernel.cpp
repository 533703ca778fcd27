#include "emit/cpu/gemm_kernel.h"

#include <fmt/format.h>

#include "emit/cpu/gemm_ir.h"

namespace plait::cpu {

using llvm::Function;
using llvm::IRBuilder;
using llvm::Value;

namespace {

/// Emits the loops over panels of B and blocks of rows.
class Driver {
 public:
  Driver(IRBuilder<>& b, Function* function, const GemmPlan& plan)
      : b_(b),
        function_(function),
        plan_(plan),
        types_(b.getContext(), plan),
        a_(function->getArg(0)),
        bp_(function->getArg(1)),
        c_(function->getArg(2)),
        scratch_(function->getArg(3)) {}

  void emit() {
    if (plan_.pack_a != PackA::none) {
      b_.CreateCall(pack_a_kernel(function_, plan_), {a_, scratch_});
      a_ = scratch_;
    }
    panel_ = element_at(b_, b_.getInt8Ty(), scratch_, plan_.packed_a_bytes());
    for (const ColumnRun& run : plan_.columns) {
      counted_loop(b_, run.count, [&](Value* i) { panel(run, i); });
    }
  }

 private:
  Value* scaled(Value* i, std::int64_t by) { return b_.CreateMul(i, b_.getInt64(static_cast<std::uint64_t>(by))); }

  void panel(const ColumnRun& run, Value* i) {
    const std::int64_t width = static_cast<std::int64_t>(run.vectors) * plan_.lanes;
    const std::int64_t b_column = plan_.shape.trans_b ? plan_.shape.ldb : 1;
    Value* b = element_at(b_, types_.memory, bp_, scaled(i, width * b_column), run.begin * b_column);
    if (plan_.pack_b) {
      b_.CreateCall(pack_b_kernel(function_, plan_, run.vectors, run.tail), {b, panel_});
      b = panel_;
    }
    Value* c = element_at(b_, types_.packed, c_, scaled(i, width), run.begin);
    for (const RowRun& rows : plan_.rows(run.vectors)) row_blocks(run, rows, b, c);
  }

  void row_blocks(const ColumnRun& run, const RowRun& rows, Value* b, Value* c) {
    Function* kernel = micro_kernel(function_, plan_, rows.rows, run.vectors, run.tail);
    const std::int64_t a_row =
        plan_.pack_a == PackA::panels ? plan_.shape.k : plan_.strides(rows.rows, run.vectors).a_row;
    counted_loop(b_, rows.count, [&](Value* i) {
      Value* a = element_at(b_, types_.packed, a_, scaled(i, rows.rows * a_row), rows.begin * a_row);
      Value* c_block =
          element_at(b_, types_.packed, c, scaled(i, rows.rows * plan_.shape.ldc), rows.begin * plan_.shape.ldc);
      b_.CreateCall(kernel, {a, b, c_block});
    });
  }

  IRBuilder<>& b_;
  Function* function_;
  const GemmPlan& plan_;
  GemmTypes types_;
  Value* a_;
  Value* bp_;
  Value* c_;
  Value* scratch_;
  Value* panel_ = nullptr;
};

std::string driver_name(const GemmShape& s) {
  return fmt::format("plait.gemm.{}.{}x{}x{}.ld{}_{}_{}{}{}{}", static_cast<int>(s.element), s.m, s.n, s.k, s.lda,
                     s.ldb, s.ldc, s.trans_a ? ".ta" : "", s.trans_b ? ".tb" : "", s.clear ? ".clear" : "");
}

}  // namespace

std::int64_t gemm_scratch_bytes(const GemmShape& shape, const VectorTarget& target) {
  const GemmPlan plan(shape, target);
  return plan.packed_a_bytes() + plan.packed_b_bytes();
}

void emit_gemm(llvm::IRBuilderBase& builder, const VectorTarget& target, const GemmShape& shape, Value* a, Value* b,
               Value* c, Value* scratch) {
  if (shape.m <= 0 || shape.n <= 0 || (shape.k <= 0 && !shape.clear)) return;
  const GemmPlan plan(shape, target);
  Function* caller = builder.GetInsertBlock()->getParent();
  Function* driver =
      internal_function(caller, target, driver_name(shape), 4,
                        [&](IRBuilder<>& inner, Function* function) { Driver(inner, function, plan).emit(); });
  builder.CreateCall(driver, {a, b, c, scratch});
}

}  // namespace plait::cpu
