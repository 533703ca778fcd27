#include "pipeline/lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/barriers.h"
#include "pipeline/pipeline.h"
#include "roles/arena.h"
#include "roles/builtin_names.h"
#include "roles/verify.h"
#include "roles/visit.h"

namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

/// Kept for mbarriers and the alignment of tiles.
constexpr std::int64_t kBarrierBytes = 2048;
/// The named barrier at which the threads that compute meet; those below are of replicas.
constexpr std::int64_t kMeeting = 15;

/// What callers name: tensors, scalars and dims.
std::set<std::string> caller_names(const Kernel& kernel) {
  std::set<std::string> names;
  for (const Param& param : kernel.params) names.insert(param.buffer ? param.buffer->name : param.scalar->name);
  for (const Var& dim : kernel.dims) names.insert(dim->name);
  return names;
}

/// Whether all threads meet in a loop in which replicas take turns: each would wait there for the others.
bool meets_in_turns(const roles::Body& role) {
  auto has = [](const roles::Body& body, const auto& is) {
    bool found = false;
    roles::walk(body, [&](const roles::Stmt& stmt) { found = found || is(stmt); });
    return found;
  };
  auto passes = [](const roles::Stmt& stmt) { return std::holds_alternative<roles::BarrierArrive>(stmt.node); };
  auto meets = [](const roles::Stmt& stmt) {
    const auto* sync = std::get_if<roles::BarrierSync>(&stmt.node);
    return sync != nullptr && as_int(sync->id) == kMeeting;
  };
  return has(role, [&](const roles::Stmt& stmt) {
    const auto* loop = std::get_if<roles::For>(&stmt.node);
    if (loop == nullptr || !has(loop->body, passes) || !has(loop->body, meets)) return false;
    auto around = [&](const roles::Stmt& inner) {
      const auto* other = std::get_if<roles::For>(&inner.node);
      return other != nullptr && has(other->body, passes);
    };
    return !has(loop->body, around);
  });
}

}  // namespace

TileDims tile_dims(const Region& global, const std::vector<std::int64_t>& shape) {
  TileDims out;
  out.box.assign(global.ranges.size(), 1);
  out.of.resize(shape.size());
  std::size_t from = global.ranges.size();
  for (std::size_t d = shape.size(); d-- > 0;) {
    while (from > 0) {
      --from;
      auto extent = as_int(global.ranges[from].extent);
      if (extent == shape[d]) break;
    }
    out.of[d] = from;
    out.box[from] = shape[d];
  }
  return out;
}

Lowering::Lowering(const place::Placed& placed, const plan::Schedule& schedule, Rings rings)
    : placed_(placed),
      schedule_(schedule),
      kernel_(placed.kernel),
      rings_(std::move(rings)),
      names_(graph::name_statements(placed.kernel)),
      b_(placed.kernel.name, placed.device.name),
      scalars_(placed.kernel),
      head_names_(caller_names(placed.kernel)),
      next_barrier_(placed.replicas + 1),
      sums_(find_sums(placed)) {
  find_computed_lets();
  b_.taken(head_names_);
  for (const roles::BuiltinName& builtin : roles::builtin_names())
    head_names_.insert((b_.builtins().*builtin.var)->name);
  scalars_.elements([this](const Load& load, const Values& index) { return read(load.buffer, index); });
}

/// The name, with a number behind it where it is taken.
std::string Lowering::fresh(const std::string& name) {
  std::string made = name;
  for (int n = 2; head_names_.contains(made) || role_names_.contains(made); ++n) made = fmt::format("{}_{}", name, n);
  role_names_.insert(made);
  used_names_.insert(made);
  return made;
}

/// The same for a declaration of the head, which may come when roles have been lowered: with what is given `behind` the
/// name it is the name of nothing else in any of them.
std::string Lowering::fresh_in_head(const std::string& name, const std::vector<std::string>& behind) {
  std::string made = name;
  auto taken = [&](const std::string& all) { return head_names_.contains(all) || used_names_.contains(all); };
  auto any_taken = [&] {
    return std::any_of(behind.begin(), behind.end(), [&](const std::string& part) { return taken(made + part); });
  };
  for (int n = 2; any_taken(); ++n) made = fmt::format("{}_{}", name, n);
  for (const std::string& part : behind) head_names_.insert(made + part);
  return made;
}

// ---- The head ------------------------------------------------------------------------------------------------------

void Lowering::head() {
  Value tiles = 1;
  const std::int64_t together = cluster_.blocks;
  if (together > 1) b_.cluster(cluster_.blocks);
  for (std::size_t d = 0; d < kernel_.grid.size(); ++d) {
    const GridAxis& axis = kernel_.grid[d];
    Value count = scalars_.index(axis.extent);
    if (together > 1 && d == cluster_.axis) count = ceildiv(count, together);
    counts_.push_back(b_.let(fresh(axis.var->name + "_count"), count));
    tiles = counts_.size() == 1 ? counts_.back() : tiles * counts_.back();
  }
  const plan::Work& work = schedule_.place.work;
  item_rows_ = counts_.front();
  if (work.order == plan::TileOrder::paired) {
    item_rows_ = b_.let(fresh("pairs"), ceildiv(counts_.front(), 2));
    tiles = item_rows_;
    for (std::size_t d = 1; d < counts_.size(); ++d) tiles = tiles * counts_[d];
  }
  items_ =
      counts_.size() == 1 ? tiles : b_.let(fresh(work.order == plan::TileOrder::paired ? "items" : "tiles"), tiles);
  bool stay = work.kind == plan::WorkKind::persistent;
  Value most = b_.builtins().sms;
  if (together > 1) most = max(most / together, Value(1));
  Value groups = stay ? min(most, items_) : items_;
  b_.launch({together > 1 ? groups * together : groups});
  declare_homes();
  deepen_rings();
  fit_rings();
  for (const Ring& ring : rings_.all()) staged_bytes_ += ring.depth * ring.slot_bytes();
  declare_maps(kernel_.body);
  declare_rings();
  head_names_.insert(role_names_.begin(), role_names_.end());
}

/// Tiles that are loaded once a work item are loaded ahead for the next one where blocks stay and memory is left.
void Lowering::declare_rings() {
  std::int64_t room = placed_.device.limits->smem_per_block.integer() - kBarrierBytes - staged_bytes_;
  bool stay = schedule_.place.work.kind == plan::WorkKind::persistent;
  for (std::size_t r = 0; r < rings_.all().size(); ++r) {
    const Ring& ring = rings_.all()[r];
    if (!stay || ring.planned || ring.depth > 1 || ring.slot_bytes() > room) continue;
    room -= ring.slot_bytes();
    rings_.deepen(r, 2);
  }
  for (const Ring& ring : rings_.all()) {
    std::vector<roles::Smem> tiles;
    for (const Buffer& buffer : ring.buffers) {
      std::vector<std::int64_t> shape = static_shape(*buffer);
      if (shape.size() == 1) shape.insert(shape.begin(), 1);
      shape.insert(shape.begin(), ring.depth);
      tiles.push_back(
          b_.smem(fresh_in_head(buffer->name), buffer->type, shape, {placed_.shared.at(buffer.get()).swizzle}));
      tiles_[buffer.get()] = tiles.back();
    }
    channels_.push_back(b_.channel(fresh_in_head(ring.name, {"", "_full", "_empty"}), ring.depth, std::move(tiles)));
  }
}

roles::Map Lowering::map_of(const Buffer& tensor, const std::vector<std::int64_t>& box, roles::Swizzle swizzle) {
  std::string key = fmt::format("{} {} {}", tensor->name, fmt::join(box, " "), roles::swizzle_span(swizzle));
  auto it = maps_.find(key);
  if (it == maps_.end())
    it = maps_.emplace(key, b_.map(fresh_in_head(tensor->name + "_map"), tensor, box, swizzle)).first;
  return it->second;
}

void Lowering::declare_maps(const Body& body) {
  walk(body, [&](const Stmt& stmt) {
    const auto* op = std::get_if<TileOp>(&stmt.node);
    const auto* copy = op == nullptr ? nullptr : std::get_if<place::CopyAtom>(&placed_.atom(stmt));
    if (copy == nullptr) return;
    if (copy->way == place::CopyWay::staged_store || copy->way == place::CopyWay::staged_elements)
      declare_staging(stmt);
  });
}

/// Types of loads' maps are declared where they are used; those of stores need memory, which is declared before.
void Lowering::declare_staging(const Stmt& stmt) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Buffer &from = op.operands[0].buffer, &to = op.operands[1].buffer;
  std::int64_t columns = static_shape(*from)[1], rows = own_rows(from), bytes = dtype_bits(to->type) / 8;
  roles::Swizzle swizzle = place::widest_swizzle(columns * bytes);
  Staging made;
  made.chunk = roles::swizzle_span(swizzle) / bytes;
  made.slices = std::min<std::int64_t>(2, columns / made.chunk);
  std::int64_t slice = placed_.replicas * rows * made.chunk * bytes;
  if (staged_bytes_ + made.slices * slice > placed_.device.limits->smem_per_block.integer() - kBarrierBytes)
    made.slices = 1;
  staged_bytes_ += made.slices * slice;
  TileDims dims = tile_dims(op.operands[1], static_shape(*from));
  dims.box[dims.row()] = std::min(rows, kMaxBox);
  dims.box[dims.column()] = made.chunk;
  made.smem = b_.smem(fresh_in_head(from->name + "_stage"), to->type, {placed_.replicas, made.slices, rows, made.chunk},
                      {swizzle});
  bool by_tma = std::get<place::CopyAtom>(placed_.atom(stmt)).way == place::CopyWay::staged_store;
  if (by_tma) made.map = map_of(to, dims.box, swizzle);
  stagings_[&stmt] = std::move(made);
}

// ---- What both roles do --------------------------------------------------------------------------------------------

void Lowering::begin_role() {
  role_names_.clear();
  counters_.clear();
  counter_vars_.clear();
  for (std::size_t r = 0; r < channels_.size(); ++r) {
    counter_vars_.push_back(b_.var(fresh(channels_.size() == 1 ? "n" : "n_" + channels_[r]->name), DType::u32, 0));
    counters_.emplace_back(counter_vars_.back());
  }
}

/// Calls `item` with the grid's variables bound, once or for each of the block's work items.
void Lowering::work(const std::function<void()>& item) {
  const roles::Builtins& own = b_.builtins();
  const Var& first = kernel_.grid.front().var;
  auto run = [&](const Value& number) {
    BodyScope scope(*this);
    Value place = decode(number);
    auto at = [&](const Value& row) {
      scalars_.bind(first, b_.let(fresh(first->name), in_cluster(0, row)));
      item();
    };
    switch (schedule_.place.work.order) {
      case plan::TileOrder::longest_first:
        return at(counts_[0] - 1 - place);
      case plan::TileOrder::paired: {
        place = b_.let(fresh("pair"), place);
        Value both = 2 * place + 1 < counts_[0];
        return b_.loop(fresh("half"), {0, select(both, 2, 1)}, [&](const Value& half) {
          BodyScope inner(*this);
          at(select(half == 0, counts_[0] - 1 - place, place));
        });
      }
      default:
        return at(place);
    }
  };
  const std::int64_t together = cluster_.blocks;
  Value block = together > 1 ? own.block / Value(together) : Value(own.block);
  if (schedule_.place.work.kind != plan::WorkKind::persistent) return run(block);
  Value blocks = together > 1 ? own.blocks / Value(together) : Value(own.blocks);
  BodyScope scope(*this);
  b_.loop(fresh("tile"), {block, items_, blocks}, run);
}

/// Of the tiles that a cluster has along its axis, each block takes one.
Value Lowering::in_cluster(std::size_t axis, const Value& place) const {
  if (cluster_.blocks == 1 || axis != cluster_.axis) return place;
  return place * std::int64_t{cluster_.blocks} + b_.builtins().cluster_rank;
}

/// A block's memory is there until no other fills it or arrives in it.
void Lowering::leave_cluster() {
  if (cluster_.blocks == 1) return;
  b_.add(roles::ClusterArrive{});
  b_.add(roles::ClusterWait{});
}

/// Binds the coordinates of a work item, the first axis fastest, and gives its place along the first. Grouped: `group`
/// rows of tiles are walked together, column by column; heads: the same with the second and third axes as one.
Value Lowering::decode(const Value& number) {
  const auto& grid = kernel_.grid;
  const plan::Work& work = schedule_.place.work;
  auto name = [&](std::size_t d, const Value& value) {
    scalars_.bind(grid[d].var, b_.let(fresh(grid[d].var->name), in_cluster(d, value)));
  };
  if (grid.size() == 1) return number;
  int together = work.order == plan::TileOrder::grouped ? work.group : work.heads;
  Value rest = number, lines = counts_[1];
  if (grid.size() == 3 && work.heads > 1) {
    lines = counts_[1] * counts_[2];
  } else if (grid.size() == 3) {
    name(2, number / (item_rows_ * counts_[1]));
    rest = b_.let(fresh("plane"), number % (item_rows_ * counts_[1]));
  }
  Value line = rest / item_rows_, place = rest % item_rows_;
  if (together > 1) {
    Value span = b_.let(fresh("span"), together * item_rows_);
    Value first = b_.let(fresh("first"), rest / span * together);
    Value width = b_.let(fresh("width"), min(lines - first, together));
    line = first + rest % span % width;
    place = rest % span / width;
  }
  if (grid.size() == 2 || work.heads == 1) {
    name(1, line);
    return place;
  }
  line = b_.let(fresh("line"), line);
  name(2, line / counts_[1]);
  name(1, line % counts_[1]);
  return place;
}

/// Whether every role knows the value: it comes from no buffer on chip.
bool Lowering::is_uniform_let(const Let& node) const { return !computed_.contains(node.var.get()); }

/// Lets whose values come from buffers on chip, by way of other lets too.
void Lowering::find_computed_lets() {
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* node = std::get_if<Let>(&stmt.node);
    if (node == nullptr) return;
    walk(node->value, [&](const Expr& e) {
      const auto* load = std::get_if<Load>(&e.node);
      const auto* ref = std::get_if<VarRef>(&e.node);
      bool on_chip = load != nullptr && load->buffer->scope != Scope::global;
      if (on_chip || (ref != nullptr && computed_.contains(ref->var.get()))) computed_.insert(node->var.get());
    });
  });
}

void Lowering::let(const Let& node) {
  Value value = scalars_.convert(node.value);
  auto kept = registers_.find(node.var.get());
  if (kept != registers_.end()) return b_.set(kept->second, converted(node.var->type, value));
  scalars_.bind(node.var, b_.let(fresh(node.var->name), value));
  scalars_.add_let(node);
}

Value Lowering::slot(std::size_t ring, int behind) const {
  Value n = behind == 0 ? counter(ring) : counter(ring) - behind;
  return n % rings_.all()[ring].depth;
}

roles::ChannelRef Lowering::item(std::size_t ring, int behind) const {
  return at(channels_[ring], behind == 0 ? counter(ring) : counter(ring) - behind);
}

roles::SmemRef Lowering::tile(const Buffer& buffer, const Values& index) {
  Values full = index;
  if (auto ring = rings_.ring_of(buffer)) full.insert(full.begin(), slot(*ring, lead_));
  return at(tiles_.at(buffer.get()), full);
}

void Lowering::advance(const std::vector<std::size_t>& rings) {
  for (std::size_t ring : rings) b_.set(counter_vars_[ring], counter(ring) + 1);
}

// ---- All of it -----------------------------------------------------------------------------------------------------

/// Registers of a thread: as the schedule says, else what is left of the file when the role that loads has its share.
int Lowering::registers(std::string_view role) const {
  for (const plan::Role& asked : schedule_.place.roles) {
    if (asked.name == role && asked.regs) return *asked.regs;
  }
  if (role == "load") return kLoadRegisters;
  auto file = placed_.device.limits->registers_per_unit.integer();
  std::int64_t threads = std::int64_t{placed_.replicas} * placed_.warps * 32;
  std::int64_t each = (file - 128 * registers("load")) / threads / 8 * 8;
  return static_cast<int>(std::min<std::int64_t>(each, 240));
}

Diagnostics Lowering::check(const roles::Program& program) const {
  Diagnostics found;
  roles::Limits limits = roles::limits_of(placed_.device);
  std::int64_t bytes = roles::arena(program).bytes;
  if (bytes > limits.smem_block) {
    std::string rings;
    for (const Ring& ring : rings_.all())
      rings += fmt::format("{}{} slots of {}", rings.empty() ? "" : ", ", ring.depth, ring.name);
    found.error(Rule::pipeline_capacity, kernel_.loc,
                fmt::format("a block needs {} bytes of shared memory, and {} has {} ({})", bytes, placed_.device.name,
                            limits.smem_block, rings));
    return found;
  }
  Diagnostics broken = roles::verify(program, limits);
  for (const Diagnostic& d : broken.list()) {
    if (d.severity != Severity::error) continue;
    PLAIT_ASSERT(d.rule == Rule::fragment_registers, "a derived role program is wrong:\n" + broken.render());
    found.error(Rule::place_registers, kernel_.loc, d.message, d.fix);
  }
  return found;
}

Result<roles::Program> Lowering::run() {
  if (!carries_out(schedule_)) return diags_;
  cluster_ = cluster_of(schedule_.place.work);
  if (cluster_.blocks > 1) varying_.emplace(kernel_, cluster_.axis);
  head();
  // A role without registers of its own only where it is the only one.
  bool loads = !channels_.empty();
  if (loads) load_role();
  math_role();
  if (diags_.has_errors()) return diags_;
  roles::Program program = b_.build();
  std::set<const BufferDecl*> apart = tensors_apart();
  for (const auto& [stmt, staging] : stagings_) apart.insert(staging.smem->buffer.get());
  program.roles.back().body = with_barriers({program.roles.back(), kMeeting, apart}, program.builtins);
  if (meets_in_turns(program.roles.back().body))
    refuse_schedule(schedule_.at.loc, "a token in a loop in which all threads that compute meet");
  if (diags_.has_errors()) return diags_;
  program.params = kernel_.params;
  program.dims = kernel_.dims;
  program.requires_ = kernel_.requires_;
  for (const Var& dim : scalars_.narrowed()) {
    program.requires_.push_back(
        {Value(dim) <= Value(Scalars::kMostExtent), "larger extents take 64-bit arithmetic", kernel_.loc});
  }
  Value blocks = kernel_.grid.front().extent;
  for (std::size_t d = 1; d < kernel_.grid.size(); ++d) blocks = blocks * Value(kernel_.grid[d].extent);
  if (kernel_.grid.size() > 1)
    program.requires_.push_back({blocks <= Value(max_blocks), "the grid has too many blocks", kernel_.loc});
  program.loc = kernel_.loc;
  Diagnostics found = check(program);
  if (found.has_errors()) return found;
  return program;
}

Result<roles::Program> lower(const place::Placed& placed, const plan::Schedule& schedule,
                             std::vector<place::Remark>* remarks) {
  auto rings = Rings::find(placed, schedule);
  if (!rings) return rings.diagnostics();
  Lowering lowering(placed, schedule, std::move(*rings));
  auto program = lowering.run();
  if (remarks != nullptr) remarks->insert(remarks->end(), lowering.remarks().begin(), lowering.remarks().end());
  return program;
}

}  // namespace plait::pipeline
