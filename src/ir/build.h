#pragma once

#include "ir/kernel.h"

namespace plait::ir {

// Factories that check. Each returns null after reporting what is wrong; a null operand gives null without a second
// report, so that one mistake is told once. Weak literals, and selects between them, take the other operand's type;
// literal operands are folded.

ExprRef int_literal(std::int64_t value, Loc loc = {});  ///< weak, i64 until asked
ExprRef float_literal(double value, Loc loc = {});      ///< weak, f32 until asked
ExprRef bool_literal(bool value, Loc loc = {});
ExprRef typed_literal(DType type, double value, Loc loc = {});
ExprRef typed_int(DType type, std::int64_t value, Loc loc = {});
ExprRef var_ref(Var var, Loc loc = {});

ExprRef make_unary(UnaryOp op, ExprRef a, Loc loc, Diagnostics& diags);
ExprRef make_binary(BinaryOp op, ExprRef a, ExprRef b, Loc loc, Diagnostics& diags);
ExprRef make_select(ExprRef cond, ExprRef if_true, ExprRef if_false, Loc loc, Diagnostics& diags);
ExprRef make_cast(DType type, ExprRef a, std::optional<Rounding> rounding, bool saturate, Loc loc, Diagnostics& diags);
ExprRef make_bitcast(DType type, ExprRef a, Loc loc, Diagnostics& diags);
ExprRef make_call(Intrinsic fn, std::vector<ExprRef> args, Loc loc, Diagnostics& diags);
ExprRef make_load(Buffer buffer, std::vector<ExprRef> index, Loc loc, Diagnostics& diags);

/// The value as stored into an element of `type`: exact conversions and float-to-float rounding are implicit; others
/// need a cast.
ExprRef convert_for_store(DType type, ExprRef value, Loc loc, Diagnostics& diags);
/// Gives a weak expression its default type, reporting a float beyond f32; other expressions are returned as they are.
ExprRef settle(const ExprRef& e, const Loc& loc, Diagnostics& diags);

/// An integer or float literal.
bool is_literal(const ExprRef& e);
/// Value of an integer or bool literal.
std::optional<std::int64_t> as_int(const ExprRef& e);

StmtRef make_stmt(StmtNode node, Loc loc);

/// One side of a tile operation as the author wrote it: per dimension a begin, and an extent where `a:b` gave one.
struct RegionSpec {
  Buffer buffer;
  struct Dim {
    ExprRef begin;   ///< null: the whole dimension (`:`), or no index written at all
    ExprRef extent;  ///< null: taken from the other operand
  };
  std::vector<Dim> dims;  ///< empty: the whole buffer
  Loc loc;
};
/// Resolves the open extents of a copy-like pair (copy, transpose, atomics). A side of bare indices only, A[r, c],
/// takes the other side's extents, aligned right with leading ones. A bare index beside ranges, A[b, r : r + 64], is
/// one element where that makes the sides agree, and otherwise takes the extent aligned with it. Sides agree when their
/// extents other than 1 are the same in order (transposed: with the last two exchanged); non-literal extents are the
/// same when they have the same form. Two open sides, and extents that do not agree, are reported.
std::optional<std::pair<Region, Region>> resolve_pair(const RegionSpec& a, const RegionSpec& b, bool transposed,
                                                      Diagnostics& diags);
/// A region all of whose extents are known by themselves: literals or whole dimensions; a bare index beside ranges is
/// one element.
std::optional<Region> resolve_alone(const RegionSpec& a, Diagnostics& diags);

}  // namespace plait::ir
