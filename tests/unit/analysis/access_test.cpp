#include <set>

#include "trace.h"

namespace plait::analysis::test {
namespace {

class Accesses : public testing::Test {
 protected:
  Accesses() {
    kernel.name = "k";
    kernel.dims = {M, N};
    kernel.params = {{ParamKind::in, A, nullptr, nullptr},
                     {ParamKind::out, C, nullptr, nullptr},
                     {ParamKind::scalar, nullptr, s, nullptr}};
    kernel.grid = {{bx, ceildiv(M, 32)}};
  }
  /// One letter a fact: in bounds `+`, never `-`, unknown `?`, refuted `!`.
  std::string facts() const {
    std::string result;
    for (const AccessFact& f : check_accesses(kernel)) {
      result += f.refuted ? "!" : f.in_bounds == Truth::always ? "+" : f.in_bounds == Truth::never ? "-" : "?";
    }
    return result;
  }
  std::string facts(Body body) {
    kernel.body = std::move(body);
    return facts();
  }
  static StmtRef guarded(const E& cond, Body body) { return stmt(If{cond.ref, std::move(body), {}}); }
  static StmtRef over(const Var& v, const E& end, Body body) {
    return stmt(loop(LoopKind::serial, {axis(v, 0, end)}, std::move(body)));
  }

  Var M = make_var("M", VarKind::dim), N = make_var("N", VarKind::dim), s = make_var("s", VarKind::scalar);
  Var bx = make_var("bx", VarKind::grid), i = make_var("i"), j = make_var("j");
  Buffer A = make_buffer("A", {M, N}, Scope::global), C = make_buffer("C", {M}, Scope::global);
  Buffer S = make_buffer("S", {32, 8}), L = make_buffer("L", {8}, Scope::local);
  Kernel kernel;
};

TEST_F(Accesses, LoopsAndGuards) {
  EXPECT_EQ(facts({over(i, M, {store(C, {i}, 1)})}), "+");
  EXPECT_EQ(facts({over(i, 32, {store(C, {E(bx) * 32 + i}, 1)})}), "?");
  EXPECT_EQ(facts({over(i, 32, {guarded(E(bx) * 32 + i < M, {store(C, {E(bx) * 32 + i}, 1)})})}), "+");
  EXPECT_EQ(facts({over(i, 32, {store(L, {0}, select(E(bx) * 32 + i < M, load(C, {E(bx) * 32 + i}), 0))})}), "++");
  EXPECT_EQ(facts({store(C, {E(bx) * 32}, 1)}), "+");
  EXPECT_EQ(facts({over(i, N, {store(C, {i}, load(A, {E(bx) * 32, i}))})}), "++?");
}

TEST_F(Accesses, ConditionsOfAndOr) {
  E in_range = both(E(s) >= 0, E(s) < 8);
  E value = select(both(in_range, load(L, {s}) > 0), 1, 0);
  EXPECT_EQ(facts({store(L, {0}, value)}), "++");
  E outside = either(E(s) < 0, E(s) >= 8);
  EXPECT_EQ(facts({store(L, {0}, select(either(outside, load(L, {s}) > 0), 1, 0))}), "++");
  EXPECT_EQ(facts({store(L, {0}, select(both(load(L, {s}) > 0, in_range), 1, 0))}), "?+");
}

TEST_F(Accesses, RequiresAssertsAndLets) {
  Var x = make_var("x", VarKind::let);
  EXPECT_EQ(facts({stmt(Let{x, (E(bx) * 32 + 31).ref}), store(C, {x}, 1)}), "?");
  kernel.requires_ = {{eq(E(M) % 32, 0).ref, "", {}}};
  EXPECT_EQ(facts(), "+");
  EXPECT_EQ(facts({stmt(Assert{(E(M) > N).ref, ""}), store(C, {N}, 1)}), "+");
}

TEST_F(Accesses, IndirectIndices) {
  Buffer table = make_buffer("T", {M}, Scope::global);
  kernel.params.push_back({ParamKind::in, table, nullptr, nullptr});
  E index = load(table, {i});
  StmtRef gather = store(C, {index}, 1);
  EXPECT_EQ(facts({over(i, M, {gather})}), "+?");
  EXPECT_EQ(facts({over(i, M, {guarded(both(index >= 0, index < M), {gather})})}), "+++");
  E own = load(L, {i});
  EXPECT_EQ(facts({over(i, 8, {guarded(both(own >= 0, own < M), {store(C, {own}, 1)})})}), "++?");
}

TEST_F(Accesses, ProvablyWrongOnes) {
  EXPECT_EQ(facts({store(L, {8}, 1)}), "!");
  EXPECT_EQ(facts({over(i, 9, {store(L, {i}, 1)})}), "!");
  EXPECT_EQ(facts({over(i, N, {store(L, {E(i) + 8}, 1)})}), "!");
  EXPECT_EQ(facts({over(i, N, {store(L, {i}, 1)})}), "?");
  EXPECT_EQ(facts({store(C, {M}, 1)}), "!");
  EXPECT_EQ(facts({guarded(E(s) > 3, {store(L, {9}, 1)})}), "!");
  EXPECT_EQ(facts({guarded(load(L, {0}) > 3, {store(L, {9}, 1)})}), "+-");
  EXPECT_EQ(
      facts({stmt(loop(LoopKind::serial, {axis(i, 0, 100)}, {guarded(E(i) > 5, {stmt(Break{})}), store(L, {i}, 1)}))}),
      "?");
  EXPECT_EQ(facts({guarded(E(s) > E(s), {store(L, {9}, 1)})}), "+");
}

TEST_F(Accesses, WrongOnesUnderProductsOfArguments) {
  kernel.requires_ = {{(E(M) * N > 100).ref, "", {}}};
  EXPECT_EQ(facts({store(L, {8}, 1)}), "!");
  EXPECT_EQ(facts({over(i, E(M) * N, {store(L, {E(i) + 8}, 1)})}), "!");
  EXPECT_EQ(facts({over(i, E(M) * N, {guarded(E(i) * i > 5, {store(L, {8}, 1)})})}), "-");
  EXPECT_EQ(facts({store(L, {8}, load(L, {load(L, {0})}))}), "+?!");
}

TEST_F(Accesses, ThousandsOfStatements) {
  Body body;
  Var last = s;
  for (int n = 0; n < 600; ++n) {
    Var x = make_var("x", VarKind::let);
    body.push_back(stmt(Let{x, (E(last) + 1).ref}));
    body.push_back(store(L, {E(x) % 8}, 1));
    last = x;
  }
  EXPECT_EQ(facts(std::move(body)).size(), 600u);
}

TEST_F(Accesses, TileRegionsOnChip) {
  auto fill = [&](const Region& r) { return stmt(TileOp{OpKind::fill, {r}, FillAttrs{int_expr(DType::i64, 0)}}); };
  EXPECT_EQ(facts({over(i, 4, {fill(region(S, {{E(i) * 8, 8}, {0, 8}}))})}), "++");
  EXPECT_EQ(facts({over(i, 5, {fill(region(S, {{E(i) * 8, 8}, {0, 8}}))})}), "!+");
  EXPECT_EQ(facts({fill(region(S, {{s, 8}, {4, 5}}))}), "?!");
  EXPECT_EQ(facts({fill(region(C, {{E(M) + 5, 8}}))}), "");
}

TEST_F(Accesses, RegionsWhoseSumsWrap) {
  E far = E(s) + 100;
  EXPECT_EQ(facts({store(L, {far}, 1)}), "?");
  EXPECT_EQ(facts({guarded(both(E(s) >= -100, E(s) < -92), {store(L, {far}, 1)})}), "+");
}

TEST_F(Accesses, FlattenedIndices) {
  Buffer flat = make_buffer("F", {E(M) * N}, Scope::global);
  Var p = make_var("p", VarKind::let);
  StmtRef let = stmt(Let{p, (E(bx) * 32 + i).ref});
  StmtRef put = store(C, {E(p) / N}, load(A, {E(p) / N, E(p) % N}));
  EXPECT_EQ(facts({over(i, 32, {let, guarded(E(p) < E(M) * N, {put})})}), "+++");
  EXPECT_EQ(facts({over(i, E(M) * N, {store(flat, {i}, load(C, {E(i) / N}))})}), "++");
  EXPECT_EQ(facts({over(i, 32, {let, guarded(E(p) < E(M) * M, {put})})}), "?+?");
}

class AccessesRandom : public testing::TestWithParam<Generator::Shape> {};

TEST_P(AccessesRandom, AgreeWithATrace) {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    RandomLoop r = random_loop(seed, GetParam(), true);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text(r)));
    std::map<std::pair<const Stmt*, const Expr*>, std::set<bool>> outside;
    State state = random_contents(seed, r.buffers);
    bool finished = Tracer(state, [&](const Event& e) { outside[{e.stmt, e.load}].insert(e.outside); }).run(r.loop);
    Kernel kernel;
    kernel.body = {stmt(r.loop)};
    for (const AccessFact& f : check_accesses(kernel)) {
      const std::set<bool>& seen = outside[{f.stmt.get(), f.load}];
      std::string what = print(*f.stmt) + (f.load ? print(*f.load) : "");
      EXPECT_FALSE(f.in_bounds == Truth::always && seen.contains(true)) << what;
      EXPECT_FALSE(f.in_bounds == Truth::never && seen.contains(false)) << what;
      EXPECT_FALSE(finished && f.refuted && !seen.contains(true)) << what;
      if (GetParam() == Generator::any) continue;
      EXPECT_EQ(f.in_bounds == Truth::always, !seen.contains(true)) << what;
      EXPECT_EQ(f.refuted, seen.contains(true)) << what;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, AccessesRandom,
                         testing::Values(Generator::affine, Generator::quasi_affine, Generator::any));

class Conflicts : public testing::Test {
 protected:
  Truth of(std::vector<LoopAxis> axes, Body body) {
    return parallel_conflicts(loop(LoopKind::parallel, std::move(axes), std::move(body)), outer).conflict;
  }
  Var i = make_var("i"), j = make_var("j"), k = make_var("k"), N = make_var("N", VarKind::dim),
      bx = make_var("bx", VarKind::grid);
  Buffer S = make_buffer("S", {64}), T = make_buffer("T", {64, 64});
  Domain outer{{{N, {}, {}, {}}, in(bx, 0, N)}, {}, {}, {}};
};

TEST_F(Conflicts, Proofs) {
  EXPECT_EQ(of({axis(i, 0, N)}, {store(S, {i}, load(S, {i}))}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, N), axis(j, 0, 8)}, {store(T, {i, j}, load(S, {i}))}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, 8), axis(j, 0, 8)}, {store(S, {E(i) * 8 + j}, 1)}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, N)}, {store(S, {E(bx) * N + i}, 1)}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, 8), axis(j, 0, 8)}, {store(S, {i}, 1)}), Truth::always);
  EXPECT_EQ(of({axis(i, 0, N)}, {store(S, {0}, 1)}), Truth::always);
  EXPECT_EQ(of({axis(i, 0, 8)}, {store(S, {i}, load(S, {E(i) + 1}))}), Truth::always);
  EXPECT_EQ(of({axis(i, 0, N)}, {store(S, {E(i) % 8}, 1)}), Truth::unknown);
  EXPECT_EQ(of({axis(i, 0, 16)}, {store(S, {E(i) % 8}, 1)}), Truth::always);
  EXPECT_EQ(of({axis(i, 0, 8)}, {store(S, {load(S, {i})}, 1)}), Truth::unknown);
  EXPECT_EQ(of({axis(i, 0, 0)}, {store(S, {0}, 1)}), Truth::never);
}

TEST_F(Conflicts, AtomicsAndPrivateBuffers) {
  StmtRef add = stmt(AtomicElement{AtomicOp::add, S, {int_expr(DType::i64, 0)}, int_expr(DType::i64, 1)});
  EXPECT_EQ(of({axis(i, 0, 8)}, {add}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, 8)}, {add, store(S, {0}, 1)}), Truth::always);
  Buffer own = make_buffer("P", {4}, Scope::local);
  EXPECT_EQ(of({axis(i, 0, 8)}, {stmt(Alloc{own}), store(own, {0}, 1)}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, 8)}, {store(own, {0}, 1)}), Truth::always);
}

TEST_F(Conflicts, LetsAndInnerLoopsBelongToAnIteration) {
  Var x = make_var("x", VarKind::let);
  StmtRef let = stmt(Let{x, (E(i) * 4).ref});
  StmtRef inner = stmt(loop(LoopKind::serial, {axis(k, 0, 4)}, {store(S, {E(x) + k}, 1)}));
  EXPECT_EQ(of({axis(i, 0, 8)}, {let, inner}), Truth::never);
  StmtRef wide = stmt(loop(LoopKind::serial, {axis(k, 0, 5)}, {store(S, {E(x) + k}, 1)}));
  EXPECT_EQ(of({axis(i, 0, 8)}, {let, wide}), Truth::always);
}

TEST_F(Conflicts, MixedRadixIndicesAreDifferent) {
  Var H = make_var("H", VarKind::dim), W = make_var("W", VarKind::dim), p = make_var("p", VarKind::let);
  Buffer image = make_buffer("I", {N, H, W}, Scope::global);
  outer.shapes = {{N, H, W}};
  StmtRef let = stmt(Let{p, (E(bx) * 32 + i).ref});
  E x = E(p) % W, y = E(p) / W % H, n = E(p) / (E(H) * W);
  EXPECT_EQ(of({axis(i, 0, 32)}, {let, store(image, {n, y, x}, 1)}), Truth::never);
  EXPECT_EQ(of({axis(i, 0, 32)}, {let, store(image, {n, y, E(p) % H}, 1)}), Truth::unknown);
  EXPECT_EQ(of({axis(i, 0, 32)}, {let, store(image, {n, y, 0}, 1)}), Truth::unknown);
  outer.shapes.clear();
  EXPECT_EQ(of({axis(i, 0, 32)}, {let, store(image, {n, y, x}, 1)}), Truth::unknown);
}

class ConflictsRandom : public testing::TestWithParam<Generator::Shape> {};

TEST_P(ConflictsRandom, AgreeWithATrace) {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) {
    RandomLoop r = random_loop(seed, GetParam(), true);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text(r)));
    std::map<std::pair<const BufferDecl*, std::int64_t>, std::vector<Event>> touches;
    State state = random_contents(seed, r.buffers);
    bool conflict = false;
    Tracer(state, [&](const Event& e) {
      if (e.buffer->name == "P" || e.outside) return;
      for (const Event& other : touches[{e.buffer, e.element}]) {
        bool harmless = (!e.write && !other.write) || (e.atomic && other.atomic);
        conflict = conflict || (e.iteration != other.iteration && !harmless);
      }
      touches[{e.buffer, e.element}].push_back(e);
    }).run(r.loop);
    Truth truth = parallel_conflicts(r.loop, r.outer).conflict;
    EXPECT_FALSE(truth == Truth::never && conflict);
    // Nothing is opaque in these: whatever is said is exact.
    EXPECT_TRUE(GetParam() == Generator::any || truth != Truth::always || conflict);
    EXPECT_TRUE(GetParam() == Generator::any || conflict || truth == Truth::never);
  }
}
INSTANTIATE_TEST_SUITE_P(Shapes, ConflictsRandom,
                         testing::Values(Generator::affine, Generator::quasi_affine, Generator::any));

}  // namespace
}  // namespace plait::analysis::test
