#pragma once

#include "pipeline/pipeline.h"

namespace plait::pipeline {

struct DeriveOptions {
  place::Assumptions assumptions;
  std::optional<plan::Schedule> schedule;  ///< in the place of the rules planner's
  /// The tasks of the kernel's loops, of whoever derives many schedules of one kernel: finding them takes most of the
  /// time. Null: they are found.
  const std::vector<graph::TaskGraph>* graphs = nullptr;
};
/// A role program, the schedule that it carries out, and where a slower way was taken.
struct Derived {
  roles::Program program;
  plan::Schedule schedule;
  std::vector<place::Remark> remarks;
};
/// The whole way from a tile program to a role program of a device.
Result<Derived> derive(const ir::Kernel& kernel, const machine::Device& device, const DeriveOptions& options = {});

}  // namespace plait::pipeline
