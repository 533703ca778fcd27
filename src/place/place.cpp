#include "place/placed.h"

#include <fmt/format.h>

#include "place/placer.h"

namespace plait::place {

using namespace ir;

Diagnostics missing_features(const Kernel& kernel, const machine::Device& device) {
  using machine::Feature;
  Diagnostics found;
  bool warps = device.has(Feature::cp_async) && device.has(Feature::ldmatrix) && device.has(Feature::mma);
  if (!is_hopper(device) && !warps)
    found.error(Rule::place_device, kernel.loc,
                fmt::format("{} has neither TMA and wgmma nor cp.async, ldmatrix and mma", device.name));
  return found;
}

bool is_hopper(const machine::Device& device) {
  return device.has(machine::Feature::tma) && device.has(machine::Feature::wgmma);
}

Placer::Placer(const Kernel& kernel, const machine::Device& device, const Assumptions& assumptions,
               const Wishes& wishes)
    : kernel_(kernel), wishes_(wishes) {
  placed_.device = device;
  placed_.assumptions = assumptions;
}

/// Forgets the last attempt but for what moved.
void Placer::begin() {
  placed_.fragments.clear();
  placed_.shared.clear();
  placed_.atoms.clear();
  placed_.remarks.clear();
  placed_.replicas = 1;
  placed_.warps = 4;
  plain_nests_.clear();
  multiplied_.clear();
  same_.clear();
  rows_.clear();
  columns_.clear();
  again_ = false;
  for (const Buffer& buffer : buffers_) {
    auto moved = moved_.find(buffer.get());
    if (is_shared(buffer) || moved != moved_.end()) placed_.shared.try_emplace(buffer.get());
    if (is_fragment(buffer) && moved != moved_.end())
      remark(buffer->loc, fmt::format("`{}` lives in shared memory: {}", buffer->name, moved->second));
  }
}

void Placer::attempt() {
  begin();
  choose_partition();
  for (const StmtRef& stmt : products_) place_product(stmt);
  relate_nests();
  relate_copies();
  relate_reductions();
  spread();
  choose_free();
  check_homes();
  check_columns();
  if (again_) return;
  swizzle_for_banks();
  for (const Copy& copy : copies_) place_copy(copy);
  for (const StmtRef& stmt : nests_) place_nest(stmt);
  for (const StmtRef& stmt : reductions_) place_reduction(stmt);
  for (const StmtRef& stmt : fills_) place_fill(stmt);
  for (const StmtRef& stmt : others_) {
    std::string name(op_info(std::get<TileOp>(stmt->node).kind).name);
    by_threads(stmt, name, "there is no instruction for it");
  }
}

Result<Placed> Placer::run() {
  if (Diagnostics missing = missing_features(kernel_, placed_.device); missing.has_errors()) return missing;
  collect(kernel_.body, false);
  if (diags_.has_errors()) return diags_;
  for (const Buffer& buffer : buffers_) {
    if (buffer->scope == Scope::local) moved_.try_emplace(buffer.get(), "it is one value a block");
  }
  for (const StmtRef& stmt : nests_) nest_lines_[stmt.get()] = lines_of(std::get<For>(stmt->node));
  do {
    attempt();
  } while (again_);
  if (diags_.has_errors()) return diags_;
  placed_.kernel = std::move(kernel_);
  return std::move(placed_);
}

Result<Placed> place(const Kernel& kernel, const machine::Device& device, const Assumptions& assumptions,
                     const Wishes& wishes) {
  return Placer(kernel, device, assumptions, wishes).run();
}

}  // namespace plait::place
