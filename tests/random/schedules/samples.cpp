#include "random/schedules/samples.h"

#include <fmt/format.h>

#include "roundtrip.h"

namespace plait::test {
namespace {

/// `trips` tiles of so many elements, the last one not whole.
std::int64_t tiles(std::int64_t trips, std::int64_t tile, std::int64_t cut) {
  return trips == 0 ? 0 : trips * tile - cut;
}

}  // namespace

std::vector<Sample> samples() {
  auto product = [](std::int64_t trips) { return Dims{{"M", 72}, {"N", 40}, {"K", tiles(trips, 32, 8)}}; };
  auto rows = [](std::int64_t trips) { return Dims{{"M", 5}, {"N", tiles(trips, 64, 8)}}; };
  auto attention = [](std::int64_t trips) {
    return Dims{{"B", 1}, {"H", 2}, {"Hkv", 1}, {"Sq", 72}, {"Sk", tiles(trips, 32, 5)}};
  };
  // Its loop goes over the queries, for one head after the other or for one.
  auto keys = [](std::int64_t trips) {
    return Dims{{"B", 1}, {"H", 2}, {"Hkv", 1}, {"Sq", tiles(trips, 32, 5)}, {"Sk", 40}};
  };
  auto keys_of_heads = [](std::int64_t trips) {
    return Dims{{"B", 1}, {"H", 2}, {"Hkv", 2}, {"Sq", tiles(trips, 32, 5)}, {"Sk", 40}};
  };
  const lang::Bindings small = {{"dtype", "bf16"}, {"block_M", "64"}, {"block_N", "32"}, {"block_K", "32"}};
  const lang::Bindings narrow = {{"dtype", "bf16"}, {"block_M", "64"}, {"block_N", "32"}, {"D", "32"}};
  const lang::Bindings of_keys = {{"dtype", "bf16"}, {"block_M", "32"}, {"block_N", "64"}, {"D", "32"}};
  const lang::Bindings line = {{"block_N", "64"}};
  auto with = [](lang::Bindings bindings, const lang::Bindings& more) {
    for (const auto& [name, value] : more) bindings[name] = value;
    return bindings;
  };
  return {
      {"matmul", "matmul", small, product},
      {"matmul_f32_out", "matmul", with(small, {{"out_dtype", "f32"}}), product},
      {"matmul_nt", "matmul_nt", small, product},
      {"matmul_nt_rows_of_4_bytes", "matmul_nt", small,
       [](std::int64_t trips) { return Dims{{"M", 72}, {"N", 40}, {"K", tiles(trips, 32, 6)}}; }},
      {"matmul_tn", "matmul_tn", with(small, {{"block_N", "64"}}), product},
      {"matmul_f32", "matmul", with(small, {{"dtype", "f32"}}), product},
      {"matmul_bias_act", "matmul_bias_act", small, product},
      {"batched_matmul", "batched_matmul", small,
       [](std::int64_t trips) { return Dims{{"batch", 2}, {"M", 40}, {"N", 40}, {"K", tiles(trips, 32, 8)}}; }},
      {"matmul_int4",
       "matmul_int4",
       {{"block_K", "64"}, {"group", "32"}},
       [](std::int64_t trips) { return Dims{{"M", 40}, {"N", 72}, {"K", tiles(trips, 64, 32)}}; }},
      {"attention", "attention", narrow, attention},
      {"attention_causal", "attention", with(narrow, {{"causal", "true"}}), attention},
      {"attention_bwd_dq", "attention_bwd_dq", narrow, attention},
      {"attention_bwd_dq_causal", "attention_bwd_dq", with(narrow, {{"causal", "true"}}), attention},
      {"attention_bwd_dkdv", "attention_bwd_dkdv", of_keys, keys},
      {"attention_bwd_dkdv_causal", "attention_bwd_dkdv", with(of_keys, {{"causal", "true"}}), keys_of_heads},
      {"conv2d",
       "conv2d",
       {{"dtype", "f16"}, {"padding", "0"}, {"block_M", "64"}, {"block_F", "16"}, {"block_C", "16"}},
       [](std::int64_t trips) {
         return Dims{{"batch", 1}, {"H", 9},  {"W", 8}, {"C", tiles(trips, 16, 8)}, {"KH", 1}, {"KW", 1},
                     {"F", 24},    {"OH", 9}, {"OW", 8}};
       }},
      {"gemv",
       "gemv",
       {{"dtype", "bf16"}, {"block_K", "64"}},
       [](std::int64_t trips) { return Dims{{"M", 13}, {"K", tiles(trips, 64, 8)}}; }},
      {"softmax", "softmax", line, rows},
      {"layernorm", "layernorm", with(line, {{"dtype", "f16"}}), rows},
      {"rmsnorm", "rmsnorm", with(line, {{"dtype", "bf16"}}), rows},
      {"mamba2_chunk_scan",
       "mamba2_chunk_scan",
       {{"P", "16"}, {"N", "32"}, {"block_K", "64"}},
       [](std::int64_t trips) { return Dims{{"B", 1}, {"S", trips * 64}, {"H", 2}, {"G", 1}}; },
       "L",
       64},
      {"mamba2_chunk_state",
       "mamba2_chunk_state",
       {{"P", "64"}, {"N", "32"}, {"block_L", "32"}},
       [](std::int64_t trips) { return Dims{{"B", 1}, {"S", trips * 32}, {"H", 2}, {"G", 1}}; },
       "L",
       32},
  };
}

Result<ir::Kernel> load_sample(const Sample& sample, std::int64_t trips) {
  lang::Bindings bindings = sample.bindings;
  if (sample.each != 0) bindings[sample.length] = std::to_string(trips * sample.each);
  return load(read_file(fmt::format("{}/kernels/{}.tile", PLAIT_SOURCE_DIR, sample.kernel)), bindings);
}

}  // namespace plait::test
