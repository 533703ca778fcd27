#include "emit/cpu/scratch.h"

#include <algorithm>

#include "emit/cpu/types.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

constexpr std::int64_t alignment = 64;

/// Products of extents stop here; real buffers are far smaller.
constexpr std::int64_t ceiling = std::int64_t{1} << 56;

std::int64_t round_up(std::int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

class Planner {
 public:
  Planner(ScratchPlan& plan, int lanes, const std::function<std::int64_t(const ir::Stmt&)>& extra)
      : plan_(plan), lanes_(lanes), extra_(extra) {}

  void body(const ir::Body& statements, bool parallel) {
    const std::int64_t start = top_;
    for (const auto& stmt : statements) visit(*stmt, parallel);
    top_ = start;
  }

 private:
  void visit(const ir::Stmt& stmt, bool parallel) {
    if (const std::int64_t bytes = extra_(stmt); bytes > 0) {
      const std::int64_t start = top_;
      take(stmt, bytes);
      top_ = start;
    }
    std::visit(Overload{
                   [&](const ir::Alloc& alloc) {
                     const std::int64_t bytes = buffer_bytes(*alloc.buffer, parallel ? lanes_ : 1);
                     if (bytes > stack_limit) take(stmt, bytes);
                   },
                   [&](const ir::For& loop) { body(loop.body, parallel || loop.kind == ir::LoopKind::parallel); },
                   [&](const ir::While& loop) { body(loop.body, parallel); },
                   [&](const ir::If& branch) {
                     body(branch.then_body, parallel);
                     body(branch.else_body, parallel);
                   },
                   [&](const ir::Task& task) { body(task.body, parallel); },
                   [](const auto&) {},
               },
               stmt.node);
  }

  void take(const ir::Stmt& stmt, std::int64_t bytes) {
    plan_.rooms[&stmt] = {top_, bytes};
    top_ = std::min(ceiling, top_ + round_up(std::min(bytes, ceiling)));
    plan_.bytes = std::max(plan_.bytes, top_);
  }

  ScratchPlan& plan_;
  int lanes_;
  const std::function<std::int64_t(const ir::Stmt&)>& extra_;
  std::int64_t top_ = 0;
};

}  // namespace

std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? ceiling : std::min(product, ceiling);
}

std::vector<std::int64_t> buffer_strides(const ir::BufferDecl& buffer) {
  const std::vector<std::int64_t> shape = ir::static_shape(buffer);
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) {
    const std::int64_t padding = d + 1 == shape.size() ? buffer.pad : 0;
    strides[d - 1] = saturating_product(strides[d], std::min(shape[d], ceiling) + padding);
  }
  return strides;
}

std::int64_t buffer_bytes(const ir::BufferDecl& buffer, int lanes) {
  const std::vector<std::int64_t> shape = ir::static_shape(buffer);
  const std::int64_t elements = shape.empty() ? 1 : saturating_product(buffer_strides(buffer)[0], shape[0]);
  return saturating_product(elements + buffer.pad, std::int64_t{onchip_bytes(buffer.type)} * lanes);
}

ScratchPlan plan_scratch(const ir::Kernel& kernel, int lanes,
                         const std::function<std::int64_t(const ir::Stmt&)>& extra) {
  ScratchPlan plan;
  Planner(plan, lanes, extra).body(kernel.body, false);
  return plan;
}

}  // namespace plait::cpu
