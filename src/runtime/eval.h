#pragma once

#include <unordered_map>

#include "ir/tensor.h"

namespace plait::runtime {

/// Values of dims and scalar arguments.
using Env = std::unordered_map<const ir::VarDecl*, ir::ScalarValue>;

enum class EvalFailure {
  unbound,           ///< a variable without a value
  overflow,          ///< arithmetic or a conversion left the range of its signed type
  division_by_zero,  ///< by `/`, `%` or ceildiv
  not_a_call_value,  ///< reads a buffer
};
std::string_view eval_failure_text(EvalFailure failure);

struct Evaluated {
  std::optional<ir::ScalarValue> value;
  EvalFailure failure = EvalFailure::unbound;  ///< the reason where there is no value
};

/// Value of an expression over dims and scalars, by the rules of docs/language.md but for one: signed arithmetic that
/// overflows, or a conversion to a signed type that does not hold the value, has none, because an extent that wrapped
/// would pass checks that it should fail.
Evaluated evaluate(const ir::Expr& expr, const Env& env);

inline ir::ScalarValue int_value(std::int64_t value) { return {ir::DType::i64, value, 0}; }

}  // namespace plait::runtime
