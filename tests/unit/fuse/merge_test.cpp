// Two role programs in the same blocks: names, barriers, memory, launch, and what has no room.
#include "fuse/merge.h"

#include <gmock/gmock.h>

#include <cstring>

#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "roles/parse.h"
#include "sim/trial.h"

namespace plait::fuse {
namespace {

using ::testing::HasSubstr;

roles::Program parsed(const std::string& text) {
  auto program = roles::parse(std::make_shared<const SourceFile>("test.roles", text));
  EXPECT_TRUE(program.ok()) << program.diagnostics().render();
  Diagnostics found = roles::verify(*program);
  EXPECT_FALSE(found.has_errors()) << found.render();
  return *program;
}

/// Rows that two roles hand on through a ring; blocks stay.
std::string ring(const std::string& name, int depth = 2, const std::string& more = "") {
  return "roles " + name + R"((A: in f32[N, 64], T: out f32[N, 64]) device h200:
  launch min(sms, i32(N))
)" + more +
         "  smem S: f32[" + std::to_string(depth) + R"(, 64]
  channel ring depth )" +
         std::to_string(depth) + R"( of S
  role load warps 1:
    elect:
      var n: u32 = 0
      for i in range(block, i32(N), blocks):
        acquire ring[n]
        bulk_load S[n % )" +
         std::to_string(depth) + R"(, 0] <- A[i, 0] bytes 256 on ring[n]
        publish ring[n]
        set n = n + 1
  role work warps 2:
    var n: u32 = 0
    for i in range(block, i32(N), blocks):
      receive ring[n]
      put T[i, thread] = S[n % )" +
         std::to_string(depth) + R"(, thread] * 2.0
      release ring[n]
      set n = n + 1
)";
}

/// Threads that exchange what they have, by whatever barrier.
std::string exchange(const std::string& name, const std::string& barrier, int warps = 2) {
  std::string threads = std::to_string(32 * warps);
  return "roles " + name + "(X: in f32[M, " + threads + "], Y: out f32[M, " + threads + R"(]) device h200:
  launch i32(M)
  smem S: f32[1, )" +
         threads + "]\n  role work warps " + std::to_string(warps) + R"(:
    put S[0, thread] = X[block, thread]
    )" + barrier +
         "\n    put Y[block, thread] = S[0, " + std::to_string(32 * warps - 1) + " - thread]\n";
}

roles::Program merged(const roles::Program& a, const roles::Program& b, int blocks_a = 1, int blocks_b = 1) {
  auto made = merge({a, blocks_a}, {b, blocks_b}, {});
  EXPECT_TRUE(made.ok()) << made.diagnostics().render();
  return *made;
}

std::string refused(const roles::Program& a, const roles::Program& b, Rule rule, int blocks_a = 1, int blocks_b = 1) {
  auto made = merge({a, blocks_a}, {b, blocks_b}, {});
  if (made) return "not refused:\n" + roles::print(*made);
  EXPECT_EQ(made.diagnostics().list().front().rule, rule) << made.diagnostics().render();
  return made.diagnostics().list().front().message;
}

using Dims = std::map<std::string, std::int64_t>;

/// Whether the fused program leaves what the two leave alone, under several interleavings, without a complaint.
void expect_same_bytes(const roles::Program& a, const roles::Program& b, const roles::Program& both, const Dims& dims,
                       int sms = 2) {
  auto call = sim::draw_call(both, dims);
  ASSERT_TRUE(call.ok()) << call.diagnostics().render();
  std::vector<runtime::HostTensor> alone;
  std::size_t tensor = 0, dim = 0;
  for (const roles::Program* program : {&a, &b}) {
    sim::Call own;
    for (const ir::Param& param : program->params) {
      ASSERT_NE(param.buffer, nullptr);
      own.tensors.push_back(call->tensors[tensor].clone());
      own.args.tensors.push_back(call->args.tensors[tensor++]);
      own.args.tensors.back().data = own.tensors.back().data();
    }
    for (std::size_t i = 0; i < program->dims.size(); ++i) own.args.dims.push_back(call->args.dims[dim++]);
    auto trial = sim::run_trial(*program, own, sms, {});
    ASSERT_TRUE(trial.ok() && trial->outcome.diagnostics.empty()) << trial->outcome.diagnostics.render();
    for (runtime::HostTensor& t : trial->tensors) alone.push_back(std::move(t));
  }
  for (std::uint64_t i = 0; i < 3; ++i) {
    sim::Options options;
    options.interleaving = i;
    auto trial = sim::run_trial(both, *call, sms, options);
    ASSERT_TRUE(trial.ok()) << trial.diagnostics().render();
    ASSERT_TRUE(trial->outcome.diagnostics.empty()) << trial->outcome.diagnostics.render() << roles::print(both);
    for (std::size_t t = 0; t < alone.size(); ++t)
      EXPECT_EQ(std::memcmp(alone[t].data(), trial->tensors[t].data(), alone[t].bytes()), 0)
          << "tensor " << t << ", interleaving " << i << "\n"
          << roles::print(both);
  }
}

void expect_round_trip(const roles::Program& program) {
  std::string text = roles::print(program);
  auto again = roles::parse(std::make_shared<const SourceFile>("fused.roles", text));
  ASSERT_TRUE(again.ok()) << again.diagnostics().render() << text;
  EXPECT_TRUE(roles::equal(program, *again)) << text << roles::print(*again);
}

TEST(Merge, BothDoTheirOwnWork) {
  roles::Program a = parsed(ring("first")), b = parsed(ring("second", 3));
  roles::Program both = merged(a, b);
  EXPECT_EQ(both.name, "first_second");
  EXPECT_EQ(roles::thread_count(both), 192);
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"first_N", 7}, {"second_N", 4}});
  expect_same_bytes(a, b, both, {{"first_N", 1}, {"second_N", 9}});
  expect_same_bytes(a, b, both, {{"first_N", 0}, {"second_N", 3}});
}

TEST(Merge, NamesOfBothGetTheProgramInFront) {
  roles::Program a = parsed(ring("first")), b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(a, b);
  std::string text = roles::print(both);
  EXPECT_THAT(
      text, HasSubstr("roles first_second(A: in f32[N, 64], T: out f32[N, 64], X: in f32[M, 64], Y: out f32[M, 64])"));
  EXPECT_THAT(text, HasSubstr("smem first_S: f32[2, 64]"));
  EXPECT_THAT(text, HasSubstr("smem second_S: f32[1, 64]"));
  EXPECT_THAT(text, HasSubstr("channel ring depth 2 of first_S"));
  EXPECT_THAT(text, HasSubstr("role first_work warps 2:"));
  EXPECT_THAT(text, HasSubstr("role load warps 1:"));
}

TEST(Merge, TheSameProgramTwice) {
  roles::Program a = parsed(ring("same"));
  roles::Program both = merged(a, a);
  EXPECT_THAT(roles::print(both), HasSubstr("roles same_a_same_b(same_a_A: in f32[same_a_N, 64]"));
  expect_round_trip(both);
  expect_same_bytes(a, a, both, {{"same_a_N", 5}, {"same_b_N", 8}});
}

TEST(Merge, WhoNeedsMoreBlocksGetsThem) {
  roles::Program a = parsed(ring("first")), b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(a, b);
  EXPECT_THAT(roles::print(both), HasSubstr("launch max(first_blocks, second_blocks)"));
  expect_same_bytes(a, b, both, {{"N", 3}, {"M", 11}});
  expect_same_bytes(a, b, both, {{"N", 12}, {"M", 1}});
}

TEST(Merge, BarriersOfAllThreadsBecomeThoseOfTheProgram) {
  roles::Program a = parsed(exchange("first", "sync_threads", 3)), b = parsed(exchange("second", "sync_threads"));
  std::string text = roles::print(merged(a, b));
  EXPECT_THAT(text, HasSubstr("barrier_sync 1 threads 96"));
  EXPECT_THAT(text, HasSubstr("barrier_sync 2 threads 64"));
}

TEST(Merge, NamedBarriersStandApart) {
  roles::Program a = parsed(exchange("first", "barrier_sync 15 threads 64"));
  roles::Program b = parsed(exchange("second", "barrier_sync 15 threads 64"));
  roles::Program both = merged(a, b);
  std::string text = roles::print(both);
  EXPECT_THAT(text, HasSubstr("barrier_sync 15 threads 64"));
  EXPECT_THAT(text, HasSubstr("barrier_sync 1 threads 64"));
  expect_same_bytes(a, b, both, {{"first_M", 3}, {"second_M", 2}});
}

TEST(Merge, BarriersOfAWarpTakeNoNumber) {
  roles::Program a = parsed(exchange("first", "barrier_sync 15 threads 32", 1));
  roles::Program both = merged(a, a, 9, 9);
  EXPECT_THAT(roles::print(both), HasSubstr("sync_warp"));
  EXPECT_EQ(roles::print(both).find("barrier_sync"), std::string::npos);
  expect_same_bytes(a, a, both, {{"first_a_M", 12}, {"first_b_M", 5}});
}

TEST(Merge, NumbersThatDependOnTheReplicaMoveTogether) {
  std::string text = exchange("first", "barrier_sync 1 + replica threads 64");
  text.replace(text.find("warps 2:"), 8, "replicas 3 warps 2:");
  for (std::string from : {"put S[0, thread]", "S[0, 63 - thread]"}) {
    std::string to = from;
    to.replace(to.find("S[0"), 3, "S[replica");
    text.replace(text.find(from), from.size(), to);
  }
  text.replace(text.find("f32[1, 64]"), 10, "f32[3, 64]");
  text.replace(text.find("put Y[block, thread] ="), 22, "if replica == 2:\n      put Y[block, thread] =");
  roles::Program a = parsed(text), b = parsed(exchange("second", "barrier_sync 2 threads 64"));
  roles::Program both = merged(b, a);
  EXPECT_THAT(roles::print(both), HasSubstr("barrier_sync 1 + replica + 2 threads 64"));
  expect_same_bytes(b, a, both, {{"first_M", 2}, {"second_M", 2}});
}

TEST(Merge, ABlockStandsForSeveralThatAreReplicas) {
  roles::Program a = parsed(ring("first")), b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(a, b, 1, 3);
  EXPECT_EQ(roles::thread_count(both), 96 + 3 * 64);
  std::string text = roles::print(both);
  EXPECT_THAT(text, HasSubstr("launch max(first_blocks, ceildiv(second_blocks, 3))"));
  EXPECT_THAT(text, HasSubstr("smem second_S: f32[3, 1, 64]"));
  EXPECT_THAT(text, HasSubstr("role second_work replicas 3 warps 2:"));
  EXPECT_THAT(text, HasSubstr("if block + replica * blocks < second_blocks:"));
  EXPECT_THAT(text, HasSubstr("barrier_sync 1 + replica threads 64"));
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"N", 2}, {"M", 8}});
}

TEST(Merge, ABlockStandsForSeveralWithRolesOfTheirOwn) {
  roles::Program a = parsed(ring("first")), b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(a, b, 2, 2);
  std::string text = roles::print(both);
  EXPECT_THAT(text, HasSubstr("role load warps 1:"));
  EXPECT_THAT(text, HasSubstr("role first_load warps 1:"));
  EXPECT_THAT(text, HasSubstr("channel first_ring depth 2 of first_S_2"));
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"N", 9}, {"M", 5}});
  expect_same_bytes(a, b, both, {{"N", 1}, {"M", 5}});
}

TEST(Merge, ReplicasOfReplicas) {
  std::string text = exchange("second", "barrier_sync 3 + replica threads 64");
  text.replace(text.find("warps 2:"), 8, "replicas 2 warps 2:");
  text.replace(text.find("f32[1, 64]"), 10, "f32[2, 64]");
  for (std::string from : {"put S[0, thread]", "S[0, 63 - thread]", "put Y[block, thread]", "X[block, thread]"}) {
    std::string to = from;
    auto at = to.find("[0");
    at == std::string::npos ? to.replace(to.find("[block"), 6, "[2 * block + replica") : to.replace(at, 2, "[replica");
    text.replace(text.find(from), from.size(), to);
  }
  text.replace(text.find("launch i32(M)"), 13, "launch i32(M) / 2");
  roles::Program a = parsed(ring("first")), b = parsed(text);
  roles::Program both = merged(a, b, 1, 3);
  EXPECT_THAT(roles::print(both), HasSubstr("barrier_sync 3 + replica % 2 + replica / 2 * 2 threads 64"));
  EXPECT_THAT(roles::print(both), HasSubstr("S[replica / 2, replica % 2, thread]"));
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"N", 3}, {"M", 14}});
}

TEST(Merge, TilesWithPlacesStandBehindEachOther) {
  std::string placed = exchange("second", "sync_threads");
  placed.replace(placed.find("smem S: f32[1, 64]"), 18, "smem S: f32[1, 64] at 128");
  roles::Program a = parsed(ring("first")), b = parsed(placed);
  roles::Program both = merged(a, b);
  roles::Arena arena = roles::arena(both);
  EXPECT_EQ(arena.smem[0], 0);
  EXPECT_EQ(arena.smem[1], 1024 + 128);
  expect_same_bytes(a, b, both, {{"N", 2}, {"M", 3}});
}

TEST(Merge, LaunchesOfSeveralExtents) {
  roles::Program a = parsed(R"(roles planes(X: in i32[P, R, 32], Y: out i32[P, R, 32]) device h200:
  launch i32(R), i32(P)
  role work warps 1:
    put Y[block_y, block_x, thread] = X[block_y, block_x, thread] + i32(block)
)");
  roles::Program b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(b, a);
  expect_round_trip(both);
  expect_same_bytes(b, a, both, {{"P", 3}, {"R", 2}, {"M", 4}});
}

TEST(Merge, ParametersNamedAsBuiltins) {
  roles::Program a =
      parsed(R"(roles named(X: in f32[block, 32], Y: out f32[block, 32]) device h200 with block as block_2:
  launch i32(block)
  role work warps 1:
    put Y[block_2, thread] = X[block_2, thread]
)");
  roles::Program b = parsed(exchange("second", "sync_threads"));
  roles::Program both = merged(a, b);
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"block", 3}, {"M", 4}});
}

TEST(Merge, ThreadsOfABlock) {
  roles::Program a = parsed(exchange("first", "sync_threads", 20)), b = parsed(exchange("second", "sync_threads", 16));
  EXPECT_EQ(refused(a, b, Rule::role_threads), "threads: 640 of first, 512 of second, and a block has at most 1024");
}

TEST(Merge, SharedMemoryOfABlock) {
  roles::Program a = parsed(ring("first", 600)), b = parsed(ring("second", 400));
  EXPECT_EQ(refused(a, b, Rule::smem_capacity),
            "shared memory: 163200 bytes of first, 108800 of second, together 272000, and a block gets 232448");
}

TEST(Merge, NamedBarriersOfABlock) {
  roles::Program a = parsed(exchange("first", "sync_threads", 2));
  EXPECT_EQ(refused(a, a, Rule::barrier_id, 10, 6),
            "named barriers: 10 of 10 blocks of first_a, 6 of 6 blocks of first_b, and a block has 15");
}

TEST(Merge, ClustersOfDifferentSizes) {
  auto clustered = [](int blocks) {
    return "roles c" + std::to_string(blocks) + R"((Y: out i32[M, 32]) device h200:
  launch ceildiv(i32(M), )" +
           std::to_string(blocks) + ") * " + std::to_string(blocks) + "\n  cluster " + std::to_string(blocks) + R"(
  role work warps 1:
    if block < i32(M):
      put Y[block, thread] = cluster_rank
    cluster_arrive
    cluster_wait
)";
  };
  roles::Program two = parsed(clustered(2)), four = parsed(clustered(4)), none = parsed(exchange("e", "sync_threads"));
  EXPECT_EQ(refused(two, four, Rule::cluster_size), "clusters: c2 has clusters of 2 blocks, c4 of 4");
  roles::Program both = merged(two, none);
  EXPECT_THAT(roles::print(both), HasSubstr("launch ceildiv(max(c2_blocks, e_blocks), 2) * 2"));
  expect_round_trip(both);
  expect_same_bytes(two, none, both, {{"c2_M", 3}, {"e_M", 5}}, 4);
  expect_same_bytes(none, two, merged(none, two, 1, 2), {{"c2_M", 9}, {"e_M", 2}}, 4);
}

TEST(Merge, ClusterBarriersBeforeTheEnd) {
  roles::Program a = parsed(R"(roles early(Y: out i32[M, 32]) device h200:
  launch i32(M) / 2 * 2
  cluster 2
  role work warps 1:
    cluster_arrive
    cluster_wait
    put Y[block, thread] = 1
)");
  EXPECT_EQ(refused(a, parsed(exchange("e", "sync_threads")), Rule::block_barrier),
            "role `work` of early meets its cluster before its end");
}

TEST(Merge, ProloguesThatWriteTensors) {
  roles::Program a = parsed(R"(roles early(Y: out i32[M]) device h200:
  launch i32(M)
  prologue:
    put Y[block] = 1
  role work warps 1:
    sync_warp
)");
  EXPECT_EQ(refused(a, parsed(exchange("e", "sync_threads")), Rule::block_barrier),
            "the prologue of early writes tensors");
}

TEST(Merge, ProloguesRunOneBehindTheOther) {
  auto text = [](const std::string& name) {
    std::string made = exchange(name, "wait done[0] parity 0", 1);
    made.replace(made.find("  role"), 6, R"(  mbar done[1] count 32
  prologue:
    count = i32(M)
    elect:
      mbar_init done
      fence mbar_init
    sync_threads
  role)");
    made.replace(made.find("    wait"), 8, "    arrive done[0]\n    wait");
    return made;
  };
  roles::Program a = parsed(text("first")), b = parsed(text("second"));
  roles::Program both = merged(a, b);
  EXPECT_THAT(roles::print(both), HasSubstr("second_count_2 = i32(second_M)"));
  expect_round_trip(both);
  expect_same_bytes(a, b, both, {{"first_M", 3}, {"second_M", 5}});
}

TEST(Merge, RegistersAreDealtOut) {
  auto text = [](const std::string& name, const std::string& regs, int rows) {
    return "roles " + name +
           "(X: in f32[M, 128], Y: out f32[M, 128]) device h200:\n  launch 1\n  role idle warps 4 regs 24:\n    "
           "sync_warp\n  role work replicas 2 warps 4 " +
           regs + ":\n    fragment x: f32[" + std::to_string(rows) + R"(, 128] vector vec 4 lanes 32
    load x <- X[0, 0]
    store Y[0, 0] <- x
)";
  };
  roles::Program a = parsed(text("first", "regs 240", 32)), b = parsed(text("second", "regs 240", 64));
  roles::Program both = merged(a, b);
  std::int64_t sum = 0;
  for (const roles::Role& role : both.roles) sum += std::int64_t{*role.regs} * role.replicas * role.warps * 32;
  EXPECT_LE(sum, 80 * 768);
  EXPECT_EQ(*both.roles[0].regs, 24);
  // 32 and 64 registers of fragments, 24 besides; what is left is alike.
  EXPECT_NEAR(*both.roles[3].regs - *both.roles[1].regs, 32, 8);
  EXPECT_GE(*both.roles[1].regs, 56);
}

TEST(Merge, RegistersOfABlock) {
  auto text = [](const std::string& name) {
    return "roles " + name + R"((X: in f32[M, 128], Y: out f32[M, 128]) device h200:
  launch 1
  role idle warps 4 regs 24:
    sync_warp
  role work replicas 2 warps 4 regs 240:
    fragment x: f32[160, 128] vector vec 4 lanes 32
    load x <- X[0, 0]
    store Y[0, 0] <- x
)";
  };
  EXPECT_THAT(refused(parsed(text("first")), parsed(text("second")), Rule::fragment_registers),
              HasSubstr("registers: a thread needs at least, of first (idle 128 x 24, work 256 x 184), of second (idle "
                        "128 x 24, work 256 x 184); the 768 threads of a fused block have 80 each at launch, 65536 "
                        "together: "));
}

}  // namespace
}  // namespace plait::fuse
