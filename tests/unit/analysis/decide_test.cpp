#include "support.h"

namespace plait::analysis::test {
namespace {

class Decide : public testing::Test {
 protected:
  Var M = make_var("M", VarKind::dim), N = make_var("N", VarKind::dim), n = make_var("n", VarKind::scalar);
  Var i = make_var("i"), j = make_var("j");
  static Domain over(std::vector<DomainVar> vars, std::vector<E> conditions = {}) {
    Domain d;
    d.vars = std::move(vars);
    for (auto& c : conditions) d.conditions.push_back(c.ref);
    return d;
  }
};

TEST_F(Decide, AffineForm) {
  auto form = affine(E(i) * 4 + (E(j) - E(i)) * 2 - 3 + 2 * 5);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->constant, 7);
  EXPECT_EQ(form->coefficient(i.get()), 2);
  EXPECT_EQ(form->coefficient(j.get()), 2);
  ASSERT_EQ(form->terms.size(), 2u);
  EXPECT_EQ(form->terms[0].first, i);
  EXPECT_TRUE(affine(E(i) - E(i))->terms.empty());
  EXPECT_FALSE(affine(E(i) * E(j)));
  EXPECT_FALSE(affine(E(i) / 2));
  EXPECT_FALSE(affine(E(i) * INT64_MAX * 2));
}

TEST_F(Decide, GuardsAndBounds) {
  Domain d = over({{M, {}, {}, {}}, in(i, 0, ceildiv(M, 128)), in(j, 0, 128)});
  E row = E(i) * 128 + j;
  EXPECT_EQ(decide(row >= 0, d), Truth::always);
  EXPECT_EQ(decide(row < M, d), Truth::unknown);
  EXPECT_EQ(decide(row < E(M) + 127, d), Truth::always);
  d.conditions.push_back(row < M);
  EXPECT_EQ(decide(row + 1 <= M, d), Truth::always);
  EXPECT_EQ(decide(row > E(M) + 5, d), Truth::never);
  d.conditions.push_back(eq(E(M) % 128, 0));
  EXPECT_EQ(decide(E(i) * 128 + 127 < M, d), Truth::always);
}

TEST_F(Decide, EmptyDomainGivesAlways) {
  EXPECT_EQ(decide(E(i) < 0, over({in(i, 5, 5)})), Truth::always);
  EXPECT_EQ(decide(E(i) < 0, over({in(i, 0, 5)}, {E(i) > 7})), Truth::always);
}

TEST_F(Decide, TruncationOfNegativeDividends) {
  Domain d = over({in(i, -5, 6)});
  EXPECT_EQ(bounds(E(i) / 2, d).min, -2);
  EXPECT_EQ(bounds(E(i) % 3, d).min, -2);
  EXPECT_EQ(bounds(E(i) % -3, d).max, 2);
  EXPECT_EQ(bounds(ceildiv(i, 2), d).min, -2);
  EXPECT_EQ(bounds(ceildiv(i, 2), d).max, 3);
  EXPECT_EQ(decide(eq(E(i) / 2 * 2 + E(i) % 2, i), d), Truth::always);
}

TEST_F(Decide, WrappingArithmeticIsNotTakenForIntegers) {
  EXPECT_EQ(decide(E(n) + 1 > n, over({})), Truth::unknown);
  EXPECT_EQ(decide(E(n) + 1 > n, over({}, {E(n) < 1000})), Truth::always);
  EXPECT_EQ(decide(E(M) + 1 > M, over({})), Truth::always);
  Var small = make_var("s", VarKind::scalar, DType::i8);
  EXPECT_EQ(decide(E(small) + 1 > small, over({})), Truth::unknown);
  EXPECT_EQ(decide(cast(DType::i64, small) + 1 > cast(DType::i64, small), over({})), Truth::always);
  EXPECT_EQ(decide(cast(DType::i8, i) >= 0, over({in(i, 0, 300)})), Truth::unknown);
}

TEST_F(Decide, ProductsAreOpaqueButEqualToThemselves) {
  E size = E(M) * N;
  Domain d = over({in(i, 0, size)});
  EXPECT_EQ(decide(E(i) < size, d), Truth::always);
  EXPECT_EQ(decide(E(i) < E(N) * M, d), Truth::unknown);
  EXPECT_EQ(decide(E(i) % N < N, over({in(i, 0, M)}, {E(N) >= 1})), Truth::always);
}

TEST_F(Decide, LoadsFromReadOnlyBuffersOnlyAreTheSameLater) {
  Buffer table = make_buffer("T", {E(M)}, Scope::global), scratch = make_buffer("S", {E(8)});
  Domain d = over({in(i, 0, M)}, {load(table, {i}) >= 0, load(scratch, {0}) >= 0});
  d.read_only.push_back(table);
  EXPECT_EQ(decide(load(table, {i}) >= 0, d), Truth::always);
  EXPECT_EQ(decide(load(scratch, {0}) >= 0, d), Truth::unknown);
  EXPECT_EQ(decide(load(scratch, {0}) <= load(scratch, {0}), d), Truth::always);
}

TEST_F(Decide, LetsAreSeenThrough) {
  Var x = make_var("x", VarKind::let), y = make_var("y", VarKind::let);
  Domain d = over({in(i, 0, 8)});
  d.lets = {{x, E(i) * 4}, {y, E(x) + 3}};
  EXPECT_EQ(bounds(E(y), d).max, 31);
  EXPECT_EQ(decide(E(y) / 4 <= i, d), Truth::always);
}

TEST_F(Decide, BoundsOfUnboundedAndHugeValues) {
  EXPECT_EQ(bounds(E(M), over({})).min, 0);
  EXPECT_FALSE(bounds(E(M), over({})).max);
  EXPECT_FALSE(bounds(E(n), over({})).min);
  EXPECT_EQ(bounds(E(i) * 3, over({in(i, 0, 10)})).max, 27);
  EXPECT_EQ(bounds(E(i) + (std::int64_t{1} << 62), over({in(i, 0, 10)})).max, (std::int64_t{1} << 62) + 9);
  EXPECT_FALSE(bounds(E(i), over({in(i, 3, 3)})).min);
}

TEST_F(Decide, LongChainsOfLetsNeitherHangNorOverflowTheStack) {
  Domain d = over({in(i, 0, 8)});
  Var last = i;
  for (int k = 0; k < 20000; ++k) {
    Var next = make_var("x", VarKind::let);
    d.lets.emplace_back(next, E(last) + (k % 2 == 0 ? 1 : -1));
    last = next;
  }
  EXPECT_EQ(decide(E(last) < 8, d), Truth::unknown);
  last = i;
  d.lets.clear();
  for (int k = 0; k < 60; ++k) {
    Var next = make_var("x", VarKind::let);
    d.lets.emplace_back(next, max(E(last) - E(last) / 3, E(last) % 7));
    last = next;
  }
  decide(E(last) < 8, d);
}

TEST_F(Decide, RegionsOverlap) {
  Buffer a = make_buffer("A", {E(64), E(64)}), b = make_buffer("B", {E(64), E(64)});
  Domain d = over({in(i, 0, 4)});
  Region left = region(a, {{E(i) * 16, 16}, {0, 32}}), right = region(a, {{E(i) * 16, 16}, {32, 32}});
  EXPECT_EQ(overlap(left, right, d), Truth::never);
  EXPECT_EQ(overlap(left, left, d), Truth::always);
  EXPECT_EQ(overlap(left, region(b, {{E(i) * 16, 16}, {0, 32}}), d), Truth::never);
  EXPECT_EQ(overlap(left, region(a, {{E(i) * 8, 8}, {0, 32}}), d), Truth::unknown);
  EXPECT_EQ(overlap(region(a, {{64, 4}, {0, 4}}), region(a, {{64, 4}, {0, 4}}), d), Truth::never);
}

class DecideRandom : public testing::TestWithParam<Generator::Shape> {};

TEST_P(DecideRandom, AgreesWithEnumeration) {
  int decided = 0, decidable = 0;
  for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomDomain r = random_domain(seed * 10, GetParam());
    Generator g(seed, r.vars);
    E cond = g.boolean(GetParam(), 2), value = g.integer(GetParam(), 2);
    bool some = false, all = true;
    std::optional<std::int64_t> low, high;
    for_each_point(r.domain, {}, {0, 1, 2, 3, 4}, [&](const State& state) {
      if (Value v = evaluate(cond, state)) (*v != 0 ? some : all) = *v != 0;
      if (Value v = evaluate(value, state)) {
        low = low ? std::min(*low, *v) : *v;
        high = high ? std::max(*high, *v) : *v;
      }
    });
    Truth truth = decide(cond, r.domain);
    EXPECT_TRUE(truth != Truth::always || all) << text(cond) << " over " << text(r.domain);
    EXPECT_FALSE(truth == Truth::never && some) << text(cond) << " over " << text(r.domain);
    decidable += all || !some ? 1 : 0;
    decided += (all || !some) && truth != Truth::unknown ? 1 : 0;
    Bounds b = bounds(value, r.domain);
    EXPECT_TRUE(!low || !b.min || *b.min <= *low) << text(value) << " over " << text(r.domain);
    EXPECT_TRUE(!low || !b.max || *b.max >= *high) << text(value) << " over " << text(r.domain);
    if (low && GetParam() != Generator::any) {
      EXPECT_EQ(b.min, low) << text(value) << " over " << text(r.domain);
      EXPECT_EQ(b.max, high) << text(value) << " over " << text(r.domain);
    }
  }
  EXPECT_TRUE(GetParam() == Generator::any || decided == decidable);
  RecordProperty("decided", decided);
  RecordProperty("decidable", decidable);
}

TEST_P(DecideRandom, OverlapAgreesWithEnumeration) {
  Buffer a = make_buffer("A", {E(8), E(6)});
  for (std::uint64_t seed = 1; seed <= seeds(150); ++seed) {
    RandomDomain r = random_domain(seed * 10, GetParam());
    Generator g(seed, r.vars);
    auto random_region = [&] {
      auto range = [&] { return std::pair{g.integer(GetParam(), 1), g.chance(70) ? E(g.number(1, 4)) : E(r.vars[0])}; };
      return region(a, {range(), range()});
    };
    Region x = random_region(), y = random_region();
    bool some = false, all = true;
    for_each_point(r.domain, {}, {0, 1, 2, 3, 4}, [&](const State& state) {
      bool shared = true;
      for (std::size_t d = 0; d < 2; ++d) {
        std::int64_t low = 0, high = d == 0 ? 8 : 6;
        for (const Region* q : {&x, &y}) {
          Value begin = evaluate(q->ranges[d].begin, state), extent = evaluate(q->ranges[d].extent, state);
          if (!begin || !extent) return;
          low = std::max(low, *begin);
          high = std::min(high, *begin + *extent);
        }
        shared = shared && low < high;
      }
      (shared ? some : all) = shared;
    });
    Truth truth = overlap(x, y, r.domain);
    EXPECT_FALSE(truth == Truth::never && some) << "seed " << seed;
    EXPECT_FALSE(truth == Truth::always && !all) << "seed " << seed;
    EXPECT_TRUE(GetParam() == Generator::any || truth != Truth::unknown || (some && !all)) << "seed " << seed;
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, DecideRandom,
                         testing::Values(Generator::affine, Generator::quasi_affine, Generator::any));

}  // namespace
}  // namespace plait::analysis::test
