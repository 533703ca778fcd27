#include <fmt/format.h>

#include "ir/build.h"
#include "layout/descriptor.h"
#include "place/placer.h"

namespace plait::place {

using namespace ir;

namespace {

constexpr std::int64_t kWarpgroupRows = 64;
/// Bytes of k that one wgmma takes.
constexpr std::int64_t kDepthBytes = 32;

/// What the arithmetic of a product is made of.
bool is_product_type(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::tf32 || type == DType::e4m3 || type == DType::e5m2;
}

const GemmAttrs& gemm_attrs(const Stmt& stmt) { return std::get<GemmAttrs>(std::get<TileOp>(stmt.node).attrs); }
const Region& operand(const Stmt& stmt, std::size_t number) { return std::get<TileOp>(stmt.node).operands[number]; }

}  // namespace

std::optional<std::vector<std::int64_t>> literal_extents(const Region& region) {
  std::vector<std::int64_t> extents;
  for (const Range& range : region.ranges) {
    auto extent = as_int(range.extent);
    if (!extent) return {};
    extents.push_back(*extent);
  }
  return extents;
}

bool is_whole(const Region& region) {
  auto extents = literal_extents(region);
  if (!extents || *extents != static_shape(*region.buffer)) return false;
  for (const Range& range : region.ranges) {
    if (as_int(range.begin) != 0) return false;
  }
  return true;
}

bool is_fragment(const Buffer& buffer) { return buffer->scope == Scope::fragment; }
bool is_shared(const Buffer& buffer) { return buffer->scope == Scope::shared; }
bool is_global(const Buffer& buffer) { return buffer->scope == Scope::global; }

roles::Swizzle widest_swizzle(std::int64_t row_bytes) {
  for (auto swizzle : {roles::Swizzle::b128, roles::Swizzle::b64, roles::Swizzle::b32}) {
    if (row_bytes > 0 && row_bytes % roles::swizzle_span(swizzle) == 0) return swizzle;
  }
  return roles::Swizzle::none;
}

Placer::Placer(const Kernel& kernel, const machine::Device& device, const Assumptions& assumptions,
               const Wishes& wishes)
    : kernel_(kernel), wishes_(wishes) {
  placed_.device = device;
  placed_.assumptions = assumptions;
}

void Placer::collect_op(const StmtRef& stmt, const TileOp& op) {
  switch (op.kind) {
    case OpKind::copy:
      copies_.push_back({stmt, op.operands[0], op.operands[1], std::get<CopyAttrs>(op.attrs)});
      return;
    case OpKind::fill:
      fills_.push_back(stmt);
      return;
    case OpKind::gemm:
      products_.push_back(stmt);
      return;
    case OpKind::reduce_sum:
    case OpKind::reduce_max:
    case OpKind::reduce_min:
      reductions_.push_back(stmt);
      return;
    default:
      refuse(Rule::place_operation, stmt->loc,
             fmt::format("{} has no placement on {} yet", op_info(op.kind).name, placed_.device.name));
  }
}

void Placer::collect(const Body& body) {
  for (const StmtRef& stmt : body) {
    std::visit(Overload{[&](const For& loop) {
                          if (loop.kind == LoopKind::parallel) {
                            nests_.push_back(stmt);
                          } else if (loop.kind == LoopKind::persistent) {
                            refuse(Rule::place_operation, stmt->loc, "`persistent` loops have no placement yet",
                                   "write a grid: a schedule makes it persistent");
                          } else {
                            collect(loop.body);
                          }
                        },
                        [&](const If& node) {
                          collect(node.then_body);
                          collect(node.else_body);
                        },
                        [&](const Task& task) { collect(task.body); },
                        [&](const Alloc& alloc) { buffers_.push_back(alloc.buffer); },
                        [&](const TileOp& op) { collect_op(stmt, op); }, [](const Let&) {},
                        [&](const auto&) {
                          refuse(Rule::place_operation, stmt->loc,
                                 fmt::format("this statement has no placement on {} yet", placed_.device.name));
                        }},
               stmt->node);
  }
}

// ---- Products ------------------------------------------------------------------------------------------------------

/// Rows of every product's result are shared out over warpgroups, two where there are enough.
void Placer::choose_partition() {
  if (products_.empty()) {
    placed_.warps = kernel_.threads.value_or(128) / 32;
    return;
  }
  std::int64_t groups = 0;  // of 64 rows, in the smallest result
  for (const StmtRef& stmt : products_) {
    std::int64_t rows = static_shape(*operand(*stmt, 2).buffer)[0];
    if (rows % kWarpgroupRows != 0) {
      refuse(Rule::place_product, stmt->loc,
             fmt::format("the result has {} rows; a warpgroup takes a multiple of {}", rows, kWarpgroupRows),
             fmt::format("choose a tile of {} rows", (rows + kWarpgroupRows - 1) / kWarpgroupRows * kWarpgroupRows));
      return;
    }
    std::int64_t own = rows / kWarpgroupRows;
    groups = groups == 0 ? own : std::min(groups, own);
  }
  int wanted = wishes_.replicas.value_or(kernel_.threads ? *kernel_.threads / 128 : 2);
  int most = static_cast<int>(std::min<std::int64_t>(std::max(wanted, 1), groups));
  for (placed_.replicas = most; groups % placed_.replicas != 0;) --placed_.replicas;
}

bool Placer::product_operand(const StmtRef& stmt, const Region& region, bool k_major, bool is_a) {
  const Buffer& buffer = region.buffer;
  std::string name = fmt::format("{} `{}`", is_a ? "the left operand" : "the right operand", buffer->name);
  auto say = [&](std::string what, std::string fix = {}) {
    refuse(Rule::place_product, region.loc.known() ? region.loc : stmt->loc, name + " " + what, std::move(fix));
    return false;
  };
  std::int64_t bits = dtype_bits(buffer->type);
  if (!is_product_type(buffer->type))
    return say(fmt::format("is of {}, which tensor cores do not multiply", dtype_name(buffer->type)),
               "use f16, bf16, tf32, e4m3 or e5m2; products of f32 are never rounded to tf32 unasked");
  if (!is_whole(region)) return say("is a part of its tile", "use the whole tile");
  std::vector<std::int64_t> shape = static_shape(*buffer);
  std::int64_t k = k_major ? shape[1] : shape[0];
  if (k * bits % (kDepthBytes * 8) != 0)
    return say(fmt::format("has {} elements along k; an instruction takes {}", k, kDepthBytes * 8 / bits));
  if (is_fragment(buffer)) return is_a || say("is a fragment", "the right operand is a shared tile");
  if (!k_major && bits != 16)
    return say("has k along its rows, which only types of 16 bits may", "store it with k along the columns");
  roles::Swizzle swizzle = widest_swizzle(shape[1] * bits / 8);
  if (swizzle == roles::Swizzle::none)
    return say(fmt::format("has rows of {} bytes, no multiple of 32", shape[1] * bits / 8));
  placed_.shared[buffer.get()] = {swizzle};
  return true;
}

void Placer::place_product(const StmtRef& stmt) {
  const GemmAttrs& attrs = gemm_attrs(*stmt);
  const Region &a = operand(*stmt, 0), &b = operand(*stmt, 1), &c = operand(*stmt, 2);
  if (!product_operand(stmt, a, !attrs.trans_a, true) || !product_operand(stmt, b, attrs.trans_b, false)) return;
  if (!is_fragment(c.buffer) || !is_whole(c) || c.buffer->type != DType::f32) {
    return refuse(Rule::place_product, stmt->loc,
                  fmt::format("the result `{}` is no whole f32 fragment", c.buffer->name),
                  "multiply into a fragment of f32 and copy it");
  }
  std::int64_t columns = static_shape(*c.buffer)[1];
  if (columns % 8 != 0 || columns > 256) {
    return refuse(Rule::place_product, stmt->loc,
                  fmt::format("the result has {} columns; an instruction takes a multiple of 8 up to 256", columns));
  }
  bool registers = is_fragment(a.buffer);
  if (registers && attrs.trans_a)
    return refuse(Rule::place_product, stmt->loc, "a left operand in registers is transposed", "store it as [m, k]");
  set_home(c.buffer, {roles::FragmentKind::wgmma_acc}, stmt->loc);
  if (registers) set_home(a.buffer, {roles::FragmentKind::wgmma_a}, stmt->loc);
  placed_.atoms[stmt.get()] = GemmAtom{registers};
}

// ---- All of it -----------------------------------------------------------------------------------------------------

Result<Placed> Placer::run() {
  const machine::Device& device = placed_.device;
  if (!device.has(machine::Feature::tma) || !device.has(machine::Feature::wgmma)) {
    refuse(Rule::place_device, kernel_.loc, fmt::format("{} has no TMA or no wgmma", device.name));
    return diags_;
  }
  collect(kernel_.body);
  for (const Buffer& buffer : buffers_) {
    if (is_shared(buffer)) placed_.shared.try_emplace(buffer.get());
  }
  choose_partition();
  for (const StmtRef& stmt : products_) place_product(stmt);
  relate_nests();
  relate_copies();
  relate_reductions();
  if (diags_.has_errors()) return diags_;
  spread();
  choose_free();
  check_homes();
  if (diags_.has_errors()) return diags_;
  for (const Copy& copy : copies_) place_copy(copy);
  for (const StmtRef& stmt : nests_) place_nest(stmt);
  for (const StmtRef& stmt : reductions_) place_reduction(stmt);
  for (const StmtRef& stmt : fills_) placed_.atoms[stmt.get()] = FillAtom{};
  if (diags_.has_errors()) return diags_;
  placed_.kernel = std::move(kernel_);
  return std::move(placed_);
}

Result<Placed> place(const Kernel& kernel, const machine::Device& device, const Assumptions& assumptions,
                     const Wishes& wishes) {
  return Placer(kernel, device, assumptions, wishes).run();
}

}  // namespace plait::place
