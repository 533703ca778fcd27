#pragma once

#include "emit/cpu/region.h"

namespace plait::cpu {

/// Answer of tile_op_scratch where the size depends on dims; such an operation cannot be compiled.
constexpr std::int64_t unknown_scratch = -1;
/// Bytes of scratch that a tile operation wants while it runs.
std::int64_t tile_op_scratch(const ir::TileOp& op, const VectorTarget& target);
void emit_tile_op(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);

void emit_copy(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_fill(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_transpose(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
/// Scratch for packed operands.
std::int64_t gemm_scratch(const ir::TileOp& op, const VectorTarget& target);
void emit_gemm_op(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_reduce(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_arg_reduce(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_cumsum(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);
void emit_atomic_tile(Emitter& e, const ir::Stmt& stmt, const ir::TileOp& op);

/// dst = src by the rules of `copy`. `ahead`: distance, in elements, to what the next iteration reads; null where there
/// is nothing to fetch.
void copy_tiles(Emitter& e, const ir::Stmt& stmt, const Tile& src, const Tile& dst, const ir::CopyAttrs& attrs,
                llvm::Value* ahead = nullptr);

/// Scratch of the statement as a pointer; null where it has none.
llvm::Value* op_scratch(Emitter& e, const ir::Stmt& stmt);

}  // namespace plait::cpu
