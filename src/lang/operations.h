#pragma once

#include "ir/build.h"

namespace plait::lang {

// Statements from operands whose names are resolved: shared by the text form and the C++ form. Each returns null after
// reporting what is wrong; null parts among the operands have been reported before and give null.

/// `e` as an i64: an index, a bound or an extent.
ir::ExprRef to_i64(const ir::ExprRef& e, Diagnostics& diags);

enum class RowSide { automatic, source, destination };
/// Attributes of a copy as the author gave them.
struct CopyInput {
  std::optional<ir::RegionSpec> rows;
  RowSide row_side = RowSide::automatic;  ///< automatic: the global side
  std::vector<ir::ExprRef> valid;
  ir::ExprRef pad;  ///< null: zero
  ir::CacheHint cache = ir::CacheHint::none;
};
ir::StmtRef make_copy(const ir::RegionSpec& src, const ir::RegionSpec& dst, const CopyInput& in, Loc loc,
                      Diagnostics& diags);
ir::StmtRef make_fill(const ir::RegionSpec& dst, const ir::ExprRef& value, Loc loc, Diagnostics& diags);
ir::StmtRef make_clear(const ir::RegionSpec& dst, Loc loc, Diagnostics& diags);
ir::StmtRef make_gemm(const ir::RegionSpec& a, const ir::RegionSpec& b, const ir::RegionSpec& c,
                      const ir::GemmAttrs& attrs, Loc loc, Diagnostics& diags);
/// `dim` counts from 0, or from -1 for the last dimension backwards.
ir::StmtRef make_reduce(ir::OpKind kind, const ir::RegionSpec& src, const ir::RegionSpec& dst, std::int64_t dim,
                        bool clear, Loc loc, Diagnostics& diags);
ir::StmtRef make_cumsum(const ir::RegionSpec& src, const ir::RegionSpec& dst, std::int64_t dim, bool reverse, Loc loc,
                        Diagnostics& diags);
ir::StmtRef make_transpose(const ir::RegionSpec& src, const ir::RegionSpec& dst, Loc loc, Diagnostics& diags);
/// atomic_add, atomic_max or atomic_min on tiles.
ir::StmtRef make_atomic(ir::OpKind kind, const ir::RegionSpec& dst, const ir::RegionSpec& src, Loc loc,
                        Diagnostics& diags);
/// The same on one element.
ir::StmtRef make_atomic_element(ir::OpKind kind, const ir::Buffer& buffer, const std::vector<ir::ExprRef>& index,
                                const ir::ExprRef& value, Loc loc, Diagnostics& diags);
/// buffer[index] = value, or with an operator buffer[index] = buffer[index] op value.
ir::StmtRef make_store(const ir::Buffer& buffer, const std::vector<ir::ExprRef>& index, std::optional<ir::BinaryOp> op,
                       const ir::ExprRef& value, Loc loc, Diagnostics& diags);
/// Checks the number of `{}` against the arguments.
ir::StmtRef make_print(const std::string& format, const std::vector<ir::ExprRef>& args, Loc loc, Diagnostics& diags);
/// `cond` as a bool condition of an if, while, assert or require; other types are reported, `what` names the statement.
ir::ExprRef make_condition(const ir::ExprRef& cond, std::string_view what, Loc loc, Diagnostics& diags);

/// Whether the stages, order and stage lists of a pipelined loop are in range and given together.
bool check_pipeline(const ir::PipelineAttrs& attrs, const Loc& loc, Diagnostics& diags);
/// Whether the cycles of a task are in range.
bool check_task(const ir::Task& task, const Loc& loc, Diagnostics& diags);

/// An on-chip buffer as the author described it.
struct AllocInput {
  std::string name;
  ir::DType type = ir::DType::f32;
  ir::Scope scope = ir::Scope::shared;
  std::vector<ir::ExprRef> shape;
  ir::LayoutHint layout;
  std::int64_t pad = 0;
};
/// Checks extents, layout and padding; null after a report.
ir::Buffer make_buffer(const AllocInput& in, Loc loc, Diagnostics& diags);

}  // namespace plait::lang
