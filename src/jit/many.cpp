#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "jit/jit.h"

namespace plait::jit {

std::vector<Result<Compiled>> compile_all(const std::vector<Request>& requests, int threads, const Done& done) {
  std::vector<std::optional<Result<Compiled>>> results(requests.size());
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr fault;
  auto work = [&] {
    for (std::size_t i = next++; i < requests.size(); i = next++) {
      try {
        results[i] = compile(requests[i]);
        std::lock_guard lock(mutex);
        if (done) done(i, *results[i]);
      } catch (...) {
        // A fault of plait: nothing more is begun, and the caller gets it.
        next = requests.size();
        std::lock_guard lock(mutex);
        if (fault == nullptr) fault = std::current_exception();
      }
    }
  };
  std::size_t wanted = threads > 0 ? static_cast<std::size_t>(threads) : std::thread::hardware_concurrency();
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < std::min(wanted, requests.size()); ++t) others.emplace_back(work);
  work();
  for (std::thread& thread : others) thread.join();
  if (fault != nullptr) std::rethrow_exception(fault);
  std::vector<Result<Compiled>> out;
  for (auto& result : results) out.push_back(std::move(*result));
  return out;
}

}  // namespace plait::jit
