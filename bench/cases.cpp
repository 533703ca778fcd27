#include "cases.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <new>
#include <random>
#include <stdexcept>
#include <thread>

#include "peers.h"
#include "plait/plait.hpp"
#include "timing.h"

namespace plait::bench {

using nlohmann::json;

namespace {

using Shape = std::vector<std::int64_t>;

const Bindings matmul_tiles = {{"block_M", "256"}, {"block_N", "256"}, {"block_K", "256"}};
const Bindings attention_tiles = {{"block_M", "64"}, {"block_N", "64"}};
const Bindings rmsnorm_tiles = {{"block_M", "1"}, {"block_N", "2048"}};

std::string kernel_path(const std::string& name) { return std::string(PLAIT_KERNELS) + "/" + name + ".tile"; }

Function compile_kernel(const std::string& name, const Bindings& bindings) {
  CompileOptions options;
  options.bindings = bindings;
  return compile(Program::parse_file(kernel_path(name)), options);
}

/// Memory as tensors usually have it: on a cache line.
template <typename T>
struct LineAllocator {
  using value_type = T;
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), std::align_val_t(64))); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, std::align_val_t(64)); }
  bool operator==(const LineAllocator&) const { return true; }
};
using Floats = std::vector<float, LineAllocator<float>>;

Floats random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double largest_difference(const Floats& a, const Floats& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::fabs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

json times_json(const std::vector<Times>& times, double flops, double bytes) {
  json list = json::object();
  for (const Times& t : times) {
    json entry = {{"median_ms", t.median() * 1e3}, {"best_ms", t.best() * 1e3}, {"repeats", t.seconds.size()}};
    if (flops > 0) entry["gflops"] = flops / t.median() / 1e9;
    if (bytes > 0) entry["gbs"] = bytes / t.median() / 1e9;
    list[t.name] = entry;
  }
  return list;
}

/// C = A·B of n×n against every peer.
json matmul_case(std::int64_t n, int threads, int repeats) {
  const Function kernel = compile_kernel("matmul", matmul_tiles);
  const Floats a = random_floats(n * n, 1);
  const Floats b = random_floats(n * n, 2);
  Floats ours(a.size());
  Floats theirs(a.size());
  const Shape shape = {n, n};
  std::vector<Side> sides = {
      {"plait", [&] {
         kernel.run({{"A", tensor(a.data(), shape)}, {"B", tensor(b.data(), shape)}, {"C", tensor(ours.data(), shape)}},
                    {.threads = threads});
       }}};
  for (const MatmulPeer& peer : matmul_peers()) {
    sides.push_back({peer.name, [&] { peer.run(n, a.data(), b.data(), theirs.data(), threads); }});
  }
  const std::vector<Times> times = alternate(sides, repeats);
  if (sides.size() > 1 && !(largest_difference(ours, theirs) < 1e-4 * static_cast<double>(n)))
    throw std::runtime_error("matmul: results differ");
  json result = {{"name", fmt::format("matmul_f32_{}_threads{}", n, threads)},
                 {"shape", {n, n, n}},
                 {"threads", threads},
                 {"parameters", matmul_tiles},
                 {"against", "the faster peer"},
                 {"target", 0.7}};
  result["times"] = times_json(times, 2.0 * static_cast<double>(n * n * n), 0);
  double fastest = INFINITY, best = INFINITY;
  for (std::size_t i = 1; i < times.size(); ++i) {
    fastest = std::min(fastest, times[i].median());
    best = std::min(best, times[i].best());
  }
  if (times.size() > 1) result["ratio"] = fastest / times[0].median();
  if (times.size() > 1) result["ratio_of_best"] = best / times[0].best();
  return result;
}

/// Attention forward against the matmul of 1024³, both plait's, in FLOP/s.
json attention_case(int threads, int repeats) {
  constexpr std::int64_t heads = 8, length = 1024, width = 64, n = 1024;
  const Function attention = compile_kernel("attention", attention_tiles);
  const Function matmul = compile_kernel("matmul", matmul_tiles);
  const Shape shape = {1, heads, length, width};
  const Floats q = random_floats(heads * length * width, 1);
  const Floats k = random_floats(heads * length * width, 2);
  const Floats v = random_floats(heads * length * width, 3);
  Floats o(q.size());
  const Floats a = random_floats(n * n, 4);
  Floats c(a.size());
  const Shape square = {n, n};
  const std::vector<Times> times = alternate(
      {{"plait",
        [&] {
          attention.run({{"Q", tensor(q.data(), shape)},
                         {"K", tensor(k.data(), shape)},
                         {"V", tensor(v.data(), shape)},
                         {"O", tensor(o.data(), shape)}},
                        {.threads = threads});
        }},
       {"matmul",
        [&] {
          matmul.run(
              {{"A", tensor(a.data(), square)}, {"B", tensor(a.data(), square)}, {"C", tensor(c.data(), square)}},
              {.threads = threads});
        }}},
      repeats);
  const double flops = 4.0 * heads * length * length * width;
  const double matmul_rate = 2.0 * n * n * n / times[1].median();
  json result = {{"name", fmt::format("attention_f32_threads{}", threads)},
                 {"shape", shape},
                 {"threads", threads},
                 {"parameters", attention_tiles},
                 {"against", "FLOP/s of plait's matmul 1024"},
                 {"target", 0.5}};
  result["times"] = times_json({times[0]}, flops, 0);
  result["matmul_gflops"] = matmul_rate / 1e9;
  result["ratio"] = flops / times[0].median() / matmul_rate;
  result["ratio_of_best"] = flops / times[0].best() / (2.0 * n * n * n / times[1].best());
  return result;
}

/// memcpy of `bytes`, shared out over threads.
void copy_by_threads(const char* from, char* to, std::size_t bytes, int threads) {
  std::vector<std::thread> pool;
  const std::size_t share = bytes / static_cast<std::size_t>(threads);
  for (int t = 1; t < threads; ++t)
    pool.emplace_back([=] {
      std::memcpy(to + share * static_cast<std::size_t>(t), from + share * static_cast<std::size_t>(t), share);
    });
  std::memcpy(to, from, share);
  for (std::thread& thread : pool) thread.join();
}

/// RMSNorm by rows against a plain copy of the same bytes.
json rmsnorm_case(int threads, int repeats) {
  constexpr std::int64_t n = 4096;
  const Function kernel = compile_kernel("rmsnorm", rmsnorm_tiles);
  const Floats x = random_floats(n * n, 1);
  const Floats w = random_floats(n, 2);
  Floats y(x.size());
  const std::size_t bytes = x.size() * sizeof(float);
  const std::vector<Times> times = alternate(
      {{"plait",
        [&] {
          kernel.run({{"X", tensor(x.data(), {n, n})}, {"W", tensor(w.data(), {n})}, {"Y", tensor(y.data(), {n, n})}},
                     {.threads = threads});
        }},
       {"copy",
        [&] {
          copy_by_threads(reinterpret_cast<const char*>(x.data()), reinterpret_cast<char*>(y.data()), bytes, threads);
        }}},
      repeats);
  json result = {{"name", fmt::format("rmsnorm_f32_threads{}", threads)},
                 {"shape", {n, n}},
                 {"threads", threads},
                 {"parameters", rmsnorm_tiles},
                 {"against", "memcpy of the same bytes"},
                 {"target", 0.7}};
  result["times"] = times_json(times, 0, 2.0 * static_cast<double>(bytes));
  result["ratio"] = times[1].median() / times[0].median();
  result["ratio_of_best"] = times[1].best() / times[0].best();
  return result;
}

/// Text to callable. The ratio is how often it fits into 200 ms.
json compile_case(int repeats) {
  constexpr double budget = 0.2;
  const std::vector<Times> times = alternate({{"plait", [] { compile_kernel("matmul", matmul_tiles); }}}, repeats);
  json result = {{"name", "compile_matmul"},   {"shape", json::array()}, {"threads", 1},
                 {"parameters", matmul_tiles}, {"against", "200 ms"},    {"target", 1}};
  result["times"] = times_json(times, 0, 0);
  result["ratio"] = budget / times[0].median();
  result["ratio_of_best"] = budget / times[0].best();
  return result;
}

struct Case {
  std::string name;
  std::function<json(int repeats)> run;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases = {{"compile_matmul", [](int repeats) { return compile_case(repeats); }}};
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  for (const int threads : {1, 2}) {
    if (threads > cores) continue;
    for (const std::int64_t n : {1024, 2048}) {
      cases.push_back({fmt::format("matmul_f32_{}_threads{}", n, threads),
                       [=](int repeats) { return matmul_case(n, threads, repeats); }});
    }
    cases.push_back({fmt::format("attention_f32_threads{}", threads),
                     [=](int repeats) { return attention_case(threads, repeats); }});
    cases.push_back(
        {fmt::format("rmsnorm_f32_threads{}", threads), [=](int repeats) { return rmsnorm_case(threads, repeats); }});
  }
  return cases;
}

void print_line(const json& result) {
  std::string line = fmt::format("{:28}", result["name"].get<std::string>());
  for (const auto& [name, entry] : result["times"].items()) {
    line += fmt::format("  {} {:.2f} ms", name, entry["median_ms"].get<double>());
    if (entry.contains("gflops")) line += fmt::format(" ({:.1f} GFLOP/s)", entry["gflops"].get<double>());
    if (entry.contains("gbs")) line += fmt::format(" ({:.1f} GB/s)", entry["gbs"].get<double>());
  }
  if (result.contains("ratio")) {
    line += fmt::format("  ratio {:.2f} (of the best runs {:.2f}) to {}, target {:.2f}", result["ratio"].get<double>(),
                        result["ratio_of_best"].get<double>(), result["against"].get<std::string>(),
                        result["target"].get<double>());
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

std::vector<json> run_cases(const Settings& settings) {
  std::vector<json> results;
  for (const Case& c : all_cases()) {
    if (c.name.find(settings.only) == std::string::npos) continue;
    results.push_back(c.run(settings.repeats));
    print_line(results.back());
  }
  return results;
}

}  // namespace plait::bench
