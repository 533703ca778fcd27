#include "fuse/budget.h"

#include <algorithm>

#include "roles/live.h"
#include "roles/verify_parts.h"

namespace plait::fuse {

using namespace roles;

namespace {

constexpr int kStep = 8, kLeast = 24, kMost = 240;  // of setmaxnreg, and what is left for its neighbours

bool whole_warpgroups(const Role& role) { return role.replicas * role.warps % kWarpgroupWarps == 0; }

}  // namespace

int least_registers(const Role& role) {
  std::int64_t need = pressure(role).registers + kOtherRegisters;
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
