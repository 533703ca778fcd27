#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "unit/cpu/run.h"

// Object files and headers, through the C compiler.
namespace plait::test {
namespace {

using testing::HasSubstr;

const char* scale_text = R"(
kernel scale(A: in f32[M, N], C: out f32[M, N] strides [ldc, 1], H: inout i8[4], times: f32, flag: bool, small: u8):
  grid x = ceildiv(N, 32), y = M
  require N % 2 == 0, "N is even"
  S = shared f32[32]
  copy(A[y, x * 32], S)
  for i in parallel(32):
    S[i] = exp(S[i] * times) + select(flag, 1.0, 0.0)
  copy(S, C[y, x * 32])
  if x == 0 and y == 0:
    H[0] = i8(small)
    H[N - 8] = 5
    print("{} {}% {} {}", N, times, flag, small)
)";

const char* main_text = R"(
#include <math.h>
#include <stdio.h>
#include "scale.h"
int main(void) {
  float a[3 * 10], c[3 * 12];
  int8_t h[4] = {0};
  for (int i = 0; i < 30; ++i) a[i] = (float)i / 10;
  if (scale(a, c, h, 0.5f, 1, 250, 3, 10, 12) != 0) return 1;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 10; ++j)
      if (fabsf(c[i * 12 + j] - (expf(a[i * 10 + j] * 0.5f) + 1)) > 1e-5f) return 2;
  if (h[0] != -6 || h[2] != 5) return 3;
  printf("%s\n", scale_error(scale(a, c, h, 0.5f, 1, 250, 3, 9, 12)));
  printf("%s\n", scale_error(scale(a, c, h, 0.5f, 1, 250, 3, -2, 12)));
  printf("%s\n", scale_error(scale(a, c, h, 0.5f, 1, 250, 1, 12, 12)));
  printf("%s\n", scale_error(scale(a, 0, h, 0.5f, 1, 250, 3, 10, 12)));
  if (scale(0, 0, h, 0.5f, 1, 250, 0, 10, 12) != 0) return 4;
  printf("%s, %s\n", scale_error(0), scale_error(12345));
  return scale_SCRATCH_BYTES > 4096;
}
)";

std::string run_command(const std::string& command, int& status) {
  std::array<char, 4096> part{};
  std::string out;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  while (const auto n = fread(part.data(), 1, part.size(), pipe)) out.append(part.data(), n);
  status = pclose(pipe);
  return out;
}

TEST(Object, LinksIntoACProgram) {
  const auto folder = std::filesystem::temp_directory_path() / ("plait_object_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  const ir::Kernel kernel = kernel_of(scale_text);
  const auto object = cpu::emit(kernel, cpu::EmitKind::object);
  const auto header = cpu::emit_header(kernel);
  ASSERT_TRUE(object.ok() && header.ok());
  write("scale.o", *object);
  write("scale.h", *header);
  write("main.c", main_text);
  int status = 0;
  const std::string in = "cd '" + folder.string() + "' && ";
  EXPECT_EQ(run_command(in + "gcc -std=c11 -Wall -Wextra -Werror main.c scale.o -lmvec -lm -o main", status), "");
  const std::string out = run_command(in + "./main", status);
  EXPECT_EQ(status, 0) << out;
  EXPECT_THAT(out, HasSubstr("10 0.5% true 250\n"));
  EXPECT_THAT(out, HasSubstr("test.tile:4:"));
  EXPECT_THAT(out, HasSubstr(": require: N is even [require-failed]\n"));
  EXPECT_THAT(out, HasSubstr(": N is negative or too large [argument-shape]\n"));
  EXPECT_THAT(out, HasSubstr(": index ? leaves dimension 0 of H, whose extent is ? [out-of-bounds]\n"));
  EXPECT_THAT(out, HasSubstr("test.tile:2:31: C is NULL [argument-memory]\n"));
  EXPECT_THAT(out, HasSubstr("no error, no such check\n"));
  EXPECT_EQ(run_command(in + "g++ -std=c++17 -Wall -Wextra -pedantic -Werror -fsyntax-only -x c++ scale.h", status),
            "");
  std::filesystem::remove_all(folder);
}

TEST(Object, HeaderDeclaresTheArguments) {
  const auto header = cpu::emit_header(kernel_of(scale_text));
  EXPECT_THAT(*header, HasSubstr("int scale(const float *A, float *C, int8_t *H, float times, uint8_t flag, uint8_t "
                                 "small, int64_t M, int64_t N, "
                                 "int64_t ldc);"));
  EXPECT_THAT(*header, HasSubstr("C: out f32[M, N] strides [ldc, 1]"));
  const auto words = cpu::emit_header(
      kernel_of("kernel k(int: in i4[N], out1: out f16[N], double: f16):\n  grid b = 1\n  out1[0] = double\n"));
  EXPECT_THAT(*words, HasSubstr("int k(const uint8_t *int_, uint16_t *out1, float double_, int64_t N);"));
}

TEST(Object, NamesThatCTakes) {
  for (const char* name : {"main", "expf", "double", "malloc_", "printf", "NULL", "INT64_MAX", "__LINE__"}) {
    const ir::Kernel kernel = kernel_of(std::string("kernel ") + name + "(C: out f32[1]):\n  grid b = 1\n  C[0] = 1\n");
    const auto object = cpu::emit(kernel, cpu::EmitKind::object);
    const bool free_name = std::string(name) == "malloc_";
    ASSERT_EQ(object.ok(), free_name) << name;
    if (!free_name) {
      EXPECT_EQ(object.diagnostics().list()[0].rule, Rule::c_name);
    }
  }
}

TEST(Object, TextForms) {
  const ir::Kernel kernel = kernel_of(scale_text);
  const auto ll = cpu::emit(kernel, cpu::EmitKind::llvm);
  EXPECT_THAT(*ll, HasSubstr("define i32 @scale("));
  EXPECT_THAT(*ll, HasSubstr("define i32 @scale_block("));
  const auto assembly = cpu::emit(kernel, cpu::EmitKind::assembly);
  EXPECT_THAT(*assembly, HasSubstr("scale_block:"));
  EXPECT_EQ(*assembly, *cpu::emit(kernel, cpu::EmitKind::assembly));
}

}  // namespace
}  // namespace plait::test
