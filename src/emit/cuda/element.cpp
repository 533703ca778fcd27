#include <fmt/format.h>

#include <algorithm>

#include "emit/cuda/eager.h"
#include "ir/visit.h"

namespace plait::emit::cuda {
namespace {

using roles::FragmentKind;

roles::Fragment fragment_of(const roles::Each& each, const ir::Buffer& buffer, const Emitter& e) {
  if (each.domain->buffer == buffer) return each.domain;
  for (const roles::ElementStore& store : each.stores)
    if (store.fragment->buffer == buffer) return store.fragment;
  auto found = e.fragments.find(buffer.get());
  return found == e.fragments.end() ? nullptr : found->second;
}

/// Elements of one step: as many as the narrowest type packs into a register.
int step_of(const roles::Each& each, const Emitter& e) {
  int step = packed(each.domain->buffer->type);
  for (const roles::ElementStore& store : each.stores) {
    step = std::max(step, packed(store.fragment->buffer->type));
    ir::walk(store.value, [&](const ir::Expr& expr) {
      const auto* load = std::get_if<ir::Load>(&expr.node);
      if (load && load->buffer->scope == ir::Scope::fragment && fragment_of(each, load->buffer, e))
        step = std::max(step, packed(load->buffer->type));
    });
  }
  return step;
}

/// Texts for the elements of one step of `each`; `sub` counts within the step.
class EachElements : public Elements {
 public:
  EachElements(Emitter& e, const roles::Each& each, int step, int sub) : e_(e), each_(each), step_(step), sub_(sub) {}

  std::string i() const { return sub_ == 0 ? "i" : fmt::format("(i + {})", sub_); }

  std::optional<std::string> variable(const ir::Var& var) override {
    if (var == each_.vars[0]) return "(" + row_text(e_, *each_.domain, i()) + ")";
    if (each_.vars.size() > 1 && var == each_.vars[1]) return "(" + column_text(e_, *each_.domain, i()) + ")";
    return std::nullopt;
  }

  std::string element(const ir::Load& load, const Loc& loc) override {
    roles::Fragment f = fragment_of(each_, load.buffer, e_);
    if (!f) {
      e_.unsupported(loc, fmt::format("fragment '{}' is not visible here", load.buffer->name));
      return "0";
    }
    int per_register = packed(f->buffer->type);
    if (per_register == 1) return place(*f);
    if (per_register > 2 || !ir::is_float(f->buffer->type)) {
      e_.unsupported(loc, fmt::format("elements of {} fragments are not read in CUDA", ir::dtype_name(f->buffer->type)),
                     "hold them in 16 or 32 bits");
      return "0";
    }
    std::string half = fmt::format("{}_{}", ir::dtype_name(f->buffer->type), sub_ % 2 == 0 ? "low" : "high");
    return e_.helper(half) + "(" + place(*f) + ")";
  }

  /// Where C++ evaluates one arm alone, threads part at each element and wait for its reads one by one.
  bool eager(const ir::ExprRef& arm) override { return reads_tiles_safely(e_, arm, each_); }

  /// The register that holds the element.
  std::string place(const roles::FragmentDecl& f) {
    std::string name = Emitter::name(f.buffer->name);
    if (f.kind == FragmentKind::rows && each_.domain->kind != FragmentKind::rows)
      return fmt::format("{}[{}]", name, slot_text(e_, *each_.domain, i()));
    int per_register = packed(f.buffer->type);
    if (per_register == 1) return sub_ == 0 ? name + "[i]" : fmt::format("{}[i + {}]", name, sub_);
    std::string base = step_ == per_register ? (step_ == 1 ? "i" : fmt::format("i / {}", per_register))
                                             : fmt::format("(i + {}) / {}", sub_, per_register);
    return fmt::format("{}[{}]", name, base);
  }

 private:
  Emitter& e_;
  const roles::Each& each_;
  int step_;
  int sub_;
};

/// The value without a conversion that the store makes itself.
ir::ExprRef stored_value(const roles::ElementStore& store) {
  const auto* cast = std::get_if<ir::Cast>(&store.value->node);
  bool same = cast && store.value->type == store.fragment->buffer->type && cast->a->type == ir::DType::f32 &&
              !cast->saturate && cast->rounding == ir::Rounding::nearest_even;
  return same && packed(store.value->type) > 1 ? cast->a : store.value;
}

std::string pack_call(Emitter& e, const roles::FragmentDecl& f, const std::vector<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
  using ir::DType;
  DType type = f.buffer->type;
  bool known = type == DType::bf16 || type == DType::f16 || type == DType::e4m3 || type == DType::e5m2;
  if (!known) {
    e.unsupported(f.loc, fmt::format("elements of {} fragments are not written in CUDA", ir::dtype_name(type)),
                  "hold them in 32 bits");
    return "0";
  }
  return e.helper(fmt::format("pack_{}x{}", ir::dtype_name(type), packed(type))) + "(" + list + ")";
}

/// Whether what a thread has of the fragment is a multiple of `step` elements; else it is refused.
bool fills(Emitter& e, const roles::FragmentDecl& f, int step, const Loc& loc) {
  if (fragment_shape(e, f).elements % step == 0) return true;
  e.unsupported(loc, fmt::format("a thread has less than 4 bytes of '{}'", f.buffer->name),
                "choose a larger fragment, or less lanes");
  return false;
}

/// How a run of elements is moved: its C++ vector type, the type of a component, and how many there are.
struct Move {
  std::string vector, component;
  int components = 1;
  int bits = 32;  ///< of a run, where it is less than a register
};
std::optional<Move> move_of(Emitter& e, const roles::FragmentDecl& f, const Loc& loc) {
  int per_register = packed(f.buffer->type);
  int run = fragment_shape(e, f).run;
  if (!fills(e, f, per_register, loc)) return std::nullopt;
  Move move;
  if (run < per_register) {
    move.bits = run * ir::dtype_bits(f.buffer->type);
    move.vector = move.component = move.bits == 8 ? "unsigned char" : "unsigned short";
    return move;
  }
  move.component = per_register > 1 ? "unsigned" : value_type(f.buffer->type);
  move.components = run / per_register;
  std::string stem = move.component == "unsigned" ? "uint" : move.component == "signed char" ? "char" : move.component;
  bool fits =
      ir::dtype_bits(f.buffer->type) <= 32 && (move.components == 1 || move.components == 2 || move.components == 4);
  if (!fits) {
    e.unsupported(loc,
                  fmt::format("'{}' is moved by 16 bytes a thread at most, in 1, 2 or 4 registers", f.buffer->name),
                  "choose another `vec`");
    return std::nullopt;
  }
  move.vector = move.components == 1 ? move.component : stem + std::to_string(move.components);
  return move;
}

constexpr const char* kComponents[] = {"x", "y", "z", "w"};

std::string component(const Move& move, int c) {
  return move.components == 1 ? "" : fmt::format(".{}", kComponents[c]);
}

/// How far up in its register the run at `i` lies.
std::string shift_text(const roles::FragmentDecl& f, const Move& move) {
  int per_register = packed(f.buffer->type);
  int each = ir::dtype_bits(f.buffer->type);
  return move.bits == each ? fmt::format("i % {} * {}", per_register, each)
                           : fmt::format("i / {} % {} * {}", move.bits / each, 32 / move.bits, move.bits);
}

/// The first register of the run at `i`.
std::string register_text(const roles::FragmentDecl& f, int c) {
  int per_register = packed(f.buffer->type);
  std::string base = per_register == 1 ? "i" : fmt::format("i / {}", per_register);
  return c == 0 ? fmt::format("{}[{}]", Emitter::name(f.buffer->name), base)
                : fmt::format("{}[{} + {}]", Emitter::name(f.buffer->name), base, c);
}

/// From the run at `i` to `piece`.
void take_piece(Emitter& e, const roles::FragmentDecl& f, const Move& move) {
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

}  // namespace

void emit(Emitter& e, const roles::Each& s) {
  int step = step_of(s, e);
  int elements = fragment_shape(e, *s.domain).elements;
  if (!fills(e, *s.domain, step, s.domain->loc)) return;
  e.line("#pragma unroll");
  e.open(fmt::format("for (int i = 0; i < {}; {})", elements, step == 1 ? "++i" : fmt::format("i += {}", step)));
  std::vector<std::vector<std::string>> packed_values(s.stores.size());
  for (int sub = 0; sub < step; ++sub) {
    EachElements texts(e, s, step, sub);
    for (std::size_t n = 0; n < s.stores.size(); ++n) {
      const roles::ElementStore& store = s.stores[n];
      std::string value = expr_text(e, stored_value(store), Level::select, &texts);
      int per_register = packed(store.fragment->buffer->type);
      if (per_register == 1) {
        e.line(fmt::format("{} = {};", texts.place(*store.fragment), value));
        continue;
      }
      if (s.stores.size() > 1) {
        std::string temporary = fmt::format("{}_{}_{}", Emitter::name(store.fragment->buffer->name), n, sub);
        e.line(fmt::format("const float {} = {};", temporary, value));
        value = temporary;
      }
      packed_values[n].push_back(value);
      if (static_cast<int>(packed_values[n].size()) < per_register) continue;
      e.line(fmt::format("{} = {};", texts.place(*store.fragment), pack_call(e, *store.fragment, packed_values[n])));
      packed_values[n].clear();
    }
  }
  e.close();
}

namespace {

std::string combine(Emitter& e, roles::ReduceOp op, ir::DType type, const std::string& a, const std::string& b) {
  bool floating = ir::is_float(type);
  switch (op) {
    case roles::ReduceOp::sum:
      return a + " + " + b;
    case roles::ReduceOp::max:
      return fmt::format("{}({}, {})", floating ? e.helper("max_nan") : "max", a, b);
    case roles::ReduceOp::min:
      return fmt::format("{}({}, {})", floating ? e.helper("min_nan") : "min", a, b);
  }
  return {};
}

}  // namespace

void emit(Emitter& e, const roles::RowReduce& s) {
  if (packed(s.src->buffer->type) > 1)
    e.unsupported(s.src->loc, "row_reduce is printed for 32-bit fragments", "convert in `each` first");
  std::string dst = fmt::format("{}[{}]", Emitter::name(s.dst->buffer->name), slot_text(e, *s.src, "i"));
  e.line("#pragma unroll");
  e.line(fmt::format("for (int i = 0; i < {}; ++i) {} = {};", fragment_shape(e, *s.src).elements, dst,
                     combine(e, s.op, s.dst->buffer->type, dst, Emitter::name(s.src->buffer->name) + "[i]")));
}

void emit(Emitter& e, const roles::LaneReduce& s) {
  if (packed(s.fragment->buffer->type) > 1)
    e.unsupported(s.fragment->loc, "lane_reduce is printed for 32-bit fragments", "hold the values in f32");
  std::string name = Emitter::name(s.fragment->buffer->name);
  e.line("#pragma unroll");
  e.open(fmt::format("for (int i = 0; i < {}; ++i)", fragment_shape(e, *s.fragment).elements));
  for (int lanes = 1; lanes < s.lanes; lanes *= 2) {
    std::string other = fmt::format("__shfl_xor_sync(0xffffffff, {}[i], {})", name, lanes);
    e.line(fmt::format("{}[i] = {};", name, combine(e, s.op, s.fragment->buffer->type, name + "[i]", other)));
  }
  e.close();
}

void emit(Emitter& e, const roles::Keep& s) {
  e.open(fmt::format("if ({}())", e.helper("never")));
  for (const roles::Fragment& f : s.fragments)
    e.line(fmt::format("{}({});", e.helper("renew"), Emitter::name(f->buffer->name)));
  e.close();
}

void emit(Emitter& e, const roles::LoadTensor& s) {
  auto move = move_of(e, *s.dst, s.src.loc);
  if (!move) return;
  if (s.hint == roles::CacheHint::evict_last)
    e.unsupported(s.src.loc, "loads into registers take the hint evict_first alone", "use a bulk copy");
  open_runs(e, *s.dst);
  TensorPlace place = tensor_place(e, *s.dst, s.src);
  e.line(fmt::format("{} piece = {{}};", move->vector));
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
  e.line(fmt::format("{}[{}] = {};", e.use(s.dst.tensor), offset,
                     to_memory(e, s.dst.tensor->type, expr_text(e, s.value), s.dst.loc)));
}

void emit(Emitter& e, const roles::PutShared& s) {
  std::string type = memory_type(e, s.dst.smem->buffer->type);
  e.line(fmt::format("{}<{}>({}) = {};", e.helper("shared_at"), type, element_address(e, s.dst, "0", "0"),
                     to_memory(e, s.dst.smem->buffer->type, expr_text(e, s.value), s.dst.loc)));
}

void emit(Emitter& e, const roles::Atomic& s) {
  using ir::DType;
  e.needs_sm(80, s.dst.loc, "atomic_add");
  DType type = s.dst.tensor->type;
  if (type != DType::i32 && type != DType::u32 && type != DType::f32 && type != DType::u64 && type != DType::f64)
    e.unsupported(s.dst.loc, fmt::format("atomic_add on {} is not printed to CUDA", ir::dtype_name(type)),
                  "use i32, u32, u64, f32 or f64");
  std::string offset = tensor_offset(e, s.dst.tensor, index_texts(e, s.dst.index));
  e.line(fmt::format("const {} {} = atomicAdd({} + {}, {});", value_type(type), Emitter::name(s.result->name),
                     e.use(s.dst.tensor), offset, expr_text(e, s.value)));
}

}  // namespace plait::emit::cuda
