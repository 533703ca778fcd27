#include "runtime/executor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>

#include "runtime/host_tensor.h"

namespace plait::runtime {
namespace {

constexpr std::align_val_t kScratchAlignment{64};

/// On-chip buffers of the blocks that one thread runs, one after the other.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes)
      : memory_(bytes > 0 ? ::operator new(static_cast<std::size_t>(bytes), kScratchAlignment) : nullptr) {}
  Scratch(Scratch&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() { ::operator delete(memory_, kScratchAlignment); }
  void* get() const { return memory_; }

 private:
  void* memory_;
};

/// The trap of the lowest block that had one. Blocks above it need not run any more.
class FirstTrap {
 public:
  bool is_moot(std::int64_t block) const { return block > block_.load(std::memory_order_relaxed); }
  void record(std::int64_t block, const cpu::Trap& trap) {
    std::lock_guard lock(mutex_);
    if (block >= block_.load(std::memory_order_relaxed)) return;
    block_.store(block, std::memory_order_relaxed);
    trap_ = trap;
  }
  std::int64_t block() const { return block_.load(); }
  const cpu::Trap& trap() const { return trap_; }

 private:
  std::atomic<std::int64_t> block_ = std::numeric_limits<std::int64_t>::max();
  std::mutex mutex_;
  cpu::Trap trap_;
};

std::vector<cpu::Slot> make_slots(const ir::BoundArgs& args) {
  std::vector<cpu::Slot> slots;
  auto add_integer = [&](std::int64_t value) {
    cpu::Slot slot{};
    slot.integer = value;
    slots.push_back(slot);
  };
  for (const ir::TensorView& view : args.tensors) {
    cpu::Slot slot{};
    slot.pointer = view.data;
    slots.push_back(slot);
  }
  for (const ir::TensorView& view : args.tensors) {
    for (std::int64_t extent : view.shape) add_integer(extent);
    for (std::int64_t stride : view.strides) add_integer(stride);
  }
  for (const ir::ScalarValue& scalar : args.scalars) {
    cpu::Slot slot{};
    if (ir::is_float(scalar.type)) {
      slot.floating = scalar.f;
    } else {
      slot.integer = scalar.i;
    }
    slots.push_back(slot);
  }
  for (std::int64_t dim : args.dims) add_integer(dim);
  for (std::int64_t extent : args.grid) add_integer(extent);
  return slots;
}

std::string fill_in(const std::string& message, const std::int64_t* values, std::size_t count) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (message.compare(i, 2, "{}") == 0 && used < count) {
      out += std::to_string(values[used++]);
      ++i;
    } else {
      out += message[i];
    }
  }
  return out;
}

/// Coordinates of a block counted with the first axis fastest.
struct Block {
  std::int64_t x, y, z;
};
Block block_at(std::int64_t number, const std::vector<std::int64_t>& grid) {
  std::int64_t nx = grid.empty() ? 1 : grid[0], ny = grid.size() > 1 ? grid[1] : 1;
  return {number % nx, number / nx % ny, number / nx / ny};
}

Diagnostics describe(const cpu::Code& code, const FirstTrap& first, const std::vector<std::int64_t>& grid) {
  Diagnostics diags;
  auto index = static_cast<std::size_t>(first.trap().code) - 1;
  PLAIT_ASSERT(first.trap().code > 0 && index < code.traps.size(), "a block returned an unknown trap");
  const cpu::TrapInfo& info = code.traps[index];
  std::size_t values = info.rule == Rule::assert_failed ? 0 : std::size(first.trap().values);
  Diagnostic& diag = diags.error(info.rule, info.loc, fill_in(info.message, first.trap().values, values));
  Block block = block_at(first.block(), grid);
  std::int64_t at[3] = {block.x, block.y, block.z};
  diag.notes.push_back(
      {info.loc, fmt::format("in block ({})", fmt::join(at, at + std::max<std::size_t>(grid.size(), 1), ", "))});
  return diags;
}

}  // namespace

const ir::BufferDecl* shared_byte_output(const ir::Kernel& kernel) {
  for (const ir::Param& param : kernel.params) {
    bool is_written = param.kind == ir::ParamKind::out || param.kind == ir::ParamKind::inout;
    if (is_written && ir::dtype_bits(param.buffer->type) < 8) return param.buffer.get();
  }
  return nullptr;
}

namespace {

Diagnostics short_of_memory(const cpu::Code& code, std::int64_t threads) {
  Diagnostics diags;
  diags.error(
      Rule::out_of_memory, code.largest_buffer.loc,
      fmt::format("the on-chip buffers need {:.3f} GiB for each of {} threads ({}), which is more than there is",
                  static_cast<double>(code.scratch_bytes) / 0x1p30, threads, code.largest_buffer.message),
      "make the buffers smaller, or run on fewer threads");
  return diags;
}

/// Scratch memory that the machine does not have would end the process rather than the call, so large wishes are
/// looked at before.
bool has_memory(const cpu::Code& code, std::int64_t threads) {
  constexpr std::int64_t large = std::int64_t{64} << 20;
  return code.scratch_bytes < large || static_cast<double>(code.scratch_bytes) * static_cast<double>(threads) <=
                                           static_cast<double>(available_memory());
}

/// Calls `run_block(number, scratch)` for every block of a grid; may throw std::bad_alloc.
template <typename RunBlock>
void run_grid(const cpu::Code& code, std::int64_t blocks, int threads, const RunBlock& run_block) {
  if (blocks == 0) return;
  if (threads == 1 || blocks == 1) {
    Scratch scratch(code.scratch_bytes);
    for (std::int64_t i = 0; i < blocks; ++i) run_block(i, scratch.get());
    return;
  }
  tbb::enumerable_thread_specific<Scratch> scratch([&] { return Scratch(code.scratch_bytes); });
  auto run_all = [&] {
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, blocks), [&](const tbb::blocked_range<std::int64_t>& part) {
      void* memory = scratch.local().get();
      for (std::int64_t i = part.begin(); i != part.end(); ++i) run_block(i, memory);
    });
  };
  // An arena of more threads than the machine has would only make oneTBB print a warning.
  if (threads == 0 || threads >= tbb::info::default_concurrency()) {
    run_all();
  } else {
    tbb::task_arena(threads).execute(run_all);
  }
}

}  // namespace

Diagnostics execute(const cpu::Code& code, const ir::BoundArgs& args, const RunOptions& options) {
  std::int64_t blocks = 1;
  for (std::int64_t extent : args.grid) blocks *= extent;
  const std::vector<cpu::Slot> slots = make_slots(args);
  const std::int64_t most_threads =
      options.threads > 0 ? options.threads : static_cast<std::int64_t>(tbb::info::default_concurrency());
  const std::int64_t threads = std::min(blocks, most_threads);
  if (!has_memory(code, threads)) return short_of_memory(code, threads);
  FirstTrap first;
  auto run_block = [&](std::int64_t number, void* scratch) {
    if (first.is_moot(number)) return;
    Block at = block_at(number, args.grid);
    cpu::Trap trap;
    std::int32_t failed = code.block(slots.data(), at.x, at.y, at.z, scratch, &trap);
    if (failed == 0) return;
    trap.code = failed;
    first.record(number, trap);
  };
  try {
    run_grid(code, blocks, options.threads, run_block);
  } catch (const std::bad_alloc&) {
    return short_of_memory(code, threads);
  }
  if (first.block() == std::numeric_limits<std::int64_t>::max()) return {};
  return describe(code, first, args.grid);
}

}  // namespace plait::runtime
