#include "analysis/simplify.h"

#include "support.h"

namespace plait::analysis::test {
namespace {

class Simplify : public testing::Test {
 protected:
  Simplify() {
    domain.vars = {{M, {}, {}, {}}, {N, {}, {}, {}}, in(bx, 0, ceildiv(M, 128)), in(i, 0, 128), in(j, -4, 5)};
  }
  std::string simple(const E& e) { return text(simplify(e, domain)); }

  Var M = make_var("M", VarKind::dim), N = make_var("N", VarKind::dim), bx = make_var("bx", VarKind::grid);
  Var i = make_var("i"), j = make_var("j"), s = make_var("s", VarKind::scalar);
  Buffer table = make_buffer("T", {E(M)}, Scope::global);
  Domain domain;
};

TEST_F(Simplify, Sums) {
  EXPECT_EQ(simple(E(i) * 1 + 0), "i");
  EXPECT_EQ(simple(E(i) + 64 - i), "64");
  EXPECT_EQ(simple((E(i) + 3) + 5), "i + 8");
  EXPECT_EQ(simple(E(i) * 4 + E(j) * 2 - E(i) * 4), "j * 2");
  EXPECT_EQ(simple(E(s) * 4 - 7 - E(s) * 5), "-7 - s");
  EXPECT_EQ(simple(E(i) - (E(j) - i) + 0), "i * 2 - j");
  EXPECT_EQ(simple(E(s) / 8 * 8 + E(s) % 8), "s");
  EXPECT_EQ(simple(E(bx) * 128 + i), "bx * 128 + i");
}

TEST_F(Simplify, QuotientsAndRemainders) {
  EXPECT_EQ(simple((E(bx) * 128 + i) / 128), "bx");
  EXPECT_EQ(simple((E(bx) * 128 + i) % 128), "i");
  EXPECT_EQ(simple((E(bx) * 128 + i) % 64), "i % 64");
  EXPECT_EQ(simple((E(j) * 8) / 8), "j");
  EXPECT_EQ(simple((E(j) * 8 + 3) / 8), "(j * 8 + 3) / 8");
  EXPECT_EQ(simple((E(s) * 8) / 8), "s * 8 / 8");
  EXPECT_EQ(simple(E(i) / 128), "0");
  EXPECT_EQ(simple(E(i) % 128), "i");
  EXPECT_EQ(simple(E(j) % 5), "j % 5");
  EXPECT_EQ(simple(E(s) / 4 / 8), "s / 32");
  EXPECT_EQ(simple(E(s) % 32 % 8), "s % 8");
  EXPECT_EQ(simple(ceildiv(E(bx) * 64 + 5, 64)), "bx + 1");
}

TEST_F(Simplify, DivisionByZeroStays) {
  EXPECT_EQ(simple(E(i) / N * 0), "i / N * 0");
  EXPECT_EQ(simple((E(i) * N) / N), "i * N / N");
  domain.conditions = {E(N) > 0};
  EXPECT_EQ(simple((E(i) * N) / N), "i");
  EXPECT_EQ(simple(E(i) / N * 0), "0");
  EXPECT_EQ(simple(load(table, {i}) * 0), "T[i] * 0");
  EXPECT_EQ(simple(load(table, {E(i) + 0}) - load(table, {i})), "T[i] - T[i]");
}

TEST_F(Simplify, ChoicesDecidedByTheDomain) {
  EXPECT_EQ(simple(min(i, 200)), "i");
  EXPECT_EQ(simple(max(E(i) - 200, 0)), "0");
  EXPECT_EQ(simple(min(min(s, 9), 7)), "min(s, 7)");
  EXPECT_EQ(simple(select(E(i) < 128, i, N)), "i");
  EXPECT_EQ(simple(select(E(s) < 8, min(s, 7), 3)), "select(s < 8, s, 3)");
  EXPECT_EQ(simple(select(negate(E(s) < 8), 1, 2)), "select(s >= 8, 1, 2)");
  EXPECT_EQ(simple(both(E(i) >= 0, E(i) + bx < M)), "i + bx < M");
}

TEST_F(Simplify, Conditions) {
  EXPECT_EQ(simple(E(i) + 64 < E(bx) + 64), "i < bx");
  EXPECT_EQ(simple(E(i) * 8 < 64), "i < 8");
  EXPECT_EQ(simple(E(s) + 64 < 70), "s + 64 < 70");
  EXPECT_EQ(simple(negate(negate(E(s) < 3))), "s < 3");
  EXPECT_EQ(simple(both(E(s) < 3, E(s) < 5)), "s < 3");
  EXPECT_EQ(simple(both(E(s) < 5, E(s) < 3)), "s < 3");
  EXPECT_EQ(simple(either(E(s) < 5, E(s) < 3)), "s < 5");
  EXPECT_EQ(simple(either(E(s) < 3, E(s) >= 3)), "true");
  EXPECT_EQ(simple(select(E(s) < 3, bool_expr(true), bool_expr(false))), "s < 3");
  EXPECT_EQ(simple(both(load(table, {i}) > 0, bool_expr(false))), "T[i] > 0 and false");
}

TEST_F(Simplify, CastsThatChangeNothing) {
  EXPECT_EQ(simple(cast(DType::i64, cast(DType::i32, i))), "i");
  EXPECT_EQ(simple(cast(DType::i64, cast(DType::i32, s))), "i64(i32(s))");
}

TEST_F(Simplify, FloatsKeepTheirRounding) {
  Var x = make_var("x", VarKind::let, DType::f32);
  ExprRef one = make_expr(DType::f32, FloatLit{1}), zero = make_expr(DType::f32, FloatLit{0});
  EXPECT_EQ(simple(op(BinaryOp::mul, x, one)), "x");
  EXPECT_EQ(simple(negate(op(BinaryOp::lt, x, one))), text(negate(op(BinaryOp::lt, x, one))));
  E sum = op(BinaryOp::add, x, zero);
  EXPECT_EQ(simplify(sum, domain), sum.ref);
}

TEST_F(Simplify, UnchangedIsTheSamePointer) {
  for (const E& e : {E(bx) * 128 + i, E(i) % N, min(s, 7), load(table, {i}), E(3), E(s)}) {
    EXPECT_EQ(simplify(e, domain), e.ref) << text(e);
  }
}

TEST_F(Simplify, SharedSubtreesDoNotMakeItSlow) {
  E e = s;
  for (int k = 0; k < 64; ++k) e = min(e * 3, e + i);
  EXPECT_EQ(simplify(e, domain), e.ref);
}

class SimplifyRandom : public testing::TestWithParam<Generator::Shape> {};

TEST_P(SimplifyRandom, KeepsValuesAndErrors) {
  Buffer array = make_buffer("T", {E(5)}, Scope::global);
  State initial;
  initial.contents[array.get()] = {3, -1, 7, 0, 2};
  int shorter = 0;
  for (std::uint64_t seed = 1; seed <= seeds(350); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomDomain r = random_domain(seed * 10, GetParam());
    Generator g(seed, r.vars, {array});
    E e = g.chance(70) ? g.integer(GetParam(), 4) : g.boolean(GetParam(), 3);
    ExprRef simple = simplify(e, r.domain);
    std::string what = text(e) + " -> " + text(simple) + " over " + text(r.domain);
    for_each_point(r.domain, initial, {0, 1, 2, 3, 4}, [&](const State& state) {
      if (!HasFailure()) {
        EXPECT_EQ(evaluate(simple, state), evaluate(e, state)) << what;
      }
    });
    EXPECT_EQ(simplify(simple, r.domain), simple) << what << " -> " << text(simplify(simple, r.domain));
    EXPECT_TRUE(simple == e.ref || expr_cost(simple) < expr_cost(e)) << what;
    shorter += simple != e.ref ? 1 : 0;
  }
  EXPECT_GT(shorter, 200);
}

/// All of i8, where everything wraps.
TEST(SimplifyNarrow, KeepsWrappedValues) {
  Var x = make_var("x", VarKind::scalar, DType::i8), y = make_var("y", VarKind::scalar, DType::i8);
  for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Domain domain;
    domain.vars = {{x, {}, {}, {}}, {y, {}, {}, {}}};
    Generator g(seed, {x, y});
    auto narrow = [&](const E& e) {
      return rewrite(e, [](const ExprRef& node) -> ExprRef {
        if (std::holds_alternative<Cast>(node->node)) return std::get<Cast>(node->node).a;
        return node->type == DType::i64 ? make_expr(DType::i8, node->node) : nullptr;
      });
    };
    if (g.chance(50)) domain.conditions.push_back(narrow(g.boolean(Generator::affine, 2)));
    ExprRef e = narrow(g.chance(50) ? g.integer(Generator::any, 3) : g.boolean(Generator::any, 3));
    ExprRef simple = simplify(e, domain);
    std::string what = text(e) + " -> " + text(simple) + " over " + text(domain);
    for_each_point(domain, {}, {-128, -127, -100, -65, -64, -33, -3, -1, 0, 1, 2, 5, 31, 32, 64, 100, 126, 127},
                   [&](const State& state) {
                     if (!HasFailure()) {
                       EXPECT_EQ(evaluate(simple, state), evaluate(e, state)) << what;
                     }
                   });
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, SimplifyRandom,
                         testing::Values(Generator::affine, Generator::quasi_affine, Generator::any));

}  // namespace
}  // namespace plait::analysis::test
