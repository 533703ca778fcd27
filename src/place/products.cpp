#include <fmt/format.h>

#include "ir/build.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

namespace {

const GemmAttrs& gemm_attrs(const Stmt& stmt) { return std::get<GemmAttrs>(std::get<TileOp>(stmt.node).attrs); }
const Region& operand(const Stmt& stmt, std::size_t number) { return std::get<TileOp>(stmt.node).operands[number]; }

}  // namespace

bool is_product_type(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::tf32 || type == DType::e4m3 || type == DType::e5m2;
}

bool Placer::may_hold(const Buffer& buffer) const { return is_fragment(buffer) && !moved_.contains(buffer.get()); }

/// Why tensor cores cannot take the operand; empty where they can.
std::string Placer::operand_obstacle(const Region& region, bool k_major, bool is_a) const {
  const Buffer& buffer = region.buffer;
  std::int64_t bits = dtype_bits(buffer->type);
  if (!is_product_type(buffer->type))
    return fmt::format("`{}` is of {}, which tensor cores do not multiply unasked", buffer->name,
                       dtype_name(buffer->type));
  if (buffer->shape.size() != 2 || !is_whole(region)) return fmt::format("`{}` is a part of its tile", buffer->name);
  std::vector<std::int64_t> shape = static_shape(*buffer);
  std::int64_t k = k_major ? shape[1] : shape[0];
  if (k * bits % (kDepthBytes * 8) != 0)
    return fmt::format("`{}` has {} elements along k; an instruction takes {}", buffer->name, k,
                       kDepthBytes * 8 / bits);
  if (may_hold(buffer)) {
    if (!is_a) return fmt::format("the right operand `{}` is a fragment", buffer->name);
    return k_major ? "" : fmt::format("the left operand `{}` lies in registers and is transposed", buffer->name);
  }
  if (!k_major && bits != 16)
    return fmt::format("`{}` has k along its rows, which only types of 16 bits may", buffer->name);
  if (widest_swizzle(shape[1] * bits / 8) == roles::Swizzle::none)
    return fmt::format("`{}` has rows of {} bytes, no multiple of 32", buffer->name, shape[1] * bits / 8);
  if (shape[0] % 8 != 0) return fmt::format("`{}` has {} rows, no multiple of 8", buffer->name, shape[0]);
  if (buffer->pad != 0) return fmt::format("the rows of `{}` are padded", buffer->name);
  return {};
}

/// Why tensor cores cannot do the product; empty where they can.
std::string Placer::tensor_obstacle(const Stmt& stmt) const {
  const GemmAttrs& attrs = gemm_attrs(stmt);
  const Region &a = operand(stmt, 0), &b = operand(stmt, 1), &c = operand(stmt, 2);
  if (std::string why = operand_obstacle(a, !attrs.trans_a, true); !why.empty()) return why;
  if (std::string why = operand_obstacle(b, attrs.trans_b, false); !why.empty()) return why;
  if (a.buffer->type != b.buffer->type) return "its operands are of two types";
  if (!is_hopper(placed_.device) && dtype_bits(a.buffer->type) != 16)
    return fmt::format("mma of {} is not used here", dtype_name(a.buffer->type));
  if (c.buffer->shape.size() != 2 || !may_hold(c.buffer) || !is_whole(c) || c.buffer->type != DType::f32)
    return fmt::format("the result `{}` is no whole f32 fragment", c.buffer->name);
  std::vector<std::int64_t> shape = static_shape(*c.buffer);
  if (shape[0] % kWarpgroupRows != 0)
    return fmt::format("the result has {} rows; a warpgroup takes a multiple of {}", shape[0], kWarpgroupRows);
  if (shape[1] % 8 != 0 || shape[1] > kMaxProductColumns)
    return fmt::format("the result has {} columns; an instruction takes a multiple of 8 up to {}", shape[1],
                       kMaxProductColumns);
  return {};
}

/// Rows of every product's result are shared out over warpgroups, two where there are enough.
void Placer::choose_partition() {
  std::int64_t groups = 0;  // of 64 rows, in the smallest result
  for (const StmtRef& stmt : products_) {
    if (!tensor_obstacle(*stmt).empty()) continue;
    std::int64_t own = static_shape(*operand(*stmt, 2).buffer)[0] / kWarpgroupRows;
    groups = groups == 0 ? own : std::min(groups, own);
  }
  if (groups == 0) return;
  int wanted = wishes_.replicas.value_or(kernel_.threads ? *kernel_.threads / 128 : 2);
  int most = static_cast<int>(std::min<std::int64_t>(std::max(wanted, 1), groups));
  for (placed_.replicas = most; groups % placed_.replicas != 0;) --placed_.replicas;
}

void Placer::place_product(const StmtRef& stmt) {
  const Region &a = operand(*stmt, 0), &b = operand(*stmt, 1), &c = operand(*stmt, 2);
  std::string why = tensor_obstacle(*stmt);
  if (!why.empty()) return place_on_cores(stmt, why);
  bool registers = may_hold(a.buffer);
  if (!set_home(c.buffer, {roles::FragmentKind::wgmma_acc}))
    return move_out(c.buffer, "it is left operand of another product, where it lies differently");
  if (registers && !set_home(a.buffer, {roles::FragmentKind::wgmma_a}))
    return move_out(a.buffer, "it is the result of another product, where it lies differently");
  for (const Region* region : {&a, &b}) {
    const Buffer& buffer = region->buffer;
    if (may_hold(buffer)) continue;
    placed_.shared[buffer.get()] = {widest_swizzle(static_shape(*buffer)[1] * dtype_bits(buffer->type) / 8)};
  }
  multiplied_.insert(c.buffer.get());
  if (registers) multiplied_.insert(a.buffer.get());
  placed_.atoms[stmt.get()] = GemmAtom{registers, !is_hopper(placed_.device)};
}

/// Without tensor cores: the result stays in registers where it can, both operands lie in memory.
void Placer::place_on_cores(const StmtRef& stmt, const std::string& why) {
  const Region &a = operand(*stmt, 0), &b = operand(*stmt, 1), &c = operand(*stmt, 2);
  for (const Region* region : {&a, &b}) {
    if (may_hold(region->buffer)) move_out(region->buffer, "every thread of a product without tensor cores reads it");
  }
  bool held = may_hold(c.buffer) && c.buffer->shape.size() == 2 && is_whole(c) && literal_extents(a).has_value() &&
              literal_extents(b).has_value();
  remark(stmt->loc, fmt::format("the product is done without tensor cores, {}: {}",
                                held ? "each thread the elements that it owns" : "element by element in memory", why));
  if (held) {
    multiplied_.insert(c.buffer.get());
    placed_.atoms[stmt.get()] = EachGemmAtom{};
    return;
  }
  if (may_hold(c.buffer)) move_out(c.buffer, "it is no whole 2-D result of a product");
  placed_.atoms[stmt.get()] = ThreadsAtom{};
}

}  // namespace plait::place
