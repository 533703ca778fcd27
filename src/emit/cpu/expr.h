#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// The value of an expression in the lanes being emitted, in the carrier of its type.
Val emit_expr(Emitter& e, const ir::ExprRef& expr);
/// An integer expression that is the same in every lane, as i64.
llvm::Value* emit_index(Emitter& e, const ir::ExprRef& expr);
/// The same with what is known of it.
Val emit_index_value(Emitter& e, const ir::ExprRef& expr);
/// The element offset that indices name, checked where it is not proved. `access` is the Load, or the Stmt that stores.
Val emit_offset(Emitter& e, const BufferInfo& buffer, const std::vector<ir::ExprRef>& index, const void* access,
                const Loc& loc);

/// Whether evaluating an expression that is not needed does no harm: it reads no memory and cannot trap.
bool harmless(const ir::Expr& expr);

}  // namespace plait::cpu
