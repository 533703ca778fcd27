#pragma once

#include "fixture.h"

namespace plait::ir {

/// A kernel that has every kind of statement, attribute and expression once, made anew (with variables and buffers of
/// its own) at each call.
class SampleKernel : public IrTest {
 protected:
  Kernel sample() {
    Kernel k;
    k.name = "sample";
    Var m = var("M", DType::i64, VarKind::dim), n = var("N", DType::i64, VarKind::dim);
    Var lda = var("lda", DType::i64, VarKind::dim), alpha = var("alpha", DType::f32, VarKind::scalar);
    k.dims = {m, n, lda};
    BufferDecl strided;
    strided.name = "A";
    strided.type = DType::f16;
    strided.shape = {var_ref(m), var_ref(n)};
    strided.strides = {var_ref(lda), i64(1)};
    Buffer a = std::make_shared<const BufferDecl>(strided);
    Buffer c = buffer("C", DType::f32, {var_ref(m), var_ref(n)}, Scope::global);
    Buffer h = buffer("H", DType::i32, {i64(256)}, Scope::global);
    k.params = {{ParamKind::in, a, nullptr, nullptr},
                {ParamKind::out, c, nullptr, nullptr},
                {ParamKind::inout, h, nullptr, nullptr},
                {ParamKind::scalar, nullptr, alpha, typed_literal(DType::f32, 1)}};
    Var bx = var("bx", DType::i64, VarKind::grid), by = var("by", DType::i64, VarKind::grid);
    k.grid = {{bx, binary(BinaryOp::ceil_div, var_ref(n), i64(64))},
              {by, binary(BinaryOp::ceil_div, var_ref(m), i64(32))}};
    k.threads = 128;
    k.options.fast_math = true;
    k.requires_ = {
        {binary(BinaryOp::eq, binary(BinaryOp::mod, var_ref(n), i64(8)), i64(0)), "N is a \"multiple\" of 8", {}},
        {binary(BinaryOp::ge, var_ref(m), i64(1)), "", {}}};
    k.body = statements(a, c, h, alpha, bx, by, m);
    return k;
  }

 private:
  static StmtRef stmt(StmtNode node) { return make_stmt(std::move(node), {}); }
  static Region whole(const Buffer& b) {
    Region region{b, {}, {}};
    for (const ExprRef& extent : b->shape) region.ranges.push_back({i64(0), extent});
    return region;
  }
  static Buffer with_layout(const Buffer& b, LayoutHint layout, int pad) {
    BufferDecl decl = *b;
    decl.layout = std::move(layout);
    decl.pad = pad;
    return std::make_shared<const BufferDecl>(std::move(decl));
  }

  Body statements(const Buffer& a, const Buffer& c, const Buffer& h, const Var& alpha, const Var& bx, const Var& by,
                  const Var& m) {
    Buffer s = with_layout(tile("S", DType::f16, {32, 64}), {LayoutKind::swizzle, 128, {}}, 0);
    Buffer t = with_layout(tile("T", DType::f16, {64, 32}), {LayoutKind::strided, 0, {1, 64}}, 0);
    Buffer u = with_layout(tile("U", DType::f32, {32, 32}), {LayoutKind::row_major, 0, {}}, 8);
    Buffer v = buffer("v", DType::f32, {i64(32)}, Scope::fragment);
    Buffer rows = with_layout(tile("R", DType::i32, {32}), {LayoutKind::column_major, 0, {}}, 0);
    Buffer l = buffer("l", DType::u4, {i64(8)}, Scope::local);
    Body body;
    for (const Buffer& b : {s, t, u, v, rows, l}) body.push_back(stmt(Alloc{b}));
    append(body, moves(a, c, s, t, u, rows, bx, by, m));
    append(body, vector_ops(u, v, h));
    append(body, loops(c, h, u, alpha));
    append(body, controls(l, m));
    return body;
  }
  static void append(Body& body, Body more) { body.insert(body.end(), more.begin(), more.end()); }

  Body moves(const Buffer& a, const Buffer& c, const Buffer& s, const Buffer& t, const Buffer& u, const Buffer& rows,
             const Var& bx, const Var& by, const Var& m) {
    Region tile_of_a{a, {{mul(var_ref(by), i64(32)), i64(32)}, {mul(var_ref(bx), i64(64)), i64(64)}}, {}};
    CopyAttrs gather;
    gather.rows = whole(rows);
    gather.valid = {binary(BinaryOp::sub, var_ref(m), var_ref(by)), i64(64)};
    gather.pad = typed_literal(DType::f16, -99);
    gather.cache = CacheHint::evict_first;
    CopyAttrs scatter;
    scatter.rows = Region{rows, {{i64(0), i64(16)}}, {}};
    scatter.scatter = true;
    scatter.cache = CacheHint::evict_last;
    CopyAttrs odd_side;
    odd_side.rows = whole(rows);
    odd_side.scatter = true;
    odd_side.valid = {i64(3)};
    Region part_of_c{c, {{var_ref(by), i64(16)}, {i64(0), i64(32)}}, {}};
    Region part_of_u{u, {{i64(16), i64(16)}, {i64(0), i64(32)}}, {}};
    return {stmt(TileOp{OpKind::copy, {tile_of_a, whole(s)}, CopyAttrs{}}),
            stmt(TileOp{OpKind::copy, {tile_of_a, whole(s)}, gather}),
            stmt(TileOp{OpKind::copy, {part_of_u, part_of_c}, scatter}),
            stmt(TileOp{OpKind::copy, {tile_of_a, whole(s)}, odd_side}),
            stmt(TileOp{OpKind::transpose, {whole(s), whole(t)}, NoAttrs{}}),
            stmt(TileOp{OpKind::fill, {whole(u)}, FillAttrs{typed_literal(DType::f32, 0)}}),
            stmt(TileOp{OpKind::fill, {whole(s)}, FillAttrs{typed_literal(DType::f16, -0.0)}}),
            stmt(TileOp{OpKind::gemm, {whole(s), whole(t), whole(u)}, GemmAttrs{}}),
            stmt(TileOp{OpKind::gemm, {whole(t), whole(s), whole(u)}, GemmAttrs{true, true, true, WarpPolicy::square}}),
            stmt(TileOp{OpKind::atomic_add, {part_of_c, part_of_u}, NoAttrs{}})};
  }

  static Body vector_ops(const Buffer& u, const Buffer& v, const Buffer& h) {
    return {stmt(TileOp{OpKind::reduce_sum, {whole(u), whole(v)}, ReduceAttrs{1, true}}),
            stmt(TileOp{OpKind::reduce_max, {whole(u), whole(v)}, ReduceAttrs{0, false}}),
            stmt(TileOp{OpKind::reduce_argmin, {whole(u), whole(h)}, ReduceAttrs{1, true}}),
            stmt(TileOp{OpKind::cumsum, {whole(v), whole(v)}, CumsumAttrs{0, false}}),
            stmt(TileOp{OpKind::cumsum, {whole(u), whole(u)}, CumsumAttrs{1, true}})};
  }

  LoopAxis axis(const Var& v, std::int64_t begin, std::int64_t end, std::int64_t step = 1) {
    return {v, i64(begin), i64(end), i64(step)};
  }

  Body loops(const Buffer& c, const Buffer& h, const Buffer& u, const Var& alpha) {
    Var i = var("i", DType::i64, VarKind::loop), j = var("j", DType::i64, VarKind::loop);
    ExprRef element = load(u, {var_ref(i), var_ref(j)});
    StmtRef scaled = stmt(Store{u, {var_ref(i), var_ref(j)}, mul(element, var_ref(alpha))});
    StmtRef count = stmt(AtomicElement{AtomicOp::add, h, {i64(3)}, typed_int(DType::i32, 1)});
    StmtRef biggest = stmt(AtomicElement{AtomicOp::max, h, {var_ref(j)}, load(h, {var_ref(i)})});
    Var p = var("k", DType::i64, VarKind::loop), q = var("w", DType::i64, VarKind::loop);
    return {stmt(For{LoopKind::parallel, {axis(i, 0, 32), axis(j, 0, 32)}, {}, {scaled, count, biggest}}),
            line_loop(LoopKind::pipelined, c, 0, 8, 1, {3, {}, {}}),
            line_loop(LoopKind::pipelined, c, 0, 8, 1, {std::nullopt, {1, 0}, {0, 1}}),
            line_loop(LoopKind::serial, c, 2, 8, 1, {}),
            line_loop(LoopKind::unrolled, c, 0, 8, 2, {}),
            stmt(For{LoopKind::persistent, {axis(p, 0, 4), axis(q, 0, 4)}, {}, {}})};
  }

  StmtRef line_loop(LoopKind kind, const Buffer& c, std::int64_t begin, std::int64_t end, std::int64_t step,
                    PipelineAttrs attrs) {
    Var k = var("k", DType::i64, VarKind::loop);
    StmtRef one = stmt(Store{c, {i64(0), var_ref(k)}, typed_literal(DType::f32, 1.5)});
    return stmt(For{kind, {axis(k, begin, end, step)}, std::move(attrs), {one, one}});
  }

  Body controls(const Buffer& l, const Var& m) {
    Var x = var("x", DType::f16), flag = var("flag", DType::bool_);
    ExprRef positive = binary(BinaryOp::gt, var_ref(m), i64(0)), small = binary(BinaryOp::lt, var_ref(m), i64(9));
    Task both{500, 20, {stmt(Store{l, {i64(0)}, typed_int(DType::u4, 3)})}};
    return {stmt(Let{x, cast(DType::f16, var_ref(m))}),
            stmt(Let{flag, positive}),
            stmt(While{var_ref(flag), {stmt(If{small, {stmt(Break{})}, {stmt(Continue{})}})}}),
            stmt(If{positive,
                    {},
                    {stmt(If{small, {stmt(Print{"x = {}, {}", {var_ref(x), i64(1)}})}, {stmt(Print{"none", {}})}})}}),
            stmt(Assert{positive, "M\n"}),
            stmt(Assert{small, ""}),
            stmt(both),
            stmt(Task{std::nullopt, 7, {}})};
  }
};

}  // namespace plait::ir
