#pragma once

#include "explain/timeline.h"
#include "timed_call.h"

namespace plait::cli {

/// What the first multiprocessor does in the first cycles of the call.
Result<explain::Timeline> record(const TimedCall& call, const std::vector<explain::Loop>& loops, std::int64_t cycles);

/// The timeline in the form that the name of the file asks for: .svg, .html or .json; `-` is for the terminal.
std::string render(const explain::Timeline& timeline, const std::string& path);
/// Throws UsageError where the name asks for none.
void check_timeline_name(const std::string& path);

}  // namespace plait::cli
