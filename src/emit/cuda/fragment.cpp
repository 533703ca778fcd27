#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/emitter.h"

namespace plait::emit::cuda {
namespace {

using roles::FragmentDecl;
using roles::FragmentKind;

constexpr int kWarpgroup = 128;
constexpr int kMostBits = 128;  ///< of one access

/// One dimension is a row.
std::int64_t rows(const FragmentDecl& f) { return f.buffer->shape.size() > 1 ? ir::static_shape(*f.buffer)[0] : 1; }
std::int64_t columns(const FragmentDecl& f) { return ir::static_shape(*f.buffer).back(); }

std::string builtin(Emitter& e, const ir::Var& var) { return e.use(var); }

/// `text / by`, with `text` in parentheses where it needs them.
std::string quotient(const std::string& text, std::int64_t by) {
  return by == 1 ? text : fmt::format("{} / {}", text, by);
}

/// Accumulators of m64nN and 16-bit A operands: pairs of columns, then rows 8 below, then 8 columns on, then 64 rows
/// down.
std::string pair_row(Emitter& e, const FragmentDecl& f, const std::string& i, bool warpgroup) {
  std::int64_t per_block = columns(f) / 2;
  std::string text = fmt::format("{} / 4 + {} / 2 % 2 * 8", builtin(e, e.program.builtins.lane), i);
  if (warpgroup) text = fmt::format("{} * 16 + {}", builtin(e, e.program.builtins.warp), text);
  std::int64_t block = warpgroup ? 64 : 16;
  return rows(f) > block ? fmt::format("{} / {} * {} + {}", i, per_block, block, text) : text;
}
std::string pair_column(Emitter& e, const FragmentDecl& f, const std::string& i, std::int64_t block) {
  std::string lane = builtin(e, e.program.builtins.lane);
  std::int64_t per_block = columns(f) / 2;
  std::string within = rows(f) > block ? fmt::format("{} % {} / 4", i, per_block) : i + " / 4";
  return fmt::format("{} * 8 + {} % 4 * 2 + {} % 2", within, lane, i);
}

/// Threads along the rows of a vector fragment.
int vector_groups(const Emitter& e, const FragmentDecl& f) { return e.threads / f.lanes; }
/// Elements of one row that a thread holds.
std::int64_t vector_row_elements(const FragmentDecl& f) { return columns(f) / f.lanes; }

/// Row slots of a thread, i.e. how many rows it holds part of.
int row_slots(const Emitter& e, const FragmentDecl& f) {
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a:
      return static_cast<int>(rows(f) / 32);
    case FragmentKind::mma_acc:
    case FragmentKind::mma_a:
      return static_cast<int>(rows(f) / 8);
    case FragmentKind::mma_b:
      return static_cast<int>(rows(f) / 8);
    case FragmentKind::vector:
      return static_cast<int>(rows(f) / vector_groups(e, f));
    case FragmentKind::rows:
      return row_slots(e, *f.of);
    case FragmentKind::columns:
      return 1;
  }
  return 0;
}

/// What a thread has of the columns of `f` lies as its elements of one row do: column of the i-th.
std::string side_column(Emitter& e, const FragmentDecl& f, const std::string& i) {
  std::string lane = builtin(e, e.program.builtins.lane);
  if (f.kind != FragmentKind::vector) return fmt::format("{} / 2 * 8 + {} % 4 * 2 + {} % 2", i, lane, i);
  std::string thread = builtin(e, e.program.builtins.thread);
  std::string first = fmt::format("{} % {} * {}", thread, f.lanes, f.vec);
  return fmt::format("{} / {} * {} + {} + {} % {}", i, f.vec, f.lanes * f.vec, first, i, f.vec);
}

/// Row of slot `s` of `rows of f`.
std::string slot_row(Emitter& e, const FragmentDecl& f, const std::string& s) {
  std::string lane = builtin(e, e.program.builtins.lane);
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a: {
      std::string text = fmt::format("{} * 16 + {} / 4 + {} % 2 * 8", builtin(e, e.program.builtins.warp), lane, s);
      return rows(f) > 64 ? fmt::format("{} / 2 * 64 + {}", s, text) : text;
    }
    case FragmentKind::mma_acc:
    case FragmentKind::mma_a:
      return fmt::format("{} * 8 + {} / 4", s, lane);
    case FragmentKind::mma_b:
      return fmt::format("{} * 8 + {} / 4", s, lane);
    case FragmentKind::vector:
      return fmt::format("{} * {} + {} / {}", s, vector_groups(e, f), builtin(e, e.program.builtins.thread), f.lanes);
    case FragmentKind::rows:
      return slot_row(e, *f.of, s);
    case FragmentKind::columns:
      return "0";
  }
  return {};
}

}  // namespace

FragmentShape fragment_shape(const Emitter& e, const FragmentDecl& f) {
  int bits = ir::dtype_bits(f.buffer->type);
  auto spread = [&](int over) { return static_cast<int>(rows(f) * columns(f) / over); };
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
      return {spread(kWarpgroup), 2};
    case FragmentKind::wgmma_a:
      return {spread(kWarpgroup), bits == 8 ? 4 : bits == 16 ? 2 : 1};
    case FragmentKind::mma_acc:
    case FragmentKind::mma_a:
    case FragmentKind::mma_b:
      return {spread(kWarp), 2};
    case FragmentKind::vector:
      return {spread(e.threads), std::min(f.vec, kMostBits / bits)};
    case FragmentKind::rows:
      return {row_slots(e, f), 1};
    case FragmentKind::columns: {
      int neighbours = f.of->kind == FragmentKind::vector ? f.of->vec : 2;
      return {fragment_shape(e, *f.of).elements / row_slots(e, *f.of), std::min(neighbours, kMostBits / bits)};
    }
  }
  return {};
}

std::string row_text(Emitter& e, const FragmentDecl& f, const std::string& i) {
  bool narrow_a = f.kind == FragmentKind::wgmma_a && ir::dtype_bits(f.buffer->type) != 16;
  if (narrow_a)
    e.unsupported(f.loc, "rows and columns of 8-bit and tf32 A operands are not printed to CUDA",
                  "convert whole fragments");
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a:
      return pair_row(e, f, i, true);
    case FragmentKind::mma_acc:
      return fmt::format("{} / {} * 16 + {} / 4 + {} / 2 % 2 * 8", i, columns(f) / 2,
                         builtin(e, e.program.builtins.lane), i);
    case FragmentKind::mma_a:
      return fmt::format("{} / {} * 16 + {} / 4 + {} / 2 % 2 * 8", i, columns(f) / 2,
                         builtin(e, e.program.builtins.lane), i);
    case FragmentKind::mma_b:
      return fmt::format("{} / {} * 8 + {} / 4", i, columns(f) / 4, builtin(e, e.program.builtins.lane));
    case FragmentKind::vector:
      return slot_row(e, f, quotient(i, vector_row_elements(f)));
    case FragmentKind::rows:
      return slot_row(e, *f.of, i);
    case FragmentKind::columns:
      return "0";
  }
  return {};
}

std::string column_text(Emitter& e, const FragmentDecl& f, const std::string& i) {
  std::string lane = builtin(e, e.program.builtins.lane);
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a:
      return pair_column(e, f, i, 64);
    case FragmentKind::mma_acc:
      return pair_column(e, f, i, 16);
    case FragmentKind::mma_a:
      return fmt::format("{} / 8 % {} * 16 + {} / 4 % 2 * 8 + {} % 4 * 2 + {} % 2", i, columns(f) / 16, i, lane, i);
    case FragmentKind::mma_b:
      return fmt::format("{} / 4 % {} * 16 + {} / 2 % 2 * 8 + {} % 4 * 2 + {} % 2", i, columns(f) / 16, i, lane, i);
    case FragmentKind::vector: {
      std::int64_t per_row = vector_row_elements(f);
      std::string within = row_slots(e, f) == 1 ? i : fmt::format("{} % {}", i, per_row);
      std::string thread = fmt::format("{} % {} * {}", builtin(e, e.program.builtins.thread), f.lanes, f.vec);
      if (f.lanes == e.threads) thread = fmt::format("{} * {}", builtin(e, e.program.builtins.thread), f.vec);
      if (per_row == f.vec) return fmt::format("{} + {} % {}", thread, i, f.vec);
      return fmt::format("{} / {} * {} + {} + {} % {}", within, f.vec, f.lanes * f.vec, thread, i, f.vec);
    }
    case FragmentKind::rows:
      return "0";
    case FragmentKind::columns:
      return side_column(e, *f.of, i);
  }
  return {};
}

std::string column_slot_text(Emitter& e, const FragmentDecl& f, const std::string& i) {
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a:
      return rows(f) > 64 ? fmt::format("{} % {} / 4 * 2 + {} % 2", i, columns(f) / 2, i)
                          : fmt::format("{} / 4 * 2 + {} % 2", i, i);
    case FragmentKind::vector:
      return row_slots(e, f) == 1 ? i : fmt::format("{} % {}", i, vector_row_elements(f));
    case FragmentKind::mma_acc:
    case FragmentKind::mma_a:
    case FragmentKind::mma_b:
      e.unsupported(f.loc, "columns of mma fragments are not printed to CUDA", "read them from shared memory");
      return "0";
    case FragmentKind::rows:
    case FragmentKind::columns:
      return i;
  }
  return {};
}

std::string slot_text(Emitter& e, const FragmentDecl& f, const std::string& i) {
  switch (f.kind) {
    case FragmentKind::wgmma_acc:
    case FragmentKind::wgmma_a:
      return rows(f) > 64 ? fmt::format("{} / {} * 2 + {} / 2 % 2", i, columns(f) / 2, i)
                          : fmt::format("{} / 2 % 2", i);
    case FragmentKind::mma_acc:
    case FragmentKind::mma_a:
      return rows(f) > 16 ? fmt::format("{} / {} * 2 + {} / 2 % 2", i, columns(f) / 2, i)
                          : fmt::format("{} / 2 % 2", i);
    case FragmentKind::mma_b:
      return quotient(i, columns(f) / 4);
    case FragmentKind::vector:
      return row_slots(e, f) == 1 ? "0" : quotient(i, vector_row_elements(f));
    case FragmentKind::rows:
    case FragmentKind::columns:
      return i;
  }
  return {};
}

std::string declare_fragment(Emitter& e, const FragmentDecl& f) {
  int elements = fragment_shape(e, f).elements;
  int per_register = packed(f);
  std::string type = per_register > 1 ? "unsigned" : value_type(f.buffer->type);
  // What is not whole is filled piece by piece.
  const char* contents = elements % per_register == 0 ? "" : " = {}";
  return fmt::format("{} {}[{}]{};", type, Emitter::name(f.buffer->name), (elements + per_register - 1) / per_register,
                     contents);
}

}  // namespace plait::emit::cuda
