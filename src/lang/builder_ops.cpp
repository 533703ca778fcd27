// Tile operations of the C++ form.
#include "lang/builder_state.h"

namespace plait {
namespace {

using detail::BuilderState;
using ir::OpKind;

lang::RowSide row_side(RowSide side) {
  switch (side) {
    case RowSide::automatic:
      return lang::RowSide::automatic;
    case RowSide::src:
      return lang::RowSide::source;
    case RowSide::dst:
      return lang::RowSide::destination;
  }
  return lang::RowSide::automatic;
}

ir::CacheHint cache_hint(Cache cache) {
  switch (cache) {
    case Cache::none:
      return ir::CacheHint::none;
    case Cache::evict_first:
      return ir::CacheHint::evict_first;
    case Cache::evict_last:
      return ir::CacheHint::evict_last;
  }
  return ir::CacheHint::none;
}

ir::WarpPolicy warp_policy(Policy policy) {
  switch (policy) {
    case Policy::automatic:
      return ir::WarpPolicy::automatic;
    case Policy::rows:
      return ir::WarpPolicy::rows;
    case Policy::columns:
      return ir::WarpPolicy::columns;
    case Policy::square:
      return ir::WarpPolicy::square;
  }
  return ir::WarpPolicy::automatic;
}

void reduce(BuilderState& state, OpKind kind, const Tile& src, const Tile& dst, const ReduceOptions& options,
            const std::source_location& at) {
  Loc loc = state.begin(at);
  auto tiles = state.use_tiles({&src, &dst}, loc);
  if (!tiles) return;
  state.emit(lang::make_reduce(kind, (*tiles)[0], (*tiles)[1], options.dim, options.clear, loc, state.diags));
}

}  // namespace

void KernelBuilder::copy(const Tile& src, const Tile& dst, const CopyOptions& options, At at) {
  Loc loc = state_->begin(at);
  auto tiles = state_->use_tiles({&src, &dst}, loc);
  lang::CopyInput in;
  in.row_side = row_side(options.row_side);
  in.cache = cache_hint(options.cache);
  bool ok = tiles.has_value();
  if (options.rows) {
    in.rows = state_->use(*options.rows, loc);
    ok = ok && in.rows;
  }
  in.valid = state_->use_all(options.valid, loc);
  if (options.pad) {
    in.pad = state_->use(*options.pad, loc);
    ok = ok && in.pad != nullptr;
  }
  if (ok) state_->emit(lang::make_copy((*tiles)[0], (*tiles)[1], in, loc, state_->diags));
}

void KernelBuilder::fill(const Tile& dst, const Value& value, At at) {
  Loc loc = state_->begin(at);
  auto tile = state_->use(dst, loc);
  ir::ExprRef e = state_->use(value, loc);
  if (tile) state_->emit(lang::make_fill(*tile, e, loc, state_->diags));
}

void KernelBuilder::clear(const Tile& dst, At at) {
  Loc loc = state_->begin(at);
  if (auto tile = state_->use(dst, loc)) state_->emit(lang::make_clear(*tile, loc, state_->diags));
}

void KernelBuilder::gemm(const Tile& A, const Tile& B, const Tile& C, const GemmOptions& options, At at) {
  Loc loc = state_->begin(at);
  auto tiles = state_->use_tiles({&A, &B, &C}, loc);
  if (!tiles) return;
  ir::GemmAttrs attrs{options.trans_A, options.trans_B, options.clear_accum, warp_policy(options.policy)};
  state_->emit(lang::make_gemm((*tiles)[0], (*tiles)[1], (*tiles)[2], attrs, loc, state_->diags));
}

void KernelBuilder::reduce_sum(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_sum, src, dst, options, at);
}
void KernelBuilder::reduce_max(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_max, src, dst, options, at);
}
void KernelBuilder::reduce_min(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_min, src, dst, options, at);
}
void KernelBuilder::reduce_abssum(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_abssum, src, dst, options, at);
}
void KernelBuilder::reduce_absmax(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_absmax, src, dst, options, at);
}
void KernelBuilder::reduce_bitand(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_bitand, src, dst, options, at);
}
void KernelBuilder::reduce_bitor(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_bitor, src, dst, options, at);
}
void KernelBuilder::reduce_bitxor(const Tile& src, const Tile& dst, const ReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_bitxor, src, dst, options, at);
}
void KernelBuilder::reduce_argmax(const Tile& src, const Tile& dst, const ArgReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_argmax, src, dst, {options.dim, true}, at);
}
void KernelBuilder::reduce_argmin(const Tile& src, const Tile& dst, const ArgReduceOptions& options, At at) {
  reduce(*state_, OpKind::reduce_argmin, src, dst, {options.dim, true}, at);
}

void KernelBuilder::cumsum(const Tile& src, const Tile& dst, const CumsumOptions& options, At at) {
  Loc loc = state_->begin(at);
  auto tiles = state_->use_tiles({&src, &dst}, loc);
  if (!tiles) return;
  state_->emit(lang::make_cumsum((*tiles)[0], (*tiles)[1], options.dim, options.reverse, loc, state_->diags));
}

void KernelBuilder::transpose(const Tile& src, const Tile& dst, At at) {
  Loc loc = state_->begin(at);
  auto tiles = state_->use_tiles({&src, &dst}, loc);
  if (tiles) state_->emit(lang::make_transpose((*tiles)[0], (*tiles)[1], loc, state_->diags));
}

void KernelBuilder::atomic_add(const Tile& dst, const Source& src, At at) {
  state_->atomic(OpKind::atomic_add, dst, src, at);
}
void KernelBuilder::atomic_max(const Tile& dst, const Source& src, At at) {
  state_->atomic(OpKind::atomic_max, dst, src, at);
}
void KernelBuilder::atomic_min(const Tile& dst, const Source& src, At at) {
  state_->atomic(OpKind::atomic_min, dst, src, at);
}

}  // namespace plait
