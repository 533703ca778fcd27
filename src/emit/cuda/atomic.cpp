#include <fmt/format.h>

#include "emit/cuda/emitter.h"

// Atomics on shared memory.
namespace plait::emit::cuda {
namespace {

/// The combination of two values as an expression of C++; `a` is what is there.
std::string combined(Emitter& e, ir::AtomicOp op, ir::DType type, const std::string& a, const std::string& b) {
  if (op == ir::AtomicOp::add) return a + " + " + b;
  bool larger = op == ir::AtomicOp::max;
  if (type == ir::DType::f64) return fmt::format("{}({}, {})", e.helper(larger ? "larger" : "smaller"), a, b);
  return fmt::format("{}({}, {})", e.helper(larger ? "max_nan" : "min_nan"), a, b);
}

/// Floats that no instruction combines: exchanged until nothing came in between.
std::string exchanged(Emitter& e, const roles::AtomicShared& s, const std::string& address) {
  using ir::DType;
  const DType type = s.dst.smem->buffer->type;
  struct Form {
    const char *bits, *from, *to;
  };
  const Form form = type == DType::f32   ? Form{"unsigned", "__uint_as_float", "__float_as_uint"}
                    : type == DType::f64 ? Form{"unsigned long long", "__longlong_as_double", "__double_as_longlong"}
                    : type == DType::f16 ? Form{"unsigned short", "f16_to_float", "to_f16"}
                                         : Form{"unsigned short", "bf16_to_float", "to_bf16"};
  const bool narrow = dtype_bits(type) == 16;
  if (narrow) {
    e.helper(form.from);
    e.helper(form.to);
  }
  std::string next = combined(e, s.op, type, fmt::format("{}(bits)", form.from), "value");
  return fmt::format("{}({}(&{}<{}>({}), [value = {}]({} bits) {{ return {}({}){}; }}))", form.from,
                     e.helper("atomic_exchanged"), e.helper("shared_at"), form.bits, address, expr_text(e, s.value),
                     form.bits, form.to, next, narrow ? ".bits" : "");
}

}  // namespace

void emit(Emitter& e, const roles::AtomicShared& s) {
  using ir::DType;
  e.needs_sm(80, s.dst.loc, roles::atomic_word(s.op));
  const DType type = s.dst.smem->buffer->type;
  const std::string address = element_address(e, s.dst, "0", "0");
  const std::string result = fmt::format("const {} {} = ", value_type(type), Emitter::name(s.result->name));
  const bool adds_float = s.op == ir::AtomicOp::add && (type == DType::f32 || type == DType::f64);
  if (ir::is_float(type) && !adds_float) return e.line(result + exchanged(e, s, address) + ";");
  // Sums of both kinds of 64-bit integers have the same bits.
  const bool wide_sum = type == DType::i64 && s.op == ir::AtomicOp::add;
  const char* function = s.op == ir::AtomicOp::add   ? "atomicAdd"
                         : s.op == ir::AtomicOp::max ? "atomicMax"
                                                     : "atomicMin";
  const std::string held = wide_sum ? "unsigned long long" : value_type(type);
  e.line(fmt::format("{}{}(&{}<{}>({}), static_cast<{}>({}));", result, function, e.helper("shared_at"), held, address,
                     held, expr_text(e, s.value)));
}

}  // namespace plait::emit::cuda
