#pragma once

#include "emit/cpu/emitter.h"

namespace plait::cpu {

/// i64 arithmetic and comparison on operands of which neither is a vector: lane numbers stay linear where that is
/// possible, quotients and remainders by literals become uniform or linear where a group of lanes does not straddle a
/// multiple, and what is known of the result is noted. Null where the general rules are as good.
std::optional<Val> emit_index_math(Emitter& e, ir::BinaryOp op, const Val& a, const Val& b);

/// What is known of a literal.
Val literal_index(llvm::Value* v, std::int64_t value);
/// Bits of numbers below `extent`s that plait accepts (analysis::max_dim).
constexpr int extent_bits = 47;

}  // namespace plait::cpu
