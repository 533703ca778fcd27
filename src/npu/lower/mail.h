#pragma once

#include <vector>

#include "npu/homes.h"

namespace plait::npu {

/// A tile that passes from one kind of core to the other: one statement, a copy, fills it, and those behind it in the
/// same body read it.
struct Mail {
  ir::Buffer buffer;
  const ir::Stmt* writer = nullptr;
  Core from = Core::cube, to = Core::vector;
};
/// Those of a kernel that was separated.
std::vector<Mail> mail_of(const ir::Body& body, const Homes& homes);

/// Whether a core has a part in a statement, or in what stands inside: it runs some of it, or takes what some of it
/// hands on.
bool has_part(const ir::Stmt& stmt, Core core, const Homes& homes);

}  // namespace plait::npu
