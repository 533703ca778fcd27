#pragma once

#include <cstdlib>
#include <memory>
#include <optional>

#include "emit/cpu/cpu.h"
#include "ir/tensor.h"

namespace plait::test {

inline std::vector<cpu::Slot> slots_of(const ir::BoundArgs& args) {
  std::vector<cpu::Slot> slots;
  for (const ir::TensorView& tensor : args.tensors) slots.push_back({.pointer = tensor.data});
  for (const ir::TensorView& tensor : args.tensors) {
    for (const std::int64_t extent : tensor.shape) slots.push_back({.integer = extent});
    for (const std::int64_t stride : tensor.strides) slots.push_back({.integer = stride});
  }
  for (const ir::ScalarValue& scalar : args.scalars) {
    slots.push_back(ir::is_float(scalar.type) ? cpu::Slot{.floating = scalar.f} : cpu::Slot{.integer = scalar.i});
  }
  for (const std::int64_t dim : args.dims) slots.push_back({.integer = dim});
  for (const std::int64_t extent : args.grid) slots.push_back({.integer = extent});
  return slots;
}

/// Runs every block in order; the first check that fails ends the run, and is given with its number in `code`.
inline std::optional<cpu::Trap> first_trap(const cpu::Code& code, const ir::BoundArgs& args) {
  const std::vector<cpu::Slot> slots = slots_of(args);
  const auto bytes = static_cast<std::size_t>((code.scratch_bytes + 63) / 64 * 64 + 64);
  const std::unique_ptr<void, decltype(&std::free)> scratch(std::aligned_alloc(64, bytes), &std::free);
  std::vector<std::int64_t> grid = args.grid;
  grid.resize(3, 1);
  for (std::int64_t block = 0; block < grid[0] * grid[1] * grid[2]; ++block) {
    cpu::Trap trap;
    const std::int64_t x = block % grid[0], y = block / grid[0] % grid[1], z = block / grid[0] / grid[1];
    const std::int32_t failed = code.block(slots.data(), x, y, z, scratch.get(), &trap);
    if (failed == 0) continue;
    PLAIT_ASSERT(trap.code == failed, "a block returns another check than it records");
    return trap;
  }
  return std::nullopt;
}

}  // namespace plait::test
