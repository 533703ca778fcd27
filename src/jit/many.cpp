#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/jit.h"

namespace plait::jit {

void for_all(std::size_t count, int threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr fault;
  auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        // A fault of plait: nothing more is begun, and the caller gets it.
        next = count;
        std::lock_guard lock(mutex);
        if (fault == nullptr) fault = std::current_exception();
      }
    }
  };
  std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(wanted, count); ++t) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
  if (fault != nullptr) std::rethrow_exception(fault);
}

std::vector<Result<Compiled>> compile_all(const std::vector<Request>& requests, int threads, const Done& done) {
  std::vector<std::optional<Result<Compiled>>> results(requests.size());
  std::mutex mutex;
  for_all(requests.size(), threads, [&](std::size_t i) {
    results[i] = compile(requests[i]);
    std::lock_guard lock(mutex);
    if (done) done(i, *results[i]);
  });
  std::vector<Result<Compiled>> out;
  for (auto& result : results) out.push_back(std::move(*result));
  return out;
}

}  // namespace plait::jit
