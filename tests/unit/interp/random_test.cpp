#include "random/program.h"

#include "unit/interp/run.h"

namespace plait::test {
namespace {

/// Everything a run left behind, as text.
std::string outcome(const RandomProgram& program) {
  Call call = program.make_call();
  const Diagnostics found = interp::interpret(program.kernel, call.args());
  std::string text = found.render();
  for (const auto& [name, values] : program.inputs) {
    for (const double value : call.get(name)) text += std::to_string(value) + " ";
  }
  return text;
}

class RandomPrograms : public testing::TestWithParam<int> {};

TEST_P(RandomPrograms, AreLegalAndRunAlikeEveryTime) {
  for (int n = 0; n < 40; ++n) {
    const auto seed = static_cast<std::uint64_t>(GetParam() * 1000 + n);
    const RandomProgram program = make_random_program(seed);
    const Diagnostics broken = verify::verify(program.kernel);
    ASSERT_FALSE(broken.has_errors()) << "seed " << seed << "\n" << broken.render() << program.text;
    Call call = program.make_call();
    const Diagnostics found = interp::interpret(program.kernel, call.args());
    ASSERT_TRUE(found.empty()) << "seed " << seed << "\n" << found.render() << program.text;
    if (n % 10 != 0) continue;
    ASSERT_EQ(outcome(program), outcome(make_random_program(seed))) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomPrograms, testing::Range(0, 5));

TEST(RandomProgram, SurvivesPrintingAndReading) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_round_trip(make_random_program(seed).kernel);
}

TEST(RandomProgram, TogetherUseTheLanguage) {
  std::string all;
  for (std::uint64_t seed = 0; seed < 400; ++seed) all += random_program_text(seed);
  for (const char* word : {"copy(",
                           "rows=",
                           "valid=",
                           "pad=",
                           "cache=",
                           "fill(",
                           "clear(",
                           "gemm(",
                           "trans_A",
                           "trans_B",
                           "clear_accum",
                           "reduce_sum",
                           "reduce_max",
                           "reduce_min",
                           "reduce_abssum",
                           "reduce_abs",
                           "reduce_bitand",
                           "reduce_bitor",
                           "reduce_bitxor",
                           "reduce_argmax",
                           "reduce_argmin",
                           "clear=false",
                           "cumsum(",
                           "reverse=true",
                           "transpose(",
                           "atomic_add(",
                           "atomic_max(",
                           "range(",
                           "unrolled(",
                           "vectorized(",
                           "parallel(",
                           "pipelined(",
                           "persistent(",
                           "while ",
                           "break",
                           "continue",
                           "if ",
                           "elif ",
                           "else:",
                           "local ",
                           "shared ",
                           "fragment ",
                           "assert ",
                           "task(",
                           "strides [pitch",
                           "select(",
                           " and ",
                           " or ",
                           "not (",
                           "bitcast(",
                           "saturate=",
                           "round=",
                           "ceildiv(",
                           "<<",
                           ">>",
                           "fma("}) {
    EXPECT_NE(all.find(word), std::string::npos) << word;
  }
}

TEST(RandomProgram, DependsOnItsSeed) {
  EXPECT_NE(random_program_text(1), random_program_text(2));
  EXPECT_EQ(random_program_text(3), random_program_text(3));
}

}  // namespace
}  // namespace plait::test
