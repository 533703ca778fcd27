#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/kernel.h"

namespace plait::cpu {

/// Where a block's on-chip memory lies in its scratch. A statement's room lives from the statement to the end of the
/// statement list it stands in, so lists that are never live together share memory.
struct ScratchPlan {
  struct Room {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
    bool overlaps(const Room& other) const {
      return offset < other.offset + other.bytes && other.offset < offset + bytes;
    }
  };
  std::unordered_map<const ir::Stmt*, Room> rooms;  ///< of buffer definitions, and of statements that asked for room
  std::int64_t bytes = 0;
};

/// Buffers this small live on the stack, where LLVM can turn them into registers; the plan has no room for them.
constexpr std::int64_t stack_limit = 512;

/// a * b, or a number beyond every real size where that is larger.
std::int64_t saturating_product(std::int64_t a, std::int64_t b);
/// Bytes of an on-chip buffer with `lanes` interleaved copies.
std::int64_t buffer_bytes(const ir::BufferDecl& buffer, int lanes);
/// Row-major strides in elements, with the buffer's padding.
std::vector<std::int64_t> buffer_strides(const ir::BufferDecl& buffer);

/// Buffers defined inside `parallel` loops get `lanes` interleaved copies. `extra` tells how many bytes a statement
/// needs while it runs.
ScratchPlan plan_scratch(const ir::Kernel& kernel, int lanes,
                         const std::function<std::int64_t(const ir::Stmt&)>& extra);

}  // namespace plait::cpu
