#include "cuda/architecture.h"
#include "fixture.h"

namespace plait::cuda {
namespace {

using ir::DType;
using ::testing::ElementsAre;

const char* kProduct = R"(
roles product(A: in bf16[M, K], C: out f32[M, K], alpha: f32 = 0.5; wide = 1) device h200:
  require K % 8 == 0, "rows of 16 bytes"
  tiles = ceildiv(i32(M), 128)
  launch min(sms, tiles) * 2
  cluster 2
  map A_map = A box [128, 64] swizzle 128
  smem A_s: bf16[128, 64] swizzle 128
  mbar full[1] count 1
  prologue:
    sync_threads
  role load warps 4:
    fragment x: f32[4, 128] vector vec 4 lanes 32
    load x <- C[0, 0]
    store C[0, 0] <- x
)";

/// A kernel that was never compiled and a call of it that is right; tests break one thing.
class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() : table(FakeDriver::reset()), fake(FakeDriver::instance()), memory(1 << 16) {
    make_kernel(kProduct);
    auto found = current_context(table);
    if (!found) throw std::runtime_error(found.diagnostics().render());
    context = *found;
    args.tensors["A"] = tensor(0, DType::bf16, {256, 64});
    args.tensors["C"] = tensor(1 << 15, DType::f32, {256, 64});
  }
  void make_kernel(const std::string& text) {
    roles::Program program = program_from(text);
    emit::cuda::Module module;
    module.entry = program.name;
    module.arch = "sm_90a";
    module.threads = 128;
    module.cluster = program.cluster;
    module.smem_bytes = 100000;
    for (const roles::Map& map : program.maps) module.args.emplace_back(emit::cuda::MapArg{map});
    for (const ir::Param& param : program.params) {
      if (param.kind == ir::ParamKind::scalar) {
        module.args.emplace_back(emit::cuda::VarArg{param.scalar});
      } else {
        module.args.emplace_back(emit::cuda::TensorArg{param.buffer});
      }
    }
    for (const roles::Workspace& workspace : program.workspaces)
      module.args.emplace_back(emit::cuda::TensorArg{workspace->buffer});
    for (const ir::Var& dim : program.dims) module.args.emplace_back(emit::cuda::VarArg{dim});
    for (const roles::Let& let : program.lets) module.args.emplace_back(emit::cuda::VarArg{let.var});
    fake.argument_count = module.args.size();
    Code code;
    code.cubin = "code";
    kernel = std::make_unique<Kernel>(std::move(program), std::move(module), std::move(code));
  }
  runtime::TensorArg tensor(std::size_t at, DType type, std::vector<std::int64_t> shape) {
    return {{memory.data() + at, type, std::move(shape), {}}, -1, "cuda"};
  }
  Diagnostics findings() {
    auto launch = prepare(*kernel, context, args);
    return launch ? Diagnostics() : launch.diagnostics();
  }
  std::unique_ptr<Launch> ready() {
    auto launch = prepare(*kernel, context, args);
    if (!launch) throw std::runtime_error(launch.diagnostics().render());
    return std::move(*launch);
  }

  struct alignas(16) Unit {
    std::byte bytes[16];
  };
  Driver table;
  FakeDriver& fake;
  struct Memory {
    explicit Memory(std::size_t bytes) : units(bytes / sizeof(Unit)) {}
    std::byte* data() { return units.data()->bytes; }
    std::vector<Unit> units;
  } memory;
  std::unique_ptr<Kernel> kernel;
  Context context;
  runtime::Args args;
};

TEST_F(LaunchTest, PassesEveryArgumentInItsTypeAndOrder) {
  auto launch = ready();
  ASSERT_TRUE(launch->run(nullptr).empty());
  ASSERT_EQ(fake.launched.size(), 1u);
  const auto& arguments = fake.launched[0].arguments;
  ASSERT_EQ(arguments.size(), 7u);
  EXPECT_EQ(*static_cast<std::uint64_t*>(arguments[0]), 0x7777777777777777u) << "the encoded map";
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arguments[0]) % 128, 0u);
  EXPECT_EQ(*static_cast<void**>(arguments[1]), memory.data());
  EXPECT_EQ(*static_cast<void**>(arguments[2]), memory.data() + (1 << 15));
  EXPECT_EQ(*static_cast<float*>(arguments[3]), 0.5f);
  EXPECT_EQ(*static_cast<std::int64_t*>(arguments[4]), 256);
  EXPECT_EQ(*static_cast<std::int64_t*>(arguments[5]), 64);
  EXPECT_EQ(*static_cast<std::int32_t*>(arguments[6]), 2) << "the host let `tiles`";
}

TEST_F(LaunchTest, LaunchesWhatTheProgramSays) {
  auto stream = reinterpret_cast<StreamHandle>(std::uintptr_t{0x99});
  ASSERT_TRUE(ready()->run(stream).empty());
  const LaunchConfig& config = fake.launched.at(0).config;
  EXPECT_EQ(config.grid_x, 4u);
  EXPECT_EQ(config.grid_y, 1u);
  EXPECT_EQ(config.grid_z, 1u);
  EXPECT_EQ(config.block_x, 128u);
  EXPECT_EQ(config.smem_bytes, 100000u);
  EXPECT_EQ(config.stream, stream);
  EXPECT_EQ(fake.launched[0].cluster, 2u);
}

TEST_F(LaunchTest, RunningAgainOnlyLaunches) {
  auto launch = ready();
  auto before = fake.calls;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(launch->run(nullptr).empty());
  before["launch"] += 3;
  EXPECT_EQ(fake.calls, before);
}

TEST_F(LaunchTest, WorkspacesAreReservedAndClearedInTheOrderOfTheStream) {
  std::string text = kProduct;
  text.insert(text.find("  map A_map"), "  workspace parts: f32[tiles, 128]\n  workspace count: i32[tiles] zero\n");
  make_kernel(text);
  auto launch = ready();
  EXPECT_EQ(fake.calls["allocate_async"], 0);
  ASSERT_TRUE(launch->run(nullptr).empty());
  ASSERT_TRUE(launch->run(nullptr).empty());
  EXPECT_THAT(fake.reserved, ElementsAre(2 * 128 * 4, 2 * 4, 2 * 128 * 4, 2 * 4));
  EXPECT_EQ(fake.calls["fill"], 2) << "of the one that is zero";
  EXPECT_EQ(fake.calls["free_async"], 4);
  EXPECT_EQ(fake.launched.size(), 2u);
}

TEST_F(LaunchTest, AWorkspaceThatDoesNotFitIsReported) {
  std::string text = kProduct;
  text.insert(text.find("  map A_map"), "  workspace parts: f32[tiles, 128]\n");
  make_kernel(text);
  auto launch = ready();
  fake.failures["allocate_async"] = Status::out_of_memory;
  Diagnostics found = launch->run(nullptr);
  ASSERT_TRUE(found.has_errors());
  EXPECT_THAT(found.render(), ::testing::HasSubstr("reserving 1024 bytes for parts of product"));
  EXPECT_TRUE(fake.launched.empty());
}

TEST_F(LaunchTest, LoadsOnceInEachContext) {
  ready();
  ready();
  EXPECT_EQ(fake.calls["load_module"], 1);
  context.id = 7;
  ready();
  EXPECT_EQ(fake.calls["load_module"], 2);
  kernel.reset();
  EXPECT_EQ(fake.calls["unload_module"], 2);
}

TEST_F(LaunchTest, ALaunchOutlivesItsKernel) {
  auto launch = ready();
  kernel.reset();
  EXPECT_EQ(fake.calls["unload_module"], 0);
  ASSERT_TRUE(launch->run(nullptr).empty());
  launch.reset();
  EXPECT_EQ(fake.calls["unload_module"], 1);
}

TEST_F(LaunchTest, WithoutBlocksNothingHappens) {
  args.tensors["A"] = tensor(0, DType::bf16, {0, 64});
  args.tensors["C"] = tensor(0, DType::f32, {0, 64});
  auto launch = ready();
  EXPECT_TRUE(launch->is_empty());
  EXPECT_EQ(launch->blocks(), 0);
  EXPECT_TRUE(launch->run(nullptr).empty());
  EXPECT_EQ(fake.calls["launch"], 0);
  EXPECT_EQ(fake.calls["encode_map"], 0);
}

TEST_F(LaunchTest, UsesTheContextOfTheThread) {
  EXPECT_EQ(fake.calls["retain_primary"], 1) << "none was current";
  ASSERT_TRUE(current_context(table).ok());
  EXPECT_EQ(fake.calls["retain_primary"], 1) << "now one is";
}

TEST_F(LaunchTest, ReportsWrongArgumentsAsTheHostDoes) {
  args.tensors["A"] = tensor(0, DType::bf16, {256, 63});
  EXPECT_REPORTS(findings(), Rule::argument_shape, "C has shape [256, 64]");
  args.tensors.erase("A");
  EXPECT_REPORTS(findings(), Rule::missing_argument, "A (a tensor)");
}

TEST_F(LaunchTest, ReportsTensorsOfTheHost) {
  args.tensors["A"].device = "host";
  EXPECT_REPORTS(findings(), Rule::argument_device,
                 "A is in the memory of device 'host', the kernel runs on an NVIDIA");
  args.tensors["A"].device = "cuda";
  fake.unreachable[reinterpret_cast<std::uintptr_t>(memory.data())] = true;
  EXPECT_REPORTS(findings(), Rule::argument_device, "the data pointer of A is not memory that the device can reach");
}

TEST_F(LaunchTest, ReportsConditionsThatDoNotHold) {
  args.tensors["A"] = tensor(0, DType::bf16, {256, 60});
  args.tensors["C"] = tensor(1 << 15, DType::f32, {256, 60});
  EXPECT_REPORTS(findings(), Rule::require_failed, "rows of 16 bytes");
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no such text: " + from);
  return text.replace(at, from.size(), to);
}

TEST_F(LaunchTest, ReportsLaunchesThatTheDeviceCannotRun) {
  make_kernel(replaced(kProduct, "launch min(sms, tiles) * 2", "launch tiles * 2, 70000"));
  EXPECT_REPORTS(findings(), Rule::gpu_limit, "launch extent 1 is 70000; the device runs at most 65535");
  make_kernel(replaced(kProduct, "min(sms, tiles) * 2", "tiles + 1"));
  EXPECT_REPORTS(findings(), Rule::gpu_limit, "is 3, not a multiple of the cluster of 2");
  make_kernel(replaced(kProduct, "min(sms, tiles) * 2", "tiles - 4"));
  EXPECT_REPORTS(findings(), Rule::grid_extent, "launch extent 0 is -2");
  make_kernel(replaced(kProduct, "ceildiv(i32(M), 128)", "i32(M) / (i32(K) - 64)"));
  EXPECT_REPORTS(findings(), Rule::call_arithmetic, "the value of tiles: ");
}

TEST_F(LaunchTest, ReportsRowsThatAreNoWholePieces) {
  args.tensors["C"].view.data = memory.data() + (1 << 15) + 4;
  EXPECT_REPORTS(findings(), Rule::gpu_piece,
                 "C is moved in pieces of 4 elements, but it does not start at a multiple of 16 bytes");
  make_kernel(replaced(kProduct, "K % 8", "K % 1"));
  args.tensors["A"] = tensor(0, DType::bf16, {1, 62});
  args.tensors["C"] = tensor(1 << 15, DType::f32, {1, 62});
  EXPECT_REPORTS(findings(), Rule::gpu_piece, "its last extent is 62");
}

TEST_F(LaunchTest, ReportsTheWrongDevice) {
  context.device.major = 8;
  context.device.name = "Fake A100";
  EXPECT_REPORTS(findings(), Rule::gpu_architecture,
                 "product is compiled for sm_90a, but device 0 (Fake A100) is sm_80");
}

TEST_F(LaunchTest, ReportsTooMuchSharedMemoryAndTooManyThreads) {
  context.device.max_smem = 49152;
  EXPECT_REPORTS(findings(), Rule::gpu_limit, "takes 100000 bytes of shared memory, the device has 49152");
  context.device.max_threads = 64;
  context.device.max_smem = 232448;
  EXPECT_REPORTS(findings(), Rule::gpu_limit, "has 128 threads, the device runs at most 64");
}

TEST_F(LaunchTest, ReportsWhatTheDriverRefuses) {
  fake.failures["load_module"] = Status::no_binary_for_gpu;
  EXPECT_REPORTS(findings(), Rule::gpu_architecture, "loading product: the code was compiled for another architecture");
  fake.failures["load_module"] = Status::out_of_memory;
  EXPECT_REPORTS(findings(), Rule::gpu_memory, "the device has no memory left");
  fake.failures = {};
  auto launch = ready();
  fake.failures["launch"] = Status::launch_out_of_resources;
  EXPECT_REPORTS(launch->run(nullptr), Rule::gpu_limit, "launching product: a block needs more registers");
  fake.failures["launch"] = Status::invalid_value;
  EXPECT_REPORTS(launch->run(nullptr), Rule::gpu_call, "launching product failed");
  EXPECT_REPORTS(launch->run(nullptr), Rule::gpu_call, "the driver says: a fake error (CUDA_ERROR_FAKE, 1)");
  fake.failures["synchronize"] = Status::illegal_address;
  EXPECT_REPORTS(synchronize(table), Rule::gpu_fault, "accessed memory that does not belong to any tensor");
}

TEST_F(LaunchTest, ReportsACodelessKernel) {
  roles::Program program = kernel->program();
  emit::cuda::Module module = kernel->module();
  kernel = std::make_unique<Kernel>(program, std::move(module), Code{});
  EXPECT_REPORTS(findings(), Rule::gpu_compile, "product was not compiled: only its source was asked for");
}

TEST(ContextTest, ReportsAMachineWithoutDevices) {
  Driver table = FakeDriver::reset();
  FakeDriver::instance().failures["retain_primary"] = Status::no_device;
  EXPECT_REPORTS(current_context(table).diagnostics(), Rule::gpu_device, "there is no NVIDIA device");
}

TEST(ArchitectureTest, ReadsNames) {
  ASSERT_TRUE(parse_architecture("sm_90a"));
  EXPECT_EQ(parse_architecture("sm_90a")->number, 90);
  EXPECT_TRUE(parse_architecture("sm_90a")->is_specific);
  EXPECT_FALSE(parse_architecture("sm_80")->is_specific);
  for (const char* bad : {"", "sm_", "sm_a", "sm_90b", "sm_9 0", "sm_-90", "compute_90", "sm_35", "sm_99999999999"})
    EXPECT_FALSE(parse_architecture(bad)) << bad;
}

TEST(ArchitectureTest, PlainCodeRunsOnLaterDevicesOfItsGeneration) {
  DeviceInfo a100, l40, h200;
  a100.major = l40.major = 8;
  l40.minor = 9;
  h200.major = 9;
  EXPECT_TRUE(runs_on({80, false}, a100));
  EXPECT_TRUE(runs_on({80, false}, l40));
  EXPECT_FALSE(runs_on({89, false}, a100));
  EXPECT_FALSE(runs_on({80, false}, h200));
  EXPECT_TRUE(runs_on({90, true}, h200));
  EXPECT_FALSE(runs_on({80, true}, l40));
}

TEST(DriverTest, ReportsAMissingLibrary) {
  auto missing = load_driver("/nonexistent/libcuda.so.1");
  ASSERT_FALSE(missing.ok());
  EXPECT_REPORTS(missing.diagnostics(), Rule::gpu_driver,
                 "there is no NVIDIA driver here: /nonexistent/libcuda.so.1 cannot be loaded");
  auto other = load_driver("libc.so.6");
  ASSERT_FALSE(other.ok());
  EXPECT_REPORTS(other.diagnostics(), Rule::gpu_driver, "libc.so.6 is no NVIDIA driver of version 12 or newer");
  EXPECT_REPORTS(other.diagnostics(), Rule::gpu_driver, "it has no cuInit");
}

}  // namespace
}  // namespace plait::cuda
