#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "emit/cuda/eager.h"
#include "emit/cuda/pairs.h"
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

/// Elements of one step: as many as the narrowest type packs into a register, where threads have whole ones.
int step_of(const roles::Each& each, const Emitter& e) {
  int step = packed(*each.domain);
  for (const roles::ElementStore& store : each.stores) {
    step = std::max(step, packed(*store.fragment));
    ir::walk(store.value, [&](const ir::Expr& expr) {
      const auto* load = std::get_if<ir::Load>(&expr.node);
      if (load == nullptr || load->buffer->scope != ir::Scope::fragment) return;
      if (roles::Fragment fragment = fragment_of(each, load->buffer, e)) step = std::max(step, packed(*fragment));
    });
  }
  while (fragment_shape(e, *each.domain).elements % step != 0) step /= 2;
  return step;
}

/// Texts for the elements of one step of `each`; `sub` counts within the step.
class EachElements : public Elements {
 public:
  EachElements(Emitter& e, const roles::Each& each, int step, int sub) : e_(e), each_(each), step_(step), sub_(sub) {}

  std::string i() const { return sub_ == 0 ? "i" : fmt::format("(i + {})", sub_); }

  std::optional<std::string> variable(const ir::Var& var) override {
    // One variable: the row of a fragment of rows, the column of another one of one dimension.
    bool has_row = each_.vars.size() > 1 || each_.domain->kind == FragmentKind::rows;
    if (has_row && var == each_.vars[0]) return "(" + row_text(e_, *each_.domain, i()) + ")";
    if (var == each_.vars.back()) return "(" + column_text(e_, *each_.domain, i()) + ")";
    return std::nullopt;
  }

  std::string element(const ir::Load& load, const Loc& loc) override {
    roles::Fragment f = fragment_of(each_, load.buffer, e_);
    if (!f) {
      e_.unsupported(loc, fmt::format("fragment '{}' is not visible here", load.buffer->name));
      return "0";
    }
    if (auto written = written_.find(load.buffer.get()); written != written_.end()) return written->second;
    int per_register = packed(*f);
    if (per_register == 1) return place(*f);
    ir::DType type = f->buffer->type;
    // A value a column lies elsewhere in its register than the element that reads it.
    bool of_column = f->kind == FragmentKind::columns && each_.domain->kind != FragmentKind::columns;
    bool halves = (type == ir::DType::f16 || type == ir::DType::bf16) && step_ % per_register == 0 && !of_column;
    if (halves)
      return e_.helper(fmt::format("{}_{}", ir::dtype_name(type), sub_ % 2 == 0 ? "low" : "high")) + "(" + place(*f) +
             ")";
    int bits = ir::dtype_bits(type);
    std::string at = shift(per_register, bits);
    if (of_column) at = fmt::format("({}) % {} * {}", column_slot_text(e_, *each_.domain, i()), per_register, bits);
    std::string code = at == "0" ? place(*f) : fmt::format("{} >> {}", place(*f), at);
    return from_code(e_, type, ir::is_bool(type) ? fmt::format("({} & 255u)", code) : code);
  }

  /// The register that holds the element and its neighbour, where it lies as those of the domain do.
  std::optional<std::string> whole(const ir::Load& load) {
    roles::Fragment f = load.buffer->scope == ir::Scope::fragment ? fragment_of(each_, load.buffer, e_) : nullptr;
    if (!f || packed(*f) != step_ || roles::is_side(f->kind) != roles::is_side(each_.domain->kind)) return {};
    return place(*f);
  }

  /// Where C++ evaluates one arm alone, threads part at each element and wait for its reads one by one.
  bool eager(const ir::ExprRef& arm) override { return reads_tiles_safely(e_, arm, each_); }

  /// The register that holds the element.
  std::string place(const roles::FragmentDecl& f) {
    std::string name = Emitter::name(f.buffer->name);
    if (f.kind == FragmentKind::rows && each_.domain->kind != FragmentKind::rows)
      return fmt::format("{}[{}]", name, slot_text(e_, *each_.domain, i()));
    int per_register = packed(f);
    if (f.kind == FragmentKind::columns && each_.domain->kind != FragmentKind::columns) {
      std::string slot = column_slot_text(e_, *each_.domain, i());
      return per_register == 1 ? fmt::format("{}[{}]", name, slot)
                               : fmt::format("{}[({}) / {}]", name, slot, per_register);
    }
    if (per_register == 1) return sub_ == 0 ? name + "[i]" : fmt::format("{}[i + {}]", name, sub_);
    std::string base = step_ == per_register ? (step_ == 1 ? "i" : fmt::format("i / {}", per_register))
                                             : fmt::format("(i + {}) / {}", sub_, per_register);
    return fmt::format("{}[{}]", name, base);
  }

  /// How far up in its register the element lies.
  std::string shift(int per_register, int bits) const {
    if (step_ % per_register == 0) return std::to_string(sub_ % per_register * bits);
    return fmt::format("{} % {} * {}", i(), per_register, bits);
  }

  /// The value that the element has from now on, where the register gets it with its neighbours.
  void set(const roles::Fragment& f, const std::string& value) { written_[f->buffer.get()] = value; }

 private:
  Emitter& e_;
  const roles::Each& each_;
  int step_;
  int sub_;
  std::map<const ir::BufferDecl*, std::string> written_;
};

bool is_byte_float(ir::DType type) { return type == ir::DType::e4m3 || type == ir::DType::e5m2; }

/// Whether the statement reads the elements it writes of the store's fragment, behind it.
bool is_read_behind(const roles::Each& each, std::size_t n) {
  bool found = false;
  for (std::size_t later = n + 1; later < each.stores.size(); ++later) {
    ir::walk(each.stores[later].value, [&](const ir::Expr& expr) {
      const auto* load = std::get_if<ir::Load>(&expr.node);
      found = found || (load != nullptr && load->buffer == each.stores[n].fragment->buffer);
    });
  }
  return found;
}

/// How a store gets what it writes: as values that the packing rounds, where it can.
struct Stored {
  ir::ExprRef value;
  bool saturates = false;  ///< the packing
};
Stored stored_value(const roles::Each& each, std::size_t n) {
  const roles::ElementStore& store = each.stores[n];
  ir::DType type = store.fragment->buffer->type;
  const auto* cast = std::get_if<ir::Cast>(&store.value->node);
  bool packs = type == ir::DType::f16 || type == ir::DType::bf16 || is_byte_float(type);
  bool same = cast && packs && packed(*store.fragment) > 1 && store.value->type == type &&
              cast->a->type == ir::DType::f32 && cast->rounding == ir::Rounding::nearest_even &&
              (!cast->saturate || is_byte_float(type)) && !is_read_behind(each, n);
  return same ? Stored{cast->a, cast->saturate} : Stored{store.value};
}

std::string pack_call(Emitter& e, ir::DType type, bool saturates, const std::vector<std::string>& values) {
  int bits = ir::dtype_bits(type);
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
  bool floats = ir::is_float(type);
  std::string what = floats ? std::string(ir::dtype_name(type)) : std::to_string(bits);
  return e.helper(fmt::format("pack_{}x{}{}", what, 32 / bits, saturates ? "_saturated" : "")) + "(" + list + ")";
}

/// Prints the stores of one `each`.
class Each {
 public:
  Each(Emitter& e, const roles::Each& each)
      : e_(e), each_(each), step_(step_of(each, e)), values_(each.stores.size()) {}

  void run() {
    int elements = fragment_shape(e_, *each_.domain).elements;
    e_.line("#pragma unroll");
    e_.open(fmt::format("for (int i = 0; i < {}; {})", elements, step_ == 1 ? "++i" : fmt::format("i += {}", step_)));
    if (!pairs()) elements_apart();
    e_.close();
  }

 private:
  /// All of the step's elements at once, where they are one register.
  bool pairs() {
    const roles::ElementStore& store = each_.stores.front();
    ir::DType type = store.fragment->buffer->type;
    bool halves = type == ir::DType::f16 || type == ir::DType::bf16;
    if (each_.stores.size() != 1 || step_ != 2 || !halves || packed(*store.fragment) != 2) return false;
    Stored stored = stored_value(each_, 0);
    EachElements low(e_, each_, step_, 0), high(e_, each_, step_, 1);
    auto whole = [&](const ir::Load& load) { return low.whole(load); };
    auto text = pair_text(e_, type, stored.value, {each_, low, high, whole});
    if (text) e_.line(fmt::format("{} = {};", low.place(*store.fragment), *text));
    return text.has_value();
  }

  void elements_apart() {
    for (int sub = 0; sub < step_; ++sub) {
      EachElements texts(e_, each_, step_, sub);
      for (std::size_t n = 0; n < each_.stores.size(); ++n) store(texts, n, sub);
    }
  }

  void store(EachElements& texts, std::size_t n, int sub) {
    const roles::Fragment& to = each_.stores[n].fragment;
    Stored stored = stored_value(each_, n);
    std::string value = expr_text(e_, stored.value, Level::select, &texts);
    int per_register = packed(*to);
    if (per_register == 1) return e_.line(fmt::format("{} = {};", texts.place(*to), value));
    ir::DType type = to->buffer->type;
    bool whole = step_ % per_register == 0;
    if (each_.stores.size() > 1 && whole) {
      std::string temporary = fmt::format("{}_{}_{}", Emitter::name(to->buffer->name), n, sub);
      e_.line(fmt::format("const {} {} = {};", value_type(type), temporary, value));
      value = temporary;
      texts.set(to, value);
    }
    if (!whole) {
      int bits = ir::dtype_bits(type);
      std::string code =
          code_text(e_, type, stored.value == each_.stores[n].value ? value : rounded(stored, type, value));
      e_.line(fmt::format("{0} = {1}<{2}>({0}, {3}, {4});", texts.place(*to), e_.helper("with_bits"), bits,
                          texts.shift(per_register, bits), code));
      return;
    }
    std::vector<std::string>& values = values_[n];
    values.push_back(value);
    if (static_cast<int>(values.size()) < per_register) return;
    e_.line(fmt::format("{} = {};", texts.place(*to), pack_call(e_, type, stored.saturates, values)));
    values.clear();
  }

  /// What packing would have rounded.
  std::string rounded(const Stored& stored, ir::DType type, const std::string& value) {
    return cast_text(e_, ir::DType::f32, type, ir::Rounding::nearest_even, stored.saturates, value);
  }

  Emitter& e_;
  const roles::Each& each_;
  int step_;
  std::vector<std::vector<std::string>> values_;
};

}  // namespace

void emit(Emitter& e, const roles::Each& s) { Each(e, s).run(); }

namespace {

std::string combine(Emitter& e, roles::ReduceOp op, ir::DType type, const std::string& a, const std::string& b) {
  auto extreme = [&](const std::string& word) {
    if (!ir::is_float(type)) return word;
    return e.helper(word + (type == ir::DType::f64 ? "_nan_f64" : "_nan"));
  };
  switch (op) {
    case roles::ReduceOp::sum:
      return a + " + " + b;
    case roles::ReduceOp::max:
      return fmt::format("{}({}, {})", extreme("max"), a, b);
    case roles::ReduceOp::min:
      return fmt::format("{}({}, {})", extreme("min"), a, b);
  }
  return {};
}

}  // namespace

void emit(Emitter& e, const roles::RowReduce& s) {
  if (packed(s.src->buffer->type) > 1)
    e.unsupported(s.src->loc, "row_reduce is printed for types of 32 and 64 bits", "convert in `each` first");
  std::string dst = fmt::format("{}[{}]", Emitter::name(s.dst->buffer->name), slot_text(e, *s.src, "i"));
  e.line("#pragma unroll");
  e.line(fmt::format("for (int i = 0; i < {}; ++i) {} = {};", fragment_shape(e, *s.src).elements, dst,
                     combine(e, s.op, s.dst->buffer->type, dst, Emitter::name(s.src->buffer->name) + "[i]")));
}

void emit(Emitter& e, const roles::LaneReduce& s) {
  if (packed(s.fragment->buffer->type) > 1)
    e.unsupported(s.fragment->loc, "lane_reduce is printed for types of 32 and 64 bits", "hold the values in f32");
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

}  // namespace plait::emit::cuda
