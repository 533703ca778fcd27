#pragma once

#include "machine/load.h"
#include "planner/npu.h"
#include "session.h"

namespace plait::cli {

/// What a device runs: a role program as it was read, or the one that a tile program becomes.
struct DeviceProgram {
  roles::Program program;
  std::string kernel_name;                   ///< of the tile program, else the role program's
  std::optional<ir::Kernel> tile;            ///< tile programs
  std::optional<pipeline::Derived> derived;  ///< tile programs on GPUs
  std::optional<npu::Derived> npu;           ///< tile programs on NPUs
  place::Assumptions assumptions;            ///< tile programs: with what it was derived
  std::optional<plan::Schedule> schedule;    ///< that was given
  planner::Planning planned;                 ///< where loops were planned
  planner::Options planning;
  Program file;            ///< tile programs
  machine::Device device;  ///< that it was verified on
};

/// How a tile program is brought to a device.
struct DeviceFlags {
  std::string device;    ///< machine model; empty: that of the schedule or of the role program, else h200
  std::string schedule;  ///< file; empty: a planner's
  std::string planner = "auto";
};
/// An option that names a machine model: a known one, or the path of one's own.
Option add_device(const Options& options, const std::string& names, std::string& into, const std::string& help);
/// That no code is printed for the device; nothing where there is.
Diagnostics no_code(const machine::Device& device, const Loc& loc);
/// Of the GPU or NPU that a role program is for: the model that `named` names, else the one that the program names.
Result<machine::Device> device_of(const roles::Program& program, const std::string& named);
void add_schedule_flag(const Options& options, DeviceFlags& flags);
void add_planner_flag(const Options& options, std::string& planner);

/// The program again, for calls of another alignment.
Result<pipeline::Derived> derive_again(const DeviceProgram& program, const place::Assumptions& assumptions);

/// A schedule file: text, or JSON where its name ends in .json.
Result<plan::Schedule> read_schedule(const std::string& path);

/// Reads FILE, which is a tile program or a role program (FILE.roles), for calls with these extents.
Result<DeviceProgram> load_device_program(const ProgramOptions& options, const DeviceFlags& flags,
                                          const std::map<std::string, std::int64_t>& dims);

}  // namespace plait::cli
