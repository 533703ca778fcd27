#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/emitter.h"
#include "ir/build.h"
#include "ir/numeric.h"

// Vector accesses of fragments, and single elements.
namespace plait::emit::cuda {
namespace {

using roles::FragmentKind;

/// How a run of elements is moved: its C++ vector type, the type of a component, and how many there are.
struct Move {
  std::string vector, component;
  int components = 1;
  int bits = 32;       ///< of a run, where it is less than a register
  bool value = false;  ///< a register holds a value, of a type that lies otherwise in memory
};

const char* unsigned_of(int bits) { return bits == 8 ? "unsigned char" : "unsigned short"; }

/// The name of CUDA's vectors of the type.
std::string vector_stem(ir::DType type) {
  if (type == ir::DType::i64) return "longlong";
  if (type == ir::DType::u64) return "ulonglong";
  return type == ir::DType::u32 ? "uint" : value_type(type);
}

std::optional<Move> move_of(Emitter& e, const roles::FragmentDecl& f, const Loc& loc) {
  ir::DType type = f.buffer->type;
  int per_register = packed(f), bits = ir::dtype_bits(type);
  int run = fragment_shape(e, f).run;
  Move move;
  if (per_register == 1 && bits < 32) {
    move.vector = move.component = unsigned_of(bits);
    move.value = true;
    return move;
  }
  if (run < per_register) {
    move.bits = run * bits;
    move.vector = move.component = unsigned_of(move.bits);
    return move;
  }
  move.component = per_register > 1 ? "unsigned" : value_type(type);
  move.components = run / per_register;
  constexpr int most_bits = 128;
  bool known = move.components == 1 || move.components == 2 || move.components == 4;
  if (!known || run * bits > most_bits) {
    e.unsupported(loc, fmt::format("'{}' is moved by 16 bytes a thread at most, in 1, 2 or 4 pieces", f.buffer->name),
                  "choose another `vec`");
    return std::nullopt;
  }
  std::string stem = per_register > 1 ? "uint" : vector_stem(type);
  move.vector = move.components == 1 ? move.component : stem + std::to_string(move.components);
  return move;
}

constexpr const char* kComponents[] = {"x", "y", "z", "w"};

std::string component(const Move& move, int c) {
  return move.components == 1 ? "" : fmt::format(".{}", kComponents[c]);
}

/// How far up in its register the run at `i` lies.
std::string shift_text(const roles::FragmentDecl& f, const Move& move) {
  int per_register = packed(f);
  int each = ir::dtype_bits(f.buffer->type);
  return move.bits == each ? fmt::format("i % {} * {}", per_register, each)
                           : fmt::format("i / {} % {} * {}", move.bits / each, 32 / move.bits, move.bits);
}

/// The first register of the run at `i`.
std::string register_text(const roles::FragmentDecl& f, int c) {
  int per_register = packed(f);
  std::string base = per_register == 1 ? "i" : fmt::format("i / {}", per_register);
  return c == 0 ? fmt::format("{}[{}]", Emitter::name(f.buffer->name), base)
                : fmt::format("{}[{} + {}]", Emitter::name(f.buffer->name), base, c);
}

/// From the run at `i` to `piece`.
void take_piece(Emitter& e, const roles::FragmentDecl& f, const Move& move) {
  if (move.value) {
    std::string code = code_text(e, f.buffer->type, register_text(f, 0));
    return e.line(fmt::format("const auto piece = static_cast<{}>({});", move.vector, code));
  }
  if (move.bits < 32) {
    e.line(fmt::format("const auto piece = static_cast<{}>({} >> {});", move.vector, register_text(f, 0),
                       shift_text(f, move)));
    return;
  }
  e.line(fmt::format("{} piece;", move.vector));
  for (int c = 0; c < move.components; ++c)
    e.line(fmt::format("piece{} = {};", component(move, c), register_text(f, c)));
}

/// From `piece` to the run at `i`; runs of one register come one after the other, the lowest first.
void put_piece(Emitter& e, const roles::FragmentDecl& f, const Move& move) {
  if (move.value) return e.line(fmt::format("{} = {};", register_text(f, 0), from_code(e, f.buffer->type, "piece")));
  if (move.bits < 32) {
    std::string at = register_text(f, 0), shift = shift_text(f, move);
    e.line(fmt::format("{} = ({} == 0 ? 0u : {}) | static_cast<unsigned>(piece) << {};", at, shift, at, shift));
    return;
  }
  for (int c = 0; c < move.components; ++c)
    e.line(fmt::format("{} = piece{};", register_text(f, c), component(move, c)));
}

struct TensorPlace {
  std::string inside, pointer;
};
/// Where the run at `i` of a fragment stands in a tensor, and whether it stands inside.
TensorPlace tensor_place(Emitter& e, const roles::FragmentDecl& f, const roles::TensorRef& ref) {
  std::vector<std::string> index = index_texts(e, ref.index);
  std::size_t rank = index.size();
  bool is_rows = f.kind == FragmentKind::rows;
  const ir::BufferDecl& tensor = *ref.tensor;
  TensorPlace place;
  auto within = [&](std::size_t d) {
    return fmt::format("{} < {}", index[d], expr_text(e, tensor.shape[d], Level::shift));
  };
  index[rank - 1] = plus(index[rank - 1], is_rows ? row_text(e, f, "i") : column_text(e, f, "i"));
  place.inside = within(rank - 1);
  if (!is_rows && rank >= 2) {
    index[rank - 2] = plus(index[rank - 2], row_text(e, f, "i"));
    place.inside = within(rank - 2) + " && " + place.inside;
  }
  place.pointer = e.use(ref.tensor) + " + " + tensor_offset(e, ref.tensor, index);
  return place;
}

void open_runs(Emitter& e, const roles::FragmentDecl& f) {
  FragmentShape shape = fragment_shape(e, f);
  e.line("#pragma unroll");
  e.open(fmt::format("for (int i = 0; i < {}; i += {})", shape.elements, shape.run));
}

std::string shared_place(Emitter& e, const roles::FragmentDecl& f, const roles::SmemRef& ref) {
  bool is_rows = f.kind == FragmentKind::rows;
  return is_rows ? element_address(e, ref, "0", row_text(e, f, "i"))
                 : element_address(e, ref, row_text(e, f, "i"), column_text(e, f, "i"));
}

/// A run of elements outside of the tensor.
std::string outside_text(Emitter& e, const roles::LoadTensor& s, const Move& move) {
  if (s.pad == nullptr) return "{}";
  const auto* real = std::get_if<ir::FloatLit>(&s.pad->node);
  ir::DType type = s.dst->buffer->type;
  int bits = ir::dtype_bits(type);
  std::string one = expr_text(e, s.pad);
  if (bits < 32) {
    std::uint64_t code = real != nullptr ? ir::encode_float(type, real->value)
                                         : static_cast<std::uint64_t>(ir::as_int(s.pad).value_or(0));
    std::uint64_t each = code & ((std::uint64_t{1} << bits) - 1), all = 0;
    const int width = move.value ? bits : std::min(move.bits, 32);
    for (int at = 0; at < width; at += bits) all |= each << at;
    one = fmt::format("{:#x}u", all);
    if (width < 32) return one;
  }
  std::string list = one;
  for (int c = 1; c < move.components; ++c) list += ", " + one;
  return "{" + list + "}";
}

}  // namespace

void emit(Emitter& e, const roles::LoadTensor& s) {
  auto move = move_of(e, *s.dst, s.src.loc);
  if (!move) return;
  if (s.hint == roles::CacheHint::evict_last)
    e.unsupported(s.src.loc, "loads into registers take the hint evict_first alone", "use a bulk copy");
  open_runs(e, *s.dst);
  TensorPlace place = tensor_place(e, *s.dst, s.src);
  e.line(fmt::format("{} piece = {};", move->vector, outside_text(e, s, *move)));
  e.line(fmt::format("const auto* at = reinterpret_cast<const {}*>({});", move->vector, place.pointer));
  e.line(fmt::format("const bool inside = {};", place.inside));
  e.line(fmt::format("if (inside) piece = {};", s.hint == roles::CacheHint::none ? "*at" : "__ldcs(at)"));
  put_piece(e, *s.dst, *move);
  e.close();
}

void emit(Emitter& e, const roles::StoreTensor& s) {
  auto move = move_of(e, *s.src, s.dst.loc);
  if (!move) return;
  if (s.hint == roles::CacheHint::evict_last)
    e.unsupported(s.dst.loc, "stores from registers take the hint evict_first alone", "use a bulk copy");
  open_runs(e, *s.src);
  TensorPlace place = tensor_place(e, *s.src, s.dst);
  take_piece(e, *s.src, *move);
  e.line(fmt::format("auto* at = reinterpret_cast<{}*>({});", move->vector, place.pointer));
  e.line(fmt::format("const bool inside = {};", place.inside));
  e.line(fmt::format("if (inside) {};", s.hint == roles::CacheHint::none ? "*at = piece" : "__stcs(at, piece)"));
  e.close();
}

void emit(Emitter& e, const roles::LoadShared& s) {
  auto move = move_of(e, *s.dst, s.src.loc);
  if (!move) return;
  open_runs(e, *s.dst);
  e.line(fmt::format("const {} piece = {}<const {}>({});", move->vector, e.helper("shared_at"), move->vector,
                     shared_place(e, *s.dst, s.src)));
  put_piece(e, *s.dst, *move);
  e.close();
}

void emit(Emitter& e, const roles::StoreShared& s) {
  auto move = move_of(e, *s.src, s.dst.loc);
  if (!move) return;
  open_runs(e, *s.src);
  take_piece(e, *s.src, *move);
  e.line(fmt::format("{}<{}>({}) = piece;", e.helper("shared_at"), move->vector, shared_place(e, *s.src, s.dst)));
  e.close();
}

void emit(Emitter& e, const roles::PutTensor& s) {
  std::string offset = tensor_offset(e, s.dst.tensor, index_texts(e, s.dst.index));
  ir::DType type = s.dst.tensor->type;
  std::string value = expr_text(e, s.value);
  constexpr int byte_bits = 8;
  if (int bits = ir::dtype_bits(type); bits < byte_bits) {
    e.line(fmt::format("{}<{}>({}, {}, {});", e.helper("put_bits"), bits, e.use(s.dst.tensor), offset,
                       code_text(e, type, value)));
    return;
  }
  e.line(fmt::format("{}[{}] = {};", e.use(s.dst.tensor), offset, to_memory(e, type, value)));
}

void emit(Emitter& e, const roles::PutPiece& s) {
  const std::string type = s.piece == 16 ? "uint4" : s.piece == 8 ? "uint2" : "unsigned";
  std::string offset = tensor_offset(e, s.dst.tensor, index_texts(e, s.dst.index));
  e.line(fmt::format("*reinterpret_cast<{}*>({} + {}) = {}<const {}>({});", type, e.use(s.dst.tensor), offset,
                     e.helper("shared_at"), type, element_address(e, s.src, "0", "0")));
}

void emit(Emitter& e, const roles::PutShared& s) {
  std::string type = memory_type(e, s.dst.smem->buffer->type);
  e.line(fmt::format("{}<{}>({}) = {};", e.helper("shared_at"), type, element_address(e, s.dst, "0", "0"),
                     to_memory(e, s.dst.smem->buffer->type, expr_text(e, s.value))));
}

namespace {

/// The function that does it: of CUDA where it has one, else a loop around atomicCAS.
std::string atomic_function(Emitter& e, ir::AtomicOp op, ir::DType type) {
  using ir::DType;
  std::string word = op == ir::AtomicOp::add ? "add" : op == ir::AtomicOp::max ? "max" : "min";
  bool adds = op == ir::AtomicOp::add;
  bool native = type == DType::i32 || type == DType::u32 || type == DType::u64 ||
                (adds ? type == DType::f32 || type == DType::f64 : type == DType::i64);
  if (native) return adds ? "atomicAdd" : op == ir::AtomicOp::max ? "atomicMax" : "atomicMin";
  return e.helper(fmt::format("atomic_{}_{}", word, ir::dtype_name(type)));
}

}  // namespace

void emit(Emitter& e, const roles::Atomic& s) {
  e.needs_sm(80, s.dst.loc, roles::atomic_word(s.op));
  ir::DType type = s.dst.tensor->type;
  std::string offset = tensor_offset(e, s.dst.tensor, index_texts(e, s.dst.index));
  e.line(fmt::format("const {} {} = {}({} + {}, {});", value_type(type), Emitter::name(s.result->name),
                     atomic_function(e, s.op, type), e.use(s.dst.tensor), offset, expr_text(e, s.value)));
}

void emit(Emitter& e, const roles::AtomicShared& s) {
  e.needs_sm(80, s.dst.loc, roles::atomic_word(s.op));
  ir::DType type = s.dst.smem->buffer->type;
  e.line(fmt::format("const {} {} = {}(&{}<{}>({}), {});", value_type(type), Emitter::name(s.result->name),
                     atomic_function(e, s.op, type), e.helper("shared_at"), memory_type(e, type),
                     element_address(e, s.dst, "0", "0"), expr_text(e, s.value)));
}

}  // namespace plait::emit::cuda
