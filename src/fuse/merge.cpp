#include "fuse/merge.h"

#include <fmt/format.h>

#include <algorithm>

#include "fuse/budget.h"
#include "fuse/side.h"
#include "roles/arena.h"
#include "roles/builder.h"
#include "roles/builtin_names.h"

namespace plait::fuse {

using namespace roles;
using build::Value;

namespace {

constexpr std::int64_t kTileAlignment = 1024;

class Merger {
 public:
  Merger(const Part& first, const Part& second, const Limits& limits) : limits_(limits) {
    bool same = first.program.name == second.program.name;
    sides_.push_back(side(first, same ? "_a" : ""));
    sides_.push_back(side(second, same ? "_b" : ""));
  }

  Result<Program> run() {
    Diagnostics found = obstacles(sides_[0], sides_[1], limits_);
    if (found.has_errors()) return found;
    out_.name = fmt::format("{}_{}", sides_[0].prefix, sides_[1].prefix);
    out_.device = sides_[0].program().device;
    out_.loc = sides_[0].program().loc;
    name_builtins();
    for (std::size_t i : {0, 1}) declare_head(i);
    launch();
    for (std::size_t i : {0, 1}) {
      for (int copy = 0; copy < sides_[i].roles(); ++copy) add_block(i, copy);
    }
    meet_clusters();
    // Products are for whole warpgroups, from the beginning of one.
    std::stable_partition(out_.roles.begin(), out_.roles.end(),
                          [](const Role& role) { return role.replicas * role.warps % 4 == 0; });
    deal_registers(out_, limits_);
    found = lacking(out_, sides_[0], sides_[1], limits_);
    if (found.has_errors()) return found;
    return std::move(out_);
  }

 private:
  Side side(const Part& part, const char* suffix) const {
    return {part, part.program.name + suffix, names_of(part.program), named_barriers(part.program, limits_)};
  }
  HeadNames head_names(std::size_t of) { return {sides_[of].names, sides_[1 - of].names, sides_[of].prefix, taken_}; }

  // The head
  void name_builtins();
  void declare_head(std::size_t of);
  void declare_launch(std::size_t of);
  ExprRef host_let(const std::string& name, const Value& value);
  void launch();

  // What a block does of one of them
  void add_block(std::size_t of, int copy);
  ExprRef number_in_block(const Side& side, int copy, Copier& copier) const;
  void declare_block(const Side& side, const ExprRef& number, Copier& copier, HeadNames& fresh);
  void name_block(const Side& side, const Value& block, Copier& copier) const;
  void add_prologue(const Side& side, Copier copier);
  void move_barriers(const Side& side, const ExprRef& number, Copier& copier);
  void add_roles(const Side& side, Copier& copier, const Value& block);
  std::string role_name(const Side& side, const std::string& name);
  void meet_clusters();

  const Limits& limits_;
  std::vector<Side> sides_;
  Program out_;
  std::set<std::string> taken_;     ///< names given to what the head declares
  std::set<std::string> prologue_;  ///< names of what the prologue defines
  std::set<std::string> roles_;
  std::set<int> barriers_;
  std::int64_t arena_ = 0;  ///< bytes of tiles so far, where they have places
  Body ends_;               ///< cluster barriers at the end of the roles
};

// ---- The head ------------------------------------------------------------------------------------------------------

/// They have their usual names unless one of the programs uses those otherwise.
void Merger::name_builtins() {
  out_.builtins = make_builtins({});
  std::set<std::string> words;
  for (const Side& side : sides_) {
    words.insert(side.names.head.begin(), side.names.head.end());
    words.insert(side.names.local.begin(), side.names.local.end());
  }
  rename_builtins(out_.builtins, words);
  for (const BuiltinName& builtin : builtin_names()) taken_.insert((out_.builtins.*builtin.var)->name);
}

void Merger::declare_head(std::size_t of) {
  Side& side = sides_[of];
  const Program& program = side.program();
  HeadNames fresh = head_names(of);
  auto rename = [&](const std::string& name) { return fresh(name); };
  for (const BuiltinName& builtin : builtin_names())
    side.head.put(program.builtins.*builtin.var, ir::var_ref(out_.builtins.*builtin.var));
  for (const Var& dim : program.dims) out_.dims.push_back(side.head.var(dim, rename));
  for (ir::Param param : program.params) {
    if (param.buffer != nullptr) param.buffer = side.head.buffer(param.buffer, rename);
    if (param.scalar != nullptr) param.scalar = side.head.var(param.scalar, rename);
    out_.params.push_back(std::move(param));
  }
  for (const ir::Require& require : program.requires_)
    out_.requires_.push_back({side.head.expr(require.cond), require.message, require.loc});
  for (const Let& let : program.lets) {
    ExprRef value = side.head.expr(let.value);
    out_.lets.push_back({side.head.var(let.var, rename), std::move(value)});
  }
  declare_launch(of);
  for (const Workspace& workspace : program.workspaces)
    out_.workspaces.push_back(std::make_shared<const WorkspaceDecl>(
        WorkspaceDecl{side.head.buffer(workspace->buffer, rename), workspace->zero, workspace->loc}));
  for (const Map& map : program.maps) out_.maps.push_back(side.head.map(map, rename));
}

ExprRef Merger::host_let(const std::string& name, const Value& value) {
  Value number = value.expr()->type == DType::i32 ? value : build::cast(DType::i32, value);
  Var var = std::make_shared<const ir::VarDecl>(ir::VarDecl{name, DType::i32, ir::VarKind::let, {}});
  out_.lets.push_back({var, number});
  return ir::var_ref(var);
}

/// The blocks that the program has alone, which its roles count by.
void Merger::declare_launch(std::size_t of) {
  Side& side = sides_[of];
  HeadNames fresh = head_names(of);
  auto name = [&](const std::string& what) { return fresh(fmt::format("{}_{}", side.prefix, what)); };
  std::vector<ExprRef> extents;
  for (const ExprRef& extent : side.program().launch) extents.push_back(side.head.expr(extent));
  if (extents.size() == 1) {
    side.blocks = host_let(name("blocks"), extents[0]);
    side.extents = {side.blocks};
    return;
  }
  constexpr std::array<const char*, 3> kAxes = {"blocks_x", "blocks_y", "blocks_z"};
  Value all = 1;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    side.extents.push_back(host_let(name(kAxes[d]), extents[d]));
    all = d == 0 ? Value(side.extents[d]) : all * Value(side.extents[d]);
  }
  side.blocks = host_let(name("blocks"), all);
}

/// As many blocks as the program takes that needs more of them.
void Merger::launch() {
  out_.cluster = std::max(sides_[0].program().cluster, sides_[1].program().cluster);
  std::vector<Value> each;
  for (const Side& side : sides_)
    each.push_back(side.part.blocks == 1 ? Value(side.blocks) : ceildiv(Value(side.blocks), side.part.blocks));
  Value blocks = max(each[0], each[1]);
  if (out_.cluster > 1) blocks = ceildiv(blocks, out_.cluster) * out_.cluster;
  out_.launch = {blocks};
}

// ---- What a block does of one of them ------------------------------------------------------------------------------

void Merger::add_block(std::size_t of, int copy) {
  Side& side = sides_[of];
  HeadNames fresh = head_names(of);
  Copier copier = side.head;
  const Builtins& own = out_.builtins;
  ExprRef number = number_in_block(side, copy, copier);
  Value block = ir::as_int(number) == 0 ? Value(own.block) : Value(own.block) + Value(number) * Value(own.blocks);
  name_block(side, block, copier);
  declare_block(side, number, copier, fresh);
  add_prologue(side, copier);
  move_barriers(side, number, copier);
  add_roles(side, copier, block);
}

/// Of the blocks that a block stands for, which one it is: each has roles of its own, or replicas of them.
ExprRef Merger::number_in_block(const Side& side, int copy, Copier& copier) const {
  if (!side.is_replicated()) return ir::typed_int(DType::i32, copy);
  Value replica = out_.builtins.replica;
  const int replicas = side.program().roles.front().replicas;
  copier.put(side.program().builtins.replica, replicas == 1 ? Value(0) : replica % replicas);
  return replicas == 1 ? replica : replica / replicas;
}

/// What the builtins of the program are in the fused one.
void Merger::name_block(const Side& side, const Value& block, Copier& copier) const {
  const Builtins& named = side.program().builtins;
  copier.put(named.block, block);
  copier.put(named.blocks, side.blocks);
  Value rest = block;
  const std::array<Var, 3> axes = {named.block_x, named.block_y, named.block_z};
  for (std::size_t d = 0; d < axes.size(); ++d) {
    bool last = d + 1 >= side.extents.size();
    copier.put(axes[d], d >= side.extents.size() ? Value(0) : last ? rest : rest % Value(side.extents[d]));
    if (!last) rest = rest / Value(side.extents[d]);
  }
}

void Merger::declare_block(const Side& side, const ExprRef& number, Copier& copier, HeadNames& fresh) {
  const Program& program = side.program();
  auto rename = [&](const std::string& name) { return fresh(name); };
  if (side.is_replicated()) {
    for (const Smem& smem : program.smem)
      out_.smem.push_back(copier.smem(smem, rename, Copier::Times{side.part.blocks, number}));
    return;
  }
  auto has_place = [](const Smem& smem) { return smem->offset.has_value(); };
  bool placed = std::any_of(sides_.begin(), sides_.end(), [&](const Side& s) {
    return std::any_of(s.program().smem.begin(), s.program().smem.end(), has_place);
  });
  Arena own = arena(program);
  std::int64_t base = (arena_ + kTileAlignment - 1) / kTileAlignment * kTileAlignment;
  for (std::size_t i = 0; i < program.smem.size(); ++i) {
    auto offset = placed ? std::optional(base + own.smem[i]) : std::nullopt;
    out_.smem.push_back(copier.smem(program.smem[i], rename, offset));
    arena_ = std::max(arena_, base + own.smem[i] + smem_bytes(*program.smem[i]));
  }
  for (const Channel& channel : program.channels) {
    out_.channels.push_back(
        copier.channel(channel, [&](const std::string& name) { return fresh(name, {"", "_full", "_empty"}); }));
  }
  for (const Mbar& mbar : program.mbars) out_.mbars.push_back(copier.mbar(mbar, rename));
}

/// Both are run by all threads, one behind the other, in one scope.
void Merger::add_prologue(const Side& side, Copier copier) {
  copier.name_locals([&](const std::string& name) {
    std::string made = name;
    for (int n = 2; !prologue_.insert(made).second; ++n) made = fmt::format("{}_{}_{}", side.prefix, name, n);
    return made;
  });
  Body made = copier.body(side.program().prologue);
  out_.prologue.insert(out_.prologue.end(), made.begin(), made.end());
}

/// Named barriers of this block get numbers of their own, and take the place of those of all threads.
void Merger::move_barriers(const Side& side, const ExprRef& number, Copier& copier) {
  auto shifts = place(side.barriers, side.times(), barriers_);
  PLAIT_ASSERT(shifts.has_value(), "named barriers that were said to be there");
  auto by = [number, side_times = side.times()](const Value& id, int shift, int count) {
    Value moved = shift == 0 ? id : shift < 0 ? id - -shift : id + shift;
    if (side_times == 1) return moved;
    return moved + (count == 1 ? Value(number) : Value(number) * count);
  };
  std::map<const Stmt*, std::pair<int, int>> moved;  // by how much, and the length of the run
  for (const auto& [stmt, of] : side.barriers.of) {
    for (std::size_t i = 0; i < side.barriers.runs.size(); ++i) {
      const NamedBarriers::Run& run = side.barriers.runs[i];
      if (of.first >= run.first && of.last <= run.last) moved[stmt] = {(*shifts)[i], run.count()};
    }
  }
  Value all = 0;
  if (side.barriers.block) all = by(*place_one(side.times(), barriers_), 0, 1);
  std::int64_t threads = thread_count(side.program());
  copier.on_statement([=](const Stmt& of, StmtNode made) -> StmtNode {
    if (is_warp_barrier(made)) return SyncWarp{};
    auto move = [&](auto& barrier) {
      auto [shift, count] = moved.at(&of);
      barrier.id = by(barrier.id, shift, count);
    };
    if (auto* sync = std::get_if<BarrierSync>(&made)) move(*sync);
    if (auto* arrive = std::get_if<BarrierArrive>(&made)) move(*arrive);
    // Of all threads of the program, which are not those of the block.
    if (std::holds_alternative<SyncThreads>(made)) return BarrierSync{all, threads};
    return made;
  });
}

void Merger::add_roles(const Side& side, Copier& copier, const Value& block) {
  for (const Role& role : side.program().roles) {
    std::size_t inner = role.body.size() - cluster_barriers_at_end(role.body);
    Body work(role.body.begin(), role.body.begin() + static_cast<std::ptrdiff_t>(inner));
    Body end(role.body.begin() + static_cast<std::ptrdiff_t>(inner), role.body.end());
    if (end.size() > ends_.size()) ends_ = end;
    Role made{role_name(side, role.name), role.replicas * side.times(), role.warps, role.regs, {}, role.loc};
    If guarded{block < Value(side.blocks), copier.body(work), {}};
    made.body.push_back(std::make_shared<const Stmt>(Stmt{role.loc, {}, std::move(guarded)}));
    out_.roles.push_back(std::move(made));
  }
}

std::string Merger::role_name(const Side& side, const std::string& name) {
  const Side& other = &side == sides_.data() ? sides_[1] : sides_[0];
  const std::string long_name = fmt::format("{}_{}", side.prefix, name);
  std::string made = other.names.roles.contains(name) || roles_.contains(name) ? long_name : name;
  for (int n = 2; roles_.contains(made); ++n) made = fmt::format("{}_{}", long_name, n);
  roles_.insert(made);
  return made;
}

/// All threads of a cluster meet where those of one program do.
void Merger::meet_clusters() {
  for (Role& role : out_.roles) role.body.insert(role.body.end(), ends_.begin(), ends_.end());
}

}  // namespace

Result<Program> merge(const Part& first, const Part& second, const Limits& limits) {
  return Merger(first, second, limits).run();
}

}  // namespace plait::fuse
