#include "roles/builder.h"

#include "matmul.h"
#include "roles/verify.h"
#include "text.h"

namespace plait {
namespace {

using namespace roles::build;
using ir::DType;
using ir::ParamKind;
using roles::FenceKind;
using roles::Swizzle;

/// tests/unit/roles/matmul.h, statement by statement.
class Matmul {
 public:
  roles::Program build() {
    b_.require(K_ % 8 == 0 && N_ % 8 == 0, "TMA needs rows of a multiple of 16 bytes");
    b_.launch({min(b_.builtins().sms, tiles_)});
    b_.prologue([&] {
      b_.elect([&] {
        b_.add(roles::MbarInit{full_});
        b_.add(roles::MbarInit{empty_});
        b_.add(roles::Fence{FenceKind::mbar_init});
      });
      b_.add(roles::SyncThreads{});
    });
    b_.role("load", {1, 4, 40}, [&] { b_.elect([&] { load(); }); });
    b_.role("math", {2, 4, 232}, [&] { math(); });
    return b_.build();
  }

 private:
  void tiles(const std::function<void(const Value& m, const Value& c)>& body) {
    b_.loop("t", {b_.builtins().block, tiles_, b_.builtins().blocks}, [&](const Value& t) {
      Value m = b_.let("m", t % tiles_m_ * 128);
      Value c = b_.let("c", t / tiles_m_ * 256);
      body(m, c);
    });
  }

  void load() {
    ir::Var n = b_.var("n", DType::u32, 0);
    tiles([&](const Value& m, const Value& c) {
      b_.loop("k", {0, k_blocks_}, [&](const Value& k) {
        Value slot = Value(n) % 4;
        b_.add(roles::Wait{at(empty_, slot), Value(n) / 4 + 1});
        b_.add(roles::Expect{at(full_, slot), Value(49152)});
        b_.add(roles::TmaLoad{at(A_s_, {slot, 0, 0}), A_map_, exprs({m, k * 64}), at(full_, slot), nullptr});
        b_.add(roles::TmaLoad{at(B_s_, {slot, 0, 0}), B_map_, exprs({c, k * 64}), at(full_, slot), nullptr});
        b_.set(n, Value(n) + 1);
      });
    });
  }

  void math() {
    roles::Fragment acc = b_.fragment("acc", DType::f32, {64, 256}, roles::FragmentKind::wgmma_acc);
    ir::Var n = b_.var("n", DType::u32, 0);
    tiles([&](const Value& m, const Value& c) {
      b_.each(acc, {"i", "j"}, [&](const Values& at) { return std::vector{assign(acc, at, 0.0)}; });
      b_.loop("k", {0, k_blocks_}, [&](const Value&) { products(acc, n); });
      b_.unrolled("j", 4, [&](const Value& j) { store(acc, m, c, j); });
    });
    b_.elect([&] { b_.add(roles::BulkWait{0, false}); });
  }

  void products(const roles::Fragment& acc, const ir::Var& n) {
    Value slot = Value(n) % 4;
    b_.add(roles::Wait{at(full_, slot), Value(n) / 4});
    b_.add(roles::Fence{FenceKind::wgmma});
    b_.unrolled("kk", 4, [&](const Value& kk) {
      b_.add(roles::Wgmma{at(acc, {0, 0}), at(A_s_, {slot, 64 * Value(b_.builtins().replica), 16 * kk}), false,
                          at(B_s_, {slot, 0, 16 * kk}), true, nullptr});
    });
    b_.add(roles::WgmmaCommit{});
    b_.add(roles::WgmmaAwait{0});
    b_.elect([&] { b_.add(roles::Arrive{at(empty_, slot), nullptr}); });
    b_.set(n, Value(n) + 1);
  }

  void store(const roles::Fragment& acc, const Value& m, const Value& c, const Value& j) {
    Value replica = b_.builtins().replica;
    b_.elect([&] { b_.add(roles::BulkWait{0, true}); });
    b_.add(roles::BarrierSync{1 + replica, 128});
    b_.add(roles::StMatrix{at(C_s_, {replica, 0, 0}), at(acc, {0, 64 * j}), 64});
    b_.add(roles::Fence{FenceKind::proxy_async});
    b_.add(roles::BarrierSync{1 + replica, 128});
    b_.elect([&] {
      b_.add(roles::TmaStore{C_map_, exprs({m + 64 * replica, c + 64 * j}), at(C_s_, {replica, 0, 0})});
      b_.add(roles::BulkCommit{});
    });
  }

  Builder b_{"matmul"};
  Value M_ = b_.dim("M"), K_ = b_.dim("K"), N_ = b_.dim("N");
  ir::Buffer A_ = b_.tensor(ParamKind::in, "A", DType::bf16, {M_, K_});
  ir::Buffer B_ = b_.tensor(ParamKind::in, "B", DType::bf16, {N_, K_});
  ir::Buffer C_ = b_.tensor(ParamKind::out, "C", DType::bf16, {M_, N_});
  Value tiles_m_ = b_.let("tiles_m", ceildiv(cast(DType::i32, M_), 128));
  Value tiles_ = b_.let("tiles", tiles_m_* ceildiv(cast(DType::i32, N_), 256));
  Value k_blocks_ = b_.let("k_blocks", ceildiv(cast(DType::i32, K_), 64));
  roles::Map A_map_ = b_.map("A_map", A_, {128, 64}, Swizzle::b128);
  roles::Map B_map_ = b_.map("B_map", B_, {256, 64}, Swizzle::b128);
  roles::Map C_map_ = b_.map("C_map", C_, {64, 64}, Swizzle::b128);
  roles::Smem A_s_ = b_.smem("A_s", DType::bf16, {4, 128, 64}, {Swizzle::b128});
  roles::Smem B_s_ = b_.smem("B_s", DType::bf16, {4, 256, 64}, {Swizzle::b128});
  roles::Smem C_s_ = b_.smem("C_s", DType::bf16, {2, 64, 64}, {Swizzle::b128});
  roles::Mbar full_ = b_.mbar("full", 4, 1), empty_ = b_.mbar("empty", 4, 2);
};

TEST(RolesBuilder, MakesWhatTheTextMakes) {
  roles::Program built = Matmul().build();
  roles::Program read = test::good_roles(test::kMatmul);
  EXPECT_EQ(roles::print(built), roles::print(read));
  EXPECT_TRUE(roles::equal(built, read));
  EXPECT_TRUE(roles::verify(built).empty()) << roles::verify(built).render();
}

TEST(RolesBuilder, PlacesStatementsWhereTheyAreCalled) {
  Builder b("empty");
  int line = 0;
  b.role("all", {}, [&] {
    b.add(roles::BulkWait{0, false});
    line = __LINE__ - 1;
  });
  roles::Program program = b.build();
  Diagnostics diags = roles::verify(program);
  ASSERT_TRUE(diags.has_errors());
  EXPECT_NE(program.roles[0].body[0]->loc.source->name().find("builder_test.cpp"), std::string::npos);
  EXPECT_EQ(program.roles[0].body[0]->loc.line, line);
}

TEST(RolesBuilder, RefusesWhatDoesNotFit) {
  Builder b("wrong");
  EXPECT_THROW(Value(1.5) % Value(2), InternalError);
  EXPECT_THROW(b.add(roles::SyncWarp{}), InternalError);
  b.role("all", {}, [&] { b.add(roles::While{nullptr, {}}); });
  EXPECT_THROW(roles::verify(b.build()), InternalError);
}

}  // namespace
}  // namespace plait
