#pragma once

#include <functional>

#include "analysis/affine.h"

namespace plait::analysis {

/// Wide enough for sums and most products of 64-bit values; the rest is found by checked arithmetic.
__extension__ using Wide = __int128;
/// Bounds beyond this come from the limits of types and dims; they would only make the numbers in isl large.
inline constexpr Wide telling_bound = Wide(1) << 40;

/// Lets may refer to lets without end; deeper than this their values are taken as unknown.
inline constexpr int max_depth = 300;

ir::ExprRef make_expr(ir::DType type, ir::ExprNode node, Loc loc = {});
ir::ExprRef int_expr(ir::DType type, std::int64_t value, Loc loc = {});
ir::ExprRef bool_expr(bool value, Loc loc = {});
ir::ExprRef var_expr(const ir::Var& var);
/// The result type follows from the operator.
ir::ExprRef binary_expr(ir::BinaryOp op, ir::ExprRef a, ir::ExprRef b, Loc loc = {});
ir::ExprRef not_expr(ir::ExprRef a);

bool is_int_or_bool(ir::DType type);
/// Value of an integer or bool literal, u64 as the number it stands for.
std::optional<Wide> literal_value(const ir::Expr& expr);
/// The literal in 64 bits, where it fits.
std::optional<std::int64_t> small_literal(const ir::ExprRef& expr);

/// The operands of an expression, in order.
std::vector<ir::ExprRef> operands(const ir::Expr& expr);
/// The same expression with other operands; the same pointer when all are the same.
ir::ExprRef with_operands(const ir::ExprRef& expr, const std::vector<ir::ExprRef>& operands);

/// The factors of a product, nested products taken apart; the expression itself when it is none.
std::vector<ir::ExprRef> factors(const ir::ExprRef& expr);
/// What is left of the factors `all` without the factors `some`; nullopt when they are not all there.
std::optional<std::vector<ir::ExprRef>> without(std::vector<ir::ExprRef> all, const std::vector<ir::ExprRef>& some);

/// Whether `pred` holds for some expression of the tree; shared subtrees are visited once.
bool any_of_tree(const ir::ExprRef& expr, const std::function<bool(const ir::Expr&)>& pred);

/// Structural equality by identity of variables and buffers, locations left out. Gives up (false) on very large trees.
bool same_expr(const ir::ExprRef& a, const ir::ExprRef& b);
/// Equal for expressions that `same_expr` finds equal; looks only at the top of the tree.
std::size_t hash_expr(const ir::ExprRef& expr);

}  // namespace plait::analysis
