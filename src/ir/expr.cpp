#include "ir/expr.h"

#include <array>

namespace plait::ir {
namespace {

struct IntrinsicInfo {
  std::string_view name;
  int arity;
};

constexpr std::array kIntrinsics = {
#define PLAIT_INTRINSIC(id, name, arity, kind) IntrinsicInfo{name, arity},
#include "ir/intrinsics.def"
#undef PLAIT_INTRINSIC
};

}  // namespace

std::string_view unary_op_token(UnaryOp op) {
  switch (op) {
    case UnaryOp::neg:
      return "-";
    case UnaryOp::bit_not:
      return "~";
    case UnaryOp::logical_not:
      return "not";
  }
  return "";
}

std::string_view binary_op_token(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::sub:
      return "-";
    case BinaryOp::mul:
      return "*";
    case BinaryOp::div:
      return "/";
    case BinaryOp::mod:
      return "%";
    case BinaryOp::ceil_div:
      return "ceildiv";
    case BinaryOp::min:
      return "min";
    case BinaryOp::max:
      return "max";
    case BinaryOp::bit_and:
      return "&";
    case BinaryOp::bit_or:
      return "|";
    case BinaryOp::bit_xor:
      return "^";
    case BinaryOp::shl:
      return "<<";
    case BinaryOp::shr:
      return ">>";
    case BinaryOp::eq:
      return "==";
    case BinaryOp::ne:
      return "!=";
    case BinaryOp::lt:
      return "<";
    case BinaryOp::le:
      return "<=";
    case BinaryOp::gt:
      return ">";
    case BinaryOp::ge:
      return ">=";
    case BinaryOp::logical_and:
      return "and";
    case BinaryOp::logical_or:
      return "or";
  }
  return "";
}

bool is_comparison(BinaryOp op) { return op >= BinaryOp::eq && op <= BinaryOp::ge; }

std::string_view intrinsic_name(Intrinsic fn) { return kIntrinsics[static_cast<std::size_t>(fn)].name; }
int intrinsic_arity(Intrinsic fn) { return kIntrinsics[static_cast<std::size_t>(fn)].arity; }

}  // namespace plait::ir
