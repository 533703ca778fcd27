#pragma once

#include "ir/expr.h"

namespace plait::ir {

// The number formats and conversions of docs/language.md, "Conversions", on the host. Formats: IEEE 754 for f64, f32,
// f16; bf16 and tf32 are f32 with 7 and 10 fraction bits; e4m3, e5m2: OCP 8-bit floating point specification
// (OFP8) 1.0; e2m1: OCP Microscaling formats (MX) 1.0.

/// `value` rounded to float type `type`, given back as the double of the same value. A rounding directed toward zero
/// stops at the largest finite number, as in IEEE 754; infinities are not rounded.
double round_to(DType type, double value, Rounding rounding = Rounding::nearest_even, bool saturate = false);
/// `value` converted to integer type `type` or bool, sign- or zero-extended (u64: the same bits). A value that fits u64
/// is exact there; everything else that does not fit goes by way of i64.
std::int64_t float_to_int(DType type, double value, Rounding rounding = Rounding::toward_zero, bool saturate = false);
/// `value` (of signedness `from_unsigned_64`: a u64's bits) wrapped or saturated to integer type `type`; for bool:
/// value != 0.
std::int64_t int_to_int(DType type, std::int64_t value, bool from_unsigned_64 = false, bool saturate = false);
/// An integer rounded once, to nearest even, to a float type.
double int_to_float(DType type, std::int64_t value, bool from_unsigned_64 = false, bool saturate = false);

/// The bits of a value that `round_to` could have returned for `type`, in the low dtype_bits(type) bits; and back. A
/// NaN keeps its sign and as much of its payload as fits. The low 13 bits of a tf32 are read as they are.
std::uint64_t encode_float(DType type, double value);
double decode_float(DType type, std::uint64_t bits);

/// Reads or writes element number `index` >= 0 (counted in elements, packed when narrower than a byte) of memory of
/// float type `type`.
double load_float(DType type, const void* data, std::int64_t index);
void store_float(DType type, void* data, std::int64_t index, double value);
/// The same for integers and bool, extended to 64 bits. A store keeps the neighbours in its byte.
std::int64_t load_int(DType type, const void* data, std::int64_t index);
void store_int(DType type, void* data, std::int64_t index, std::int64_t value);

}  // namespace plait::ir
