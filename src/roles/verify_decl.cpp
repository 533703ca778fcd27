#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"
#include "roles/arena.h"
#include "roles/verify_parts.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kMaxMbars = 1024;
constexpr int kMaxOccupancy = 32;
constexpr std::int64_t kMaxArrivals = (1 << 20) - 1;

class Declarations {
 public:
  explicit Declarations(const Check& check) : check_(check), program_(check.program), limits_(check.limits) {}

  void run() {
    host();
    roles();
    registers();
    for (const Workspace& workspace : program_.workspaces) memory(*workspace);
    for (const Map& map : program_.maps) box(*map);
    for (const Mbar& mbar : program_.mbars) barriers(*mbar);
    bool laid_out = true;
    for (const Smem& smem : program_.smem) laid_out = tile(*smem) && laid_out;
    if (laid_out) places();
  }

 private:
  void error(Rule rule, const Loc& loc, std::string message, std::string fix = {}) {
    check_.diags.error(rule, loc.known() ? loc : program_.loc, std::move(message), std::move(fix));
  }

  void host();
  void host_value(const ExprRef& e, std::string_view what, bool at_call);
  void roles();
  void registers();
  void instructions(const Role& role, int launch);
  void memory(const WorkspaceDecl& workspace);
  void box(const MapDecl& map);
  void barriers(const MbarDecl& mbar);
  bool tile(const SmemDecl& smem);
  void places();

  const Check& check_;
  const Program& program_;
  const Limits& limits_;
};

void Declarations::host() {
  if (program_.launch.empty() || program_.launch.size() > 3) {
    error(Rule::roles_head, program_.loc,
          fmt::format("launch has {} extents, and takes 1 to 3", program_.launch.size()),
          "write launch ceildiv(i32(M), 128) behind the lets of the head");
  }
  for (const Let& let : program_.lets) host_value(let.value, fmt::format("`{}`", let.var->name), false);
  for (const ExprRef& extent : program_.launch) {
    host_value(extent, "launch", false);
    auto literal = ir::is_integer(extent->type) ? ir::as_int(extent) : std::nullopt;
    if (literal && *literal < 1)
      error(Rule::role_literal, extent->loc, fmt::format("launch has the extent {}", *literal),
            "launch at least 1 block");
  }
  for (const ir::Require& require : program_.requires_) host_value(require.cond, "require", true);
  if (program_.occupancy < 1 || program_.occupancy > kMaxOccupancy) {
    error(Rule::role_literal, program_.loc, fmt::format("occupancy is {}", program_.occupancy),
          fmt::format("it is 1 to {}", kMaxOccupancy));
  }
  if (program_.cluster < 1 || program_.cluster > limits_.cluster) {
    error(Rule::cluster_size, program_.loc, fmt::format("a cluster of {} blocks", program_.cluster),
          fmt::format("a cluster has 1 to {} blocks", limits_.cluster));
  }
}

void Declarations::host_value(const ExprRef& e, std::string_view what, bool at_call) {
  std::set<const ir::VarDecl*> known = {program_.builtins.sms.get()};
  for (const Let& let : program_.lets) known.insert(let.var.get());
  if (at_call) known.clear();
  ir::walk(e, [&](const ir::Expr& x) {
    if (const auto* load = std::get_if<ir::Load>(&x.node))
      error(Rule::host_value, x.loc, fmt::format("{} reads an element of `{}`", what, load->buffer->name));
    const auto* ref = std::get_if<ir::VarRef>(&x.node);
    if (ref == nullptr || known.contains(ref->var.get())) return;
    if (ref->var->kind == ir::VarKind::dim || ref->var->kind == ir::VarKind::scalar) return;
    error(Rule::host_value, x.loc, fmt::format("{} uses `{}`", what, ref->var->name));
  });
}

void Declarations::roles() {
  if (program_.roles.empty())
    return error(Rule::roles_head, program_.loc, "the program has no role", "write role NAME warps 4: at its end");
  std::set<std::string> names;
  std::int64_t threads = 0;
  for (const Role& role : program_.roles) {
    if (!names.insert(role.name).second)
      error(Rule::roles_name, role.loc, fmt::format("there is another role named `{}`", role.name));
    if (role.replicas < 1 || role.warps < 1) {
      error(Rule::role_threads, role.loc,
            fmt::format("role `{}` has {} replicas of {} warps", role.name, role.replicas, role.warps),
            "give it at least one of each");
    }
    threads += std::int64_t{role.replicas} * role.warps * kWarp;
  }
  if (threads > limits_.threads) {
    error(Rule::role_threads, program_.loc, fmt::format("the roles have {} threads together", threads),
          fmt::format("a block has at most {}", limits_.threads));
  }
}

/// What each role may use, before and behind its setmaxnreg.
void Declarations::registers() {
  bool any =
      std::any_of(program_.roles.begin(), program_.roles.end(), [](const Role& r) { return r.regs.has_value(); });
  if (!any || check_.diags.has_errors()) return;
  int launch = launch_registers(program_, limits_);
  std::int64_t sum = 0;
  std::string terms;
  for (const Role& role : program_.roles) {
    std::int64_t warps = std::int64_t{role.replicas} * role.warps;
    int regs = role.regs.value_or(launch);
    if (warps % kWarpgroupWarps != 0) {
      error(Rule::register_budget, role.loc,
            fmt::format("role `{}` has {} warps, no whole warpgroups, and regs is given", role.name, warps),
            "give every role a multiple of 4 warps, or leave regs out everywhere");
    }
    if (role.regs && (regs % 8 != 0 || regs < 24 || regs > 256)) {
      error(Rule::register_budget, role.loc, fmt::format("role `{}` has regs {}", role.name, regs),
            "regs is a multiple of 8 in 24 to 256");
    }
    sum += warps * kWarp * regs;
    terms += fmt::format("{}{} x {}", terms.empty() ? "" : " + ", warps * kWarp, regs);
  }
  for (const Role& role : program_.roles) instructions(role, launch);
  // A block has what it was launched with: a role that wants more waits until others gave that up, or for ever.
  std::int64_t block = std::int64_t{(launch + 7) / 8 * 8} * thread_count(program_);
  if (sum <= block) return;
  std::string times =
      program_.occupancy == 1 ? "" : fmt::format(" where a multiprocessor holds {}", program_.occupancy);
  error(Rule::register_budget, program_.loc, fmt::format("the roles take {} = {} registers", terms, sum),
        fmt::format("a block has {}{}; give some roles fewer", block, times));
}

/// The assembler gives one instruction no more than what threads have at launch.
void Declarations::instructions(const Role& role, int launch) {
  constexpr std::int64_t kBesides = 26;  // as ptxas 13.0 asks for
  std::int64_t most = 0;
  walk(role.body, [&](const Stmt& stmt) {
    const auto* wgmma = std::get_if<Wgmma>(&stmt.node);
    if (wgmma == nullptr) return;
    std::vector<std::int64_t> shape = ir::static_shape(*wgmma->acc.fragment->buffer);
    if (shape.size() == 2) most = std::max(most, shape[1] / 2);  // 64 rows over 128 threads
  });
  if (most == 0 || most + kBesides <= launch) return;
  error(Rule::register_budget, role.loc,
        fmt::format("a wgmma of role `{}` takes {} registers of a thread; at launch a thread has {}", role.name,
                    most + kBesides, launch),
        "let fewer blocks share a multiprocessor, give the block fewer threads, or use narrower tiles");
}

void Declarations::memory(const WorkspaceDecl& workspace) {
  const ir::BufferDecl& buffer = *workspace.buffer;
  if (ir::dtype_bits(buffer.type) < 8 || buffer.shape.empty()) {
    error(Rule::roles_head, workspace.loc,
          buffer.shape.empty() ? fmt::format("`{}` has no extents", buffer.name)
                               : fmt::format("`{}` has elements of {} bits", buffer.name, ir::dtype_bits(buffer.type)),
          "write workspace parts: f32[tiles, 128]");
  }
  for (const ExprRef& extent : buffer.shape) {
    host_value(extent, fmt::format("an extent of `{}`", buffer.name), false);
    auto literal = ir::as_int(extent);
    if (literal && *literal < 1)
      error(Rule::roles_head, extent->loc, fmt::format("`{}` has the extent {}", buffer.name, *literal),
            "extents are at least 1");
  }
}

void Declarations::box(const MapDecl& map) {
  const ir::BufferDecl& tensor = *map.tensor;
  if (map.box.size() != tensor.shape.size()) {
    return error(Rule::map_box, map.loc,
                 fmt::format("the box of `{}` has {} extents, and `{}` {} dimensions", map.name, map.box.size(),
                             tensor.name, tensor.shape.size()),
                 "write one extent for each dimension of the tensor");
  }
  clean(check_, Rule::map_box, map.loc, fmt::format("the box of `{}`", map.name),
        layout::box_error(layout::tma_box(map)));
}

void Declarations::barriers(const MbarDecl& mbar) {
  if (mbar.size < 1 || mbar.size > kMaxMbars)
    error(Rule::mbar_count, mbar.loc, fmt::format("`{}` has {} barriers", mbar.name, mbar.size),
          fmt::format("an array has 1 to {}", kMaxMbars));
  if (mbar.count < 1 || mbar.count > kMaxArrivals)
    error(Rule::mbar_count, mbar.loc, fmt::format("a phase of `{}` takes {} arrivals", mbar.name, mbar.count),
          fmt::format("it takes 1 to {}", kMaxArrivals));
}

bool Declarations::tile(const SmemDecl& smem) {
  const ir::BufferDecl& buffer = *smem.buffer;
  std::string what = fmt::format("`{}`", buffer.name);
  if (buffer.shape.empty() || ir::dtype_bits(buffer.type) < 8) {
    error(Rule::smem_tile, smem.loc,
          buffer.shape.empty() ? fmt::format("{} has no dimensions", what)
                               : fmt::format("{} has elements of {} bits", what, ir::dtype_bits(buffer.type)));
    return false;
  }
  if (!clean(check_, Rule::smem_tile, smem.loc, what, layout::tile_error(layout::smem_tile(smem)))) return false;
  std::int64_t alignment = smem_alignment(smem);
  if (smem.offset && (*smem.offset < 0 || *smem.offset % alignment != 0)) {
    error(Rule::smem_place, smem.loc, fmt::format("{} begins at byte {}", what, *smem.offset),
          fmt::format("begin it at a multiple of {}, or leave `at` out", alignment));
  }
  return true;
}

/// Where the tiles stand: apart from each other, inside what a block gets.
void Declarations::places() {
  Arena arena = roles::arena(program_);
  for (std::size_t i = 0; i < arena.smem.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const SmemDecl &a = *program_.smem[i], &b = *program_.smem[j];
      bool apart = arena.smem[i] + smem_bytes(a) <= arena.smem[j] || arena.smem[j] + smem_bytes(b) <= arena.smem[i];
      if (apart || (a.offset && a.offset == b.offset)) continue;
      error(Rule::smem_overlap, a.loc,
            fmt::format("`{}` ({} bytes from {}) overlaps `{}` ({} bytes from {})", a.buffer->name, smem_bytes(a),
                        arena.smem[i], b.buffer->name, smem_bytes(b), arena.smem[j]));
    }
  }
  if (arena.bytes > limits_.smem_block) {
    error(Rule::smem_capacity, program_.loc, fmt::format("tiles and mbarriers take {} bytes", arena.bytes),
          fmt::format("a block gets {} bytes: use fewer stages or smaller tiles", limits_.smem_block));
  } else if ((arena.bytes + limits_.smem_reserved) * program_.occupancy > limits_.smem_sm) {
    error(Rule::smem_capacity, program_.loc,
          fmt::format("{} blocks of {} bytes do not fit a multiprocessor", program_.occupancy, arena.bytes),
          fmt::format("it has {} bytes, and keeps {} bytes for each block", limits_.smem_sm, limits_.smem_reserved));
  }
}

}  // namespace

int launch_registers(const Program& program, const Limits& limits) {
  constexpr std::int64_t kStep = 8;
  std::int64_t threads = std::max<std::int64_t>(std::int64_t{thread_count(program)} * program.occupancy, 1);
  return static_cast<int>(std::min<std::int64_t>(limits.registers / threads / kStep * kStep, limits.thread_registers));
}

void check_declarations(const Check& check) { Declarations(check).run(); }

}  // namespace plait::roles
