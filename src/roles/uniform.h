#pragma once

#include <unordered_map>

#include "roles/program.h"

namespace plait::roles {

/// Among which threads a value is the same, from all to none.
enum class Uniform {
  block,    ///< every thread of the block
  replica,  ///< every thread of a replica
  warp,     ///< every thread of a warp
  none,
};

/// Of each variable of a body. A variable that set changes is as uniform as its values and the conditions around them.
class Uniformity {
 public:
  Uniformity(const Program& program, const Body& body);

  Uniform of(const ExprRef& e) const;

 private:
  void walk(const Body& body, Uniform around);
  void statement(const Stmt& stmt, Uniform around);
  void raise(const Var& var, Uniform level);

  std::unordered_map<const ir::VarDecl*, Uniform> levels_;
  bool changed_ = false;
};

}  // namespace plait::roles
