#include <fmt/format.h>

#include <numeric>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "place/placer.h"

// Which tiles can be loaded ahead of their readers: by TMA, or by cp.async of the threads that compute.
namespace plait::place {

using namespace ir;

namespace {

constexpr std::size_t kMaxRank = 5;
constexpr std::int64_t kPieceBits = 128;
constexpr std::int64_t kMaxBox = 256;
constexpr int kLeastPiece = 4;

/// A number that divides the expression whatever its variables are; 0 divides zero alone.
std::int64_t factor_of(const ExprRef& expr) {
  constexpr std::int64_t kMost = 1 << 20;
  if (auto value = as_int(expr)) return std::abs(*value) <= kMost ? std::abs(*value) : 1;
  const auto* node = std::get_if<Binary>(&expr->node);
  if (node == nullptr) return 1;
  if (node->op == BinaryOp::add || node->op == BinaryOp::sub) return std::gcd(factor_of(node->a), factor_of(node->b));
  if (node->op != BinaryOp::mul) return 1;
  const std::int64_t a = factor_of(node->a), b = factor_of(node->b);
  return a <= kMost && b <= kMost ? a * b : std::min(a, b);
}

}  // namespace

std::int64_t row_bytes(const Buffer& tile) { return static_shape(*tile).back() * dtype_bits(tile->type) / 8; }

roles::Swizzle packed_swizzle(const Buffer& tile) {
  constexpr std::int64_t line = 128;
  return tile->shape.size() > 1 && row_bytes(tile) % line == 0 ? roles::Swizzle::b128 : roles::Swizzle::none;
}

bool is_multiple(const ExprRef& expr, std::int64_t unit) {
  if (unit == 1) return true;
  if (factor_of(expr) % unit == 0) return true;
  auto form = analysis::affine(expr);
  if (!form || form->constant % unit != 0) return false;
  return std::all_of(form->terms.begin(), form->terms.end(), [&](const auto& term) { return term.second % unit == 0; });
}

/// Why nothing moves this tile ahead of its readers; empty where TMA or cp.async may.
std::string Placer::load_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  const Buffer &tensor = global.buffer, &buffer = tile.buffer;
  if (attrs.rows) return "its rows are chosen by a table";
  if (!attrs.valid.empty()) return "only a part of the tile is valid";
  if (!is_zero(attrs.pad)) return "it is padded with other than zero";
  if (tensor->type != buffer->type)
    return fmt::format("it converts {} to {}", dtype_name(tensor->type), dtype_name(buffer->type));
  if (!tensor->strides.empty() && as_int(tensor->strides.back()) != 1)
    return "the last stride of the tensor is not known to be 1";
  auto extents = literal_extents(global);
  if (!extents) return "the extents of the tile are no literals";
  std::vector<std::int64_t> shape = static_shape(*buffer);
  if (shape.size() > 2) return fmt::format("the tile has {} dimensions", shape.size());
  if (folded(*extents) != folded(shape) || !is_whole(tile)) return "it fills a part of the tile";
  // Where the rows of a tile are dropped as extents of 1, the box would not know them.
  if (extents->back() != shape.back()) return "the rows of the tile run along another dimension";
  if (extents->back() * dtype_bits(buffer->type) % kPieceBits != 0)
    return fmt::format("its rows of {} elements are no multiple of 16 bytes", extents->back());
  if (buffer->pad != 0) return "the rows of the tile are padded";
  return {};
}

/// Why a tile of elements narrower than a byte cannot stay as TMA brings it; empty where it can. What reads its
/// elements finds them in their bytes; nothing else does.
std::string Placer::packed_use(const Buffer& tile) const {
  std::string why;
  int copies = 0;
  walk(kernel_.body, [&](const Stmt& stmt) {
    if (const auto* op = std::get_if<TileOp>(&stmt.node)) {
      for (std::size_t i = 0; i < op->operands.size(); ++i) {
        if (op->operands[i].buffer != tile) continue;
        if (op->kind != OpKind::copy || i == 0) why = fmt::format("{} uses its elements", op_info(op->kind).name);
        ++copies;
      }
    }
    const auto* store = std::get_if<Store>(&stmt.node);
    if (store != nullptr && store->buffer == tile) why = "its elements are written one by one";
  });
  return why.empty() && copies > 1 ? "several copies fill it" : why;
}

/// The same of the copy that loads it.
std::string Placer::packed_obstacle(const Region& global, const Region& tile) const {
  const int bits = dtype_bits(tile.buffer->type);
  std::string what = fmt::format("it moves elements of {} bits", bits);
  if (is_float(tile.buffer->type)) return what;
  if (placed_.assumptions.ragged.contains(global.buffer->name))
    return fmt::format("{}, and a row of `{}` is no multiple of 16 bytes", what, global.buffer->name);
  if (!is_multiple(global.ranges.back().begin, 8 / bits)) return what + " from within a byte";
  std::string use = packed_use(tile.buffer);
  return use.empty() ? "" : fmt::format("{}, and {}", what, use);
}

/// Why TMA cannot move this tile; empty where it can.
std::string Placer::tma_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  const Buffer& buffer = tile.buffer;
  if (placed_.assumptions.unaligned.contains(global.buffer->name))
    return fmt::format("the rows of `{}` do not start at multiples of 16 bytes", global.buffer->name);
  if (std::string why = load_obstacle(global, tile, attrs); !why.empty()) return why;
  const bool packed = dtype_bits(buffer->type) < 8;
  if (packed) {
    if (std::string why = packed_obstacle(global, tile); !why.empty()) return why;
  }
  if (global.buffer->shape.size() > kMaxRank)
    return fmt::format("the tensor has {} dimensions", global.buffer->shape.size());
  std::vector<std::int64_t> shape = static_shape(*buffer);
  if (packed) shape.back() = row_bytes(buffer);
  roles::Swizzle swizzle = packed ? packed_swizzle(buffer) : placed_.shared.at(buffer.get()).swizzle;
  bool swizzled = swizzle != roles::Swizzle::none;
  if (!swizzled && shape.size() == 2 && shape[0] > 1 && shape[1] > kMaxBox)
    return fmt::format("its rows of {} elements are wider than a box", shape[1]);
  // A row of several boxes: each begins where TMA can write.
  constexpr std::int64_t kBoxAlignment = 128;
  std::int64_t columns = std::min(shape.back(), kMaxBox);
  while (shape.back() % columns != 0) --columns;
  const bool cut = !swizzled && columns < shape.back();
  if (cut && columns * std::max(dtype_bits(buffer->type), 8) / 8 % kBoxAlignment != 0)
    return fmt::format("its row of {} elements has no equal boxes that begin at multiples of {} bytes", shape.back(),
                       kBoxAlignment);
  return {};
}

/// Bytes that cp.async may move at once where it reads from that column of a tensor on: all that are known to be at
/// hand together.
int Placer::cp_async_piece(const Buffer& tensor, const ExprRef& column) const {
  const std::string& name = tensor->name;
  const Assumptions& known = placed_.assumptions;
  const int element = dtype_bits(tensor->type) / 8;
  int bytes = 16;
  if (known.unaligned.contains(name) || known.ragged.contains(name)) {
    auto found = known.granules.find(name);
    bytes = std::max(found == known.granules.end() ? 1 : std::min(found->second, bytes), element);
  }
  while (bytes > element && !is_multiple(column, bytes / element)) bytes /= 2;
  return bytes;
}

/// Why cp.async cannot move this tile; empty where it can, in pieces of 16, 8 or 4 bytes.
std::string Placer::cp_async_obstacle(const Region& global, const Region& tile, const CopyAttrs& attrs) const {
  if (std::string why = load_obstacle(global, tile, attrs); !why.empty()) return why;
  if (dtype_bits(tile.buffer->type) < 8) {
    std::string packed = is_hopper(placed_.device) ? packed_obstacle(global, tile) : "";
    return !packed.empty() ? packed : fmt::format("it moves elements of {} bits", dtype_bits(tile.buffer->type));
  }
  if (cp_async_piece(global.buffer, global.ranges.back().begin) < kLeastPiece)
    return fmt::format("no {} bytes of a row of `{}` are known to be aligned together", kLeastPiece,
                       global.buffer->name);
  auto extents = *literal_extents(global);
  std::vector<std::int64_t> shape = static_shape(*tile.buffer);
  bool rows = shape.size() == 2 && shape[0] > 1;
  if (rows && (extents.size() < 2 || extents[extents.size() - 2] != shape[0]))
    return "its rows do not run along the last but one dimension";
  return {};
}

// ---- Rows that are gathered ----------------------------------------------------------------------------------------

/// The expression with the kernel's lets put in.
ExprRef Placer::spelled_out(const ExprRef& expr) const {
  VarMap lets;
  walk(kernel_.body, [&](const Stmt& stmt) {
    if (const auto* let = std::get_if<Let>(&stmt.node)) lets[let->var.get()] = substitute(let->value, lets);
  });
  return substitute(expr, lets);
}

namespace {

/// Whether the place of a row depends on elements in memory. Those might lie outside where the row does.
bool reads_memory(const graph::TensorRows& gather) {
  auto reads = [](const ExprRef& expr) {
    return expr != nullptr &&
           analysis::any_of_tree(expr, [](const Expr& e) { return std::holds_alternative<Load>(e.node); });
  };
  return std::any_of(gather.index.begin(), gather.index.end(), reads) || reads(gather.begin) || reads(gather.inside);
}

}  // namespace

/// Why no role loads these rows ahead; empty where one may. The threads of that role share out the pieces evenly, so
/// that each keeps its place in the rows.
std::string Placer::gather_obstacle(const Stmt& stmt, const graph::TensorRows& gather) const {
  auto asked = wishes_.in_order.find(&stmt);
  if (asked != wishes_.in_order.end()) return asked->second;
  const Buffer &tensor = gather.tensor, &tile = gather.tile;
  if (dtype_bits(tensor->type) < 8) return fmt::format("it moves elements of {} bits", dtype_bits(tensor->type));
  if (!tensor->strides.empty() && as_int(tensor->strides.back()) != 1)
    return "the last stride of the tensor is not known to be 1";
  if (tile->pad != 0) return "the rows of the tile are padded";
  if (reads_memory(gather)) return "its rows are chosen by what memory holds";
  const std::vector<std::int64_t> shape = static_shape(*tile);
  const std::int64_t bytes = shape[1] * dtype_bits(tile->type) / 8;
  const int piece = gather_piece(gather);
  if (piece < kLeastPiece)
    return fmt::format("no {} bytes of a row of `{}` are known to be aligned together", kLeastPiece, tensor->name);
  if (bytes % piece != 0) return fmt::format("its rows of {} bytes are no multiple of {}", bytes, piece);
  const std::int64_t lanes = bytes / piece;
  if (kGatherThreads % lanes != 0 || shape[0] % (kGatherThreads / lanes) != 0)
    return fmt::format("{} threads do not share out its {} rows of {} pieces evenly", kGatherThreads, shape[0], lanes);
  if (std::int64_t own = shape[0] * lanes / kGatherThreads; own > kMostGathered)
    return fmt::format("each of {} threads would load {} pieces of it, more than {}", kGatherThreads, own,
                       kMostGathered);
  return {};
}

int Placer::gather_piece(const graph::TensorRows& gather) const {
  return cp_async_piece(gather.tensor, spelled_out(gather.begin));
}

/// A nest that gathers rows of a tensor: whether another role does it ahead.
bool Placer::place_gather(const StmtRef& stmt) {
  if (!is_hopper(placed_.device)) return false;
  auto gather = graph::row_gather(*stmt);
  if (!gather) return false;
  if (std::string why = gather_obstacle(*stmt, *gather); !why.empty()) {
    by_threads(stmt, fmt::format("`{}` is loaded where the program says, not ahead: the nest", gather->tile->name),
               why);
    return true;
  }
  placed_.atoms[stmt.get()] = CopyAtom{CopyWay::gather_load, gather_piece(*gather)};
  return true;
}

/// Whether no statement outside of the nest writes the tensor.
bool Placer::is_only_writer_of(const Stmt& nest, const Buffer& tensor) const {
  int writers = 0, within = 0;
  auto count = [&](int& of) {
    return [&](const Stmt& stmt) {
      const auto* store = std::get_if<Store>(&stmt.node);
      of += store != nullptr && store->buffer == tensor ? 1 : 0;
      if (const auto* atomic = std::get_if<AtomicElement>(&stmt.node)) of += atomic->buffer == tensor ? 1 : 0;
      const auto* op = std::get_if<TileOp>(&stmt.node);
      if (op == nullptr) return;
      const std::vector<Effect>& effects = op_info(op->kind).effects;
      for (std::size_t i = 0; i < op->operands.size(); ++i)
        of += op->operands[i].buffer == tensor && effects[i] != Effect::read ? 1 : 0;
    };
  };
  walk(kernel_.body, count(writers));
  walk(std::get<For>(nest.node).body, count(within));
  return writers == within;
}

/// A nest that stores rows of a fragment, each in a place of its own: whether whole pieces of them can be stored. The
/// threads that store an element may be others the next time, so that it happens once and nothing else is near.
bool Placer::place_scatter(const StmtRef& stmt) {
  auto rows = graph::row_scatter(*stmt);
  if (!rows || !in_registers(rows->tile) || !goes_by_slices(rows->tile, rows->tensor)) return false;
  const bool alone =
      !looped_.contains(stmt.get()) && !read_.contains(rows->tensor.get()) && is_only_writer_of(*stmt, rows->tensor);
  const bool last = rows->tensor->strides.empty() || as_int(rows->tensor->strides.back()) == 1;
  const int piece = gather_piece(*rows);
  if (!alone || !last || reads_memory(*rows) || piece < kLeastPiece) return false;
  placed_.atoms[stmt.get()] = CopyAtom{CopyWay::staged_rows, piece};
  return true;
}

}  // namespace plait::place
