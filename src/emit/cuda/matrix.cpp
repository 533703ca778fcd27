#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/emitter.h"
#include "ir/build.h"

namespace plait::emit::cuda {
namespace {

using ir::DType;

constexpr int kInstructionRows = 64;  // of a wgmma

std::int64_t rows(const roles::Fragment& f) { return ir::static_shape(*f->buffer)[0]; }
std::int64_t columns(const roles::Fragment& f) { return ir::static_shape(*f->buffer)[1]; }

std::string_view ptx_type(DType type) {
  switch (type) {
    case DType::i8:
      return "s8";
    case DType::i32:
      return "s32";
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i16:
    case DType::i64:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::e2m1:
    case DType::e4m3:
    case DType::e5m2:
    case DType::f16:
    case DType::bf16:
    case DType::tf32:
    case DType::f32:
    case DType::f64:
      return ir::dtype_name(type);
  }
  return "";
}

/// `"+f"(d[0]), …` over `count` registers, and `%first, …` for them.
std::string operands(std::string_view constraint, std::string_view array, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0) text += i % 8 == 0 ? ",\n        " : ", ";
    text += fmt::format("\"{}\"({}[{}])", constraint, array, i);
  }
  return text;
}
/// Floats whose bits an instruction takes.
std::string bit_operands(std::string_view array, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}\"r\"(__float_as_uint({}[{}]))", i == 0 ? "" : ", ", array, i);
  return text;
}
std::string places(std::int64_t first, std::int64_t count) {
  std::string text;
  for (std::int64_t i = 0; i < count; ++i) text += fmt::format("{}%{}", i == 0 ? "" : ", ", first + i);
  return "{" + text + "}";
}

/// One instruction's shape and types: what its helper is made from.
struct WgmmaForm {
  std::int64_t n = 0;
  int k = 0;
  DType acc{}, a{}, b{};
  bool a_registers = false, trans_a = false, trans_b = false;  ///< transposed: stored MN-major
};

std::string wgmma_helper(Emitter& e, const WgmmaForm& form) {
  bool half = form.acc == DType::f16;
  bool integer = form.acc == DType::i32;
  bool tf32 = form.a == DType::tf32;
  std::int64_t registers = half ? form.n / 4 : form.n / 2;
  std::string type = half ? "unsigned" : integer ? "int" : "float";
  std::string name = fmt::format("wgmma_m64n{}k{}_{}_{}{}{}{}{}", form.n, form.k, ptx_type(form.acc), ptx_type(form.a),
                                 form.a == form.b ? "" : "_" + std::string(ptx_type(form.b)),
                                 form.a_registers ? "_ra" : "", form.trans_a ? "_ta" : "", form.trans_b ? "_tb" : "");
  std::string a_param = !form.a_registers ? "unsigned long long a" : tf32 ? "const float* a" : "const unsigned* a";
  std::string a_operand = !form.a_registers ? "\"l\"(a)" : tf32 ? bit_operands("a", 4) : operands("r", "a", 4);
  std::string a_place = form.a_registers ? places(registers, 4) : fmt::format("%{}", registers);
  std::int64_t b_place = registers + (form.a_registers ? 4 : 1);
  std::string tail = integer ? "" : ", 1, 1";
  bool sixteen_bit = ir::dtype_bits(form.a) == 16;
  if (sixteen_bit && !form.a_registers) tail += form.trans_a ? ", 1" : ", 0";
  if (sixteen_bit) tail += form.trans_b ? ", 1" : ", 0";
  return e.helper(name, fmt::format(R"(// d = a · b + (add ? d : 0)
__device__ __forceinline__ void {}({}* d, {}, unsigned long long b, int add) {{
  asm volatile(
      "{{\n"
      ".reg .pred add;\n"
      "setp.ne.b32 add, %{}, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n{}k{}.{}.{}.{}\n"
      "{},\n"
      "{}, %{}, add{};\n"
      "}}"
      : {}
      : {}, "l"(b), "r"(add));
}}
)",
                                    name, type, a_param, b_place + 1, form.n, form.k, ptx_type(form.acc),
                                    ptx_type(form.a), ptx_type(form.b), places(0, registers), a_place, b_place, tail,
                                    operands(half || integer ? "+r" : "+f", "d", registers), a_operand));
}

/// Swizzle field of a descriptor.
int swizzle_code(roles::Swizzle swizzle) {
  switch (swizzle) {
    case roles::Swizzle::none:
      return 0;
    case roles::Swizzle::b128:
      return 1;
    case roles::Swizzle::b64:
      return 2;
    case roles::Swizzle::b32:
      return 3;
  }
  return 0;
}

/// K-major: 8 rows follow at 8 pitches, and an instruction stays within one panel. MN-major: panels along M or N follow
/// at the panel's size, 8 rows of k at 8 pitches.
std::string descriptor(Emitter& e, const roles::SmemRef& ref, bool mn_major) {
  constexpr int core_rows = 8;
  constexpr int unused = 16;
  constexpr int unit = 16;  // term by term, so that what an unrolled loop adds is a constant behind the shifts
  std::int64_t stride = core_rows * row_pitch(*ref.smem);
  std::int64_t leading = mn_major ? panel_bytes(*ref.smem) : unused;
  return fmt::format("{}<{}, {}, {}>({})", e.helper("matrix_desc"), leading, stride, swizzle_code(ref.smem->swizzle),
                     tile_address(e, ref, unit));
}

/// The first register of a fragment that belongs to `begin`: registers a row block of `block` rows, then along columns.
std::string register_at(Emitter& e, const roles::FragmentRef& ref, std::int64_t block, int threads) {
  const roles::Fragment& f = ref.fragment;
  std::int64_t per_register = packed(f->buffer->type);
  std::int64_t per_block = block * columns(f) / threads / per_register;
  std::int64_t columns_a_register = threads * per_register / block;
  std::string text = Emitter::name(f->buffer->name);
  auto add = [&](const ir::ExprRef& index, std::int64_t times, std::int64_t over) {
    if (auto value = ir::as_int(index)) {
      if (*value != 0) text += fmt::format(" + {}", *value * times / over);
      return;
    }
    text += " + " + expr_text(e, index, Level::product);
    if (times != 1) text += fmt::format(" * {}", times);
    if (over != 1) text += fmt::format(" / {}", over);
  };
  add(ref.begin[0], per_block, block);
  // Columns of A blocks: 4 registers hold 32 bytes of k; over a whole block that is columns / columns_a_register.
  add(ref.begin[1], 1, columns_a_register);
  return text;
}

}  // namespace

void emit(Emitter& e, const roles::Wgmma& s) {
  if (e.sm != kHopper || e.arch.back() != 'a')
    e.diags.error(Rule::cuda_arch, e.told_at(s.acc.loc), "wgmma exists on sm_90a alone, and the code is for " + e.arch);
  WgmmaForm form;
  form.n = columns(s.acc.fragment);
  form.acc = s.acc.fragment->buffer->type;
  form.b = s.b.smem->buffer->type;
  constexpr int k_bits = 256;
  form.k = k_bits / ir::dtype_bits(form.b);
  form.trans_b = !s.trans_b;
  const auto* registers = std::get_if<roles::FragmentRef>(&s.a);
  form.a_registers = registers != nullptr;
  form.trans_a = s.trans_a;
  form.a = registers ? registers->fragment->buffer->type : std::get<roles::SmemRef>(s.a).smem->buffer->type;
  constexpr int warpgroup = 128;
  std::string a = registers ? register_at(e, *registers, kInstructionRows, warpgroup) : "a_desc";
  std::string add = s.clear ? "!(" + expr_text(e, s.clear) + ")" : "1";
  if (auto literal = s.clear ? ir::as_int(s.clear) : std::nullopt) add = *literal != 0 ? "0" : "1";
  e.open("");
  auto declare = [&](const std::string& name, const std::string& value) {
    e.line(fmt::format("const unsigned long long {} = {};", name, value));
  };
  if (!registers) declare(a, descriptor(e, std::get<roles::SmemRef>(s.a), s.trans_a));
  declare("b_desc", descriptor(e, s.b, !s.trans_b));
  roles::FragmentRef whole_rows{s.acc.fragment, {s.acc.begin[0], ir::int_literal(0)}, {}};
  e.line(fmt::format("{}({}, {}, b_desc, {});", wgmma_helper(e, form),
                     register_at(e, whole_rows, kInstructionRows, warpgroup), a, add));
  e.close();
  e.issued.push_back(s.acc.fragment);
  if (registers) e.issued.push_back(registers->fragment);
}

void emit(Emitter& e, const roles::WgmmaCommit&) {
  e.line(e.helper("wgmma_commit") + "();");
  e.committed.push_back(std::move(e.issued));
  e.issued.clear();
}

void emit(Emitter& e, const roles::WgmmaAwait& s) {
  e.line(fmt::format("{}<{}>();", e.helper("wgmma_await"), s.pending));
  std::vector<roles::Fragment> done;
  while (e.committed.size() > static_cast<std::size_t>(s.pending)) {
    for (const roles::Fragment& f : e.committed.front())
      if (std::find(done.begin(), done.end(), f) == done.end()) done.push_back(f);
    e.committed.erase(e.committed.begin());
  }
  for (const roles::Fragment& f : done)
    e.line(fmt::format("{}({});", e.helper("keep"), Emitter::name(f->buffer->name)));
}

void emit(Emitter& e, const roles::Mma& s) {
  e.needs_sm(80, s.acc->loc, "mma.sync");
  const roles::Fragment& left = s.a.fragment;
  DType type = left->buffer->type;
  if (s.acc->buffer->type != DType::f32 || ir::dtype_bits(type) != 16)
    e.unsupported(s.acc->loc, "mma is printed for f16 and bf16 operands with an f32 accumulator",
                  "convert the operands");
  std::string name = fmt::format("mma_m16n8k16_{}", ptx_type(type));
  e.helper(name, fmt::format(R"(__device__ __forceinline__ void {0}(float* d, const unsigned* a, const unsigned* b) {{
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.{1}.{1}.f32 {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}}
)",
                             name, ptx_type(type)));
  // Of the wgmma kinds each warp has 16 of 64 rows, in the same order of registers.
  std::int64_t block = left->kind == roles::FragmentKind::wgmma_a ? kInstructionRows : 16;
  std::int64_t m = rows(s.acc) / block, n = columns(s.acc) / 8, k = columns(s.b) / 16, a_row = columns(left) / 16;
  constexpr int warpgroup = 128, warp = 32;
  std::string acc = Emitter::name(s.acc->buffer->name), b = Emitter::name(s.b->buffer->name),
              a = register_at(e, s.a, block, block == kInstructionRows ? warpgroup : warp);
  for (const std::string& loop :
       {fmt::format("for (int k_ = 0; k_ < {}; ++k_)", k), fmt::format("for (int m_ = 0; m_ < {}; ++m_)", m),
        fmt::format("for (int n_ = 0; n_ < {}; ++n_)", n)}) {
    e.line("#pragma unroll");
    e.line(loop);
  }
  e.line(fmt::format("  {}({} + (m_ * {} + n_) * 4, {} + (m_ * {} + k_) * 4, {} + (n_ * {} + k_) * 2);", name, acc, n,
                     a, a_row, b, k));
}

void emit(Emitter& e, const roles::LdMatrix& s) {
  e.needs_sm(75, s.src.loc, "ldmatrix");
  const roles::Fragment& f = s.dst.fragment;
  std::string lane = e.use(e.program.builtins.lane);
  std::string suffix = s.trans ? "_trans" : "";
  std::string name = Emitter::name(f->buffer->name);
  std::int64_t k = columns(f) / 16;
  bool of_group = f->kind == roles::FragmentKind::wgmma_a, is_a = of_group || f->kind == roles::FragmentKind::mma_a;
  std::int64_t height = of_group ? kInstructionRows : is_a ? 16 : 8, blocks = rows(f) / height;
  // Which 8 x 8 matrix a lane addresses: for A the second one lies 8 rows down, for B 8 columns (k) on.
  std::string low = fmt::format("{} % 8 + {} / 16 * 8", lane, lane), high = fmt::format("{} / 8 % 2 * 8", lane);
  std::string straight_row = fmt::format("{} % 16", lane), straight_column = fmt::format("{} / 16 * 8", lane);
  bool pair_down = is_a != s.trans;  // matrices 0 and 1 follow along the stored rows
  std::string row = pair_down ? straight_row : low, column = pair_down ? straight_column : high;
  auto address = [&](const std::string& block_offset, const std::string& k_offset) {
    std::string r = s.trans ? k_offset + " + " + row : block_offset + " + " + row;
    std::string c = s.trans ? block_offset + " + " + column : k_offset + " + " + column;
    return element_address(e, s.src, r, c);
  };
  e.line("#pragma unroll");
  e.line(fmt::format("for (int k_ = 0; k_ < {}; ++k_) {{", k));
  if (is_a) {
    e.line("#pragma unroll");
    e.line(fmt::format("  for (int m_ = 0; m_ < {}; ++m_) {{", blocks));
    e.line(fmt::format("    unsigned* r_ = {} + (m_ * {} + k_) * 4;", name, k));
    e.line(fmt::format(
        "    {}(r_[0], r_[1], r_[2], r_[3], {});", e.helper("ldmatrix_x4" + suffix),
        address(of_group ? "m_ * 64 + " + e.use(e.program.builtins.warp) + " * 16" : "m_ * 16", "k_ * 16")));
    e.line("  }");
  } else {
    if (blocks >= 2) {
      e.line("#pragma unroll");
      e.line(fmt::format("  for (int n_ = 0; n_ < {}; n_ += 2) {{", blocks / 2 * 2));
      e.line(fmt::format("    unsigned *r_ = {} + (n_ * {} + k_) * 2, *s_ = r_ + {};", name, k, k * 2));
      e.line(fmt::format("    {}(r_[0], r_[1], s_[0], s_[1], {});", e.helper("ldmatrix_x4" + suffix),
                         address("n_ * 8", "k_ * 16")));
      e.line("  }");
    }
    if (blocks % 2 == 1) {
      e.line(fmt::format("  unsigned* r_ = {} + ({} + k_) * 2;", name, (blocks - 1) * k));
      e.line(fmt::format("  {}(r_[0], r_[1], {});", e.helper("ldmatrix_x2" + suffix),
                         address(std::to_string((blocks - 1) * 8), "k_ * 16")));
    }
  }
  e.line("}");
}

void emit(Emitter& e, const roles::StMatrix& s) {
  e.needs_sm(kHopper, s.dst.loc, "stmatrix");
  DType to = s.dst.smem->buffer->type;
  const roles::Fragment& f = s.src.fragment;
  DType from = f->buffer->type;
  bool copy_bits = from == to;
  if ((to != DType::bf16 && to != DType::f16) || (from != DType::f32 && !copy_bits))
    e.unsupported(s.dst.loc,
                  "stmatrix is printed for f32 fragments into f16 and bf16 tiles, and for equal 16-bit types",
                  "convert in `each` first");
  std::string lane = e.use(e.program.builtins.lane), warp = e.use(e.program.builtins.warp);
  constexpr int warpgroup = 128;
  e.open("");
  e.line(fmt::format("const {}* from = {};", copy_bits ? "unsigned" : "float",
                     register_at(e, s.src, kInstructionRows, warpgroup)));
  e.line("#pragma unroll");
  e.open(fmt::format("for (int column = 0; column < {}; column += 16)", s.columns));
  std::string row = fmt::format("{} * 16 + {} % 16", warp, lane);
  std::string column = fmt::format("column + {} / 16 * 8", lane);
  std::string values;
  for (int q = 0; q < 4; ++q) {
    if (copy_bits)
      values += fmt::format(", from[column / 4 + {}]", q);
    else
      values += fmt::format(", {}(from[column / 2 + {}], from[column / 2 + {}])",
                            e.helper(fmt::format("pack_{}x2", ir::dtype_name(to))), 2 * q, 2 * q + 1);
  }
  e.line(fmt::format("const unsigned to = {};", element_address(e, s.dst, row, column)));
  e.line(fmt::format("{}(to{});", e.helper("stmatrix_x4"), values));
  e.close();
  e.close();
}

}  // namespace plait::emit::cuda
