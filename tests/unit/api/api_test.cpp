#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "plait/plait.hpp"

namespace {

using ::testing::HasSubstr;

const char* kScale = R"(
kernel scale(X: in f32[M, N] strides [ldx, 1], Y: out f32[M, N], alpha: f32, n: i32 = 1; factor = 1):
  grid b = M
  for j in range(N):
    Y[b, j] = X[b, j] * alpha * f32(n) * f32(factor)
)";

/// A struct with DLTensor's members.
struct DlTensor {
  void* data;
  struct {
    int device_type, device_id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

std::string thrown(const std::function<void()>& f) {
  try {
    f();
  } catch (const plait::Error& e) {
    return e.what();
  }
  return "nothing thrown";
}

TEST(ApiTest, CallsByPlaceAndByName) {
  plait::Function f = plait::compile(plait::Program::parse(kScale), {.device = "host", .bindings = {{"factor", "2"}}});
  EXPECT_EQ(f.name(), "scale");
  std::vector<float> x = {1, 2, 0, 3, 4, 0}, y(4);
  const float* input = x.data();
  f(plait::tensor(input, {2, 2}, {3, 1}), plait::tensor(y.data(), {2, 2}), 0.5f, 3);
  EXPECT_EQ(y, (std::vector<float>{3, 6, 9, 12}));
  f.run({{"alpha", 1.0}, {"Y", plait::tensor(y.data(), {2, 2})}, {"X", plait::tensor(input, {2, 2}, {3, 1})}},
        {.threads = 1});
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, 8}));
}

TEST(ApiTest, DlpackShapedViews) {
  plait::Function f = plait::compile(plait::Program::parse(kScale), {.device = "interp"});
  std::vector<float> x = {9, 1, 2, 3, 4}, y(4);
  std::int64_t shape[] = {2, 2}, strides[] = {2, 1};
  DlTensor input{x.data(), {1, 0}, 2, {2, 32, 1}, shape, strides, 4},
      output{y.data(), {1, 0}, 2, {2, 32, 1}, shape, nullptr, 0};
  f(input, output, 1.0);
  EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 4}));
  input.device.device_type = 2;
  EXPECT_THAT(thrown([&] { f(input, output, 1.0); }), HasSubstr("X is in the memory of device 'DLPack device type 2'"));
  input.dtype.code = 5;
  EXPECT_THAT(thrown([&] { f(input, output, 1.0); }), HasSubstr("an element type that plait does not have"));
}

TEST(ApiTest, ErrorsCarryDiagnostics) {
  try {
    plait::Program::parse("kernel k(", "bad.tile");
    FAIL();
  } catch (const plait::Error& e) {
    EXPECT_EQ(e.status(), PLAIT_REJECTED);
    EXPECT_THAT(e.what(), HasSubstr("bad.tile:1:"));
    EXPECT_THAT(e.json(), HasSubstr("\"line\": 1"));
  }
  EXPECT_THAT(thrown([] { plait::Program::parse_file("/"); }), HasSubstr("this is a directory"));
  EXPECT_THAT(thrown([] { plait::compile(plait::Program::parse(kScale), {.kernel = "absent"}); }),
              HasSubstr("[unknown-kernel]"));
  EXPECT_THAT(thrown([] { plait::Program::parse(kScale).verify({}, {{"factor", "f32"}}); }),
              HasSubstr("[compile-param]"));
}

TEST(ApiTest, EveryBadCallIsToldByName) {
  plait::Function f = plait::compile(plait::Program::parse(kScale), {.device = "interp"});
  std::vector<float> x(8), y(8);
  auto in = plait::tensor(x.data(), {2, 2}), out = plait::tensor(y.data(), {2, 2});
  EXPECT_THAT(thrown([&] { f(in, out); }), HasSubstr("gets no argument for alpha (a scalar)"));
  EXPECT_THAT(thrown([&] { f(in, out, 1.0, 1, 2); }), HasSubstr("more arguments than kernel scale has parameters"));
  EXPECT_THAT(thrown([&] { f(in, out, 1); }), HasSubstr("scalar argument alpha is i64, not f32"));
  EXPECT_THAT(thrown([&] { f(in, out, 1.0, std::int64_t{1} << 40); }), HasSubstr("outside i32"));
  EXPECT_THAT(thrown([&] { f(in, in, 1.0); }), HasSubstr("[argument-overlap]"));
  EXPECT_THAT(thrown([&] { f(plait::TensorRef(x.data(), PLAIT_F16, {2, 2}), out, 1.0); }),
              HasSubstr("[argument-dtype]"));
  EXPECT_THAT(thrown([&] { f(plait::TensorRef(x.data(), PLAIT_F32, {2, 2}, {}, "host", 15), out, 1.0); }),
              HasSubstr("[argument-memory]"));
  EXPECT_THAT(thrown([&] { f(plait::TensorRef(x.data(), PLAIT_F32, {2, 2}, {2}), out, 1.0); }),
              HasSubstr("not as many strides as extents"));
  EXPECT_THAT(thrown([&] { f(plait::TensorRef(x.data(), PLAIT_F32, {2, 2}, {-2, 1}), out, 1.0); }),
              HasSubstr("negative stride"));
}

TEST(ApiTest, RunTimeChecksSayWhere) {
  const char* text = R"(
kernel pick(I: in i32[N], X: in f32[N], Y: out f32[N]):
  grid b = N
  Y[b] = X[I[b]]
)";
  for (const char* device : {"host", "interp"}) {
    plait::Function f = plait::compile(plait::Program::parse(text, "pick.tile"), {.device = device});
    std::vector<std::int32_t> index = {0, 1, 7};
    std::vector<float> x(3), y(3);
    std::string message = thrown(
        [&] { f(plait::tensor(index.data(), {3}), plait::tensor(x.data(), {3}), plait::tensor(y.data(), {3})); });
    EXPECT_THAT(message, HasSubstr("pick.tile:4:")) << device;
    EXPECT_THAT(message, HasSubstr("[out-of-bounds]")) << device;
  }
}

TEST(ApiTest, KernelsBuiltInCpp) {
  plait::KernelBuilder b("twice");
  auto N = b.dim("N");
  auto X = b.input("X", plait::f32, {N}), Y = b.output("Y", plait::f32, {N});
  auto [bx] = b.grid(ceildiv(N, 64));
  auto x = b.fragment(plait::f32, {64});
  b.copy(X(bx * 64), x);
  b.parallel({64}, [&](plait::Var i) { x(i) *= 2; });
  b.copy(x, Y(bx * 64));
  plait::Kernel kernel = b.build();
  plait::Function f = plait::compile(kernel);
  std::vector<float> in(100), out(100);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  f(plait::tensor(in.data(), {100}), plait::tensor(out.data(), {100}));
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], 2 * in[i]);
  EXPECT_THAT(thrown([&] { plait::compile(kernel, {.kernel = "twice"}); }), HasSubstr("used wrongly"));
}

/// CASES: 16 threads compile 64 kernels at once, and each result is right.
TEST(ApiTest, ManyThreadsCompileAtOnce) {
  std::atomic<int> right = 0;
  auto work = [&](int thread) {
    plait::Program program = plait::Program::parse(kScale);
    for (int i = 0; i < 4; ++i) {
      int factor = thread * 4 + i;
      plait::Function f = plait::compile(program, {.bindings = {{"factor", std::to_string(factor)}}});
      std::vector<float> x = {1, 2, 3, 4}, y(4);
      f(plait::tensor(x.data(), {2, 2}), plait::tensor(y.data(), {2, 2}), 0.5f);
      if (y[3] == 2.0f * static_cast<float>(factor)) ++right;
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 64);
}

TEST(ApiTest, OneKernelServesManyThreadsAndShapes) {
  plait::Function f = plait::compile(plait::Program::parse(kScale));
  std::atomic<int> right = 0;
  auto work = [&](std::int64_t n) {
    std::vector<float> x(static_cast<std::size_t>(n * n), 3), y(x.size());
    f(plait::tensor(x.data(), {n, n}), plait::tensor(y.data(), {n, n}), 2.0);
    if (y == std::vector<float>(x.size(), 6)) ++right;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back(work, t * 5);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

}  // namespace
