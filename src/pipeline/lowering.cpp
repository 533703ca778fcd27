#include "pipeline/lowering.h"

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "roles/builtin_names.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

/// What callers name: tensors, scalars and dims.
std::set<std::string> caller_names(const Kernel& kernel) {
  std::set<std::string> names;
  for (const Param& param : kernel.params) names.insert(param.buffer ? param.buffer->name : param.scalar->name);
  for (const Var& dim : kernel.dims) names.insert(dim->name);
  return names;
}

}  // namespace

Lowering::Lowering(const place::Placed& placed, const plan::Schedule& schedule, Rings rings, const Pieces* pieces)
    : placed_(placed),
      schedule_(schedule),
      kernel_(placed.kernel),
      rings_(std::move(rings)),
      names_(graph::name_statements(placed.kernel)),
      b_(placed.kernel.name, placed.device.name),
      scalars_(placed.kernel),
      fresh_(caller_names(placed.kernel)),
      work_(kernel_, schedule.place.work, pieces, b_, scalars_, fresh_),
      next_barrier_(placed.replicas + 1),
      sums_(find_sums(placed)) {
  b_.origin(kernel_.loc);
  find_computed_lets();
  b_.taken(fresh_.of_head());
  for (const roles::BuiltinName& builtin : roles::builtin_names()) fresh_.take((b_.builtins().*builtin.var)->name);
  scalars_.elements([this](const Load& load, const Values& index) { return read(load.buffer, index); });
}

// ---- What both roles do --------------------------------------------------------------------------------------------

void Lowering::begin_role() {
  fresh_.begin_role();
  counters_.clear();
  counter_vars_.clear();
  auto count = std::count_if(channels_.begin(), channels_.end(), [](const auto& c) { return c != nullptr; });
  for (std::size_t r = 0; r < channels_.size(); ++r) {
    if (channels_[r] == nullptr) {
      counter_vars_.emplace_back();
      counters_.emplace_back(0);
      continue;
    }
    counter_vars_.push_back(b_.var(fresh(count == 1 ? "n" : "n_" + channels_[r]->name), DType::u32, 0));
    counters_.emplace_back(counter_vars_.back());
  }
}

/// A block's memory is there until no other fills it or arrives in it.
void Lowering::leave_cluster() {
  if (work_.cluster().blocks == 1) return;
  b_.add(roles::ClusterArrive{});
  b_.add(roles::ClusterWait{});
}

/// Whether every role knows the value: it comes from no buffer on chip.
bool Lowering::is_uniform_let(const Let& node) const { return !computed_.contains(node.var.get()); }

/// Lets whose values come from buffers on chip, by way of other lets too.
void Lowering::find_computed_lets() {
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* node = std::get_if<Let>(&stmt.node);
    if (node == nullptr) return;
    walk(node->value, [&](const Expr& e) {
      const auto* load = std::get_if<Load>(&e.node);
      const auto* ref = std::get_if<VarRef>(&e.node);
      bool on_chip = load != nullptr && load->buffer->scope != Scope::global;
      if (on_chip || (ref != nullptr && computed_.contains(ref->var.get()))) computed_.insert(node->var.get());
    });
  });
}

void Lowering::let(const Let& node) {
  Value value = scalars_.convert(node.value);
  auto kept = registers_.find(node.var.get());
  if (kept != registers_.end()) return b_.set(kept->second, converted(node.var->type, value));
  scalars_.bind(node.var, b_.let(fresh(node.var->name), value));
  scalars_.add_let(node);
}

Value Lowering::slot(std::size_t ring, int behind) const {
  if (rings_.all()[ring].own) return own_slot(ring);
  Value n = behind == 0 ? counter(ring) : counter(ring) - behind;
  return n % rings_.all()[ring].depth;
}

roles::ChannelRef Lowering::item(std::size_t ring, int behind) const {
  return at(channels_[ring], behind == 0 ? counter(ring) : counter(ring) - behind);
}

roles::SmemRef Lowering::tile(const Buffer& buffer, const Values& index) {
  Values full = index;
  if (auto ring = rings_.ring_of(buffer)) full.insert(full.begin(), slot(*ring, lead_of(*ring)));
  return at(tiles_.at(buffer.get()), full);
}

void Lowering::advance(const std::vector<std::size_t>& rings) {
  for (std::size_t ring : rings) b_.set(counter_vars_[ring], counter(ring) + 1);
}

}  // namespace plait::pipeline
