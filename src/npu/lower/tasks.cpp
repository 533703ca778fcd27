#include <fmt/format.h>

#include "ir/build.h"
#include "npu/lower/lowering.h"
#include "npu/uses.h"

// A statement as tasks: what it computes in one, and beside it what else it keeps busy.
namespace plait::npu {

using namespace ir;
using machine::MemoryKind;
using machine::UnitKind;
using roles::build::at;

std::optional<std::size_t> Lowering::mail_at(const Stmt& stmt) const {
  for (std::size_t m = 0; m < mail_.size(); ++m) {
    if (mail_[m].writer == &stmt) return m;
  }
  return {};
}

/// The element of a buffer: its copy, that of the vector core, rows, columns.
roles::SmemRef Lowering::place(const Buffer& buffer, const Values& index) {
  Values full = index;
  if (full.size() == 1) full.insert(full.begin(), Value(0));
  if (rows_.is_repeated(buffer)) full.insert(full.begin(), Value(b_.builtins().replica));
  Value slot = 0;
  for (std::size_t m = 0; m < mail_.size(); ++m) {
    if (mail_[m].buffer == buffer && channels_[m]->depth > 1) slot = item(m) % channels_[m]->depth;
  }
  auto several = slot_.find(buffer.get());
  if (several != slot_.end() && as_int(slot.expr()) == 0) slot = several->second;
  full.insert(full.begin(), slot);
  return at(tiles_.at(buffer.get()), full);
}

roles::SmemRef Lowering::first_element(const Buffer& buffer) {
  return place(buffer, Values(buffer->shape.size(), Value(0)));
}

namespace {

Value cycles(std::int64_t count) { return typed_int(DType::i32, std::max<std::int64_t>(count, 1)); }

}  // namespace

void Lowering::task(const Stmt& stmt) {
  bool mine = core_of(stmt, homes_) == core_;
  if (!mine) return;  // the other core's, which hands on what it gives
  auto cost = cost_of(stmt, homes_, device_, rows_.shares(stmt));
  if (!cost) return diags_.append(cost.diagnostics());
  if (measured_ != nullptr) cost = overruled(std::move(*cost), measured_->latency, measured_->ii);
  auto mail = mail_at(stmt);
  if (mail) b_.add(roles::Acquire{at(channels_[*mail], item(*mail)), {}});
  issue(stmt, *cost);
  if (mail) b_.add(roles::Publish{at(channels_[*mail], item(*mail))});
}

void Lowering::issue(const Stmt& stmt, const plan::TaskCost& cost) {
  std::string name = graph::text_of(stmt_names_.at(&stmt));
  UnitKind unit = unit_of(stmt, homes_);
  const auto* op = std::get_if<TileOp>(&stmt.node);
  bool product = op != nullptr && op->kind == OpKind::gemm;
  std::int64_t latency = cost.latency;
  bool hops = false;
  for (const auto& [other, busy] : cost.busy) {
    if (other == unit) continue;
    // The second half of a way through global memory is the reader's.
    if (mail_at(stmt)) {
      hops = true;
      continue;
    }
    roles::Issue beside{other, name + (product ? " operands" : " elements"), cycles(busy), cycles(busy), {}, {}, {}};
    if (product) {
      for (std::size_t i = 0; i < 2; ++i) beside.reads.emplace_back(first_element(op->operands[i].buffer));
    }
    b_.issue(std::move(beside), [] {});
  }
  if (hops && measured_ == nullptr) {
    MemoryKind from = homes_.of(op->operands[0].buffer);
    latency =
        cost_of_transfer(*device_.transfer(from, MemoryKind::global), copied_bytes(*op, rows_.shares(stmt))).latency;
  }
  auto busy = cost.busy.find(unit);
  std::int64_t interval = busy == cost.busy.end() ? latency : busy->second;
  // The cube stands still while operands are brought that take longer than their product.
  auto brought = cost.busy.find(UnitKind::mte1);
  if (brought != cost.busy.end()) interval = std::max(interval, brought->second);
  b_.issue({unit, name, cycles(latency), cycles(interval), {}, {}, {}},
           [&] { elements_.run(stmt, rows_.shares(stmt)); });
  b_.add(roles::SyncWarp{});  // what follows may read elements that other lanes computed
}

/// Where nothing moves data directly, the reader brings them from global memory.
void Lowering::second_hop(std::size_t mail) {
  const auto& op = std::get<TileOp>(mail_[mail].writer->node);
  MemoryKind from = homes_.of(op.operands[0].buffer), to = homes_.of(op.operands[1].buffer);
  if (device_.transfer(from, to) != nullptr) return;
  const machine::Transfer& in = *device_.transfer(MemoryKind::global, to);
  plan::TaskCost cost = cost_of_transfer(in, copied_bytes(op, rows_.shares(*mail_[mail].writer)));
  std::string name = graph::text_of(stmt_names_.at(mail_[mail].writer)) + " from global memory";
  roles::Issue issue{in.unit, name, cycles(cost.latency), cycles(cost.busy.at(in.unit)), {}, {}, {}};
  issue.writes.emplace_back(first_element(op.operands[1].buffer));
  b_.issue(std::move(issue), [] {});
}

}  // namespace plait::npu
