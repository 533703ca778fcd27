#include "fuse/budget.h"

#include <algorithm>

#include "roles/arena.h"
#include "roles/verify_parts.h"

namespace plait::fuse {

using namespace roles;

namespace {

constexpr int kStep = 8, kLeast = 24, kMost = 240;  // of setmaxnreg, and what is left for its neighbours
constexpr std::int64_t kBesides = 24;               // of a thread besides its fragments, as the verifier counts

/// The most registers that fragments take at one time, of those in one body all together.
std::int64_t fragments_of(const Body& body, std::int64_t threads) {
  std::int64_t own = 0, inner = 0;
  Visitor nested;
  nested.body = [&](const Body& within) { inner = std::max(inner, fragments_of(within, threads)); };
  for (const StmtRef& stmt : body) {
    if (const auto* def = std::get_if<DefFragment>(&stmt->node)) own += fragment_registers(*def->fragment, threads);
    visit(*stmt, nested);
  }
  return own + inner;
}

bool whole_warpgroups(const Role& role) { return role.replicas * role.warps % kWarpgroupWarps == 0; }

}  // namespace

int least_registers(const Role& role) {
  std::int64_t need = fragments_of(role.body, replica_threads(role)) + kBesides;
  return static_cast<int>(std::clamp<std::int64_t>((need + kStep - 1) / kStep * kStep, kLeast, kMost));
}

void deal_registers(Program& program, const Limits& limits) {
  auto moves = [](const Role& role) { return role.regs.has_value(); };
  if (std::none_of(program.roles.begin(), program.roles.end(), moves)) return;
  if (!std::all_of(program.roles.begin(), program.roles.end(), whole_warpgroups)) {
    for (Role& role : program.roles) role.regs.reset();
    return;
  }
  struct Share {
    int regs, least, most;
    std::int64_t threads;
  };
  std::vector<Share> shares;
  std::int64_t left = std::int64_t{launch_registers(program, limits)} * thread_count(program);
  for (const Role& role : program.roles) {
    std::int64_t threads = role.replicas * replica_threads(role);
    shares.push_back({kLeast, least_registers(role), std::min(role.regs.value_or(kMost), kMost), threads});
    left -= threads * kLeast;
  }
  while (true) {
    Share* next = nullptr;
    for (Share& share : shares) {
      bool may = share.regs + kStep <= share.most && share.threads * kStep <= left;
      if (may && (next == nullptr || share.regs - share.least < next->regs - next->least)) next = &share;
    }
    if (next == nullptr) break;
    next->regs += kStep;
    left -= next->threads * kStep;
  }
  for (std::size_t i = 0; i < shares.size(); ++i) program.roles[i].regs = shares[i].regs;
}

}  // namespace plait::fuse
