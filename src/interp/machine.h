#pragma once

#include <chrono>
#include <memory>

#include "interp/interp.h"
#include "interp/program.h"
#include "interp/touch.h"

namespace plait::interp {

/// The elements of one buffer while the program runs. Elements are numbered in row-major order of the logical extents.
struct Storage {
  const BufferCode* code = nullptr;
  ir::DType type = ir::DType::f32;
  std::vector<std::int64_t> extents, steps;  ///< steps: element numbers between neighbours in each dimension
  std::vector<std::int64_t> strides;         ///< in memory, of a parameter
  void* data = nullptr;                      ///< of a parameter
  std::vector<Value> values;                 ///< on chip
  std::vector<std::uint32_t> written;        ///< on chip: the life of the buffer in which the element was written
  std::uint32_t life = 0;
  std::vector<TouchTable> tables;  ///< one a level

  bool on_chip() const { return code->param < 0; }
};

/// One element: its number in the buffer, and its offset in the memory of a parameter.
struct Place {
  std::int64_t number = 0;
  std::int64_t offset = 0;
};
/// `count` elements with fixed distances.
struct Row {
  Place first;
  std::int64_t number_step = 1, offset_step = 1;
  std::int64_t count = 0;
};

struct LoopState {
  std::vector<std::int64_t> counts, index;
  std::int64_t total = 0, done = 0;
};
/// The running loop of one level: numbers of its first and its current iteration.
struct LevelState {
  std::uint32_t first = 1, now = 0, last_used = 0;
  std::int32_t loop = -1;  ///< number of the loop, -1 for the grid
};

/// Registers, buffers and loops of a running program, and the first thing it did wrong.
class Machine {
 public:
  Machine(const ir::Kernel& kernel, const ir::BoundArgs& args, const Options& options);

  /// Runs every block, or stops at the first finding.
  Diagnostics run();

  const Program& program() const { return program_; }
  const Options& options() const { return options_; }
  Value& reg(std::int32_t number) { return registers_[static_cast<std::size_t>(number)]; }
  std::int64_t integer(std::int32_t number) { return reg(number).i; }
  Storage& storage(const Reach& reach) { return storages_[static_cast<std::size_t>(reach.buffer)]; }
  LoopState& loop_state(std::int32_t loop) { return loops_[static_cast<std::size_t>(loop)]; }
  LevelState& level(std::int32_t number) { return levels_[static_cast<std::size_t>(number)]; }
  std::int64_t block() const { return block_; }
  std::int64_t blocks() const { return blocks_; }
  const Instr* at(std::int32_t target) const { return program_.code.data() + target; }

  void count_steps(std::int64_t steps) { steps_ += static_cast<std::uint64_t>(steps); }
  /// False after reporting, at `site` (-1: the kernel), that the run has used up its steps or its time.
  bool within_limits(std::int32_t site) { return steps_ < next_look_ || look_at_limits(site); }

  /// A new life for an on-chip buffer: nothing is written.
  void renew(std::int32_t buffer);
  /// Starts a parallel loop at `level`, and each of its iterations.
  void begin_parallel(std::int32_t level, std::int32_t loop);
  void next_iteration(std::int32_t level);

  /// Reads or writes; false after reporting what is wrong. The places must lie in the buffer.
  bool read(const Reach& reach, const Row& row, Value* out);
  bool write(const Reach& reach, const Row& row, const Value* in);
  bool update(const Reach& reach, const Place& place, ir::AtomicOp op, Value operand);

  /// Ends the run with a diagnostic; the values of the variables around `site` are added to the message. Returns false.
  bool fail(std::int32_t site, Rule rule, const std::string& message, std::int32_t buffer = -1);
  /// "A_s[128, 64]"
  std::string describe(std::int32_t buffer) const;
  /// "A_s[3, 4]" for an element number.
  std::string element_name(std::int32_t buffer, std::int64_t number) const;

 private:
  bool look_at_limits(std::int32_t site);
  bool check_outputs();
  bool prepare(const ir::BoundArgs& args);
  void bind_parameter(Storage& storage, const ir::TensorView& view);
  bool allocate(Storage& storage, std::int64_t& budget);
  bool run_block();
  bool note(const Reach& reach, std::int64_t number, Access access);
  bool is_written(const Reach& reach, const Storage& storage, std::int64_t number) const;
  bool check_written(const Reach& reach, const Storage& storage, std::int64_t number);
  bool check_local(const Reach& reach);
  bool report_overlap(const Reach& reach, std::int64_t number, Access access, std::int32_t level, std::uint32_t other);
  std::string other_iteration(std::int32_t level, std::uint32_t other);
  std::string variables_around(std::int32_t scope) const;

  const ir::Kernel& kernel_;
  const ir::BoundArgs& args_;
  const Options& options_;
  Program program_;
  std::vector<Value> registers_;
  std::vector<Storage> storages_;
  std::vector<LoopState> loops_;
  std::vector<LevelState> levels_;
  std::int64_t block_ = 0, blocks_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t next_look_ = 0;  ///< steps after which the limits are looked at again
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  Diagnostics findings_;
};

/// Value of one element; floats of a parameter are decoded.
Value load_place(const Storage& storage, const Place& place);
void store_place(Storage& storage, const Place& place, Value value);

}  // namespace plait::interp
