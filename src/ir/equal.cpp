#include <bit>
#include <cmath>
#include <unordered_map>

#include "ir/kernel.h"
#include "ir/visit.h"

namespace plait::ir {
namespace {

/// Which variables and buffers of one program stand for those of the other.
enum class Names {
  identical,  ///< each for itself
  paired,     ///< by where they occur, with equal names
};

template <typename T>
class Pairing {
 public:
  /// Nothing where `a` or `b` has no partner yet.
  std::optional<bool> known(const T* a, const T* b) const {
    auto to = forward_.find(a), from = backward_.find(b);
    if (to == forward_.end() && from == backward_.end()) return std::nullopt;
    return to != forward_.end() && from != backward_.end() && to->second == b;
  }
  void add(const T* a, const T* b) {
    forward_[a] = b;
    backward_[b] = a;
  }

 private:
  std::unordered_map<const T*, const T*> forward_, backward_;
};

/// Compares structures that may hold variables; an overload a type.
class Comparer {
 public:
  explicit Comparer(Names names) : names_(names) {}

  bool same(const Kernel& a, const Kernel& b);

  bool same(const ExprRef& a, const ExprRef& b) {
    if (a == nullptr || b == nullptr) return a == b;
    if (a == b && names_ == Names::identical) return true;
    return a->type == b->type && same_variant(a->node, b->node);
  }

 private:
  bool same(bool a, bool b) { return a == b; }
  bool same(int a, int b) { return a == b; }
  bool same(std::int64_t a, std::int64_t b) { return a == b; }
  bool same(const std::string& a, const std::string& b) { return a == b; }
  template <typename E>
    requires std::is_enum_v<E>
  bool same(E a, E b) {
    return a == b;
  }
  template <typename T>
  bool same(const std::vector<T>& a, const std::vector<T>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  template <typename T>
  bool same(const std::optional<T>& a, const std::optional<T>& b) {
    return a.has_value() == b.has_value() && (!a || same(*a, *b));
  }
  template <typename Variant>
  bool same_variant(const Variant& a, const Variant& b) {
    if (a.index() != b.index()) return false;
    return std::visit([&](const auto& x) { return same(x, std::get<std::decay_t<decltype(x)>>(b)); }, a);
  }

  bool same(const Var& a, const Var& b) {
    if (a == nullptr || b == nullptr || names_ == Names::identical) return a == b;
    if (auto known = vars_.known(a.get(), b.get())) return *known;
    vars_.add(a.get(), b.get());
    return a->name == b->name && a->type == b->type && a->kind == b->kind;
  }
  bool same(const Buffer& a, const Buffer& b) {
    if (a == nullptr || b == nullptr || names_ == Names::identical) return a == b;
    if (auto known = buffers_.known(a.get(), b.get())) return *known;
    buffers_.add(a.get(), b.get());
    return same(*a, *b);
  }
  bool same(const BufferDecl& a, const BufferDecl& b) {
    return a.name == b.name && a.type == b.type && a.scope == b.scope && a.pad == b.pad && same(a.shape, b.shape) &&
           same(a.strides, b.strides) && same(a.layout, b.layout);
  }
  bool same(const LayoutHint& a, const LayoutHint& b) {
    return a.kind == b.kind && a.swizzle_bytes == b.swizzle_bytes && a.strides == b.strides;
  }

  // Expressions.
  bool same(const IntLit& a, const IntLit& b) { return a.value == b.value; }
  bool same(const FloatLit& a, const FloatLit& b) {
    if (std::isnan(a.value) || std::isnan(b.value)) return std::isnan(a.value) && std::isnan(b.value);
    return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
  }
  bool same(const VarRef& a, const VarRef& b) { return same(a.var, b.var); }
  bool same(const Load& a, const Load& b) { return same(a.buffer, b.buffer) && same(a.index, b.index); }
  bool same(const Unary& a, const Unary& b) { return a.op == b.op && same(a.a, b.a); }
  bool same(const Binary& a, const Binary& b) { return a.op == b.op && same(a.a, b.a) && same(a.b, b.b); }
  bool same(const Select& a, const Select& b) {
    return same(a.cond, b.cond) && same(a.if_true, b.if_true) && same(a.if_false, b.if_false);
  }
  bool same(const Cast& a, const Cast& b) {
    return a.rounding == b.rounding && a.saturate == b.saturate && same(a.a, b.a);
  }
  bool same(const Bitcast& a, const Bitcast& b) { return same(a.a, b.a); }
  bool same(const Call& a, const Call& b) { return a.fn == b.fn && same(a.args, b.args); }

  // Tile operations.
  bool same(const Range& a, const Range& b) { return same(a.begin, b.begin) && same(a.extent, b.extent); }
  bool same(const Region& a, const Region& b) { return same(a.buffer, b.buffer) && same(a.ranges, b.ranges); }
  bool same(const NoAttrs&, const NoAttrs&) { return true; }
  bool same(const CopyAttrs& a, const CopyAttrs& b) {
    return a.scatter == b.scatter && a.cache == b.cache && same(a.rows, b.rows) && same(a.valid, b.valid) &&
           same(a.pad, b.pad);
  }
  bool same(const FillAttrs& a, const FillAttrs& b) { return same(a.value, b.value); }
  bool same(const GemmAttrs& a, const GemmAttrs& b) {
    return a.trans_a == b.trans_a && a.trans_b == b.trans_b && a.clear_accum == b.clear_accum && a.policy == b.policy;
  }
  bool same(const ReduceAttrs& a, const ReduceAttrs& b) { return a.dim == b.dim && a.clear == b.clear; }
  bool same(const CumsumAttrs& a, const CumsumAttrs& b) { return a.dim == b.dim && a.reverse == b.reverse; }
  bool same(const TileOp& a, const TileOp& b) {
    return a.kind == b.kind && same(a.operands, b.operands) && same_variant(a.attrs, b.attrs);
  }

  // Statements.
  bool same(const StmtRef& a, const StmtRef& b) { return same_variant(a->node, b->node); }
  bool same(const LoopAxis& a, const LoopAxis& b) {
    return same(a.begin, b.begin) && same(a.end, b.end) && same(a.step, b.step) && same(a.var, b.var);
  }
  bool same(const PipelineAttrs& a, const PipelineAttrs& b) {
    return a.stages == b.stages && a.order == b.order && a.stage == b.stage;
  }
  bool same(const For& a, const For& b) {
    return a.kind == b.kind && same(a.axes, b.axes) && same(a.pipeline, b.pipeline) && same(a.body, b.body);
  }
  bool same(const While& a, const While& b) { return same(a.cond, b.cond) && same(a.body, b.body); }
  bool same(const If& a, const If& b) {
    return same(a.cond, b.cond) && same(a.then_body, b.then_body) && same(a.else_body, b.else_body);
  }
  bool same(const Let& a, const Let& b) { return same(a.value, b.value) && same(a.var, b.var); }
  bool same(const Alloc& a, const Alloc& b) { return same(a.buffer, b.buffer); }
  bool same(const Store& a, const Store& b) {
    return same(a.buffer, b.buffer) && same(a.index, b.index) && same(a.value, b.value);
  }
  bool same(const AtomicElement& a, const AtomicElement& b) {
    return a.op == b.op && same(a.buffer, b.buffer) && same(a.index, b.index) && same(a.value, b.value);
  }
  bool same(const Assert& a, const Assert& b) { return a.message == b.message && same(a.cond, b.cond); }
  bool same(const Print& a, const Print& b) { return a.format == b.format && same(a.args, b.args); }
  bool same(const Break&, const Break&) { return true; }
  bool same(const Continue&, const Continue&) { return true; }
  bool same(const Task& a, const Task& b) { return a.latency == b.latency && a.ii == b.ii && same(a.body, b.body); }

  // Kernels.
  bool same(const Param& a, const Param& b) {
    return a.kind == b.kind && same(a.buffer, b.buffer) && same(a.scalar, b.scalar) &&
           same(a.default_value, b.default_value);
  }
  bool same(const Require& a, const Require& b) { return a.message == b.message && same(a.cond, b.cond); }
  bool same(const GridAxis& a, const GridAxis& b) { return same(a.var, b.var) && same(a.extent, b.extent); }

  Names names_;
  Pairing<VarDecl> vars_;
  Pairing<BufferDecl> buffers_;
};

bool Comparer::same(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.threads == b.threads && a.options.fast_math == b.options.fast_math &&
         same(a.dims, b.dims) && same(a.params, b.params) && same(a.requires_, b.requires_) && same(a.grid, b.grid) &&
         same(a.body, b.body);
}

}  // namespace

bool equal(const Kernel& a, const Kernel& b) { return Comparer(Names::paired).same(a, b); }

bool identical(const ExprRef& a, const ExprRef& b) { return Comparer(Names::identical).same(a, b); }

}  // namespace plait::ir
