#pragma once

#include "interp/value.h"
#include "ir/expr.h"
#include "sim/clock.h"

/// Expressions of a role as a register program that a warp runs: a register is one value for all lanes, or 32 of them.
namespace plait::sim {

using interp::Value;

struct Warp;
class Machine;

/// Register(s) in a warp's file, from `at` on.
struct Reg {
  std::int32_t at = -1;
  bool per_lane = false;
  bool valid() const { return at >= 0; }
};

struct Evaluation;
struct ExprInstr;
using ExprHandler = void (*)(Evaluation&, const ExprInstr&);

/// One operation on one lane or on all. `step_*`: 1 where the operand has a value a lane.
struct ExprInstr {
  ExprHandler run = nullptr;
  std::int32_t dst = 0, a = 0, b = 0, c = 0;
  std::int32_t extra = 0;  ///< number in a table, of an operator or of a function
  std::int32_t skip = 0;   ///< instructions to leave out where no lane is left
  std::int16_t lanes = 1;
  std::uint8_t step_a = 0, step_b = 0, step_c = 0;
  ir::DType type = ir::DType::i32;
};

/// A part of the program's ExprInstr list.
struct ExprRange {
  std::int32_t begin = 0, end = 0;
};

/// A run of a range by a warp.
struct Evaluation {
  Machine& machine;
  Warp& warp;
  Value* file;
  LaneMask mask;
  std::int32_t site;         ///< of the statement
  std::int32_t element = 0;  ///< within `each`: number of the domain's element
  const ExprInstr* next = nullptr;
  bool failed = false;            ///< an error ends the evaluation
  std::vector<LaneMask> outer{};  ///< masks around conditional operands
};

/// Whether C++ leaves the result undefined: it is none of the signed type, or the count of a shift is not in [0, bits).
bool is_undefined(ir::BinaryOp op, ir::DType type, std::int64_t a, std::int64_t b);

/// Handlers by operator, function and type.
ExprHandler binary_handler(ir::BinaryOp op, ir::DType type);
ExprHandler unary_handler(ir::UnaryOp op, ir::DType type);
ExprHandler call_handler(ir::Intrinsic fn, ir::DType type);
void run_select(Evaluation&, const ExprInstr&);
void run_cast(Evaluation&, const ExprInstr&);           ///< `extra`: Code::casts
void run_bitcast(Evaluation&, const ExprInstr&);        ///< `extra`: Code::casts
void run_narrow(Evaluation&, const ExprInstr&);         ///< keeps the lanes where a holds (extra 0) or does not (1)
void run_widen(Evaluation&, const ExprInstr&);          ///< ends a run_narrow
void run_load_tensor(Evaluation&, const ExprInstr&);    ///< `extra`: Code::elements
void run_load_shared(Evaluation&, const ExprInstr&);    ///< `extra`: Code::elements
void run_load_fragment(Evaluation&, const ExprInstr&);  ///< `extra`: Code::fragment_uses

}  // namespace plait::sim
