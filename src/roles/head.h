#pragma once

#include "roles/program.h"
#include "support/result.h"

namespace plait::roles {

/// The program without what its threads do: parameters, dims, conditions, lets, launch, cluster, workspaces and maps,
/// which is all that a call needs. No valid program by itself: it has no role.
Program head_of(const Program& program);

/// A head as text, and where in its own source each of these lines came from.
struct HeadText {
  std::string text;
  std::vector<Loc> lines;  ///< one a line of the text; unknown where the program has no place for it
};
/// Expressions stand on lines of their own, so that each keeps its place.
HeadText print_head(const Program& program);

/// The head again: its nodes are at `lines`. Any bytes are safe to give.
Result<Program> parse_head(const std::string& text, std::vector<Loc> lines);

}  // namespace plait::roles
