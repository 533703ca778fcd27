#include "npu/lower/memory.h"

#include "ir/visit.h"
#include "npu/lower/elements.h"
#include "npu/uses.h"

namespace plait::npu {

using namespace ir;
using machine::MemoryKind;

std::vector<MemoryUse> memory_use(const Kernel& kernel, const plan::Schedule& schedule, const machine::Device& device) {
  Homes homes(kernel.body);
  Rows rows(kernel, homes, device);
  std::vector<MemoryUse> uses;
  for (MemoryKind kind : {MemoryKind::l1, MemoryKind::l0c, MemoryKind::ub})
    uses.push_back({kind, 0, device.memory(kind)->capacity.integer()});
  walk(kernel.body, [&](const Stmt& stmt) {
    const auto* alloc = std::get_if<Alloc>(&stmt.node);
    if (alloc == nullptr || !uses_of(alloc->buffer, kernel.body).any()) return;
    const BufferDecl& buffer = *alloc->buffer;
    std::int64_t bytes = dtype_bits(Elements::stored_as(buffer.type)) / 8, copies = 1;
    for (std::int64_t extent : static_shape(buffer)) bytes *= extent;
    for (const plan::LoopPlan& loop : schedule.loops) copies = std::max<std::int64_t>(copies, loop.copies(buffer.name));
    MemoryKind home = homes.of(alloc->buffer);
    bool shared = home == MemoryKind::ub && !rows.is_repeated(alloc->buffer);
    if (shared) bytes = (bytes + rows.cores() - 1) / rows.cores();
    for (MemoryUse& use : uses) {
      if (use.kind == home) use.need += bytes * copies;
    }
  });
  return uses;
}

}  // namespace plait::npu
