#include "emit/cuda/pairs.h"

#include <fmt/format.h>

#include "ir/expr_util.h"
#include "layout/smem.h"

// Arithmetic on two elements of 16 bits at once.
namespace plait::emit::cuda {
namespace {

using ir::DType;
using roles::FragmentKind;

constexpr int kByteBits = 8;
/// Bytes of the widest read of shared memory.
constexpr std::int64_t kChunk = 16;

/// What an f32 has from a value of a narrower type; null where it comes from elsewhere.
const ir::ExprRef* widened(const ir::ExprRef& value) {
  const auto* cast = std::get_if<ir::Cast>(&value->node);
  return cast != nullptr && value->type == DType::f32 ? &cast->a : nullptr;
}

/// Integers of 8 bits have no more digits than bf16, the narrower of the two types.
bool is_small_integer(DType type) {
  return ir::is_integer(type) && !ir::is_bool(type) && ir::dtype_bits(type) <= kByteBits;
}

/// An integer of a few bits out of a byte in shared memory: `i4(T[…, c / 2] >> u8(c % 2 * 4))`, or with the column
/// `n + c` of a literal n.
struct PackedElement {
  const ir::Load* byte = nullptr;
  ir::Var column;
  std::int64_t first = 0;
};

const ir::Binary* binary_of(const ir::ExprRef& expr, ir::BinaryOp op) {
  const auto* node = std::get_if<ir::Binary>(&expr->node);
  return node != nullptr && node->op == op ? node : nullptr;
}

/// The column that is divided by the literal.
PackedElement divided(const ir::ExprRef& expr, ir::BinaryOp op, std::int64_t by) {
  const ir::Binary* node = binary_of(expr, op);
  if (node == nullptr || ir::as_int(node->b) != by) return {};
  PackedElement found;
  const ir::ExprRef* column = &node->a;
  if (const ir::Binary* sum = binary_of(node->a, ir::BinaryOp::add); sum != nullptr && ir::as_int(sum->a)) {
    found.first = *ir::as_int(sum->a);
    column = &sum->b;
  }
  if (const auto* ref = std::get_if<ir::VarRef>(&(*column)->node)) found.column = ref->var;
  return found;
}

std::optional<PackedElement> packed_element(const ir::ExprRef& value) {
  const auto* cast = std::get_if<ir::Cast>(&value->node);
  const int bits = ir::dtype_bits(value->type);
  if (cast == nullptr || cast->saturate || !ir::is_integer(value->type) || bits >= kByteBits) return {};
  const ir::Binary* shifted = binary_of(cast->a, ir::BinaryOp::shr);
  const auto* byte = shifted == nullptr ? nullptr : std::get_if<ir::Load>(&shifted->a->node);
  const auto* count = shifted == nullptr ? nullptr : std::get_if<ir::Cast>(&shifted->b->node);
  if (byte == nullptr || count == nullptr || byte->buffer->scope != ir::Scope::shared ||
      byte->buffer->type != DType::u8)
    return {};
  const ir::Binary* scaled = binary_of(count->a, ir::BinaryOp::mul);
  if (scaled == nullptr || ir::as_int(scaled->b) != bits) return {};
  PackedElement within = divided(scaled->a, ir::BinaryOp::mod, kByteBits / bits);
  PackedElement found = divided(byte->index.back(), ir::BinaryOp::div, kByteBits / bits);
  if (found.column == nullptr || found.column != within.column || found.first != within.first) return {};
  found.byte = byte;
  return found;
}

/// Prints one pair.
class Printer {
 public:
  Printer(Emitter& e, DType type, const Pair& pair) : e_(e), type_(type), pair_(pair) {}

  std::optional<std::string> product(const ir::ExprRef& value) {
    const ir::Binary* node = binary_of(value, ir::BinaryOp::mul);
    if (node == nullptr || value->type != DType::f32) return {};
    const ir::ExprRef *a = widened(node->a), *b = widened(node->b);
    if (a == nullptr || b == nullptr || !is_exact(*a) || !is_exact(*b)) return {};
    // Factors of 11 digits make an f32 product that is exact, so that rounding it once more is the rounding of the
    // packed multiplication. Two of bf16 may be too small for an f32; an integer makes nothing smaller.
    if (type_ == DType::bf16 && !is_small_integer((*a)->type) && !is_small_integer((*b)->type)) return {};
    return fmt::format("{}({}, {})", e_.helper(fmt::format("mul_{}x2", ir::dtype_name(type_))), both(*a), both(*b));
  }

 private:
  bool is_exact(const ir::ExprRef& value) const { return value->type == type_ || is_small_integer(value->type); }

  /// Both values, each exactly one of the type.
  std::string both(const ir::ExprRef& value) {
    if (std::optional<std::string> nibbles = nibble_pair(value)) return *nibbles;
    const auto* load = std::get_if<ir::Load>(&value->node);
    if (load != nullptr && value->type == type_) {
      if (std::optional<std::string> held = pair_.whole(*load)) return *held;
    }
    return fmt::format("{}({}, {})", e_.helper("pack_16x2"), bits(value, pair_.low), bits(value, pair_.high));
  }

  std::string bits(const ir::ExprRef& value, Elements& elements) {
    return code_text(e_, type_, expr_text(e_, value, Level::select, &elements));
  }

  /// Two neighbours of four bits are one byte. The threads of a row read the same 16 bytes of it, for four pairs each.
  std::optional<std::string> nibble_pair(const ir::ExprRef& value) {
    constexpr int nibble_bits = 4;
    auto found = packed_element(value);
    const roles::FragmentDecl& domain = *pair_.each.domain;
    bool pairs = domain.kind == FragmentKind::wgmma_acc || domain.kind == FragmentKind::wgmma_a;
    if (!found || !pairs || ir::dtype_bits(value->type) != nibble_bits || pair_.each.vars.size() != 2 ||
        found->column != pair_.each.vars[1] || found->first % (2 * kChunk) != 0)
      return {};
    for (const roles::Smem& smem : e_.program.smem) {
      bool fits = row_pitch(*smem) % kChunk == 0 && ir::static_shape(*smem->buffer).back() % kChunk == 0;
      if (smem->buffer != found->byte->buffer || !fits) continue;
      roles::SmemRef chunk{smem, found->byte->index, value->loc};
      chunk.index.back() = ir::typed_int(found->byte->index.back()->type, found->first / 2);
      return nibble_pair(value->type, chunk);
    }
    return {};
  }

  std::string nibble_pair(DType from, roles::SmemRef ref) {
    const roles::FragmentDecl& domain = *pair_.each.domain;
    std::vector<std::int64_t> shape = ir::static_shape(*domain.buffer);
    constexpr std::int64_t block_rows = 64;
    // Pairs 8 columns apart, and as many rows below each, alternate; then the next rows.
    std::string i = shape[0] > block_rows ? fmt::format("i % {}", shape[1] / 2) : "i";
    std::string chunk = fmt::format("{} / 16 * {}", i, kChunk), address;
    std::int64_t span = roles::swizzle_span(ref.smem->swizzle);
    if (ir::static_shape(*ref.smem->buffer).back() == span) {
      // Within a row of the swizzle only the number of the chunk is exchanged, with what is the same for all of them.
      std::int64_t first = *ir::as_int(ref.index.back());
      ref.index.back() = ir::typed_int(ref.index.back()->type, 0);
      address = fmt::format("{} ^ ({} + {})", element_address(e_, ref, "0", "0", &pair_.low), chunk, first);
    } else {
      address = element_address(e_, ref, "0", chunk, &pair_.low);
    }
    return fmt::format("{}({}({}<const uint4>({}), {} / 4 % 4), {} % 4)",
                       e_.helper(fmt::format("{}_pair_{}", ir::dtype_name(from), ir::dtype_name(type_))),
                       e_.helper("word_of"), e_.helper("shared_at"), address, i, e_.use(e_.program.builtins.lane));
  }

  Emitter& e_;
  DType type_;
  const Pair& pair_;
};

}  // namespace

std::optional<std::string> pair_text(Emitter& e, DType type, const ir::ExprRef& value, const Pair& pair) {
  return Printer(e, type, pair).product(value);
}

}  // namespace plait::emit::cuda
