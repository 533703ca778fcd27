#pragma once

#include "lang/elaborate.h"
#include "roles/program.h"

namespace plait::roles {

/// The program of a .roles text with compile-time parameters set: names are resolved, expressions typed, static ifs
/// folded. What it says is checked by verify(). Any bytes are safe to give.
Result<Program> parse(const SourceRef& source, const lang::Bindings& bindings = {});

/// Whether a path names a role program: it ends in `.roles`.
bool is_role_file(std::string_view path);
/// Whether a text is a role program: its first word, behind comments and blank lines, is `roles`.
bool is_role_text(std::string_view text);

}  // namespace plait::roles
