#pragma once

#include "sim/machine.h"

/// Memory accesses with their checks: bounds, alignment, order.
namespace plait::sim {

/// Bytes that are accessed: of a block's shared memory, or of a tensor.
struct Bytes {
  Block* block = nullptr;  ///< shared memory of it; null: a tensor
  int buffer = 0;          ///< shared tile or tensor, for messages
  std::int64_t begin = 0;  ///< in the arena, or from the tensor's first element
  std::int64_t count = 0;
};

enum class Kind {
  read,
  fetch,  ///< a read into registers, of bytes that may never have been written: their use is what is wrong
  write,
  update,  ///< atomic
};

/// An access of one lane, now. Reports what it races with; false then.
bool lane_access(Machine& m, Warp& w, int lane, const Bytes& bytes, Kind kind);

/// Whether all of the bytes of shared memory were written.
bool are_written(const Bytes& bytes);

/// An access of an asynchronous operation, which later ones see as (component, clock).
struct AsyncAccess {
  const Issue& issue;
  Component component = 0;
  Clock clock = 0;
};
bool async_access(Machine& m, const AsyncAccess& by, const Bytes& bytes, Kind kind);

/// "thread 3 of math replica 1", "… in block 2"
std::string describe_thread(const Machine& m, const Block& block, int thread);
std::string describe_warp(const Machine& m, const Warp& w);
/// "full[1]", with the block where there are several.
std::string describe_mbar(const Machine& m, const Block& block, int number);
/// The place of a statement, `file:line:column`.
std::string place_of(const Machine& m, std::int32_t site);

/// The tile's element at indices of a lane; nothing after a report where it leaves the tile. `extent`: rows and columns
/// that the access covers from there.
std::optional<layout::SmemTile::Position> smem_position(Machine& m, const Warp& w, int lane, const SmemPlace& place,
                                                        layout::Coord extent);
/// Arena byte of an element.
inline std::int64_t smem_byte(const SmemCode& smem, const layout::SmemTile::Position& at) {
  return smem.base + smem.tile.offset(at.row, at.column, at.copy);
}
/// Number in the block of the mbarrier that a lane means; -1 after a report.
int mbar_number(Machine& m, const Warp& w, int lane, const MbarPlace& place);

/// Element offset of indices in a tensor; nothing where one lies outside.
std::optional<std::int64_t> tensor_offset(const ir::TensorView& view, const std::vector<std::int64_t>& index);
std::vector<std::int64_t> indices(const Warp& w, int lane, const std::vector<Reg>& regs);

/// An element's value in memory.
Value load_value(ir::DType type, const void* data, std::int64_t element);
void store_value(ir::DType type, void* data, std::int64_t element, Value value);

}  // namespace plait::sim
