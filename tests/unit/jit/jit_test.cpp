// Compiled code that is kept: what it is found by, that what comes back is what was compiled, and what is done without.
#include "jit/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cuda/call.h"
#include "jit/entry.h"
#include "machine/load.h"
#include "pipeline/assume.h"
#include "store/database.h"
#include "store/measured.h"
#include "unit/cuda/fixture.h"

namespace plait::jit {
namespace {

namespace fs = std::filesystem;
using cuda::compiler_or_skip;
using cuda::Nvrtc;
using testing::HasSubstr;
using testing::Not;

/// The author says how its loop is pipelined.
const char* kProduct = R"(
kernel product(A: in bf16[M, K], B: in bf16[K, N], C: out bf16[M, N]; tile = 64):
  grid bx = ceildiv(N, tile), by = ceildiv(M, 64)
  require K > 0, "something to add"
  A_s = shared bf16[64, 64]
  B_s = shared bf16[64, tile]
  acc = fragment f32[64, tile]
  clear(acc)
  for k in pipelined(ceildiv(K, 64), stages=2):
    copy(A[by * 64, k * 64], A_s)
    copy(B[k * 64, bx * tile], B_s)
    gemm(A_s, B_s, acc)
  copy(acc, C[by * 64, bx * tile])
)";

const char* kRoles = R"(
roles scale(A: in f32[M, 128], C: out f32[M, 128], alpha: f32 = 0.5) device h200:
  require M % 4 == 0
  tiles = ceildiv(i32(M), 4)
  launch tiles
  role math warps 4:
    fragment x: f32[4, 128] vector vec 4 lanes 32
    load x <- A[4 * block, 0]
    store C[4 * block, 0] <- x
)";

/// Its author says nothing.
std::string open_loop() {
  std::string text = kProduct, stages = ", stages=2";
  return text.erase(text.find(stages), stages.size());
}

class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { old_ ? setenv(name_, old_->c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> old_;
};

class Jit : public testing::Test {
 protected:
  Jit() {
    std::string name = fs::temp_directory_path() / "plait_jit_XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~Jit() override { fs::remove_all(root_); }

  Request request(const std::string& text = kProduct) const {
    Request out;
    out.source = std::make_shared<SourceFile>("product.tile", text);
    if (text.find("kernel") != std::string::npos) out.device = *machine::load_device("h200");
    out.folder = (root_ / "code").string();
    return out;
  }
  /// Without NVRTC: the way to a key is the way to code.
  static std::string key(const Request& request, bool planned = false) {
    auto file = syntax::parse(request.source);
    auto kernel = lang::elaborate(*file, lang::kernel_names(*file).front(), request.bindings);
    if (!kernel) throw InternalError(kernel.diagnostics().render());
    auto assumed = request.assumptions ? *request.assumptions : pipeline::assume(*kernel, request.dims);
    return key_of(request, &*kernel, assumed, planned);
  }
  std::vector<std::string> files() const {
    std::vector<std::string> out;
    if (!fs::exists(root_ / "code")) return out;
    for (const auto& entry : fs::recursive_directory_iterator(root_ / "code")) {
      if (entry.path().extension() == ".code") out.push_back(entry.path().string());
    }
    return out;
  }

  fs::path root_;
};

// ---- The key -------------------------------------------------------------------------------------------------------

TEST_F(Jit, TheKeyIsOfWhatTheCodeDependsOn) {
  std::set<std::string> keys = {key(request())};
  auto differs = [&](const char* what, auto change) {
    Request other = request();
    change(other);
    EXPECT_TRUE(keys.insert(key(other)).second) << what;
  };
  differs("text", [](Request& r) { r.source = std::make_shared<SourceFile>("x", std::string(kProduct) + "\n"); });
  differs("binding", [](Request& r) { r.bindings["tile"] = "128"; });
  differs("device", [](Request& r) { r.device = *machine::load_device("a100"); });
  differs("model", [](Request& r) { r.device->text += " "; });
  differs("architecture", [](Request& r) { r.build.architecture = "sm_80"; });
  differs("serialized", [](Request& r) { r.build.compile.allow_serialized = true; });
  differs("CUDA", [](Request& r) { r.build.source = "x"; });
  differs("schedule", [](Request& r) { r.schedule = std::make_shared<SourceFile>("s", "schedule"); });
  differs("ragged rows", [](Request& r) { r.dims["K"] = 1001; });
  differs("address", [](Request& r) { r.assumptions = place::Assumptions{{"C"}, {"C"}, {}, {{"C", 2}}}; });
}

TEST_F(Jit, TheKeyIsOfNothingElse) {
  auto same = [&](const char* what, auto change) {
    Request other = request();
    change(other);
    EXPECT_EQ(key(other), key(request())) << what;
  };
  same("name", [](Request& r) { r.source = std::make_shared<SourceFile>("/elsewhere/p.tile", kProduct); });
  same("dims of the same alignment", [](Request& r) { r.dims = {{"M", 512}, {"N", 4096}, {"K", 1024}}; });
  same("planner of nothing", [](Request& r) { r.planner = planner::Kind::greedy; });
  same("folder", [](Request& r) { r.folder = "/elsewhere"; });
  same("ahead", [](Request& r) { r.build.ahead = true; });
  EXPECT_EQ(key(request()).size(), 32U);
}

TEST_F(Jit, PlansDependOnDimsAndPlanner) {
  Request open = request(open_loop()), dims = open, greedy = open, rules = open;
  dims.dims = {{"M", 512}, {"N", 4096}, {"K", 1024}};
  greedy.planner = planner::Kind::greedy;
  rules.planner = planner::Kind::rules;
  std::set<std::string> keys = {key(open), key(open, true), key(dims, true), key(greedy, true), key(rules, true)};
  EXPECT_EQ(keys.size(), 5U);
  // Nothing overlaps, whatever the extents.
  Request of_dims = rules;
  of_dims.dims = dims.dims;
  EXPECT_EQ(key(of_dims, true), key(rules, true));
}

TEST_F(Jit, WhatIsNotPlannedIsSharedByDimsAndPlanners) {
  NEEDS_COMPILER(compiler);
  ASSERT_TRUE(compile(request()).ok());
  Request dims = request(), greedy = request(), rules = request();
  dims.dims = {{"M", 512}, {"N", 4096}, {"K", 1024}};
  greedy.planner = planner::Kind::greedy;
  rules.planner = planner::Kind::rules;
  for (const Request& other : {dims, greedy, rules}) EXPECT_TRUE(compile(other)->is_cached);
  // A plan is its planner's alone.
  Request open = request(open_loop());
  open.planner = planner::Kind::rules;
  auto serial = compile(open);
  open.planner = planner::Kind::greedy;
  auto planned = compile(open);
  ASSERT_TRUE(serial.ok() && planned.ok());
  EXPECT_FALSE(serial->is_cached || planned->is_cached);
  EXPECT_NE(serial->built.kernel->text(), planned->built.kernel->text());
  open.dims = dims.dims;
  EXPECT_FALSE(compile(open)->is_cached);
}

// ---- Files ---------------------------------------------------------------------------------------------------------

/// All that is known of a kernel. The assembler's log says how long it took.
std::string told(const Compiled& compiled, bool with_log = true) {
  const cuda::Kernel& kernel = *compiled.built.kernel;
  const emit::cuda::Module& module = kernel.module();
  const cuda::Code& code = kernel.code();
  std::string out = kernel.text() + module.source + module.entry + module.arch + code.cubin + code.ptx + code.compiler +
                    (with_log ? code.report.log : "") + code.warnings.render() + roles::print(kernel.program());
  out += fmt::format("{} {} {} {} {} {} {} {}\n{}\n", module.smem_bytes, module.threads, module.cluster,
                     code.report.registers, code.report.stack_bytes, code.report.spill_store_bytes,
                     code.report.spill_load_bytes, compiled.tile_requires, fmt::join(module.options, " "));
  for (const emit::cuda::KernelArg& arg : module.args)
    out += std::visit(Overload{[](const emit::cuda::MapArg& a) { return "map " + a.map->name; },
                               [](const emit::cuda::TensorArg& a) { return "tensor " + a.tensor->name; },
                               [](const emit::cuda::VarArg& a) { return "var " + a.var->name; }},
                      arg) +
           "\n";
  std::map<std::string, std::string> pieces;
  for (const auto& [buffer, piece] : kernel.pieces())
    pieces[buffer->name] = fmt::format("{} {}", piece.elements, piece.whole);
  for (const auto& [name, text] : pieces) out += name + " " + text + "\n";
  return out;
}

/// What a call is told, with its places.
std::string wrong_call(const Compiled& compiled, std::int64_t m, std::int64_t k, std::int64_t n) {
  cuda::DeviceInfo device;
  device.sms = 132;
  for (auto& most : device.max_grid) most = 65535;
  runtime::Args args;
  static std::vector<char> memory(1 << 20);
  auto tensor = [&](const char* name, std::int64_t rows, std::int64_t columns) {
    runtime::TensorArg arg;
    arg.view.data = memory.data();
    arg.view.type = ir::DType::bf16;
    arg.view.shape = {rows, columns};
    arg.view.strides = {columns, 1};
    arg.bytes = 1 << 20;
    arg.device = "cuda";
    args.tensors[name] = arg;
  };
  tensor("A", m, k);
  tensor("B", k, n);
  tensor("C", m, n + (m == 7 ? 1 : 0));
  auto call = cuda::bind_call(*compiled.built.kernel, args, device);
  return call ? "" : call.diagnostics().render();
}

TEST_F(Jit, WhatComesBackIsWhatWasCompiled) {
  NEEDS_COMPILER(compiler);
  auto first = compile(request());
  ASSERT_TRUE(first.ok()) << first.diagnostics().render();
  EXPECT_FALSE(first->is_cached);
  EXPECT_TRUE(first->remarks.empty()) << first->remarks.render();
  auto second = compile(request());
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->is_cached);
  EXPECT_TRUE(told(*second) == told(*first));
  EXPECT_EQ(second->tile_requires, 1U);
  EXPECT_EQ(second->assumptions, first->assumptions);
  ASSERT_TRUE(second->tile);
  for (auto [m, k, n] : {std::tuple(64, 0, 64), {7, 64, 64}, {64, 64, 64}, {64, 68, 64}, {0, 64, 64}})
    EXPECT_EQ(wrong_call(*second, m, k, n), wrong_call(*first, m, k, n)) << m << " " << k << " " << n;
  EXPECT_THAT(wrong_call(*second, 64, 0, 64), HasSubstr("product.tile:4:3"));
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(Jit, RoleProgramsAreKeptToo) {
  NEEDS_COMPILER(compiler);
  auto first = compile(request(kRoles));
  ASSERT_TRUE(first.ok()) << first.diagnostics().render();
  auto second = compile(request(kRoles));
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->is_cached && !first->is_cached);
  EXPECT_TRUE(told(*second) == told(*first));
}

TEST_F(Jit, PlacesAreThoseOfTheTextThatIsAskedFor) {
  NEEDS_COMPILER(compiler);
  ASSERT_TRUE(compile(request()).ok());
  Request moved = request();
  moved.source = std::make_shared<SourceFile>("/elsewhere/p.tile", kProduct);
  auto found = compile(moved);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->is_cached);
  EXPECT_THAT(wrong_call(*found, 64, 0, 64), HasSubstr("/elsewhere/p.tile:4:3"));
}

TEST_F(Jit, EveryKernelOfTheLibraryComesBack) {
  NEEDS_COMPILER(compiler);
  for (const char* name : {"attention", "matmul_int4", "topk", "histogram", "softmax"}) {
    std::ostringstream text;
    text << std::ifstream(fmt::format("{}/kernels/{}.tile", PLAIT_SOURCE_DIR, name)).rdbuf();
    Request one = request(text.str());
    one.planner = planner::Kind::rules;
    auto first = compile(one), second = compile(one);
    ASSERT_TRUE(first.ok() && second.ok()) << name;
    EXPECT_TRUE(second->is_cached) << name;
    EXPECT_TRUE(told(*second) == told(*first)) << name;
  }
}

TEST_F(Jit, DamagedCodeIsCompiledAnewAndReplaced) {
  NEEDS_COMPILER(compiler);
  auto first = compile(request());
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(files().size(), 1U);
  std::string file = files().front();
  fs::resize_file(file, fs::file_size(file) / 2);
  auto second = compile(request());
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(second->is_cached);
  EXPECT_THAT(second->remarks.render(), HasSubstr(file + ": warning: its bytes are not those that were written"));
  EXPECT_FALSE(second->remarks.has_errors());
  EXPECT_EQ(second->built.kernel->code().cubin, first->built.kernel->code().cubin);
  EXPECT_TRUE(compile(request())->is_cached);
}

TEST_F(Jit, WithoutAFolderItIsCompiledAllTheSame) {
  NEEDS_COMPILER(compiler);
  Request none = request(), blocked = request();
  none.folder = "";
  std::ofstream(root_ / "file") << "x";
  blocked.folder = (root_ / "file" / "code").string();
  for (const Request& one : {none, blocked}) {
    auto made = compile(one);
    ASSERT_TRUE(made.ok());
    EXPECT_FALSE(made->is_cached || made->remarks.has_errors());
    EXPECT_EQ(made->remarks.render().find("compiled code is not kept here") != std::string::npos,
              &one != &none && one.folder != "");
  }
}

TEST_F(Jit, ForbiddenCompilationNamesTheKernel) {
  Environment forbid("PLAIT_JIT", "forbid");
  for (const char* text : {kProduct, kRoles}) {
    auto made = compile(request(text));
    ASSERT_FALSE(made.ok());
    std::string name = text == kProduct ? "product" : "scale";
    EXPECT_THAT(made.diagnostics().render(), HasSubstr(name + " is not compiled: PLAIT_JIT=forbid [jit-forbidden]"));
    EXPECT_THAT(made.diagnostics().render(), HasSubstr("plait cache import"));
  }
  // Deeper down, too.
  auto built = cuda::build(std::make_shared<SourceFile>("x", kRoles), {}, {});
  ASSERT_FALSE(built.ok());
  EXPECT_THAT(built.diagnostics().render(), HasSubstr("scale is not compiled: PLAIT_JIT=forbid"));
  Request source = request();
  source.build.source_only = true;
  EXPECT_TRUE(compile(source).ok()) << "no code is made";
}

TEST_F(Jit, ForbiddenCompilationNeedsNone) {
  NEEDS_COMPILER(compiler);
  Request ahead = request();
  ahead.build.ahead = true;
  Environment forbid("PLAIT_JIT", "forbid");
  ASSERT_TRUE(compile(ahead).ok());
  auto made = compile(request());
  ASSERT_TRUE(made.ok()) << made.diagnostics().render();
  EXPECT_TRUE(made->is_cached);
  // Of another compiler, or with other measurements.
  std::string file = files().front();
  auto unpacked = store::unpack(*store::CodeFolder::read(file));
  auto other = std::get<store::CodeFile>(unpacked);
  other.name.variant = std::string(16, '0');
  fs::remove(file);
  store::CodeFolder(request().folder).put(other);
  EXPECT_TRUE(compile(request())->is_cached);
  EXPECT_FALSE(compile(ahead)->is_cached);
}

TEST_F(Jit, AnotherSettingIsRefused) {
  Environment wrong("PLAIT_JIT", "Forbid");
  auto made = compile(request());
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.diagnostics().render(), HasSubstr("PLAIT_JIT is 'Forbid' [jit-setting]"));
  EXPECT_THAT(made.diagnostics().render(), HasSubstr("set PLAIT_JIT=forbid, or unset it"));
}

TEST_F(Jit, WhatWasMeasuredDecidesOnPlans) {
  NEEDS_COMPILER(compiler);
  Environment store("PLAIT_STORE", (root_ / "store.sqlite").string());
  Request open = request(open_loop());
  open.planner = planner::Kind::greedy;
  ASSERT_TRUE(compile(open).ok() && compile(request()).ok());
  EXPECT_TRUE(compile(open)->is_cached);
  auto database = store::Database::open(store::default_path(), store::Access::write);
  ASSERT_TRUE(database);
  store::put_measured(*database, "h200", "roles x", {"k", "t", 10, 10, 10, 0, "", ""});
  EXPECT_TRUE(compile(request())->is_cached) << "it is not planned";
  EXPECT_FALSE(compile(open)->is_cached);
  EXPECT_TRUE(compile(open)->is_cached);
}

TEST_F(Jit, WrongProgramsAreToldAsEver) {
  auto made = compile(request("kernel k(A: out f32[N]):\n  grid b = N\n  A[b + 1] = 0.0\n"));
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.diagnostics().render(), HasSubstr("[access-bounds]"));
  EXPECT_FALSE(compile(request("kernel")).ok());
  Request unknown = request();
  unknown.kernel = "other";
  EXPECT_THAT(compile(unknown).diagnostics().render(), HasSubstr("there is no kernel other"));
}

// ---- Many ----------------------------------------------------------------------------------------------------------

std::vector<Request> many(const Request& base) {
  std::vector<Request> out;
  for (const char* tile : {"16", "32", "64", "128", "256", "64"}) {
    out.push_back(base);
    out.back().bindings["tile"] = tile;
  }
  return out;
}

TEST_F(Jit, ThreadsMakeWhatOneMakes) {
  NEEDS_COMPILER(compiler);
  Request base = request(open_loop());
  base.folder = "";
  std::vector<Request> all = many(base);
  std::size_t told_of = 0;
  auto alone = compile_all(all, 1);
  auto together = compile_all(all, 4, [&](std::size_t, const Result<Compiled>&) { ++told_of; });
  EXPECT_EQ(told_of, all.size());
  ASSERT_EQ(together.size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(alone[i].ok() && together[i].ok()) << alone[i].diagnostics().render();
    EXPECT_TRUE(told(*together[i], false) == told(*alone[i], false)) << i;
  }
  EXPECT_TRUE(compile_all({}, 4).empty());
}

TEST_F(Jit, ProcessesShareAFolder) {
  NEEDS_COMPILER(compiler);
  std::vector<Request> all = many(request());
  std::vector<pid_t> children;
  for (int p = 0; p < 2; ++p) {
    pid_t child = fork();
    if (child == 0) {
      for (const auto& result : compile_all(all, 2)) {
        if (!result || !result->remarks.empty()) _exit(1);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 5U);
  for (const auto& result : compile_all(all, 2)) EXPECT_TRUE(result->is_cached);
}

}  // namespace
}  // namespace plait::jit
