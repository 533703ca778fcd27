#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {

std::string value_type(ir::DType type) {
  using ir::DType;
  switch (type) {
    case DType::bool_:
      return "bool";
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
      return "signed char";
    case DType::i16:
      return "short";
    case DType::i32:
      return "int";
    case DType::i64:
      return "long long";
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
      return "unsigned char";
    case DType::u16:
      return "unsigned short";
    case DType::u32:
      return "unsigned";
    case DType::u64:
      return "unsigned long long";
    case DType::e2m1:
    case DType::e4m3:
    case DType::e5m2:
    case DType::f16:
    case DType::bf16:
    case DType::tf32:
    case DType::f32:
      return "float";
    case DType::f64:
      return "double";
  }
  return "";
}

std::string memory_type(Emitter& e, ir::DType type) {
  using ir::DType;
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::e4m3:
    case DType::e5m2:
      return e.helper(std::string(ir::dtype_name(type)));
    case DType::e2m1:
      return "unsigned char";
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::tf32:
    case DType::f32:
    case DType::f64:
      return value_type(type);
  }
  return "";
}

int packed(ir::DType type) {
  constexpr int register_bits = 32;
  int bits = ir::dtype_bits(type);
  return bits < register_bits ? register_bits / bits : 1;
}

int packed(const roles::FragmentDecl& fragment) {
  return fragment.kind == roles::FragmentKind::rows ? 1 : packed(fragment.buffer->type);
}

}  // namespace plait::emit::cuda
