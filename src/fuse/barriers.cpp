#include "fuse/barriers.h"

#include <algorithm>

#include "roles/verify_parts.h"

namespace plait::fuse {

using namespace roles;

namespace {

ir::ExprRef barrier_of(const Stmt& stmt) {
  if (const auto* sync = std::get_if<BarrierSync>(&stmt.node)) return sync->id;
  if (const auto* arrive = std::get_if<BarrierArrive>(&stmt.node)) return arrive->id;
  return nullptr;
}

bool is_free(const std::set<int>& taken, int first, int count) {
  if (first < 1 || first + count - 1 > kNamedBarriers) return false;
  auto next = taken.lower_bound(first);
  return next == taken.end() || *next >= first + count;
}

}  // namespace

bool is_warp_barrier(const StmtNode& stmt) {
  const auto* sync = std::get_if<BarrierSync>(&stmt);
  return sync != nullptr && sync->threads == kWarp;
}

int NamedBarriers::count() const {
  int sum = block ? 1 : 0;
  for (const Run& run : runs) sum += run.count();
  return sum;
}

NamedBarriers named_barriers(const Program& program, const Limits& limits) {
  NamedBarriers out;
  Diagnostics none;
  Reports reports(none);
  scan({program, limits, reports}, [&](const Met& met) {
    out.block = out.block || (met.role != nullptr && std::holds_alternative<SyncThreads>(met.stmt.node));
    ir::ExprRef id = barrier_of(met.stmt);
    if (id == nullptr || is_warp_barrier(met.stmt.node)) return;
    Range range = met.ranges.of(id);
    int first = static_cast<int>(std::clamp<std::int64_t>(range.least, 1, kNamedBarriers));
    int last = static_cast<int>(std::clamp<std::int64_t>(range.most, 1, kNamedBarriers));
    auto [it, fresh] = out.of.try_emplace(&met.stmt, NamedBarriers::Run{first, last});
    it->second = {std::min(it->second.first, first), std::max(it->second.last, last)};
  });
  for (const auto& [stmt, run] : out.of) out.runs.push_back(run);
  std::sort(out.runs.begin(), out.runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NamedBarriers::Run> apart;
  for (const NamedBarriers::Run& run : out.runs) {
    if (apart.empty() || run.first > apart.back().last) {
      apart.push_back(run);
    } else {
      apart.back().last = std::max(apart.back().last, run.last);
    }
  }
  out.runs = std::move(apart);
  return out;
}

std::optional<std::vector<int>> place(const NamedBarriers& barriers, int times, std::set<int>& taken) {
  std::vector<int> shifts;
  for (const NamedBarriers::Run& run : barriers.runs) {
    int first = run.first, count = run.count() * times;
    if (!is_free(taken, first, count)) {
      for (first = 1; first <= kNamedBarriers && !is_free(taken, first, count);) ++first;
      if (first > kNamedBarriers) return std::nullopt;
    }
    for (int n = 0; n < count; ++n) taken.insert(first + n);
    shifts.push_back(first - run.first);
  }
  return shifts;
}

std::optional<int> place_one(int times, std::set<int>& taken) {
  NamedBarriers one;
  one.runs.push_back({1, 1});
  auto shift = place(one, times, taken);
  return shift ? std::optional(1 + shift->front()) : std::nullopt;
}

}  // namespace plait::fuse
