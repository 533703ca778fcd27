#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plait::ir {

/// Element types of the language, listed once in types.def.
enum class DType : std::uint8_t {
#define PLAIT_DTYPE(id, name, bits, cls) id,
#include "ir/types.def"
#undef PLAIT_DTYPE
};

std::string_view dtype_name(DType type);
std::optional<DType> dtype_from_name(std::string_view name);
const std::vector<DType>& all_dtypes();

/// Bits of one element in memory; types narrower than a byte are packed in global memory, lowest bits first.
int dtype_bits(DType type);
bool is_bool(DType type);
/// True for i1…i64 and u1…u64, not for bool.
bool is_integer(DType type);
bool is_signed_integer(DType type);
bool is_float(DType type);

/// The type both operands convert to without loss (equal types; integers of one signedness to the wider; unsigned to a
/// wider signed; a float to a float that holds all its values), or nullopt where no operand can convert exactly to the
/// other.
std::optional<DType> common_type(DType a, DType b);

}  // namespace plait::ir
