#include <fmt/format.h>

#include "ir/build.h"
#include "layout/matrix_access.h"
#include "layout/role_layout.h"
#include "roles/print.h"
#include "roles/verify_parts.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kWgmmaRows = 64;
constexpr std::int64_t kWgmmaColumns = 256;
constexpr std::int64_t kWgmmaDepthBits = 256;
constexpr std::int64_t kMatrixColumns = 16;
constexpr std::int64_t kMmaDepth = 16;
constexpr std::int64_t kUnitBytes = 16;

bool is_float8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
bool is_int8(DType type) { return type == DType::i8 || type == DType::u8; }

std::int64_t rows(const Fragment& f) { return ir::static_shape(*f->buffer).front(); }
std::int64_t columns(const Fragment& f) { return ir::static_shape(*f->buffer).back(); }
std::string_view type_name(const Fragment& f) { return ir::dtype_name(f->buffer->type); }
std::string quoted(const Fragment& f) { return fmt::format("`{}`", f->buffer->name); }

/// Whether tensor cores add products of these types into an accumulator of that one.
bool adds_into(DType a, DType b, DType acc) {
  if (is_float8(a) && is_float8(b)) return acc == DType::f32 || acc == DType::f16;
  if (is_int8(a) && is_int8(b)) return acc == DType::i32;
  if (a != b) return false;
  if (a == DType::f16) return acc == DType::f32 || acc == DType::f16;
  return (a == DType::bf16 || a == DType::tf32) && acc == DType::f32;
}

class Matrix {
 public:
  explicit Matrix(const Check& check) : check_(check) {}

  void run() {
    scan(check_, [&](const Met& met) {
      met_ = &met;
      std::visit([&](const auto& s) { check(s); }, met.stmt.node);
    });
  }

 private:
  void error(Rule rule, const Loc& part, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc_of(part, met_->stmt), std::move(message), std::move(fix));
  }
  bool kind(Rule rule, const Fragment& f, FragmentKind wanted, const Loc& loc);
  bool begins(Rule rule, const FragmentRef& ref, std::size_t dim, std::int64_t factor, std::int64_t extent);

  void check(const Wgmma& s);
  bool accumulator(const Wgmma& s);
  bool types(const Wgmma& s, DType a);
  void shared_operand(const SmemRef& ref, layout::Major major, std::int64_t extent, const char* what);
  void register_operand(const FragmentRef& ref, std::int64_t depth);
  void check(const Mma& s);
  void check(const LdMatrix& s);
  void check(const StMatrix& s);
  void unit(const SmemRef& ref, const TilePlace& place);
  template <typename Other>
  void check(const Other&) {}

  const Check& check_;
  const Met* met_ = nullptr;
};

bool Matrix::kind(Rule rule, const Fragment& f, FragmentKind wanted, const Loc& loc) {
  if (f->kind == wanted) return true;
  error(
      rule, loc,
      fmt::format("{} is a {} fragment, and a {} one is taken here", quoted(f), kind_name(f->kind), kind_name(wanted)));
  return false;
}

/// The part of a fragment that begins at `ref` along `dim` begins at a multiple of `factor` and has `extent` elements.
bool Matrix::begins(Rule rule, const FragmentRef& ref, std::size_t dim, std::int64_t factor, std::int64_t extent) {
  std::int64_t size = ir::static_shape(*ref.fragment->buffer)[dim];
  Range at = met_->ranges.of(ref.begin[dim]);
  if (!at.constant()) {
    error(Rule::role_literal, ref.loc,
          fmt::format("`{}` says where a fragment begins, and is no literal once unrolled loops are expanded",
                      value_text(ref.begin[dim])),
          "registers have no addresses: use literals and variables of unrolled loops");
    return false;
  }
  if (at.least % factor == 0 && at.least >= 0 && at.least + extent <= size) return true;
  error(rule, ref.loc,
        fmt::format("{} {} to {} of {}, which has {}", dim == 0 ? "rows" : "columns", at.least, at.least + extent - 1,
                    quoted(ref.fragment), size),
        fmt::format("begin at a multiple of {} inside the fragment", factor));
  return false;
}

// ---- wgmma ---------------------------------------------------------------------------------------------------------

bool Matrix::accumulator(const Wgmma& s) {
  if (!kind(Rule::wgmma_operand, s.acc.fragment, FragmentKind::wgmma_acc, s.acc.loc)) return false;
  std::int64_t n = columns(s.acc.fragment);
  if (n % 8 != 0 || n > kWgmmaColumns) {
    error(Rule::wgmma_shape, s.acc.loc, fmt::format("{} has {} columns", quoted(s.acc.fragment), n),
          "wgmma takes a multiple of 8 up to 256: use several accumulators");
    return false;
  }
  constexpr int integer_step = 16;
  bool integer = s.acc.fragment->buffer->type == DType::i32;
  if (integer && n % integer_step != 0 && n != 8 && n != 24) {
    error(Rule::wgmma_shape, s.acc.loc, fmt::format("{} has {} columns", quoted(s.acc.fragment), n),
          "integer products come in 8, 24 and multiples of 16 columns");
    return false;
  }
  return begins(Rule::wgmma_shape, s.acc, 0, kWgmmaRows, kWgmmaRows) && begins(Rule::wgmma_shape, s.acc, 1, n, n);
}

bool Matrix::types(const Wgmma& s, DType a) {
  DType b = s.b.smem->buffer->type, acc = s.acc.fragment->buffer->type;
  if (!adds_into(a, b, acc)) {
    error(Rule::wgmma_type, s.acc.loc,
          fmt::format("wgmma of {} and {} into {}", ir::dtype_name(a), ir::dtype_name(b), ir::dtype_name(acc)),
          "take one type of f16, bf16, tf32 (or e4m3 and e5m2) into f32, f16 or 8-bit floats into f16, or 8-bit "
          "integers into i32");
    return false;
  }
  bool along_m = std::holds_alternative<SmemRef>(s.a) && s.trans_a;
  if (ir::dtype_bits(b) == 16 || (!along_m && s.trans_b)) return true;
  error(Rule::wgmma_type, along_m ? std::get<SmemRef>(s.a).loc : s.b.loc,
        fmt::format("operands of {} have k along their rows", ir::dtype_name(b)),
        along_m ? "store A as [m, k] and leave ^T out" : "store B as [n, k] and write ^T behind it");
  return false;
}

void Matrix::shared_operand(const SmemRef& ref, layout::Major major, std::int64_t extent, const char* what) {
  layout::SmemTile tile = layout::smem_tile(*ref.smem);
  TilePlace place = place_of(ref, met_->ranges);
  std::int64_t depth = kWgmmaDepthBits / tile.bits;
  bool k = major == layout::Major::k;
  if (!inside(check_, ref, place, k ? extent : depth, k ? depth : extent)) return;
  clean(check_, Rule::wgmma_operand, loc_of(ref.loc, met_->stmt),
        fmt::format("operand {} in `{}`", what, ref.smem->buffer->name),
        layout::operand_error({tile, major, extent, place.row.example(), place.column.example(), 0}));
}

void Matrix::register_operand(const FragmentRef& ref, std::int64_t depth) {
  if (!kind(Rule::wgmma_operand, ref.fragment, FragmentKind::wgmma_a, ref.loc)) return;
  if (begins(Rule::wgmma_shape, ref, 0, kWgmmaRows, kWgmmaRows)) begins(Rule::wgmma_shape, ref, 1, depth, depth);
}

void Matrix::check(const Wgmma& s) {
  if (!accumulator(s)) return;
  const auto* a_registers = std::get_if<FragmentRef>(&s.a);
  DType a = a_registers != nullptr ? a_registers->fragment->buffer->type : std::get<SmemRef>(s.a).smem->buffer->type;
  if (!types(s, a)) return;
  if (a_registers != nullptr) {
    register_operand(*a_registers, kWgmmaDepthBits / ir::dtype_bits(a));
  } else {
    shared_operand(std::get<SmemRef>(s.a), s.trans_a ? layout::Major::mn : layout::Major::k, kWgmmaRows, "A");
  }
  shared_operand(s.b, s.trans_b ? layout::Major::k : layout::Major::mn, columns(s.acc.fragment), "B");
}

// ---- mma -----------------------------------------------------------------------------------------------------------

/// Of a warp, or of a warpgroup each of whose warps multiplies its rows.
void Matrix::check(const Mma& s) {
  const Fragment& left = s.a.fragment;
  bool group = s.acc->kind == FragmentKind::wgmma_acc;
  bool kinds = (group || kind(Rule::mma_operand, s.acc, FragmentKind::mma_acc, {})) &&
               kind(Rule::mma_operand, left, group ? FragmentKind::wgmma_a : FragmentKind::mma_a, s.a.loc) &&
               kind(Rule::mma_operand, s.b, FragmentKind::mma_b, {});
  if (!kinds) return;
  DType a = left->buffer->type, b = s.b->buffer->type;
  if (ir::dtype_bits(a) != 16 || !adds_into(a, b, s.acc->buffer->type)) {
    return error(Rule::mma_operand, {},
                 fmt::format("mma of {} and {} into {}", type_name(left), type_name(s.b), type_name(s.acc)),
                 "take f16 or bf16, one type, into f32");
  }
  if (rows(s.acc) != rows(left) || columns(s.acc) != rows(s.b) || columns(left) < columns(s.b)) {
    return error(Rule::mma_operand, {},
                 fmt::format("{} is [{}, {}], {} [{}, {}] and {} [{}, {}]", quoted(s.acc), rows(s.acc), columns(s.acc),
                             quoted(left), rows(left), columns(left), quoted(s.b), rows(s.b), columns(s.b)),
                 "the accumulator is [m, n], the operands are [m, k] and [n, k]");
  }
  if (begins(Rule::mma_operand, s.a, 0, rows(left), rows(left)))
    begins(Rule::mma_operand, s.a, 1, kMmaDepth, columns(s.b));
}

/// Matrices are rows of 16 bytes, which begin at multiples of 16 bytes.
void Matrix::unit(const SmemRef& ref, const TilePlace& place) {
  layout::SmemTile tile = layout::smem_tile(*ref.smem);
  std::int64_t byte = place.column.example() * tile.bits / 8;
  if (byte % kUnitBytes == 0 && tile.pitch() % kUnitBytes == 0) return;
  error(Rule::matrix_move, ref.loc,
        byte % kUnitBytes != 0
            ? fmt::format("the tile begins at byte {} of a row of `{}`", byte, ref.smem->buffer->name)
            : fmt::format("the rows of `{}` follow at {} bytes", ref.smem->buffer->name, tile.pitch()),
        "begin at, and pad rows to, a multiple of 16 bytes");
}

void Matrix::check(const LdMatrix& s) {
  const Fragment& f = s.dst.fragment;
  DType type = s.src.smem->buffer->type;
  if (f->kind != FragmentKind::mma_a && f->kind != FragmentKind::mma_b && f->kind != FragmentKind::wgmma_a) {
    return error(Rule::matrix_move, s.dst.loc,
                 fmt::format("ldmatrix fills {}, a {} fragment", quoted(f), kind_name(f->kind)),
                 "load into an mma_a, wgmma_a or mma_b fragment");
  }
  if (f->buffer->type != type || ir::dtype_bits(type) != 16) {
    return error(Rule::matrix_move, s.dst.loc,
                 fmt::format("ldmatrix from {} to {}", ir::dtype_name(type), type_name(f)),
                 "take one 16-bit type on both sides");
  }
  bool whole = begins(Rule::matrix_move, s.dst, 0, rows(f), rows(f)) &&
               begins(Rule::matrix_move, s.dst, 1, columns(f), columns(f));
  if (!whole) return;
  TilePlace place = place_of(s.src, met_->ranges);
  std::int64_t down = s.trans ? columns(f) : rows(f), along = s.trans ? rows(f) : columns(f);
  if (inside(check_, s.src, place, down, along)) unit(s.src, place);
}

void Matrix::check(const StMatrix& s) {
  const Fragment& f = s.src.fragment;
  DType from = f->buffer->type, to = s.dst.smem->buffer->type;
  if (!kind(Rule::matrix_move, f, FragmentKind::wgmma_acc, s.src.loc)) return;
  bool converts = ir::is_float(from) && ir::is_float(to) && ir::dtype_bits(from) == 32;
  if (ir::dtype_bits(to) != 16 || !(from == to || converts)) {
    return error(Rule::matrix_move, s.dst.loc,
                 fmt::format("stmatrix from {} to {}", ir::dtype_name(from), ir::dtype_name(to)),
                 "store f32 as f16 or bf16, or a 16-bit type as it is");
  }
  if (s.columns < 1 || s.columns % kMatrixColumns != 0)
    return error(Rule::matrix_move, s.dst.loc, fmt::format("stmatrix of {} columns", s.columns),
                 "write a multiple of 16");
  bool part = begins(Rule::matrix_move, s.src, 0, kWgmmaRows, kWgmmaRows) &&
              begins(Rule::matrix_move, s.src, 1, kMatrixColumns, s.columns);
  if (!part) return;
  TilePlace place = place_of(s.dst, met_->ranges);
  if (inside(check_, s.dst, place, kWgmmaRows, s.columns)) unit(s.dst, place);
}

}  // namespace

void check_matrix(const Check& check) { Matrix(check).run(); }

}  // namespace plait::roles
