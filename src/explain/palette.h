#pragma once

#include "explain/timeline.h"
#include "explain/xml.h"

namespace plait::explain {

/// Colours of the tasks, by number: full ones for those of pipelined loops, pale ones for others.
std::vector<std::string> colours_of(const Timeline& timeline);
inline constexpr std::string_view kPlainColour = "#c9ced6";  ///< of what belongs to no task

/// The next of 1, 2, 5, 10, … that is at least `least`.
std::int64_t round_step(double least);

}  // namespace plait::explain
