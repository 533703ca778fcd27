#pragma once

#include <functional>
#include <unordered_map>

#include "ir/kernel.h"

namespace plait::ir {

/// Calls `fn` on `expr` and every expression below it, parents first; shared subtrees are visited as often as they
/// occur.
void walk(const ExprRef& expr, const std::function<void(const Expr&)>& fn);
/// Calls `fn` on every statement of `body`, parents first.
void walk(const Body& body, const std::function<void(const Stmt&)>& fn);
/// Calls `fn` on each expression root that `stmt` itself holds (indices, values, region bounds, attributes, loop
/// bounds), not on those of nested bodies.
void for_each_expr(const Stmt& stmt, const std::function<void(const ExprRef&)>& fn);
/// Calls `fn` on each operand of `expr`, in order.
void for_each_operand(const Expr& expr, const std::function<void(const ExprRef&)>& fn);

/// Rebuilds an expression bottom-up: `fn` gets each node after its operands were rewritten and returns a replacement,
/// or null to keep it. An expression in which nothing changed is returned as the same pointer; a shared subtree is
/// rewritten once.
ExprRef rewrite(const ExprRef& expr, const std::function<ExprRef(const ExprRef&)>& fn);
using VarMap = std::unordered_map<const VarDecl*, ExprRef>;
ExprRef substitute(const ExprRef& expr, const VarMap& map);

/// Whether two expressions have the same form and types over the very same variables and buffers. Null equals null.
bool identical(const ExprRef& a, const ExprRef& b);

}  // namespace plait::ir
