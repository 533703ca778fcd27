#pragma once

#include <functional>

#include "roles/program.h"

namespace plait::roles {

/// What a statement itself names, not what stands in bodies within it. Absent parts are left out; the rest null.
struct Visitor {
  std::function<void(const ExprRef&)> expr = {};  ///< indices included
  std::function<void(const Var&)> define = {};    ///< by a let, var, loop, each, …
  std::function<void(const SmemRef&)> smem = {};
  std::function<void(const MbarRef&)> mbar = {};
  std::function<void(const ChannelRef&)> channel = {};
  std::function<void(const FragmentRef&)> fragment_at = {};
  std::function<void(const TensorRef&)> tensor = {};
  std::function<void(const Fragment&)> fragment = {};  ///< named as a whole, or by an element store
  std::function<void(const Map&)> map = {};
  std::function<void(const Body&)> body = {};
};
void visit(const Stmt& stmt, const Visitor& visitor);

/// Calls `fn` on every statement of the body, parents first.
void walk(const Body& body, const std::function<void(const Stmt&)>& fn);
/// Calls `fn` on the prologue and the body of each role.
void for_each_body(const Program& program, const std::function<void(const Body&)>& fn);

}  // namespace plait::roles
