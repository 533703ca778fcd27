#include <fmt/format.h>

#include <algorithm>

#include "ir/visit.h"
#include "pipeline/lowering.h"

namespace plait::pipeline {

using namespace ir;

/// Why the product cannot be under way while the next iteration does something else, up to its own product or another
/// one that adds to the same result; empty where it can.
std::string Lowering::flight_obstacle(const For& loop, const std::vector<Step>& list, const Step& product) const {
  if (!counts_iterations(loop)) return "the loop does not count from 0 by 1";
  Touched own = touched(*product.stmt);
  bool overlaps = false, last = false;  // something stands before what awaits it; the product has been met
  for (const Step& step : list) {
    auto ring = rings_.filled_by_reader(*step.stmt);
    if (ring && rings_.reads(*product.stmt, *ring)) return "the threads that compute load what it reads";
    if (step.stmt == product.stmt) last = true;
    if (step.stmt == product.stmt || rings_.filled_by(*step.stmt)) continue;
    bool multiplies = false;
    auto note = [&](const Stmt& stmt) {
      const auto* op = std::get_if<TileOp>(&stmt.node);
      multiplies = multiplies || (op != nullptr && op->kind == OpKind::gemm);
    };
    note(*step.stmt);
    for_each_body_of(*step.stmt, [&](const Body& body) { walk(body, note); });
    const Touched use = touched(*step.stmt);
    const bool awaits = in_conflict(own, use);
    const bool adds = std::holds_alternative<TileOp>(step.stmt->node) && use.writes == own.writes && !last;
    if (multiplies && !(adds && overlaps)) return fmt::format("line {} multiplies too", step.stmt->loc.line);
    const bool needs = !multiplies && in_conflict({{}, own.writes}, use);
    if (awaits && (needs || !overlaps)) return fmt::format("line {} needs it", step.stmt->loc.line);
    overlaps = overlaps || (!awaits && !std::holds_alternative<Let>(step.stmt->node));
  }
  return {};
}

/// The product of the loop that the schedule leaves under way over the end of its iteration.
std::optional<Lowering::Flight> Lowering::flight_of(const For& loop, const std::vector<Step>& list,
                                                    const plan::LoopPlan& plan) {
  for (const Step& step : list) {
    const plan::Slot* slot = plan.find(names_.at(step.stmt.get()));
    auto atom = placed_.atoms.find(step.stmt.get());
    if (slot == nullptr || slot->in_flight == 0 || atom == placed_.atoms.end()) continue;
    const auto* gemm = std::get_if<place::GemmAtom>(&atom->second);
    std::string why = gemm == nullptr ? "no instruction of a tensor core does it" : flight_obstacle(loop, list, step);
    if (gemm != nullptr && gemm->by_warps) why = "mma ends where it is issued";
    if (!why.empty()) {
      remarks_.push_back({step.stmt->loc, fmt::format("the product is awaited in its iteration: {}", why)});
      return {};
    }
    Flight flight{step.stmt.get(), slot->in_flight, {}};
    for (std::size_t ring : filled(list)) {
      auto reads = [&](const Step& other) { return !rings_.filled_by(*other.stmt) && rings_.reads(*other.stmt, ring); };
      auto last = std::find_if(list.rbegin(), list.rend(), reads);
      if (last != list.rend() && last->stmt == step.stmt) flight.rings.push_back(ring);
    }
    // A slot is held by each product under way, and one by the next.
    for (std::size_t ring : flight.rings) {
      const Ring& read = rings_.all()[ring];
      if (read.depth > flight.count) continue;
      flight.count = static_cast<int>(read.depth) - 1;
      remarks_.push_back(
          {step.stmt->loc,
           fmt::format("{} product{} under way over the end of an iteration: `{}` has {} "
                       "slot{} and no more",
                       flight.count, flight.count == 1 ? "" : "s", read.name, read.depth, read.depth == 1 ? "" : "s")});
    }
    if (flight.count == 0) return {};
    return flight;
  }
  return {};
}

/// The groups that earlier iterations have left under way, of which there are `done`, the oldest first. Slots that they
/// read are given back when they are awaited.
void Lowering::take_up(const Flight& flight, const Value& done) {
  Touched use = touched(*flight.product);
  for (int behind = flight.count; behind > 0; --behind) {
    Group group{use, {}};
    for (std::size_t ring : flight.rings) group.releases.push_back({ring, behind, done >= behind});
    under_way_.push_back(std::move(group));
  }
  in_flight_ = &flight;
}

/// Leaves the last groups to the next iteration.
void Lowering::leave_under_way(const Flight& flight) {
  await(static_cast<std::size_t>(flight.count));
  under_way_.clear();
  in_flight_ = nullptr;
}

}  // namespace plait::pipeline
