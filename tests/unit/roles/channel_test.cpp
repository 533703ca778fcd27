#include <gmock/gmock.h>

#include <random>

#include "machine/device.h"
#include "roles/builder.h"
#include "roles/lower_channels.h"
#include "roles/verify.h"
#include "text.h"

namespace plait {
namespace {

using testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

using Changes = std::vector<std::pair<std::string, std::string>>;
std::string replaced(std::string text, const Changes& changes) {
  for (const auto& [from, to] : changes) text = replaced(std::move(text), from, to);
  return text;
}

/// The lowered program of a text that is right.
std::string lowered(const std::string& text, const lang::Bindings& bindings = {}) {
  roles::Program program = test::good_roles(text, bindings);
  Diagnostics diags = roles::verify(program);
  EXPECT_TRUE(diags.empty()) << diags.render();
  return roles::print(roles::lower_channels(program));
}

std::string printed(const std::string& text, const lang::Bindings& bindings = {}) {
  return roles::print(test::good_roles(text, bindings));
}

// ---- Lowering ------------------------------------------------------------------------------------------------------

TEST(RolesChannel, MatmulBecomesTheOneWithMbarriers) {
  const std::string with = test::program_file("matmul_channels.roles"), plain = test::program_file("matmul_coop.roles");
  for (const lang::Bindings& bindings :
       std::vector<lang::Bindings>{{}, {{"in_flight", "1"}}, {{"stages", "3"}, {"in_flight", "1"}}}) {
    EXPECT_EQ(replaced(lowered(with, bindings), {{"matmul_channels", "matmul_coop"}, {"ring_", ""}}),
              printed(plain, bindings));
  }
}

/// Both blocks of a cluster fill a slot, and both hear of a release.
TEST(RolesChannel, Multicast) {
  const std::string plain = test::program_file("matmul_multicast.roles");
  std::string with = replaced(
      plain,
      {{"  mbar full[stages] count 1\n  mbar empty[stages] count 4\n", "  channel ring depth stages of A_s, B_s\n"},
       {"      mbar_init full\n      mbar_init empty\n      fence mbar_init\n", "      pass\n"},
       {"          wait empty[n % stages] parity n / stages + 1\n"
        "          expect full[n % stages] bytes 49152\n",
        "          acquire ring[n]\n"},
       {"on full[n % stages]", "on ring[n]"},
       {"          set n = n + 1\n    sync_warp", "          publish ring[n]\n          set n = n + 1\n    sync_warp"},
       {"wait full[n % stages] parity n / stages", "receive ring[n]"},
       {"          elect:\n            arrive empty[(n - 1) % stages] at 0\n"
        "            arrive empty[(n - 1) % stages] at 1\n",
        "          release ring[n - 1]\n"},
       {"        elect:\n          arrive empty[(n - 1) % stages] at 0\n"
        "          arrive empty[(n - 1) % stages] at 1\n",
        "        release ring[n - 1]\n"}});
  std::string now = replaced(lowered(with), "ring_", "");
  EXPECT_EQ(replaced(now, "    elect:\n      pass\n", ""), printed(plain));
}

/// Bytes that only the running program knows, a reader that gives slots back two items later, one thread at each end.
TEST(RolesChannel, CopyWithBytesOfItsOwn) {
  const std::string plain = test::program_file("copy_bulk.roles");
  std::string with = replaced(
      plain, {{"  mbar full[stages] count 1\n  mbar empty[stages] count 1\n", "  channel queue depth stages of ring\n"},
              {"  prologue:\n    elect:\n      mbar_init full\n      mbar_init empty\n      fence mbar_init\n"
               "    sync_threads\n\n",
               ""},
              {"        wait empty[n % stages] parity n / stages + 1\n        expect full[n % stages] bytes bytes\n",
               "        acquire queue[n] bytes bytes\n"},
              {"on full[n % stages] hint evict_first\n", "on queue[n] hint evict_first\n        publish queue[n]\n"},
              {"wait full[n % stages] parity n / stages", "receive queue[n]"},
              {"arrive empty[(n - 2) % stages]", "release queue[n - 2]"}});
  EXPECT_EQ(replaced(lowered(with), "queue_", ""), printed(plain));
}

/// Threads write what wgmma reads, and read what copies write.
constexpr const char* kThreads = R"(roles hands(X: in f32[N, 64], Y: out f32[N, 64], W: in bf16[64, 64]) device h200:
  rows = i32(N)
  launch 1
  map X_map = X box [64, 32] swizzle 128
  map W_map = W box [64, 64] swizzle 128
  smem X_s: f32[2, 64, 64] swizzle 128
  smem A_s: bf16[3, 64, 64] swizzle 128
  smem W_s: bf16[1, 64, 64] swizzle 128
  channel raw depth 2 of X_s
  channel operand depth 3 of A_s
  channel weight depth 1 of W_s

  role load warps 4:
    elect:
      acquire weight[0]
      tma_load W_s[0, 0, 0] <- W_map[0, 0] on weight[0]
      publish weight[0]
    for k in range(ceildiv(rows, 64)):
      acquire raw[k]
      elect:
        for p in unrolled(2):
          tma_load X_s[k % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]
      publish raw[k]

  role convert warps 4:
    fragment x: f32[64, 64] vector vec 4 lanes 16
    fragment h: bf16[64, 64] vector vec 4 lanes 16
    for k in range(ceildiv(rows, 64)):
      receive raw[k]
      load x <- X_s[k % 2, 0, 0]
      release raw[k]
      each r, c in h:
        h[r, c] = bf16(x[r, c])
      acquire operand[k]
      store A_s[k % 3, 0, 0] <- h
      publish operand[k]

  role math warps 4:
    fragment acc: f32[64, 64] wgmma_acc
    receive weight[0]
    for k in range(ceildiv(rows, 64)):
      receive operand[k]
      fence wgmma
      for kk in unrolled(4):
        wgmma acc[0, 0] <- A_s[k % 3, 0, 16 * kk], W_s[0, 0, 16 * kk]^T clear kk == 0
      wgmma_commit
      wgmma_await 0
      release operand[k]
      store Y[k * 64, 0] <- acc
    release weight[0]
)";

TEST(RolesChannel, ThreadsAtTheEnds) {
  std::string text = lowered(kThreads);
  EXPECT_THAT(text, HasSubstr("  mbar raw_full[2] count 1\n  mbar raw_empty[2] count 128\n"
                              "  mbar operand_full[3] count 128\n  mbar operand_empty[3] count 1\n"
                              "  mbar weight_full[1] count 1\n  mbar weight_empty[1] count 1\n"));
  EXPECT_THAT(text, HasSubstr("  prologue:\n    elect:\n      mbar_init raw_full\n      mbar_init raw_empty\n"
                              "      mbar_init operand_full\n"));
  EXPECT_THAT(text, HasSubstr("      fence mbar_init\n    sync_threads\n"));
  // A ring of one slot; a literal number.
  EXPECT_THAT(text, HasSubstr("      wait weight_empty[0] parity 1\n      expect weight_full[0] bytes 8192\n"));
  // One thread acts where copies alone write.
  EXPECT_THAT(text, HasSubstr("      elect:\n        wait raw_empty[k % 2] parity k / 2 + 1\n"
                              "        expect raw_full[k % 2] bytes 16384\n      elect:\n"));
  EXPECT_THAT(text, HasSubstr("      wait raw_full[k % 2] parity k / 2\n      load x"));
  EXPECT_THAT(text, HasSubstr("      wait operand_empty[k % 3] parity k / 3 + 1\n      store A_s"));
  EXPECT_THAT(text, HasSubstr("      load x <- X_s[k % 2, 0, 0]\n      fence proxy_async\n"
                              "      arrive raw_empty[k % 2]\n"));
  EXPECT_THAT(text, HasSubstr("      store A_s[k % 3, 0, 0] <- h\n      fence proxy_async\n"
                              "      arrive operand_full[k % 3]\n"));
  EXPECT_THAT(text, HasSubstr("      wgmma_await 0\n      elect:\n        arrive operand_empty[k % 3]\n"));
  EXPECT_THAT(text, HasSubstr("    elect:\n      arrive weight_empty[0]\n"));
}

/// Replicas that take turns: each item is released by one of them.
TEST(RolesChannel, ReadersAndWritersThatTakeTurns) {
  std::string text = test::program_file("matmul_channels.roles");
  std::string half = replaced(text, "of A_s, B_s\n", "of A_s, B_s readers 1\n");
  EXPECT_THAT(lowered(half), HasSubstr("mbar ring_empty[4] count 1\n"));
  std::string writers = replaced(kThreads, {{"operand depth 3 of A_s", "operand depth 3 of A_s writers 1"},
                                            {"role convert warps 4", "role convert replicas 2 warps 4"}});
  EXPECT_THAT(lowered(writers), HasSubstr("mbar operand_full[3] count 128\n"));
}

TEST(RolesChannel, WithoutChannelsNothingChanges) {
  roles::Program program = test::good_roles(test::program_file("matmul_coop.roles"));
  roles::Program same = roles::lower_channels(program);
  EXPECT_EQ(program.roles[0].body, same.roles[0].body);
  EXPECT_EQ(program.prologue, same.prologue);
}

TEST(RolesChannel, PrologueKeepsItsOwnBarrier) {
  std::string text = replaced(kThreads, "  role load",
                              "  prologue:\n    elect:\n      prefetch X_map\n"
                              "    sync_threads\n\n  role load");
  EXPECT_THAT(lowered(text),
              HasSubstr("      fence mbar_init\n    elect:\n      prefetch X_map\n    sync_threads\n\n"));
}

/// The same through the builder.
TEST(RolesChannel, Builder) {
  using namespace roles::build;
  Builder b("ring");
  b.launch({1});
  roles::Smem tile = b.smem("S", ir::DType::f32, {2, 128});
  roles::Channel ring = b.channel("ring", 2, {tile}, {{}, 1, {}});
  b.role("write", {1, 1}, [&] {
    b.loop("n", {0, 5}, [&](const Value& n) {
      b.add(roles::Acquire{at(ring, n), nullptr});
      b.put(at(tile, {n % 2, Value(b.builtins().lane)}), 1.0);
      b.add(roles::Publish{at(ring, n)});
    });
  });
  b.role("read", {1, 1}, [&] {
    b.loop("n", {0, 5}, [&](const Value& n) {
      b.add(roles::Receive{at(ring, n)});
      b.let("x", element(tile, {n % 2, Value(b.builtins().lane)}));
      b.add(roles::Release{at(ring, n)});
    });
  });
  roles::Program program = b.build();
  EXPECT_EQ(roles::verify(program).render(), "");
  EXPECT_TRUE(roles::equal(program, test::good_roles(roles::print(program)))) << roles::print(program);
  EXPECT_THAT(roles::print(roles::lower_channels(program)),
              HasSubstr("  mbar ring_full[2] count 32\n  mbar ring_empty[2] count 32\n"));
}

// ---- Text ----------------------------------------------------------------------------------------------------------

constexpr const char* kTasks = R"(roles tasks(X: in f32[N, 64], Y: out f32[N, 64]) device h200:
  launch 1
  smem S: f32[2, 4, 64]
  smem T: f32[2, 4, 64]
  channel ring depth 2 of S, T writers 1 readers 1

  role load warps 1:
    fragment x: f32[4, 64] vector vec 2 lanes 32
    for n in range(i32(N) / 4):
      acquire ring[n]
      issue tma "load a \"tile\"" latency 900 ii 256 reads X[n, 0] writes T[n % 2, 0, 0], x[0, 0]:
        load x <- X[n * 4, 0]
        if n > 2:
          store S[n % 2, 0, 0] <- x
      publish ring[n]

  role math warps 1:
    fragment y: f32[4, 64] vector vec 2 lanes 32
    for n in range(i32(N) / 4):
      receive ring[n]
      issue cuda "scale" latency n + 1:
        load y <- S[n % 2, 0, 0]
        each r, c in y:
          y[r, c] = y[r, c] * 2.0
      issue lsu "nothing":
        pass
      release ring[n]
      issue lsu "store" ii 10 writes Y[n, 0]:
        store Y[n * 4, 0] <- y
)";

TEST(RolesChannel, TextIsPrintedAsItIsWritten) {
  for (const char* text : {kTasks, kThreads}) {
    EXPECT_EQ(printed(text), text);
    roles::Program program = test::good_roles(text);
    EXPECT_EQ(roles::verify(program).render(), "");
    EXPECT_TRUE(roles::equal(program, test::good_roles(roles::print(program))));
  }
}

/// Lines and words moved about: nothing crashes or hangs, and what is right can be lowered, printed and read again.
TEST(RolesChannel, DamagedTextsAreSafe) {
  std::mt19937 random(11);
  auto below = [&](std::size_t n) { return random() % n; };
  const std::string bases[] = {kTasks, kThreads};
  int right = 0;
  for (int round = 0; round < 1500; ++round) {
    std::string text = bases[below(2)];
    for (std::size_t change = 0; change < 1 + below(2); ++change) {
      std::size_t from = text.find('\n', below(text.size() - 1)), to = text.find('\n', below(text.size() - 1));
      if (from == std::string::npos || to == std::string::npos) continue;
      std::size_t length = std::min(text.find('\n', from + 1), text.size()) - from;
      std::string line = text.substr(from, length);
      if (below(2) == 0) text.erase(from, length);
      if (below(2) == 0) text.insert(std::min(to, text.size()), line);
      std::size_t digit = text.find_first_of("0123456789", below(text.size()));
      if (below(3) == 0 && digit != std::string::npos) text[digit] = static_cast<char>('0' + below(5));
    }
    auto program = test::read_roles(text);
    if (!program.ok() || roles::verify(*program).has_errors()) continue;
    ++right;
    roles::Program now = roles::lower_channels(*program);
    EXPECT_FALSE(roles::verify(now).has_errors()) << text << roles::verify(now).render();
    EXPECT_TRUE(roles::equal(now, test::good_roles(roles::print(now)))) << text;
  }
  EXPECT_GT(right, 50);
}

TEST(RolesChannel, EqualSeesEveryDifference) {
  roles::Program program = test::good_roles(kTasks);
  const Changes changes = {{"depth 2", "depth 3"},
                           {"of S, T", "of T, S"},
                           {"writers 1", "writers 2"},
                           {"readers 1", "bytes 64"},
                           {"acquire ring[n]", "acquire ring[n + 1]"},
                           {"acquire ring[n]", "acquire ring[n] bytes 4"},
                           {"publish ring[n]", "release ring[n]"},
                           {"issue tma", "issue lsu"},
                           {"latency 900", "latency 901"},
                           {" ii 10", ""},
                           {"\"scale\"", "\"halve\""},
                           {"reads X[n, 0]", "reads X[n, 1]"},
                           {", x[0, 0]", ""},
                           {"        pass\n", "        m = n\n"}};
  for (const auto& [from, to] : changes)
    EXPECT_FALSE(roles::equal(program, test::good_roles(replaced(kTasks, from, to)))) << from << " -> " << to;
}

// ---- Rules ---------------------------------------------------------------------------------------------------------

std::string said(const std::string& text) {
  auto program = test::read_roles(text);
  return (program.ok() ? roles::verify(*program) : program.diagnostics()).render();
}

struct Broken {
  const char* base;
  const char* from;
  const char* to;
  const char* message;
};

class ChannelRules : public testing::TestWithParam<Broken> {};

TEST_P(ChannelRules, IsToldInWords) {
  const Broken& b = GetParam();
  std::string text = b.base;
  std::size_t at = text.find(b.from);
  ASSERT_NE(at, std::string::npos) << b.from;
  EXPECT_THAT(said(text.replace(at, std::string(b.from).size(), b.to)), HasSubstr(b.message));
}

/// A loop whose last turn does less than the others, again and again.
constexpr const char* kTurns = R"(roles turns(X: in f32[N, 64], Y: out f32[N, 64]) device h200:
  launch 1
  smem S: f32[1, 4, 64]
  channel ring depth 1 of S

  role load warps 1:
    fragment x: f32[4, 64] vector vec 2 lanes 32
    var m: i32 = 0
    for g in range(i32(N) / 64):
      count = i32(N) / 4
      for turn in range(count):
        acquire ring[m + turn]
        load x <- X[turn * 4, 0]
        store S[0, 0, 0] <- x
        publish ring[m + turn]
      set m = m + count

  role math warps 1:
    fragment y: f32[4, 64] vector vec 2 lanes 32
    var n: i32 = 0
    for g in range(i32(N) / 64):
      trips = i32(N) / 4
      for turn in range(trips + 1):
        if turn >= 1:
          load y <- S[0, 0, 0]
          release ring[n + turn - 1]
          store Y[turn * 4, 0] <- y
        if turn < trips:
          receive ring[n + turn]
      set n = n + trips
)";

TEST(RolesChannel, WhatTheLastTurnGivesBackIsNotHeld) {
  EXPECT_EQ(roles::verify(test::good_roles(kTurns)).render(), "");
}

constexpr Broken kRules[] = {
    // Text and names
    {kTasks, "ring depth 2", "ring 2", "expected 'depth' behind the name of the channel"},
    {kTasks, "of S, T", "of S, X", "`X` is not a shared tile [role-operand]"},
    {kTasks, "acquire ring[n]", "acquire S[n]", "`S` is not a channel [role-operand]"},
    {kTasks, "acquire ring[n]", "acquire ring[n, 0]", "a channel takes one index [role-index]"},
    {kTasks, "acquire ring[n]", "acquire ring[0 - 1]", "item -1 of `ring` [role-index]"},
    {kTasks, "acquire ring[n]", "acquire ring[n] bytes n > 1", "a number of bytes is an integer, and this is bool"},
    {kTasks, "acquire ring[n]\n", "ring_full = n\n", "`ring_full` is already defined [roles-name]"},
    {kTasks, "y[r, c] * 2.0", "y[r, c] * ring[0]", "`ring` is a channel and has no elements [role-operand]"},
    // channel-tile
    {kTasks, "smem T: f32[2", "smem T: f32[3",
     "`ring` has depth 2, and the first extent of its tile `T` is 3 [channel-tile]"},
    {kTasks, "of S, T", "of S, S", "`S` is a tile of `ring` already [channel-tile]"},
    {kTasks, "  channel ring", "  channel other depth 2 of T\n  channel ring",
     "`T` is a tile of `other` already [channel-tile]"},
    // channel-depth
    {kTasks, "depth 2", "depth 2000", "`ring` has 2000 slots [channel-depth]"},
    {kThreads, "      release operand[k]\n", "      if k > 2:\n        release operand[k - 3]\n",
     "role `math` holds 3 slots of `operand` at `receive operand[k]`, and the channel has 3 [channel-depth]"},
    {kThreads, "      release operand[k]\n", "      if k > 1:\n        release operand[k - 2]\n", ""},
    {kThreads, "    receive weight[0]\n", "    receive weight[0]\n    receive weight[1]\n    release weight[1]\n",
     "role `math` holds 1 slot of `weight` at `receive weight[1]`, and the channel has 1 [channel-depth]"},
    {kThreads, "      publish operand[k]\n",
     "      publish operand[k]\n      receive operand[k]\n      release operand[k]\n", ""},
    {kTurns, "        if turn >= 1:\n          load",
     "        if turn < trips:\n          receive ring[n + turn]\n        if turn >= 1:\n          load",
     "role `math` holds 1 slot of `ring` at `receive ring[n + turn]`, and the channel has 1 [channel-depth]"},
    {kThreads, "      acquire raw[k]\n",
     "      receive raw[2 * k]\n      receive raw[2 * k + 1]\n      acquire raw[2 * k + 2]\n      publish raw[2 * k + "
     "2]\n      release raw[2 * k]\n      release raw[2 * k + 1]\n      acquire raw[k]\n",
     "role `load` holds 2 slots of `raw` at `acquire raw[2 * k + 2]`, and the channel has 2 [channel-depth]"},
    // channel-ends
    {kTasks, "  channel ring", "  smem U: f32[2, 4]\n  channel spare depth 2 of U\n  channel ring",
     "warning: `spare` is never used [channel-ends]"},
    {kThreads,
     "    elect:\n      acquire weight[0]\n      tma_load W_s[0, 0, 0] <- W_map[0, 0] on weight[0]\n      "
     "publish weight[0]\n",
     "", "no role writes `weight` [channel-ends]"},
    {kTasks, "      release ring[n]\n", "      pass\n",
     "`ring` is received and never released in this loop [channel-balance]"},
    {kTasks, "readers 1", "readers 2", "`ring` has 2 readers an item, and its roles have 1 replicas [channel-ends]"},
    {kTasks, "  role load", "  prologue:\n    acquire ring[0]\n\n  role load",
     "`ring` is used in the prologue [channel-ends]"},
    {kThreads, "      publish operand[k]\n",
     "      elect:\n        publish operand[k]\n      acquire operand[k]\n      "
     "publish operand[k]\n",
     "role `convert` publishes `operand` here by one thread and there by several [channel-ends]"},
    {kThreads, "      acquire raw[k]\n", "      warp 0:\n        acquire raw[k]\n",
     "a warp acquires `raw`, on which copies complete [channel-ends]"},
    {kThreads, "      release raw[k]\n", "      if lane == 0:\n        release raw[k]\n",
     "threads that must run `release raw[k]` together may differ in `lane == 0` [uniform-condition]"},
    // channel-balance
    {kThreads, "      publish operand[k]\n", "",
     "`operand` is acquired and never published in this loop [channel-balance]"},
    {kThreads, "      acquire operand[k]\n", "",
     "`operand` is published and never acquired in this loop [channel-balance]"},
    {kThreads, "    release weight[0]\n", "", "`weight` is received and never released in role `math`"},
    {kThreads, "      release operand[k]\n", "      release operand[k]\n      release operand[k]\n",
     "`operand` is received 1 times and released 2 times in this loop [channel-balance]"},
    {kThreads, "      release operand[k]\n", "      for i in unrolled(2):\n        release operand[k]\n",
     "`operand` is received 1 times and released 2 times in this loop [channel-balance]"},
    {kThreads, "      release operand[k]\n", "      for i in range(2):\n        release operand[k]\n",
     "`operand` is released and never received in this loop [channel-balance]"},
    // channel-copy
    {kThreads, "on raw[k]", "on operand[k]", "`X_s` is no tile of `operand` [channel-copy]"},
    {kThreads, "      acquire weight[0]\n",
     "      acquire weight[0]\n      acquire weight[1]\n      publish weight[1]\n", "[channel-depth]"},
    {kThreads, "X_s[k % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]",
     "X_s[(k + 1) % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]",
     "the copy fills slot `(k + 1) % 2` of `X_s`, and completes on `raw[k]` [channel-copy]"},
    {kThreads, "X_s[k % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]",
     "X_s[(k + 2) % 2, 0, 32 * p] <- X_map[k * 64, 32 * p] on raw[k]", ""},
    {kThreads, "      acquire raw[k]\n", "", "role `load` copies on `raw` and never acquires it [channel-copy]"},
    {kThreads, "on weight[0]\n", "on bar[0]\n", "unknown name `bar`"},
    {kThreads, "  role load", "  mbar bar[1] count 1\n\n  role load", "warning: `bar` is never used [mbar-protocol]"},
    // channel-bytes
    {kThreads, "weight depth 1 of W_s", "weight depth 1 of W_s bytes 8000",
     "the copies on `weight` bring 8192 bytes, and 8000 are said [channel-bytes]"},
    {kThreads, "acquire weight[0]", "acquire weight[0] bytes 8000",
     "the copies on `weight` bring 8192 bytes, and 8000 are said [channel-bytes]"},
    {kThreads, "weight depth 1 of W_s", "weight depth 1 of W_s bytes 8192", ""},
    {kThreads, "for p in unrolled(2):", "for p in range(rows, rows + 2):",
     "how many bytes the copies on `raw` bring from here to the publish is not plain [channel-bytes]"},
    {kThreads, "      acquire operand[k]\n", "      acquire operand[k] bytes 64\n",
     "`acquire operand[k] bytes 64`, and no copy of role `convert` completes on `operand` [channel-bytes]"},
    {kThreads, "operand depth 3 of A_s", "operand depth 3 of A_s bytes 64",
     "`operand` has bytes 64, and no copy completes on it [channel-bytes]"},
    {kThreads, "for p in unrolled(2):", "for p in range(200):", "an item of `raw` takes 1638400 bytes of copies"},
    // Tasks
    {kTasks, "issue tma", "issue mte", "expected the name of a unit behind 'issue', found name 'mte' [syntax]"},
    {kTasks, "latency 900", "latency 0", "has latency 0 [task-unit]"},
    {kTasks, "latency 900", "latency true", "a number of cycles is an integer, and this is bool [role-value]"},
    {kTasks, "        pass\n", "        sync_warp\n", "`sync_warp` stands within the task \"nothing\" [task-body]"},
    {kTasks, "        pass\n", "        receive ring[n]\n", "`receive ring[n]` stands within the task \"nothing\""},
    {kTasks, "        pass\n", "        issue lsu \"inner\":\n          pass\n",
     "`issue lsu \"inner\":` stands within the task \"nothing\" [task-body]"},
    {kTasks, "      issue lsu \"nothing\":\n        pass\n",
     "      elect:\n        issue lsu \"nothing\":\n          pass\n", "one thread alone cannot run"},
    {kTasks, "  role load", "  prologue:\n    issue lsu \"early\":\n      pass\n\n  role load",
     "the task \"early\" is issued in the prologue [task-body]"},
    {kTasks, "Y: out f32[N, 64]", "Y: in f32[N, 64]", "`Y` is written, and it is an `in` parameter [tensor-mode]"},
};
INSTANTIATE_TEST_SUITE_P(All, ChannelRules, testing::ValuesIn(kRules));

/// Changes after which a program is right all the same.
TEST(RolesChannel, RightAllTheSame) {
  for (const Broken& b : kRules) {
    if (*b.message != '\0') continue;
    EXPECT_EQ(said(replaced(b.base, b.from, b.to)), "") << b.to;
  }
}

TEST(RolesChannel, UnitsOfTheMachine) {
  roles::Program program = test::good_roles(kTasks);
  roles::Limits limits;
  limits.units.emplace();
  EXPECT_THAT(roles::verify(program, limits).render(),
              HasSubstr("the task \"scale\" runs on unit `cuda`, which `h200` does not have [task-unit]"));
}

TEST(RolesChannel, FeaturesOfTheMachine) {
  roles::Program program = test::good_roles(kTasks);
  roles::Limits limits;
  EXPECT_EQ(roles::verify(program, limits).render(), "") << "unknown ones are taken to be there";
  limits.features.emplace();
  std::string told = roles::verify(program, limits).render();
  EXPECT_THAT(told,
              HasSubstr("test.roles:10:7: error: `acquire ring[n]` needs the feature mbarrier_bytes, which `h200` "
                        "does not have [machine-feature]"));
  EXPECT_THAT(told, testing::Not(HasSubstr("`receive"))) << "each feature is told of once";
  limits.features = {machine::Feature::mbarrier_bytes};
  EXPECT_EQ(roles::verify(program, limits).render(), "");
}

}  // namespace
}  // namespace plait
