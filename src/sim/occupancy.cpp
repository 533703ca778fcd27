#include "sim/occupancy.h"

#include <algorithm>

#include "roles/arena.h"
#include "roles/visit.h"

namespace plait::sim {
namespace {

constexpr std::int64_t kWarp = 32;
/// Registers of a thread besides its fragments, as ptxas is known to need.
constexpr std::int64_t kOther = 28;

std::int64_t registers_of(const roles::Role& role) {
  if (role.regs) return *role.regs;
  std::int64_t registers = kOther;
  roles::walk(role.body, [&](const roles::Stmt& stmt) {
    if (const auto* def = std::get_if<roles::DefFragment>(&stmt.node))
      registers += roles::fragment_registers(*def->fragment, role.warps * kWarp);
  });
  return std::min<std::int64_t>((registers + 7) / 8 * 8, 255);
}

/// Of all threads. Without setmaxnreg each thread has what the neediest role takes.
std::int64_t block_registers(const roles::Program& program) {
  bool moved = std::any_of(program.roles.begin(), program.roles.end(), [](const roles::Role& r) { return r.regs; });
  std::int64_t sum = 0, most = 0;
  for (const roles::Role& role : program.roles) {
    sum += role.replicas * role.warps * kWarp * registers_of(role);
    most = std::max(most, registers_of(role));
  }
  return moved ? sum : most * roles::thread_count(program);
}

}  // namespace

int resident_blocks(const roles::Program& program, const machine::Device& device) {
  if (!device.limits) return 1;
  const machine::Limits& limits = *device.limits;
  auto fits = [](const machine::Figure& all, std::int64_t each) {
    return all.integer() / std::max<std::int64_t>(each, 1);
  };
  std::int64_t bytes = roles::arena(program).bytes + limits.smem_reserved.integer();
  std::int64_t blocks =
      std::min({fits(limits.smem_per_unit, bytes), fits(limits.threads_per_unit, roles::thread_count(program)),
                fits(limits.registers_per_unit, block_registers(program)), limits.blocks_per_unit.integer()});
  return static_cast<int>(std::max<std::int64_t>(blocks, 1));
}

}  // namespace plait::sim
