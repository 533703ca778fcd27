#include <fmt/format.h>

#include <algorithm>

#include <set>

#include "emit/cuda/emitter.h"
#include "ir/build.h"
#include "roles/linear.h"
#include "roles/visit.h"

namespace plait::emit::cuda {
namespace {

/// Name of the L2 policy constant, empty for none.
std::string policy(Emitter& e, roles::CacheHint hint) {
  switch (hint) {
    case roles::CacheHint::none:
      return {};
    case roles::CacheHint::evict_first:
      return e.helper("cache_hint_evict_first");
    case roles::CacheHint::evict_last:
      return e.helper("cache_hint_evict_last");
  }
  return {};
}

/// `int c0, int c1`, innermost first as the instruction takes them.
std::string coordinate_params(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format(", int c{}", d);
  return text;
}
std::string coordinate_operands(std::size_t rank) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format(", \"r\"(c{})", d);
  return text;
}
/// `{%2, %3}`
std::string coordinate_places(std::size_t rank, std::size_t first) {
  std::string text;
  for (std::size_t d = 0; d < rank; ++d) text += fmt::format("{}%{}", d == 0 ? "" : ", ", first + d);
  return "{" + text + "}";
}

std::string tma_load_helper(Emitter& e, std::size_t rank, bool multicast, bool hint) {
  std::string name = fmt::format("tma_load_{}d{}{}", rank, multicast ? "_multicast" : "", hint ? "_hint" : "");
  e.helper("TensorMap");
  std::string qualifiers = multicast ? ".multicast::cluster" : "";
  std::string params, operands, places;
  std::size_t next = 3 + rank;
  if (multicast) {
    params += ", unsigned short blocks";
    operands += ", \"h\"(blocks)";
    places += fmt::format(", %{}", next++);
  }
  if (hint) {
    qualifiers += ".L2::cache_hint";
    params += ", unsigned long long policy";
    operands += ", \"l\"(policy)";
    places += fmt::format(", %{}", next++);
  }
  return e.helper(
      name,
      fmt::format(R"(__device__ __forceinline__ void {0}(unsigned to, const TensorMap& map{1}, unsigned mbar{2}) {{
  asm volatile(
      "cp.async.bulk.tensor.{3}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{4} [%0], [%1, {5}], [%2]{6};" ::
          "r"(to), "l"(&map), "r"(mbar){7}{8}
      : "memory");
}}
)",
                  name, coordinate_params(rank), params, rank, qualifiers, coordinate_places(rank, 3), places,
                  coordinate_operands(rank), operands));
}

std::string tma_store_helper(Emitter& e, std::size_t rank, bool hint) {
  std::string name = fmt::format("tma_store_{}d{}", rank, hint ? "_hint" : "");
  e.helper("TensorMap");
  return e.helper(name, fmt::format(R"(__device__ __forceinline__ void {0}(const TensorMap& map{1}, unsigned from{2}) {{
  asm volatile(
      "cp.async.bulk.tensor.{3}d.global.shared::cta.tile.bulk_group{4} [%0, {5}], [%1]{6};" ::"l"(&map), "r"(from){7}{8}
      : "memory");
}}
)",
                                    name, coordinate_params(rank), hint ? ", unsigned long long policy" : "", rank,
                                    hint ? ".L2::cache_hint" : "", coordinate_places(rank, 2),
                                    hint ? fmt::format(", %{}", 2 + rank) : "", coordinate_operands(rank),
                                    hint ? ", \"l\"(policy)" : ""));
}

/// Coordinates of a box, innermost first.
std::string coordinates(Emitter& e, const std::vector<ir::ExprRef>& at) {
  std::string text;
  for (auto it = at.rbegin(); it != at.rend(); ++it) text += ", " + expr_text(e, *it);
  return text;
}

std::string address_of(Emitter& e, const roles::TensorRef& ref) {
  return fmt::format("{} + {}", e.use(ref.tensor), tensor_offset(e, ref.tensor, index_texts(e, ref.index)));
}

}  // namespace

void emit(Emitter& e, const roles::TmaLoad& s) {
  e.needs_sm(kHopper, s.dst.loc, "a TMA load");
  std::string hint = policy(e, s.hint);
  std::string function = tma_load_helper(e, s.at.size(), s.multicast != nullptr, !hint.empty());
  std::string text = fmt::format("{}({}, {}{}, {}", function, tile_address(e, s.dst), e.use(s.map),
                                 coordinates(e, s.at), mbar_address(e, s.mbar));
  if (s.multicast) text += ", " + expr_text(e, s.multicast);
  if (!hint.empty()) text += ", " + hint;
  e.line(text + ");");
}

void emit(Emitter& e, const roles::TmaStore& s) {
  e.needs_sm(kHopper, s.src.loc, "a TMA store");
  std::string hint = policy(e, s.hint);
  std::string function = tma_store_helper(e, s.at.size(), !hint.empty());
  std::string text = fmt::format("{}({}{}, {}", function, e.use(s.map), coordinates(e, s.at), tile_address(e, s.src));
  if (!hint.empty()) text += ", " + hint;
  e.line(text + ");");
}

void emit(Emitter& e, const roles::BulkLoad& s) {
  e.needs_sm(kHopper, s.dst.loc, "a bulk copy");
  std::string hint = policy(e, s.hint);
  std::string name = hint.empty() ? "bulk_load" : "bulk_load_hint";
  e.helper(name,
           fmt::format(
               R"(__device__ __forceinline__ void {}(unsigned to, const void* from, unsigned bytes, unsigned mbar{}) {{
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{} [%0], [%1], %2, [%3]{};" ::"r"(to),
               "l"(from), "r"(bytes), "r"(mbar){}
               : "memory");
}}
)",
               name, hint.empty() ? "" : ", unsigned long long policy", hint.empty() ? "" : ".L2::cache_hint",
               hint.empty() ? "" : ", %4", hint.empty() ? "" : ", \"l\"(policy)"));
  e.line(fmt::format("{}({}, {}, {}, {}{});", name, tile_address(e, s.dst), address_of(e, s.src), expr_text(e, s.bytes),
                     mbar_address(e, s.mbar), hint.empty() ? "" : ", " + hint));
}

void emit(Emitter& e, const roles::BulkStore& s) {
  e.needs_sm(kHopper, s.src.loc, "a bulk copy");
  std::string hint = policy(e, s.hint);
  std::string name = hint.empty() ? "bulk_store" : "bulk_store_hint";
  e.helper(name,
           fmt::format(R"(__device__ __forceinline__ void {}(void* to, unsigned from, unsigned bytes{}) {{
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group{} [%0], [%1], %2{};" ::"l"(to), "r"(from), "r"(bytes){} : "memory");
}}
)",
                       name, hint.empty() ? "" : ", unsigned long long policy", hint.empty() ? "" : ".L2::cache_hint",
                       hint.empty() ? "" : ", %3", hint.empty() ? "" : ", \"l\"(policy)"));
  e.line(fmt::format("{}({}, {}, {}{});", name, address_of(e, s.dst), tile_address(e, s.src), expr_text(e, s.bytes),
                     hint.empty() ? "" : ", " + hint));
}

void emit(Emitter& e, const roles::BulkWait& s) {
  e.line(fmt::format("{}<{}>();", e.helper(s.read ? "bulk_wait_read" : "bulk_wait"), s.pending));
}

namespace {

/// How cp.async spreads a tile: pieces, `per_row` in a row; a thread's pieces stand `row_step` rows apart.
struct Pieces {
  std::int64_t per_piece = 1, per_row = 1, count = 1, per_thread = 1, row_step = 1;
  bool even = true;  ///< every thread has as many
};
Pieces pieces_of(const Emitter& e, const roles::CpAsync& s) {
  Pieces p;
  p.per_piece = s.piece / (ir::dtype_bits(s.src.tensor->type) / 8);
  p.per_row = s.columns / p.per_piece;
  p.count = s.rows * p.per_row;
  p.per_thread = (p.count + e.threads - 1) / e.threads;
  p.row_step = e.threads / p.per_row;
  p.even = p.count % e.threads == 0 && e.threads % p.per_row == 0;
  return p;
}

constexpr std::int64_t kPeriod = 1024;  ///< bytes after which every swizzle repeats

/// Whether the pieces of a thread stand at one place of the swizzle, so that their addresses differ by whole rows.
bool whole_periods(const roles::SmemDecl& smem, std::int64_t row_step) {
  return smem.swizzle == roles::Swizzle::none || row_step * row_pitch(smem) % kPeriod == 0;
}

/// Whether a number is a multiple of another, whatever its variables are.
bool is_multiple(const ir::ExprRef& expr, std::int64_t of) {
  auto form = roles::linear(expr, [](const ir::VarDecl& var) -> std::optional<roles::Linear> {
    return roles::Linear::symbol(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(&var)));
  });
  return form && form->constant % of == 0 &&
         std::all_of(form->terms.begin(), form->terms.end(), [&](const auto& term) { return term.second % of == 0; });
}

/// Whether the pieces of a thread divide a period of the swizzle evenly, from its begin on: what the swizzle exchanges
/// for one of them, beyond the first, is then known.
bool parts_of_period(const roles::SmemRef& tile, std::int64_t row_step) {
  const std::int64_t pitch = row_pitch(*tile.smem);
  const bool begins = tile.index.size() < 2 || is_multiple(tile.index[tile.index.size() - 2], kPeriod / pitch);
  return begins && kPeriod % (row_step * pitch) == 0 && panel_bytes(*tile.smem) % kPeriod == 0;
}

/// What can only be 0 or more: numbers of threads and blocks, counters from there on, and sums, products and the like
/// of them, also by the name of a let.
class Naturals {
 public:
  explicit Naturals(const roles::Program& program) {
    const roles::Builtins& own = program.builtins;
    for (const ir::Var& var : {own.block, own.block_x, own.block_y, own.block_z, own.blocks, own.replica, own.thread,
                               own.warp, own.lane, own.cluster_rank, own.sms})
      known_.insert(var.get());
    for (const ir::Var& dim : program.dims) known_.insert(dim.get());
    for (const roles::Let& let : program.lets) note(let.var, let.value);
    roles::for_each_body(program, [&](const roles::Body& body) {
      roles::walk(body, [&](const roles::Stmt& stmt) {
        if (const auto* let = std::get_if<roles::Let>(&stmt.node)) note(let->var, let->value);
        if (const auto* loop = std::get_if<roles::For>(&stmt.node)) note(loop->var, loop->begin);
      });
    });
  }

  bool has(const ir::ExprRef& expr) const {
    if (auto value = ir::as_int(expr)) return *value >= 0;
    if (const auto* ref = std::get_if<ir::VarRef>(&expr->node)) return known_.contains(ref->var.get());
    if (const auto* cast = std::get_if<ir::Cast>(&expr->node)) return has(cast->a);
    const auto* node = std::get_if<ir::Binary>(&expr->node);
    if (node == nullptr || node->op == ir::BinaryOp::sub || !has(node->a)) return false;
    return node->op == ir::BinaryOp::mod || has(node->b);
  }

 private:
  void note(const ir::Var& var, const ir::ExprRef& value) {
    if (has(value)) known_.insert(var.get());
  }

  std::set<const ir::VarDecl*> known_;
};

/// `index`: of the piece.
std::string inside_text(Emitter& e, const roles::TensorRef& tile, const std::vector<std::string>& index) {
  Naturals naturals(e.program);
  std::string text;
  for (std::size_t d = 0; d < index.size(); ++d) {
    std::string extent = expr_text(e, tile.tensor->shape[d], Level::shift);
    text += d == 0 ? "" : " && ";
    text += naturals.has(tile.index[d]) ? fmt::format("{} < {}", index[d], extent)
                                        : fmt::format("{}({}, {})", e.helper("is_inside"), index[d], extent);
  }
  return text;
}

/// `index` with row and column of a piece added.
std::vector<std::string> moved(std::vector<std::string> index, const std::string& row, const std::string& column) {
  std::size_t rank = index.size();
  index[rank - 1] = plus(index[rank - 1], column);
  if (rank >= 2) index[rank - 2] = plus(index[rank - 2], row);
  return index;
}

/// One address for all pieces of a thread, which follow it at a distance.
void emit_even_pieces(Emitter& e, const roles::CpAsync& s, const Pieces& p) {
  std::string thread = e.use(e.program.builtins.thread);
  const ir::Buffer& tensor = s.src.tensor;
  std::size_t rank = s.src.index.size();
  std::vector<std::string> index = index_texts(e, s.src.index);
  e.open("");
  e.line(fmt::format("const int row = {} / {}, column = {} % {} * {};", thread, p.per_row, thread, p.per_row,
                     p.per_piece));
  e.line(fmt::format("const unsigned to = {};", element_address(e, s.dst, "row", "column")));
  e.line(fmt::format("const {}* from = {} + {};", memory_type(e, tensor->type), e.use(tensor),
                     tensor_offset(e, tensor, moved(index, "row", "column"))));
  std::vector<std::string> step(rank, "0");
  if (rank >= 2) step[rank - 2] = fmt::format("i * {}", p.row_step);
  e.line("#pragma unroll");
  e.open(fmt::format("for (int i = 0; i < {}; ++i)", p.per_thread));
  std::string row = fmt::format("row + i * {}", p.row_step);
  e.line(fmt::format("const bool inside = {};", inside_text(e, s.src, moved(index, row, "column"))));
  const std::int64_t apart = p.row_step * row_pitch(*s.dst.smem);
  std::string first = "to";
  if (!whole_periods(*s.dst.smem, p.row_step))
    first = fmt::format("(to ^ (i * {} >> 7 & {}) << 4)", apart, roles::swizzle_span(s.dst.smem->swizzle) / 16 - 1);
  e.line(fmt::format("{}({} + i * {}, from + {}, inside ? {} : 0);", e.helper(fmt::format("cp_async_{}", s.piece)),
                     first, apart, tensor_offset(e, tensor, step), s.piece));
  e.close();
  e.close();
}

}  // namespace

void emit(Emitter& e, const roles::CpAsync& s) {
  e.needs_sm(80, s.dst.loc, "cp.async");
  if (s.where != nullptr) {
    // What is not wanted is not read, wherever it would lie.
    e.line(fmt::format("{}({}, {} + {}, {} ? {} : 0);", e.helper(fmt::format("cp_async_{}", s.piece)),
                       element_address(e, s.dst, "0", "0"), e.use(s.src.tensor),
                       tensor_offset(e, s.src.tensor, index_texts(e, s.src.index)),
                       expr_text(e, s.where, Level::logical_or), s.piece));
    return;
  }
  Pieces p = pieces_of(e, s);
  if (p.even && (whole_periods(*s.dst.smem, p.row_step) || parts_of_period(s.dst, p.row_step)))
    return emit_even_pieces(e, s, p);
  std::string thread = e.use(e.program.builtins.thread);
  std::vector<std::string> index = moved(index_texts(e, s.src.index), "row", "column");
  e.line("#pragma unroll");
  e.open(fmt::format("for (int i = 0; i < {}; ++i)", p.per_thread));
  e.line(fmt::format("const int piece = i * {} + {};", e.threads, thread));
  e.line(fmt::format("const int row = piece / {}, column = piece % {} * {};", p.per_row, p.per_row, p.per_piece));
  e.line(fmt::format("const bool inside = {};", inside_text(e, s.src, index)));
  std::string copy = fmt::format("{}({}, {} + {}, inside ? {} : 0);", e.helper(fmt::format("cp_async_{}", s.piece)),
                                 element_address(e, s.dst, "row", "column"), e.use(s.src.tensor),
                                 tensor_offset(e, s.src.tensor, index), s.piece);
  e.line(p.count % e.threads == 0 ? copy : fmt::format("if (piece < {}) {}", p.count, copy));
  e.close();
}

}  // namespace plait::emit::cuda
