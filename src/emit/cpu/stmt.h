#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// `loop`: the statements are the body of a loop.
void emit_body(Emitter& e, const ir::Body& body, bool loop = false);
void emit_stmt(Emitter& e, const ir::Stmt& stmt);
/// A `parallel` loop, in lanes where vector_plan.h finds an axis for them.
void emit_parallel(Emitter& e, const ir::For& loop, const Loc& loc);
/// The loop nest of `axes`, one iteration after the other; `body` runs with their variables defined.
void emit_nest(Emitter& e, llvm::ArrayRef<const ir::LoopAxis*> axes, const Loc& loc, bool breakable,
               llvm::function_ref<void()> body);

/// The statements of a fusion: as one loop where every tile lies inside its tensor, as they stand elsewhere.
void emit_fusion(Emitter& e, const Fusion& fusion, const ir::Body& original);

/// Begin, end and step of an axis as i64; a step that is not positive traps.
struct AxisRange {
  llvm::Value *begin, *end, *step;
  int bits = 0;               ///< values lie in [0, 2^bits); 0: unknown
  std::int64_t multiple = 1;  ///< divides every value
};
AxisRange emit_axis(Emitter& e, const ir::LoopAxis& axis, const Loc& loc);
/// The value of a loop variable from its i64 value (in lanes, where linear).
Val loop_value(Emitter& e, const ir::VarDecl& var, const Val& value);

void emit_atomic_element(Emitter& e, const ir::Stmt& stmt, const ir::AtomicElement& atomic);
void emit_print(Emitter& e, const ir::Print& print);

}  // namespace plait::cpu
