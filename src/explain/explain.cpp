#include "explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "roles/arena.h"
#include "roles/live.h"
#include "roles/lower_channels.h"
#include "roles/print.h"
#include "roles/visit.h"
#include "sim/occupancy.h"

namespace plait::explain {
namespace {

std::string work_text(const plan::Work& work, const ir::Kernel& tile) {
  std::string text;
  switch (work.kind) {
    case plan::WorkKind::plain:
      text = "plain: a block a tile";
      break;
    case plan::WorkKind::persistent:
      text = "persistent: as many blocks as run at once, tile t to block t mod blocks";
      break;
    case plan::WorkKind::dynamic:
      text = "dynamic: as many blocks as run at once, the next tile from a counter";
      break;
    case plan::WorkKind::stream_k:
      text = "stream_k: as many blocks as run at once, the iterations of all tiles dealt out evenly";
      break;
  }
  text += fmt::format("; order {}", plan::name_of(work.order));
  if (work.order == plan::TileOrder::grouped) text += fmt::format("({})", work.group);
  if (work.heads > 1) text += fmt::format(", heads {}", work.heads);
  if (work.cluster_x * work.cluster_y > 1) text += fmt::format(", cluster ({}, {})", work.cluster_x, work.cluster_y);
  if (work.split_k > 1) text += fmt::format(", split_k {}", work.split_k);
  if (work.occupancy > 1) text += fmt::format(", occupancy {}", work.occupancy);
  std::vector<std::string> axes;
  for (const ir::GridAxis& axis : tile.grid) axes.push_back(axis.var->name);
  return fmt::format("{}; tiles over {}", text, fmt::join(axes, ", "));
}

void add_tiles(Explanation& out, const roles::Program& program) {
  roles::Arena arena = roles::arena(program);
  std::int64_t held = 0;
  for (std::size_t i = 0; i < program.smem.size(); ++i) {
    const roles::SmemDecl& smem = *program.smem[i];
    Tile tile;
    tile.name = smem.buffer->name;
    tile.type = ir::dtype_name(smem.buffer->type);
    tile.shape = ir::static_shape(*smem.buffer);
    tile.offset = arena.smem[i];
    tile.bytes = roles::smem_bytes(smem);
    for (const roles::Channel& channel : program.channels) {
      if (std::find(channel->tiles.begin(), channel->tiles.end(), program.smem[i]) != channel->tiles.end())
        tile.channel = channel->name;
    }
    held += tile.bytes;
    out.tiles.push_back(std::move(tile));
  }
  out.smem_bytes = roles::arena(roles::lower_channels(program)).bytes;
  out.barrier_bytes = std::max<std::int64_t>(out.smem_bytes - held, 0);
}

void add_roles(Explanation& out, const roles::Program& program, const machine::Device& device) {
  std::int64_t file = device.limits ? device.limits->registers_per_unit.integer() : 0;
  std::int64_t most = device.limits ? device.limits->registers_per_thread.integer() : 0;
  std::int64_t each = out.threads > 0 ? file / out.threads / 8 * 8 : 0;
  for (const roles::Role& role : program.roles) {
    RoleUse use{role.name, role.replicas, role.warps, 0, roles::kOtherRegisters, 0, role.regs.has_value()};
    use.fragments = roles::pressure(role).registers;
    use.budget = std::min<std::int64_t>(role.regs.value_or(static_cast<int>(each)), most);
    out.roles.push_back(std::move(use));
  }
}

}  // namespace

Explanation explain(const roles::Program& program, const machine::Device& device, const ir::Kernel* tile,
                    const pipeline::Derived* derived) {
  Explanation out;
  sim::Costs costs = sim::costs_of(device);
  out.kernel = program.name;
  out.device = device.name;
  if (program.loc.known()) out.file = program.loc.source->name();
  out.sms = costs.sms;
  out.clock_mhz = costs.clock_mhz;
  out.occupancy = sim::resident_blocks(program, device);
  out.threads = roles::thread_count(program);
  out.smem_limit = device.limits ? device.limits->smem_per_block.integer() : 0;
  out.launch = roles::values_text(program.launch);
  add_tiles(out, program);
  add_roles(out, program, device);
  if (tile == nullptr || derived == nullptr) return out;
  out.work = work_text(derived->schedule.place.work, *tile);
  out.loops = explain_loops(program, costs, graph::build(*tile), derived->schedule);
  for (const place::Remark& remark : derived->remarks) out.notes.push_back({remark.loc, remark.text});
  return out;
}

}  // namespace plait::explain
