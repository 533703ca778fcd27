#include "random_kernel.h"

#include <cmath>
#include <limits>

#include "ir/numeric.h"

namespace plait::ir {

Kernel RandomKernel::make() {
  Kernel k;
  k.name = "random";
  for (DType type : all_dtypes()) {
    auto scalar = std::make_shared<const VarDecl>(VarDecl{fresh("s"), type, VarKind::scalar, {}});
    k.params.push_back({ParamKind::scalar, nullptr, scalar, chance(50) ? literal(type) : nullptr});
    vars_.push_back(scalar);
  }
  auto dim = std::make_shared<const VarDecl>(VarDecl{"N", DType::i64, VarKind::dim, {}});
  k.dims = {dim};
  vars_.push_back(dim);
  for (int i = 0; i < 4; ++i) {
    BufferDecl decl{fresh("g"), any_type(), Scope::global, {var_ref(dim), typed_int(DType::i64, 48)}, {}, {}, 0, {}};
    buffers_.push_back(std::make_shared<const BufferDecl>(decl));
    k.params.push_back({i == 0 ? ParamKind::in : ParamKind::inout, buffers_.back(), nullptr, nullptr});
  }
  auto grid = std::make_shared<const VarDecl>(VarDecl{"bx", DType::i64, VarKind::grid, {}});
  k.grid = {{grid, make_binary(BinaryOp::ceil_div, var_ref(dim), int_literal(16), {}, diags_)}};
  vars_.push_back(grid);
  Body allocs;
  for (int i = 0; i < 4; ++i) {
    allocs.push_back(make_stmt(Alloc{add_buffer(Scope::shared, any_type(), 2)}, {}));
  }
  k.body = body(3);
  k.body.insert(k.body.begin(), allocs.begin(), allocs.end());
  return k;
}

Buffer RandomKernel::add_buffer(Scope scope, DType type, int rank) {
  BufferDecl decl{fresh("b"), type, scope, {}, {}, {}, 0, {}};
  for (int d = 0; d < rank; ++d) decl.shape.push_back(typed_int(DType::i64, 32));
  buffers_.push_back(std::make_shared<const BufferDecl>(decl));
  return buffers_.back();
}

ExprRef RandomKernel::literal(DType type) {
  std::uint64_t bits = random_();
  if (chance(50)) bits = static_cast<std::uint64_t>(below(5));
  if (is_bool(type)) return bool_literal(bits % 2 == 1);
  if (!is_float(type)) return typed_int(type, static_cast<std::int64_t>(bits));
  double value = chance(50) ? decode_float(type, bits) : std::ldexp(below(2001) - 1000, below(7) - 3);
  return typed_literal(type, value);
}

ExprRef RandomKernel::leaf(DType type) {
  std::vector<ExprRef> found;
  for (const Var& v : vars_) {
    if (v->type == type) found.push_back(var_ref(v));
  }
  for (const Buffer& b : buffers_) {
    if (b->type == type) {
      found.push_back(make_load(
          b, {int_literal(below(8)), var_ref(vars_.back()->type == DType::i64 ? vars_.back() : vars_[7])}, {}, diags_));
    }
  }
  return found.empty() || chance(30) ? literal(type) : pick(found);
}

ExprRef RandomKernel::comparison(int depth) {
  DType type = any_type();
  std::vector<BinaryOp> ops = {BinaryOp::eq, BinaryOp::ne};
  if (!is_bool(type)) ops = {BinaryOp::eq, BinaryOp::ne, BinaryOp::lt, BinaryOp::le, BinaryOp::gt, BinaryOp::ge};
  return make_binary(pick(ops), expr(type, depth), expr(type, depth), {}, diags_);
}

ExprRef RandomKernel::boolean(int depth) {
  switch (below(5)) {
    case 0:
      return make_unary(UnaryOp::logical_not, expr(DType::bool_, depth), {}, diags_);
    case 1:
      return make_call(Intrinsic::isnan, {expr(DType::f32, depth)}, {}, diags_);
    case 2:
    case 3:
      return comparison(depth);
  }
  BinaryOp op = chance(50) ? BinaryOp::logical_and : BinaryOp::logical_or;
  return make_binary(op, expr(DType::bool_, depth), expr(DType::bool_, depth), {}, diags_);
}

ExprRef RandomKernel::number(DType type, int depth) {
  std::vector<BinaryOp> ops = {BinaryOp::add, BinaryOp::sub, BinaryOp::mul, BinaryOp::min, BinaryOp::max};
  if (is_float(type)) ops.push_back(BinaryOp::div);
  if (is_integer(type)) {
    ops.insert(ops.end(), {BinaryOp::bit_and, BinaryOp::bit_or, BinaryOp::bit_xor, BinaryOp::shl, BinaryOp::shr});
  }
  switch (below(6)) {
    case 0:
      return make_unary(is_integer(type) && chance(50) ? UnaryOp::bit_not : UnaryOp::neg, expr(type, depth), {},
                        diags_);
    case 1:
      return make_call(Intrinsic::abs, {expr(type, depth)}, {}, diags_);
    case 2:
      if (is_float(type)) {
        return make_call(Intrinsic::fma, {expr(type, depth), expr(type, depth), expr(type, depth)}, {}, diags_);
      }
  }
  return make_binary(pick(ops), expr(type, depth), expr(type, depth), {}, diags_);
}

ExprRef RandomKernel::converted(DType type, int depth) {
  DType from = any_type();
  if (dtype_bits(from) == dtype_bits(type) && !is_bool(from) && !is_bool(type) && chance(50)) {
    return make_bitcast(type, expr(from, depth), {}, diags_);
  }
  std::optional<Rounding> rounding;
  if (is_float(from) && !is_bool(type) && chance(50)) rounding = static_cast<Rounding>(below(4));
  bool saturate = !is_bool(from) && !is_bool(type) && chance(30);
  return make_cast(type, expr(from, depth), rounding, saturate, {}, diags_);
}

ExprRef RandomKernel::expr(DType type, int depth) {
  if (depth <= 0 || chance(15)) return leaf(type);
  switch (below(6)) {
    case 0:
      return converted(type, depth - 1);
    case 1:
      return make_select(expr(DType::bool_, depth - 1), expr(type, depth - 1), expr(type, depth - 1), {}, diags_);
  }
  return is_bool(type) ? boolean(depth - 1) : number(type, depth - 1);
}

Region RandomKernel::region(const Buffer& buffer, const std::vector<std::int64_t>& extents) {
  Region region{buffer, {}, {}};
  for (std::int64_t extent : extents) {
    ExprRef begin = chance(40) ? typed_int(DType::i64, chance(50) ? 0 : below(99) - 20) : index();
    region.ranges.push_back({begin, typed_int(DType::i64, extent)});
  }
  return region;
}

StmtNode RandomKernel::store(bool atomic) {
  const Buffer& b = pick(buffers_);
  if (atomic) return AtomicElement{static_cast<AtomicOp>(below(3)), b, {index(), index()}, expr(b->type, 2)};
  return Store{b, {index(), index()}, expr(b->type, 3)};
}

StmtNode RandomKernel::tile_op() {
  std::vector<std::int64_t> extents = {chance(30) ? 1 : 32, chance(50) ? 32 : 48};
  const Buffer &a = pick(buffers_), &b = pick(buffers_);
  switch (below(3)) {
    case 0: {
      CopyAttrs attrs;
      if (chance(30)) attrs.pad = literal(b->type);
      if (chance(30)) attrs.valid = {index(), index()};
      return TileOp{OpKind::copy, {region(a, extents), region(b, extents)}, attrs};
    }
    case 1:
      return TileOp{OpKind::fill, {region(a, extents)}, FillAttrs{expr(a->type, 2)}};
  }
  return TileOp{OpKind::gemm,
                {region(a, {32, 32}), region(b, {32, 32}), region(pick(buffers_), {32, 32})},
                GemmAttrs{chance(50), chance(50), chance(50), static_cast<WarpPolicy>(below(4))}};
}

StmtNode RandomKernel::loop(int depth) {
  LoopKind kind = pick(std::vector{LoopKind::serial, LoopKind::unrolled, LoopKind::vectorized, LoopKind::parallel});
  auto v = std::make_shared<const VarDecl>(VarDecl{fresh("k"), DType::i64, VarKind::loop, {}});
  bool parallel = kind == LoopKind::parallel;
  ExprRef begin = parallel ? typed_int(DType::i64, 0) : index();
  For loop{kind, {{v, begin, index(), typed_int(DType::i64, parallel ? 1 : 1 + below(3))}}, {}, {}};
  vars_.push_back(v);
  if (parallel) {
    loop.body = {make_stmt(store(true), {}), make_stmt(store(false), {})};
  } else {
    loop.body = body(depth - 1);
  }
  vars_.pop_back();
  return loop;
}

StmtNode RandomKernel::statement(int depth) {
  switch (below(depth > 0 ? 8 : 5)) {
    case 0:
    case 1:
      return store(false);
    case 2:
      return Assert{boolean(3), chance(50) ? "a \"message\"\n" : ""};
    case 3:
      return tile_op();
    case 4:
      return Print{"{}", {expr(any_type(), 2)}};
    case 5:
      return loop(depth);
    case 6:
      return While{comparison(2), body(depth - 1)};
  }
  // A condition that folded to a literal would keep one branch only.
  ExprRef cond = make_binary(BinaryOp::lt, var_ref(vars_[7]), leaf(DType::i64), {}, diags_);
  return If{cond, body(depth - 1), chance(50) ? body(depth - 1) : Body{}};
}

Body RandomKernel::body(int depth) {
  Body out;
  std::size_t outer = vars_.size();
  for (int i = 1 + below(4); i > 0; --i) {
    if (chance(30)) {
      DType type = any_type();
      ExprRef value = expr(type, 2);
      // A let of a literal is a name for the literal and no statement.
      if (as_int(value) || std::holds_alternative<FloatLit>(value->node)) continue;
      auto v = std::make_shared<const VarDecl>(VarDecl{fresh("x"), type, VarKind::let, {}});
      out.push_back(make_stmt(Let{v, value}, {}));
      vars_.push_back(v);
    }
    out.push_back(make_stmt(statement(depth), {}));
  }
  vars_.resize(outer);
  return out;
}

}  // namespace plait::ir
