#include <atomic>
#include <set>
#include <thread>

#include "trace.h"

namespace plait::analysis::test {
namespace {

using Kind = DependenceKind;

class Dependences : public testing::Test {
 protected:
  static StmtRef copy(const Region& from, const Region& to) {
    return stmt(TileOp{OpKind::copy, {from, to}, CopyAttrs{}});
  }
  static StmtRef gemm(const Region& a, const Region& b, const Region& c, bool clear = false) {
    GemmAttrs attrs;
    attrs.clear_accum = clear;
    return stmt(TileOp{OpKind::gemm, {a, b, c}, attrs});
  }
  static Region tile(const Buffer& b) { return region(b, {{0, b->shape[0]}, {0, b->shape[1]}}); }
  For pipelined(Body body, const E& trips) const {
    return loop(LoopKind::pipelined, {axis(k, 0, trips)}, std::move(body));
  }

  /// `kind from->to buffer distance`, with `+` where larger distances occur too and `?` where nothing is known.
  std::set<std::string> of(const For& loop) const {
    std::set<std::string> result;
    for (const Dependence& d : dependences(loop, outer)) {
      static constexpr const char* names[] = {"flow", "anti", "output"};
      std::string distance = d.distance ? fmt::format("{}{}", *d.distance, d.exact ? "" : "+") : "?";
      result.insert(
          fmt::format("{} {}->{} {} {}", names[static_cast<int>(d.kind)], d.from, d.to, d.buffer->name, distance));
    }
    return result;
  }
  using Set = std::set<std::string>;

  Var k = make_var("k"), M = make_var("M", VarKind::dim), K = make_var("K", VarKind::dim), i = make_var("i"),
      j = make_var("j");
  Var bx = make_var("bx", VarKind::grid);
  Buffer A = make_buffer("A", {M, K}, Scope::global), C = make_buffer("C", {M, K}, Scope::global);
  Buffer As = make_buffer("As", {32, 16}), Bs = make_buffer("Bs", {16, 32}),
         Cl = make_buffer("Cl", {32, 32}, Scope::fragment);
  Domain outer{{{M, {}, {}, {}}, {K, {}, {}, {}}, in(bx, 0, ceildiv(M, 32))}, {}, {}, {A}};
};

TEST_F(Dependences, Matmul) {
  Region a = region(A, {{E(bx) * 32, 32}, {E(k) * 16, 16}}), b = region(A, {{E(k) * 16, 16}, {0, 32}});
  For loop = pipelined({copy(a, tile(As)), copy(b, tile(Bs)), gemm(tile(As), tile(Bs), tile(Cl))}, ceildiv(K, 16));
  EXPECT_EQ(of(loop), (Set{"flow 0->2 As 0", "flow 1->2 Bs 0", "anti 2->0 As 1", "anti 2->1 Bs 1", "output 0->0 As 1",
                           "output 1->1 Bs 1", "flow 2->2 Cl 1", "output 2->2 Cl 1"}));
}

TEST_F(Dependences, ReadThenRefill) {
  Region a = region(A, {{E(bx) * 32, 32}, {E(k) * 16, 16}});
  For loop = pipelined({gemm(tile(As), tile(Bs), tile(Cl)), copy(a, tile(As))}, 8);
  Set found = of(loop);
  EXPECT_TRUE(found.contains("flow 1->0 As 1"));
  EXPECT_TRUE(found.contains("anti 0->1 As 0"));
}

TEST_F(Dependences, HalvesOfOneTile) {
  Region left = region(As, {{0, 32}, {0, 8}}), right = region(As, {{0, 32}, {8, 8}});
  Region a = region(A, {{0, 32}, {E(k) * 16, 8}}), b = region(A, {{0, 32}, {E(k) * 16 + 8, 8}});
  For loop = pipelined({copy(a, left), copy(b, right), gemm(tile(As), tile(Bs), tile(Cl))}, 8);
  Set found = of(loop);
  EXPECT_TRUE(found.contains("flow 0->2 As 0"));
  EXPECT_TRUE(found.contains("flow 1->2 As 0"));
  EXPECT_FALSE(found.contains("output 0->1 As 0"));
  EXPECT_TRUE(found.contains("anti 2->0 As 1"));
}

TEST_F(Dependences, GuardedCopyMayKeepTheOldTile) {
  Region a = region(A, {{0, 32}, {E(k) * 16, 16}});
  If guarded{(E(k) < 2).ref, {copy(a, tile(As))}, {}};
  Set found = of(pipelined({stmt(guarded), gemm(tile(As), tile(Bs), tile(Cl))}, 8));
  EXPECT_TRUE(found.contains("flow 0->1 As 0+"));
}

TEST_F(Dependences, ClearedAccumulatorIsNotCarried) {
  Region a = region(A, {{0, 32}, {E(k) * 16, 16}}), c = region(C, {{0, 32}, {E(k) * 32, 32}});
  Set found = of(pipelined({copy(a, tile(As)), gemm(tile(As), tile(Bs), tile(Cl), true), copy(tile(Cl), c)}, 8));
  EXPECT_TRUE(found.contains("flow 1->2 Cl 0"));
  EXPECT_FALSE(found.contains("flow 1->1 Cl 1"));
  EXPECT_TRUE(found.contains("anti 2->1 Cl 1"));
  for (const std::string& d : found) EXPECT_EQ(d.find(" C "), std::string::npos) << d;
}

TEST_F(Dependences, ElementsInParallelLoops) {
  StmtRef scale =
      stmt(loop(LoopKind::parallel, {axis(i, 0, 32), axis(j, 0, 32)}, {store(Cl, {i, j}, load(Cl, {i, j}) * 2)}));
  EXPECT_EQ(of(pipelined({scale}, 8)), (Set{"flow 0->0 Cl 1", "output 0->0 Cl 1"}));
}

TEST_F(Dependences, LastIterationsOfAStencil) {
  Buffer line = make_buffer("L", {100});
  For loop = pipelined({store(line, {E(k) + 3}, 1), store(line, {90}, load(line, {k}))}, 50);
  Set found = of(loop);
  EXPECT_TRUE(found.contains("flow 0->1 L 3"));
  EXPECT_FALSE(found.contains("anti 1->0 L ?"));
}

TEST_F(Dependences, RotatingSlots) {
  Buffer ring = make_buffer("R", {4});
  Set found = of(pipelined({store(ring, {E(k) % 4}, 1), store(ring, {(E(k) + 1) % 4}, load(ring, {E(k) % 4}))}, K));
  EXPECT_TRUE(found.contains("flow 0->1 R 0"));
  EXPECT_TRUE(found.contains("output 1->0 R 1"));
}

TEST_F(Dependences, IndirectIndexIsUnknown) {
  Buffer line = make_buffer("L", {100}), index = make_buffer("I", {100});
  Set found = of(pipelined({store(line, {load(index, {k})}, 1), store(index, {0}, load(line, {0}))}, 8));
  EXPECT_TRUE(found.contains("flow 0->1 L ?"));
  EXPECT_TRUE(found.contains("output 1->1 I 1"));
}

TEST_F(Dependences, InvariantOpaqueBeginOnBothSides) {
  Buffer line = make_buffer("L", {E(M) * K}, Scope::global);
  E base = E(M) * bx;
  Set found = of(pipelined({store(line, {base + k}, 1), store(line, {base + k}, load(line, {base + k}))}, 8));
  EXPECT_EQ(found, (Set{"flow 0->1 L 0", "output 0->1 L 0"}));
}

TEST_F(Dependences, BuffersOfAnIterationAreNotCarried) {
  Region a = region(A, {{0, 32}, {E(k) * 16, 16}});
  Set found = of(pipelined({stmt(Alloc{As}), copy(a, tile(As)), gemm(tile(As), tile(Bs), tile(Cl))}, 8));
  EXPECT_TRUE(found.contains("flow 1->2 As 0"));
  EXPECT_FALSE(found.contains("anti 2->1 As 1"));
}

TEST_F(Dependences, RowMapsTouchAnyRow) {
  Buffer rows = make_buffer("rows", {E(32)}, Scope::shared, DType::i32);
  CopyAttrs scatter;
  scatter.rows = region(rows, {{0, 32}});
  scatter.scatter = true;
  StmtRef out = stmt(TileOp{OpKind::copy, {tile(As), region(C, {{0, 32}, {E(k) * 16, 16}})}, scatter});
  StmtRef back = copy(region(C, {{0, 32}, {E(k) * 16, 16}}), tile(As));
  StmtRef side = copy(region(C, {{0, 32}, {E(k) * 16 + 16, 16}}), tile(As));
  EXPECT_TRUE(of(pipelined({out, back}, 8)).contains("flow 0->1 C 0"));
  EXPECT_TRUE(of(pipelined({out, side}, 8)).contains("anti 1->0 C 1"));
}

TEST_F(Dependences, LoopsOfSeveralAxes) {
  Buffer line = make_buffer("L", {100, 100});
  For own = loop(LoopKind::persistent, {axis(i, 0, M), axis(j, 0, K)},
                 {store(line, {i, j}, 1), store(line, {i, j}, load(line, {i, j}))});
  EXPECT_EQ(of(own), (Set{"flow 0->1 L 0", "output 0->1 L 0"}));
  For column = loop(LoopKind::persistent, {axis(i, 0, M), axis(j, 0, K)}, {store(line, {i, 0}, 1)});
  EXPECT_EQ(of(column), (Set{"output 0->0 L ?"}));
}

TEST_F(Dependences, WhileAndBreakMakeWritesUncertain) {
  Region a = region(A, {{0, 32}, {E(k) * 16, 16}});
  StmtRef refill = stmt(While{(load(Bs, {0, 0}) > 0).ref, {copy(a, tile(As))}});
  Set found = of(pipelined({refill, gemm(tile(As), tile(Bs), tile(Cl))}, 8));
  EXPECT_TRUE(found.contains("flow 0->1 As 0+"));
}

using Observed = std::map<std::tuple<int, std::size_t, std::size_t, const BufferDecl*>, std::set<std::int64_t>>;

Observed observe(const RandomLoop& r, std::uint64_t seed) {
  struct Last {
    std::optional<Event> write;
    std::vector<Event> reads;
  };
  std::map<std::tuple<const BufferDecl*, std::int64_t, std::int64_t>, Last> last;
  Observed result;
  auto note = [&](Kind kind, const Event& from, const Event& to) {
    std::int64_t distance = to.iteration - from.iteration;
    if (distance == 0 && from.statement == to.statement) return;
    result[{static_cast<int>(kind), from.statement, to.statement, to.buffer}].insert(distance);
  };
  State state = random_contents(seed, r.buffers);
  Tracer(state, [&](const Event& e) {
    if (e.outside) return;
    Last& l = last[{e.buffer, e.instance, e.element}];
    if (!e.write || e.atomic) {
      if (l.write) note(Kind::flow, *l.write, e);
      l.reads.push_back(e);
    }
    if (!e.write) return;
    if (l.write) note(Kind::output, *l.write, e);
    for (const Event& read : l.reads) note(Kind::anti, read, e);
    l.write = e;
    l.reads.clear();
  }).run(r.loop);
  return result;
}

TEST_F(Dependences, FromSeveralThreadsAtOnce) {
  Region a = region(A, {{E(bx) * 32, 32}, {E(k) * 16, 16}}), b = region(A, {{E(k) * 16, 16}, {0, 32}});
  For loop = pipelined({copy(a, tile(As)), copy(b, tile(Bs)), gemm(tile(As), tile(Bs), tile(Cl))}, ceildiv(K, 16));
  Set expected = of(loop);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int n = 0; n < 4; ++n) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) wrong += of(loop) == expected ? 0 : 1;
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

class DependencesRandom : public testing::TestWithParam<Generator::Shape> {};

TEST_P(DependencesRandom, AgreesWithATrace) {
  bool exact = GetParam() != Generator::any;
  for (std::uint64_t seed = 1; seed <= seeds(50); ++seed) {
    RandomLoop r = random_loop(seed, GetParam(), false);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text(r)));
    Observed observed = observe(r, seed);
    std::vector<Dependence> found = dependences(r.loop, r.outer);
    for (const auto& [key, distances] : observed) {
      const auto& [kind, from, to, buffer] = key;
      auto it =
          std::find_if(found.begin(), found.end(), [&, k = kind, f = from, t = to, b = buffer](const Dependence& d) {
            return static_cast<int>(d.kind) == k && d.from == f && d.to == t && d.buffer.get() == b;
          });
      std::string what = fmt::format("kind {} {}->{} {}", kind, from, to, buffer->name);
      ASSERT_NE(it, found.end()) << what;
      EXPECT_TRUE(!it->distance || *it->distance <= *distances.begin()) << what << " " << *it->distance;
      EXPECT_TRUE(!it->exact || (distances.size() == 1 && *it->distance == *distances.begin())) << what;
      if (!exact) continue;
      EXPECT_EQ(it->distance, *distances.begin()) << what;
      EXPECT_EQ(it->exact, distances.size() == 1) << what;
    }
    EXPECT_TRUE(!exact || found.size() == observed.size());
    if (HasFailure()) break;
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, DependencesRandom,
                         testing::Values(Generator::affine, Generator::quasi_affine, Generator::any));

}  // namespace
}  // namespace plait::analysis::test
