#include "matmul.h"
#include "roles/arena.h"
#include "roles/range.h"
#include "roles/uniform.h"
#include "roles/visit.h"
#include "text.h"

namespace plait {
namespace {

using roles::Range;

/// The lets of a role by name, in a program with a parameter x: i32 and u: u32.
class Lets {
 public:
  explicit Lets(const std::string& lines)
      : program_(test::good_roles("roles lets(x: i32, u: u32) device h200:\n  launch 1\n  role all warps 4:\n    "
                                  "var n: u32 = 0\n    set n = n + 1\n" +
                                  lines)) {
    roles::walk(program_.roles.at(0).body, [&](const roles::Stmt& stmt) {
      if (const auto* let = std::get_if<roles::Let>(&stmt.node)) lets_[let->var->name] = let->value;
    });
    ranges_.set(program_.builtins.lane, Range::between(0, 31));
    ranges_.set(program_.builtins.replica, Range::of(1));
  }
  Range range(const std::string& name) const { return ranges_.of(lets_.at(name)); }
  roles::Uniform uniform(const std::string& name) const {
    return roles::Uniformity(program_, program_.roles[0].body).of(lets_.at(name));
  }

 private:
  roles::Program program_;
  std::map<std::string, roles::ExprRef> lets_;
  roles::Ranges ranges_;
};

void expect_range(const Range& r, std::int64_t least, std::int64_t most, std::int64_t step, std::int64_t rest) {
  EXPECT_EQ(r.least, least);
  EXPECT_EQ(r.most, most);
  EXPECT_EQ(r.step, step);
  EXPECT_EQ(r.rest, rest);
}

TEST(RolesRange, FollowsArithmetic) {
  Lets lets(R"(    a = lane * 16 + 8
    b = n % 4 * 64
    c = replica * 100 - 36
    d = select(lane < 40, lane / 2, -5)
    e = x * 8
    f = min(lane, 7) << 3
    g = (lane & 3) * 2 + 1
    h = i32(n % 6)
    i = n - 1
)");
  expect_range(lets.range("a"), 8, 504, 16, 8);
  expect_range(lets.range("b"), 0, 192, 64, 0);
  EXPECT_EQ(lets.range("c").least, 64);
  EXPECT_TRUE(lets.range("c").constant());
  expect_range(lets.range("d"), 0, 15, 1, 0);
  expect_range(lets.range("e"), INT32_MIN, INT32_MAX, 8, 0);
  expect_range(lets.range("f"), 0, 56, 8, 0);
  expect_range(lets.range("g"), 1, 7, 2, 1);
  expect_range(lets.range("h"), 0, 5, 1, 0);
  expect_range(lets.range("i"), 0, UINT32_MAX, 1, 0);
  EXPECT_TRUE(lets.range("a").never_multiple(16));
  EXPECT_FALSE(lets.range("a").never_multiple(8));
  EXPECT_FALSE(lets.range("h").never_multiple(16));
  EXPECT_EQ(lets.range("a").example(), 8);
}

/// A range holds every value: all values of two small variables against the interpretation of the range.
TEST(RolesRange, HoldsEveryValue) {
  const char* forms[] = {"lane * 12 - 7",   "(lane + 3) / 4", "lane % 5 * 8", "(lane * 4 + 2) % 8",
                         "lane & 6",        "-lane * 4",      "max(lane, 9)", "select(lane > 3, 4, lane * 8)",
                         "(lane * 6) >> 1", "lane << 2"};
  for (const char* form : forms) {
    Lets lets(std::string("    a = ") + form + "\n");
    Range range = lets.range("a");
    for (int lane = 0; lane < 32; ++lane) {
      std::string text = std::string(form);
      for (std::size_t at = text.find("lane"); at != std::string::npos; at = text.find("lane", at))
        text.replace(at, 4, "i32(" + std::to_string(lane) + ")");
      Lets one("    a = i32(" + text + ")\n");
      Range value = one.range("a");
      ASSERT_TRUE(value.constant()) << text;
      EXPECT_GE(value.least, range.least) << text;
      EXPECT_LE(value.least, range.most) << text;
      EXPECT_EQ(((value.least % range.step) + range.step) % range.step, range.rest) << text;
    }
  }
}

TEST(RolesUniform, FollowsValuesAndConditions) {
  using roles::Uniform;
  Lets lets(R"(    var p: i32 = 0
    var q: i32 = 0
    var r: i32 = 0
    var s: i32 = 0
    if lane == 0:
      set p = 1
    warp 1:
      set q = 1
    if replica == 0:
      set r = x
    elect:
      set s = 1
    for i in range(warp):
      a = i + 1
    w = broadcast(lane)
    b = block + x + i32(n)
    c = p + 0 * x
    d = q + 0 * x
    e = r + 0 * x
    f = s + 0 * x
    g = w + 0 * x
    h = replica * warp
)");
  EXPECT_EQ(lets.uniform("a"), Uniform::warp);
  EXPECT_EQ(lets.uniform("b"), Uniform::block);
  EXPECT_EQ(lets.uniform("c"), Uniform::none);
  EXPECT_EQ(lets.uniform("d"), Uniform::warp);
  EXPECT_EQ(lets.uniform("e"), Uniform::replica);
  EXPECT_EQ(lets.uniform("f"), Uniform::none);
  EXPECT_EQ(lets.uniform("g"), Uniform::warp);
  EXPECT_EQ(lets.uniform("h"), Uniform::warp);
}

TEST(RolesArena, TilesThenBarriers) {
  roles::Program program = test::good_roles(R"(roles tiles() device h200:
  launch 1
  smem a: f32[3]
  smem fixed: bf16[8, 64] swizzle 128 at 2048
  smem b: bf16[8, 64] swizzle 128
  smem c: f32[2, 5, 6] pad 2
  smem d: bf16[8, 96] swizzle 128
  mbar one[3] count 1
  mbar two[2] count 1
  role all warps 2:
    pass
  role more replicas 3 warps 1:
    pass
)");
  roles::Arena arena = roles::arena(program);
  EXPECT_EQ(arena.smem, (std::vector<std::int64_t>{0, 2048, 1024, 3072, 4096}));
  EXPECT_EQ(roles::smem_bytes(*program.smem[3]), 2 * 5 * 8 * 4);
  EXPECT_EQ(roles::smem_bytes(*program.smem[4]), 2048);
  EXPECT_EQ(arena.mbars, (std::vector<std::int64_t>{6144, 6168}));
  EXPECT_EQ(arena.bytes, 6184);
  EXPECT_EQ(roles::thread_count(program), 160);
}

TEST(RolesRegisters, OfEachKind) {
  roles::Program program = test::good_roles(R"(roles kinds() device h200:
  launch 1
  role all warps 4:
    fragment acc: f32[64, 256] wgmma_acc
    fragment half: f16[128, 64] wgmma_acc
    fragment a: bf16[64, 64] wgmma_a
    fragment m: f32[128] rows of half
    fragment d: f32[32, 64] mma_acc
    fragment x: bf16[32, 16] mma_a
    fragment y: bf16[64, 16] mma_b
    fragment v: f32[4, 1024] vector vec 8 lanes 32
    fragment r: f32[4] rows of v
    fragment e: e4m3[4, 1024] vector vec 8 lanes 32
)");
  std::vector<std::int64_t> registers;
  for (const roles::StmtRef& stmt : program.roles[0].body)
    registers.push_back(roles::fragment_registers(*std::get<roles::DefFragment>(stmt->node).fragment, 128));
  EXPECT_EQ(registers, (std::vector<std::int64_t>{128, 32, 16, 4, 64, 8, 16, 32, 1, 8}));
}

}  // namespace
}  // namespace plait
