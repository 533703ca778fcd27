#pragma once

#include "explain/explain.h"
#include "explain/layouts.h"
#include "explain/npu.h"
#include "report.h"

namespace plait::cli {

/// What `plait explain --json` says.
void describe(const explain::Explanation& what, Report& report);
void describe(const explain::Layouts& layouts, Report& report);

/// The same of an NPU: its loops in the place of the others.
void describe(const explain::NpuExplanation& npu, Report& report);

}  // namespace plait::cli
