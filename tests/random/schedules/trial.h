#pragma once

#include "pipeline/derive.h"
#include "planner/planner.h"
#include "random/schedules/draw.h"
#include "random/schedules/writer.h"
#include "sim/trial.h"

namespace plait::test {

/// What a planner makes of all loops of a kernel, whatever their author says, for a call.
struct PlannedProgram {
  pipeline::Derived derived;
  planner::Planning told;
};
Result<PlannedProgram> planned_program(const ir::Kernel& kernel, const machine::Device& device, planner::Kind kind,
                                       const std::map<std::string, std::int64_t>& dims);

/// Where another role loads by TMA, and where the threads that compute load for themselves.
const machine::Device& gpu();
const machine::Device& gpu_without_tma();
/// Whose programs issue tasks.
const machine::Device& npu();
/// One whose cores pass data on by way of global memory.
const machine::Device& npu_by_way_of_memory();

/// Where rows of the call's tensors start: as its extents say, or, of some tensors, at multiples of fewer bytes
/// than 16.
enum class Rows { as_they_are, anywhere };

/// A program, one call of it, and what its serial schedules leave in the tensors.
class ScheduledProgram {
 public:
  /// The device must outlive the program.
  ScheduledProgram(ir::Kernel kernel, std::map<std::string, std::int64_t> dims, std::uint64_t seed,
                   const machine::Device& device = gpu(), Rows rows = Rows::as_they_are);
  ScheduledProgram(const ScheduledProgram&) = delete;
  ScheduledProgram& operator=(const ScheduledProgram&) = delete;

  Scheduled scheduled() const { return {planned_, graphs_, device_}; }
  struct Finding {
    std::string refused;  ///< why there is no lowering
    std::string problem;  ///< what is wrong
  };
  /// The serial schedule in the simulator against the interpreter.
  Finding run_serial();
  /// A schedule in the simulator: the bytes of the serial one, in two interleavings, and nothing found.
  Finding run(const plan::Schedule& schedule);

 private:
  const sim::Trial& serial(int replicas);
  std::vector<std::string> tensor_names() const;
  void misalign();
  std::string compare_with_interpreter(const sim::Trial& got) const;
  Result<pipeline::Derived> derive(const plan::Schedule& schedule, const machine::Device& device) const;
  pipeline::Derived with_less_memory(const plan::Schedule& schedule, pipeline::Derived made) const;

  ir::Kernel kernel_;
  ir::Kernel planned_;  ///< on an NPU with each buffer in one memory
  std::vector<graph::TaskGraph> graphs_;
  std::map<std::string, std::int64_t> dims_;
  std::uint64_t seed_;
  const machine::Device& device_;
  place::Assumptions assumptions_;
  std::optional<sim::Call> call_;
  std::map<int, sim::Trial> serial_;  ///< by replicas
};

/// Whether the texts of a schedule and of the role program that it becomes say all of it; what is wrong, or nothing.
std::string text_problem(const plan::Schedule& schedule, const roles::Program& program);

}  // namespace plait::test
