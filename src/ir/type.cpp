#include "ir/type.h"

#include <array>

namespace plait::ir {
namespace {

/// Class letters of types.def.
enum class TypeClass { b, i, u, f };

struct TypeInfo {
  std::string_view name;
  int bits;
  TypeClass cls;
};

constexpr std::array kTypes = {
#define PLAIT_DTYPE(id, name, bits, cls) TypeInfo{name, bits, TypeClass::cls},
#include "ir/types.def"
#undef PLAIT_DTYPE
};

const TypeInfo& info(DType type) { return kTypes[static_cast<std::size_t>(type)]; }

bool float_holds(DType wide, DType narrow) {
  // The float types of types.def by increasing sets of values, but for two pairs of which neither holds the other.
  bool apart = (narrow == DType::e4m3 && wide == DType::e5m2) || (narrow == DType::f16 && wide == DType::bf16);
  return static_cast<int>(narrow) <= static_cast<int>(wide) && !apart;
}

/// Whether `wide` holds every value of `narrow` and the conversion may be implicit.
bool holds(DType wide, DType narrow) {
  if (wide == narrow) return true;
  if (is_float(wide) && is_float(narrow)) return float_holds(wide, narrow);
  if (!is_integer(wide) || !is_integer(narrow) || dtype_bits(wide) <= dtype_bits(narrow)) return false;
  return is_signed_integer(wide) || !is_signed_integer(narrow);
}

}  // namespace

std::string_view dtype_name(DType type) { return info(type).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType type : all_dtypes()) {
    if (dtype_name(type) == name) return type;
  }
  return std::nullopt;
}

const std::vector<DType>& all_dtypes() {
  static const std::vector<DType> types = {
#define PLAIT_DTYPE(id, name, bits, cls) DType::id,
#include "ir/types.def"
#undef PLAIT_DTYPE
  };
  return types;
}

int dtype_bits(DType type) { return info(type).bits; }
bool is_bool(DType type) { return info(type).cls == TypeClass::b; }
bool is_integer(DType type) { return info(type).cls == TypeClass::i || info(type).cls == TypeClass::u; }
bool is_signed_integer(DType type) { return info(type).cls == TypeClass::i; }
bool is_float(DType type) { return info(type).cls == TypeClass::f; }

std::optional<DType> common_type(DType a, DType b) {
  if (holds(a, b)) return a;
  if (holds(b, a)) return b;
  return std::nullopt;
}

}  // namespace plait::ir
