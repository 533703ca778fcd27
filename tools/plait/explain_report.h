#pragma once

#include "explain/explain.h"
#include "explain/layouts.h"
#include "report.h"

namespace plait::cli {

/// What `plait explain --json` says.
void describe(const explain::Explanation& what, Report& report);
void describe(const explain::Layouts& layouts, Report& report);

}  // namespace plait::cli
