#include "cuda/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "cuda/errors.h"

namespace plait::cuda {
namespace {

constexpr int kMostLaunches = 1024;   ///< in one window
constexpr int kCpuLaunches = 64;      ///< timed in a row: fewer than the driver queues
constexpr unsigned kNonBlocking = 1;  ///< a stream that does not wait for the default stream

/// A stream, two events and a graph. After the first call that fails, nothing more happens.
class Bench {
 public:
  Bench(const Context& context, const std::vector<const Launch*>& rotation)
      : driver_(*context.driver), rotation_(rotation) {
    call(driver_.create_stream, &stream_, kNonBlocking);
    call(driver_.create_event, &begin_, 0u);
    call(driver_.create_event, &end_, 0u);
  }
  ~Bench() {
    if (exec_ != nullptr) driver_.destroy_graph_exec(exec_);
    if (begin_ != nullptr) driver_.destroy_event(begin_);
    if (end_ != nullptr) driver_.destroy_event(end_);
    if (stream_ != nullptr) driver_.destroy_stream(stream_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  bool ok() const { return found_.empty(); }
  const Diagnostics& diagnostics() const { return found_; }

  /// Milliseconds of one launch outside a graph.
  double once_ms() {
    launch(0);
    call(driver_.record_event, begin_, stream_);
    launch(0);
    call(driver_.record_event, end_, stream_);
    return elapsed();
  }
  double cpu_us() {
    double best = INFINITY;
    for (int repetition = 0; repetition < 5 && ok(); ++repetition) {
      call(driver_.synchronize_stream, stream_);
      auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < kCpuLaunches; ++i) launch(i);
      std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
      best = std::min(best, time.count() / kCpuLaunches);
    }
    call(driver_.synchronize_stream, stream_);
    return best;
  }
  void capture(int launches) {
    GraphHandle graph = nullptr;
    call(driver_.begin_capture, stream_, CaptureMode::thread_local_);
    for (int i = 0; i < launches; ++i) launch(i);
    // A capture that was begun must end, whatever happened in it.
    Status ended = driver_.end_capture(stream_, &graph);
    call([ended] { return ended; });
    call(driver_.instantiate, &exec_, graph, 0ull);
    if (graph != nullptr) driver_.destroy_graph(graph);
  }
  double window_ms() {
    call(driver_.record_event, begin_, stream_);
    call(driver_.launch_graph, exec_, stream_);
    call(driver_.record_event, end_, stream_);
    return elapsed();
  }

 private:
  template <typename F, typename... Args>
  void call(F function, Args... args) {
    if (ok()) found_ = check(driver_, function(args...), "timing the kernel");
  }
  void launch(int number) {
    if (ok()) found_ = rotation_[static_cast<std::size_t>(number) % rotation_.size()]->run(stream_);
  }
  double elapsed() {
    float ms = 0;
    call(driver_.synchronize_event, end_);
    call(driver_.elapsed, &ms, begin_, end_);
    return ms;
  }

  const Driver& driver_;
  const std::vector<const Launch*>& rotation_;
  StreamHandle stream_ = nullptr;
  EventHandle begin_ = nullptr, end_ = nullptr;
  GraphExecHandle exec_ = nullptr;
  Diagnostics found_;
};

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Whole turns of the rotation that fill a window.
int launches_a_window(double once_ms, std::size_t sets, const TimingOptions& options) {
  double wanted = std::clamp(options.window_ms / std::max(once_ms, 1e-3), 4.0, static_cast<double>(kMostLaunches));
  int turns = std::max(1, static_cast<int>(std::ceil(wanted / static_cast<double>(sets))));
  return turns * static_cast<int>(sets);
}

}  // namespace

Result<Timing> measure(const Context& context, const std::vector<const Launch*>& rotation,
                       const TimingOptions& options) {
  Bench bench(context, rotation);
  Timing timing;
  double once = bench.once_ms();
  timing.cpu_us = bench.cpu_us();
  timing.launches = launches_a_window(once, rotation.size(), options);
  bench.capture(timing.launches);
  bench.window_ms();
  std::vector<double> windows;
  double total = 0;
  while (bench.ok() && (static_cast<int>(windows.size()) < options.windows || total < options.seconds * 1e3)) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.idle_seconds));
    double ms = bench.window_ms();
    windows.push_back(ms / timing.launches);
    // Empty windows would never add up.
    total += std::max(ms, options.seconds * 1e3 / 100);
  }
  if (!bench.ok()) return bench.diagnostics();
  timing.windows = static_cast<int>(windows.size());
  timing.median_ms = median(std::move(windows));
  return timing;
}

}  // namespace plait::cuda
