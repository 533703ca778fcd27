#include "timing.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace plait::bench {

double Times::median() const {
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Times::best() const { return *std::min_element(seconds.begin(), seconds.end()); }

std::vector<Times> alternate(const std::vector<Side>& sides, int repeats) {
  std::vector<Times> times;
  for (const Side& side : sides) {
    side.run();
    times.push_back({side.name, {}});
  }
  for (int i = 0; i < repeats; ++i) {
    for (std::size_t s = 0; s < sides.size(); ++s) {
      // Idle workers of the side before may still be spinning.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const auto start = std::chrono::steady_clock::now();
      sides[s].run();
      times[s].seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  return times;
}

}  // namespace plait::bench
