#pragma once

#include "interp/program.h"

namespace plait::interp {

// The instructions of a Program. Registers are named by the fields of Instr.

/// dst = a op b; `type` is that of the operands, `c` the number of the operator. Not for the logical ones, which are
/// jumps.
Handler binary_handler(ir::BinaryOp op, ir::DType type);
/// dst = op a; `c` is the number of the operator.
Handler unary_handler(ir::UnaryOp op, ir::DType type);
/// dst = fn(a, b, c); `target` is the number of the function.
Handler call_handler(ir::Intrinsic fn);

const Instr* run_move(Machine& m, const Instr& in);     ///< dst = a
const Instr* run_cast(Machine& m, const Instr& in);     ///< dst = a by casts[b]
const Instr* run_bitcast(Machine& m, const Instr& in);  ///< dst = bits of a by casts[b]

const Instr* run_load(Machine& m, const Instr& in);    ///< dst = elements[a]
const Instr* run_store(Machine& m, const Instr& in);   ///< elements[a] = b
const Instr* run_atomic(Machine& m, const Instr& in);  ///< elements[a] op= b, op is AtomicOp number c
const Instr* run_alloc(Machine& m, const Instr& in);   ///< a new life for buffer a
const Instr* run_tile(Machine& m, const Instr& in);    ///< tiles[a]

const Instr* run_jump(Machine& m, const Instr& in);          ///< to target
const Instr* run_jump_if_zero(Machine& m, const Instr& in);  ///< to target if a is 0
const Instr* run_jump_if_set(Machine& m, const Instr& in);   ///< to target if a is not 0
const Instr* run_repeat(Machine& m, const Instr& in);        ///< back to target; ends a run over its step limit
const Instr* run_enter_loop(Machine& m, const Instr& in);    ///< loops[a], or to target if it has no iteration
const Instr* run_next(Machine& m, const Instr& in);          ///< next iteration of loops[a] at target, or on
const Instr* run_assert(Machine& m, const Instr& in);        ///< asserts[b], condition a
const Instr* run_print(Machine& m, const Instr& in);         ///< prints[a]
const Instr* run_end(Machine& m, const Instr& in);           ///< the block is done

}  // namespace plait::interp
