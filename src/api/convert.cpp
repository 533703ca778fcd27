#include <fmt/format.h>

#include "handles.h"

namespace plait::api {

namespace {

struct TypePair {
  ir::DType type;
  plait_dtype c;
};
// Numbers of the C interface are fixed for ever; those of ir::DType follow its table.
constexpr TypePair kTypes[] = {
    {ir::DType::bool_, PLAIT_BOOL}, {ir::DType::i1, PLAIT_I1},     {ir::DType::i2, PLAIT_I2},
    {ir::DType::i4, PLAIT_I4},      {ir::DType::i8, PLAIT_I8},     {ir::DType::i16, PLAIT_I16},
    {ir::DType::i32, PLAIT_I32},    {ir::DType::i64, PLAIT_I64},   {ir::DType::u1, PLAIT_U1},
    {ir::DType::u2, PLAIT_U2},      {ir::DType::u4, PLAIT_U4},     {ir::DType::u8, PLAIT_U8},
    {ir::DType::u16, PLAIT_U16},    {ir::DType::u32, PLAIT_U32},   {ir::DType::u64, PLAIT_U64},
    {ir::DType::e2m1, PLAIT_E2M1},  {ir::DType::e4m3, PLAIT_E4M3}, {ir::DType::e5m2, PLAIT_E5M2},
    {ir::DType::f16, PLAIT_F16},    {ir::DType::bf16, PLAIT_BF16}, {ir::DType::tf32, PLAIT_TF32},
    {ir::DType::f32, PLAIT_F32},    {ir::DType::f64, PLAIT_F64},
};

}  // namespace

plait_dtype to_c(ir::DType type) {
  for (const TypePair& pair : kTypes) {
    if (pair.type == type) return pair.c;
  }
  throw InternalError("an element type is missing in the C interface");
}

std::optional<ir::DType> from_c(std::int32_t type) {
  for (const TypePair& pair : kTypes) {
    if (pair.c == type) return pair.type;
  }
  return std::nullopt;
}

plait_diagnostics* to_c(const Diagnostics& diagnostics) {
  return new plait_diagnostics{diagnostics.render(), diagnostics.to_json(), diagnostics.list().size()};
}

plait_diagnostics* internal_error(const std::string& what) {
  std::string text =
      fmt::format("internal error: {}\nThis is a fault of plait {}. Please report it with the program attached.\n",
                  what, PLAIT_VERSION);
  return new plait_diagnostics{text, "[]", 1};
}

}  // namespace plait::api
