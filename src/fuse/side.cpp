#include "fuse/side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fuse/budget.h"
#include "roles/arena.h"
#include "roles/lower_channels.h"
#include "roles/visit.h"

namespace plait::fuse {

using namespace roles;

namespace {

bool is_cluster_barrier(const Stmt& stmt) {
  return std::holds_alternative<ClusterArrive>(stmt.node) || std::holds_alternative<ClusterWait>(stmt.node);
}

bool has_named_barriers(const Body& body) {
  bool found = false;
  walk(body, [&](const Stmt& stmt) {
    found = found || std::holds_alternative<BarrierSync>(stmt.node) || std::holds_alternative<BarrierArrive>(stmt.node);
  });
  return found;
}

bool writes_tensors(const Body& body) {
  bool found = false;
  walk(body, [&](const Stmt& stmt) {
    found = found || std::holds_alternative<PutTensor>(stmt.node) || std::holds_alternative<PutPiece>(stmt.node) ||
            std::holds_alternative<Atomic>(stmt.node) || std::holds_alternative<TmaStore>(stmt.node) ||
            std::holds_alternative<BulkStore>(stmt.node);
  });
  return found;
}

/// `load 128 x 24, math 256 x 96`: of the threads of each role, what a thread cannot do without.
std::string registers_text(const Side& side) {
  std::vector<std::string> parts;
  for (const Role& role : side.program().roles)
    parts.push_back(fmt::format("{} {} x {}", role.name, role.replicas * role.warps * kWarp, least_registers(role)));
  return fmt::format("{} ({})", side.text(), fmt::join(parts, ", "));
}

/// Its places are those of its own text: they mean nothing to who fuses tile programs.
void add(Diagnostics& found, Rule rule, const Side& first, const Side& second, std::string message, std::string fix) {
  found.error(rule, first.program().loc, std::move(message), std::move(fix))
      .notes.push_back({second.program().loc, fmt::format("it is fused with {}", second.text())});
}

void check_program(const Side& side, Diagnostics& found) {
  const Program& program = side.program();
  for (const Role& role : program.roles) {
    std::size_t inner = role.body.size() - cluster_barriers_at_end(role.body);
    for (std::size_t i = 0; i < inner; ++i) {
      if (is_cluster_barrier(*role.body[i]))
        found.error(Rule::block_barrier, role.body[i]->loc,
                    fmt::format("role `{}` of {} meets its cluster before its end", role.name, program.name),
                    "fuse programs whose cluster barriers end their roles");
    }
  }
  if (has_named_barriers(program.prologue))
    found.error(Rule::block_barrier, program.loc, fmt::format("the prologue of {} has named barriers", program.name),
                "write sync_threads: it is run by the threads of both programs");
  if (writes_tensors(program.prologue))
    found.error(Rule::block_barrier, program.loc, fmt::format("the prologue of {} writes tensors", program.name),
                "write them in a role: blocks that have none of its work run the prologue, too");
}

}  // namespace

bool is_replicable(const Program& program) {
  if (program.roles.size() != 1 || !program.prologue.empty() || program.cluster > 1) return false;
  if (!program.channels.empty() || !program.mbars.empty()) return false;
  return std::all_of(program.smem.begin(), program.smem.end(),
                     [](const Smem& smem) { return !smem->offset && smem_bytes(*smem) % smem_alignment(*smem) == 0; });
}

bool Side::is_replicated() const { return part.blocks > 1 && is_replicable(part.program); }

std::int64_t Side::smem_bytes() const { return arena(lower_channels(part.program)).bytes * part.blocks; }

std::string Side::text() const {
  return part.blocks == 1 ? prefix : fmt::format("{} blocks of {}", part.blocks, prefix);
}

std::size_t cluster_barriers_at_end(const Body& body) {
  std::size_t count = 0;
  while (count < body.size() && is_cluster_barrier(*body[body.size() - 1 - count])) ++count;
  return count;
}

Diagnostics obstacles(const Side& first, const Side& second, const Limits& limits) {
  Diagnostics found;
  for (const Side* side : {&first, &second}) check_program(*side, found);
  int a = first.program().cluster, b = second.program().cluster;
  if (a > 1 && b > 1 && a != b) {
    add(found, Rule::cluster_size, first, second,
        fmt::format("clusters: {} has clusters of {} blocks, {} of {}", first.text(), a, second.text(), b),
        "give both the same, or one of them none, by a schedule with `cluster (1, 1)`");
  }
  if (first.threads() + second.threads() > limits.threads) {
    add(found, Rule::role_threads, first, second,
        fmt::format("threads: {} of {}, {} of {}, and a block has at most {}", first.threads(), first.text(),
                    second.threads(), second.text(), limits.threads),
        "use fewer replicas or warps, or let a block stand for fewer of its blocks with --blocks NAME=1");
  }
  std::set<int> taken;
  bool fit = true;
  for (const Side* side : {&first, &second}) {
    for (int n = 0; n < side->roles() && fit; ++n) {
      fit = place(side->barriers, side->times(), taken).has_value();
      if (fit && side->barriers.block) fit = place_one(side->times(), taken).has_value();
    }
  }
  if (!fit) {
    add(found, Rule::barrier_id, first, second,
        fmt::format("named barriers: {} of {}, {} of {}, and a block has {}",
                    first.barriers.count() * first.part.blocks, first.text(),
                    second.barriers.count() * second.part.blocks, second.text(), kNamedBarriers),
        "use fewer replicas or tokens");
  }
  return found;
}

Diagnostics lacking(const Program& fused, const Side& first, const Side& second, const Limits& limits) {
  Diagnostics found;
  std::int64_t bytes = arena(lower_channels(fused)).bytes;
  if (bytes > limits.smem_block) {
    add(found, Rule::smem_capacity, first, second,
        fmt::format("shared memory: {} bytes of {}, {} of {}, together {}, and a block gets {}", first.smem_bytes(),
                    first.text(), second.smem_bytes(), second.text(), bytes, limits.smem_block),
        "use fewer stages or smaller tiles in one of them");
    return found;
  }
  Diagnostics broken = verify(fused, limits);
  for (const Diagnostic& d : broken.list()) {
    bool registers = d.rule == Rule::register_budget || d.rule == Rule::fragment_registers;
    if (!registers) {
      found.add(d);
      continue;
    }
    int threads = thread_count(fused);
    add(found, d.rule, first, second,
        fmt::format("registers: a thread needs at least, of {}, of {}; the {} threads of a fused block have {} each at "
                    "launch, {} together: {}",
                    registers_text(first), registers_text(second), threads, limits.registers / threads / 8 * 8,
                    limits.registers, d.message),
        "use smaller tiles or fewer warps in one of them");
    break;
  }
  return found;
}

}  // namespace plait::fuse
