#include <fmt/format.h>

#include <algorithm>

#include "graph/row_gather.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/lowering.h"
#include "pipeline/threads.h"

// Tiles that the threads that compute load for themselves, by cp.async: where no other role does.
//
// A copy is a step of its loop like any other, in the stage and at the place that the schedule gives it; iteration i
// lies in slot i modulo the depth. Copies that stand together in a turn are one group. Groups end in the order in which
// they are committed, so that what a reader waits for is a number: the groups of later turns that may still be under
// way. It is waited for where the turn begins, before its own copies are issued: all threads meet behind the wait
// (barriers.cpp), after which what each of them has loaded is there for all, and the slots that the turn before has
// read may be filled again. One barrier a turn does for both.
//
// Where products are under way while their threads go on (wgmma), the copies are issued behind the first product of the
// turn, whose tiles lie in other slots: tensor cores have work while threads compute addresses.
namespace plait::pipeline {

using namespace ir;
using roles::build::at;

namespace {

/// The one of two limits that allows less under way.
void tighten(std::optional<int>& limit, int pending) { limit = limit ? std::min(*limit, pending) : pending; }

}  // namespace

/// Which copies of a turn are committed together, and how many groups may be under way where something reads.
/// `drained`: turns since the last one that issues copies of stage 0.
Lowering::Fetches Lowering::fetches_of(const std::vector<Step>& list, const Live& live, int drained) const {
  Fetches out;
  out.group.assign(list.size(), -1);
  out.before.resize(list.size());
  std::vector<int> begun(list.size(), 0);  // groups of the turn that are committed before a step
  bool open = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    // A let that reads a tile waits for the copies before it, which are committed by then.
    const bool replayed = std::holds_alternative<Let>(list[i].stmt->node) && rings_.read_by(*list[i].stmt).empty();
    const bool emits =
        !replayed && !rings_.filled_by_loader(*list[i].stmt) && !std::holds_alternative<Alloc>(list[i].stmt->node);
    if (rings_.filled_by_reader(*list[i].stmt)) {
      out.groups += open ? 0 : 1;
      open = true;
      out.group[i] = out.groups - 1;
      out.always = out.always || list[i].stage > 0;
    } else if (emits) {
      open = false;
    }
    begun[i] = out.groups;
  }
  // Of a loop whose copies have stages above 0 the last turns commit, too: groups count turns.
  const int missing = out.always ? 0 : drained * out.groups;
  std::set<std::pair<std::size_t, std::size_t>> awaited;  // copies of this turn by reader's ring
  for (std::size_t r = 0; r < list.size(); ++r) {
    if (!live(list[r])) continue;
    for (std::size_t c = 0; c < list.size(); ++c) {
      auto ring = rings_.filled_by_reader(*list[c].stmt);
      if (!ring || !rings_.reads(*list[r].stmt, *ring)) continue;
      const int turns = list[r].stage - list[c].stage;
      if (turns > 0) {
        tighten(out.at_front, std::max(0, out.groups - 1 - out.group[c] + (turns - 1) * out.groups - missing));
      } else if (awaited.emplace(*ring, c).second) {
        PLAIT_ASSERT(turns == 0 && c < r, "a tile is read behind its load");
        tighten(out.before[r], begun[r] - 1 - out.group[c]);
      }
    }
  }
  return out;
}

void Lowering::await_fetches(std::optional<int> pending) {
  if (pending) b_.add(roles::CpWait{*pending});
}

/// A copy, and behind the last one of its group the commit.
void Lowering::fetch(const std::vector<Step>& list, std::size_t number, const Live& live, const Fetches& fetches,
                     const Around& around) {
  const Step& step = list[number];
  if (live(step)) {
    around(step, [&] {
      b_.origin(step.stmt->loc);
      fetch_tile(*step.stmt, *rings_.filled_by_reader(*step.stmt));
    });
  }
  const int group = fetches.group[number];
  bool any = fetches.always;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (fetches.group[i] != group) continue;
    if (i > number) return;
    any = any || live(list[i]);
  }
  if (any) b_.add(roles::CpCommit{});
}

/// The replicas share out the rows.
void Lowering::fetch_tile(const Stmt& stmt, std::size_t) {
  const TileOp& op = std::get<TileOp>(stmt.node);
  const Region& src = op.operands[0];
  const Buffer& buffer = op.operands[1].buffer;
  std::vector<std::int64_t> shape = static_shape(*buffer);
  std::int64_t rows = shape.size() > 1 ? shape[0] : 1;
  const bool shared_out = placed_.replicas > 1 && rows % placed_.replicas == 0;
  if (shared_out) rows /= placed_.replicas;
  Values from;
  for (const Range& range : src.ranges) from.push_back(scalars_.index(range.begin));
  Value row = 0;
  if (shared_out) {
    row = Value(b_.builtins().replica) * rows;
    Value& begin = from[from.size() - 2];
    begin = as_int(begin.expr()) == 0 ? row : begin + row;
  }
  const int piece = std::get<place::CopyAtom>(placed_.atom(stmt)).piece;
  auto copy = [&] { b_.add(roles::CpAsync{tile(buffer, {row, 0}), at(src.buffer, from), rows, shape.back(), piece}); };
  if (shared_out || placed_.replicas == 1) return copy();
  b_.if_(Value(b_.builtins().replica) == 0, copy);
}

// ---- Slots ---------------------------------------------------------------------------------------------------------

/// The iteration that the next steps belong to.
void Lowering::at_iteration(const std::vector<Step>& list, const Value& iteration) {
  for (const Step& step : list) {
    if (auto ring = rings_.filled_by_reader(*step.stmt)) iterations_.insert_or_assign(*ring, iteration);
  }
}

Value Lowering::own_slot(std::size_t ring) const {
  const std::int64_t depth = rings_.all()[ring].depth;
  if (depth == 1) return 0;
  const Value& iteration = iterations_.at(ring);
  if (auto known = as_int(iteration.expr())) return Value(*known % depth);
  return iteration % depth;
}

/// Whether iterations can be told apart by their number, from which slots follow.
bool Lowering::counts_up(const For& loop) const {
  if (counts_iterations(loop)) return true;
  const LoopAxis& axis = loop.axes.front();
  const auto* begin = std::get_if<VarRef>(&axis.begin->node);
  return work_.pieces() != nullptr && begin != nullptr && begin->var == work_.pieces()->begin && as_int(axis.step) == 1;
}

/// Whether all that computes has one stage, whatever those of loads are.
bool Lowering::computes_in_one_stage(const std::vector<Step>& list) const {
  std::optional<int> stage;
  return std::all_of(list.begin(), list.end(), [&](const Step& step) {
    if (std::holds_alternative<Let>(step.stmt->node) || std::holds_alternative<Alloc>(step.stmt->node)) return true;
    if (rings_.filled_by(*step.stmt)) return true;
    if (!stage) stage = step.stage;
    return stage == step.stage;
  });
}

/// Whether the loop's own copies run ahead of its other statements, which keep the order of the program. It needs no
/// versions of what those leave in memory.
bool Lowering::fetches_ahead(const For& loop, const plan::LoopPlan& plan) {
  if (!counts_up(loop) || may_jump(loop.body)) return false;
  const std::vector<Step> list = steps_of(loop, plan);
  const bool copies = std::any_of(list.begin(), list.end(),
                                  [&](const Step& step) { return rings_.filled_by_reader(*step.stmt).has_value(); });
  return copies && computes_in_one_stage(list);
}

bool Lowering::is_under_way(const Stmt& stmt) const {
  auto atom = placed_.atoms.find(&stmt);
  const auto* gemm = atom == placed_.atoms.end() ? nullptr : std::get_if<place::GemmAtom>(&atom->second);
  return gemm != nullptr && !gemm->by_warps;
}

/// Whether all threads load a tile of an input together, element by element.
bool Lowering::is_load_by_threads(const Stmt& stmt) const {
  auto atom = placed_.atoms.find(&stmt);
  if (atom == placed_.atoms.end() || !std::holds_alternative<place::ThreadsAtom>(atom->second)) return false;
  const Buffer tensor = graph::loaded_tensor(stmt);
  return std::any_of(kernel_.params.begin(), kernel_.params.end(), [&](const Param& param) {
    return param.kind == ParamKind::in && tensor != nullptr && param.buffer == tensor;
  });
}

/// Such a tile has one version: whatever stage the schedule gives its load, it is loaded where it is read.
void Lowering::load_where_read(std::vector<Step>& list) const {
  for (const Step& load : std::vector<Step>(list)) {
    if (!is_load_by_threads(*load.stmt)) continue;
    const Buffer tile = graph::loaded_tile(*load.stmt);
    const Step* reader = nullptr;
    for (const Step& step : list) {
      bool reads = step.stmt != load.stmt && touched(*step.stmt).reads.contains(tile);
      if (reads && (reader == nullptr || step.stage < reader->stage)) reader = &step;
    }
    if (reader == nullptr || reader->stage <= load.stage) continue;
    const Step before = *reader;
    std::erase_if(list, [&](const Step& step) { return step.stmt == load.stmt; });
    auto at = std::find_if(list.begin(), list.end(), [&](const Step& step) { return step.stmt == before.stmt; });
    list.insert(at, {load.stmt, before.stage});
  }
}

/// Puts copies that no step of their own stage reads behind the first product that goes on by itself.
void Lowering::fetch_behind_products(std::vector<Step>& list) const {
  auto product = std::find_if(list.begin(), list.end(), [&](const Step& step) { return is_under_way(*step.stmt); });
  if (product == list.end()) return;
  auto stays = [&](const Step& step) {
    auto ring = rings_.filled_by_reader(*step.stmt);
    return !ring || std::any_of(list.begin(), list.end(), [&](const Step& other) {
      return rings_.reads(*other.stmt, *ring) && !rings_.filled_by(*other.stmt) && other.stage <= step.stage;
    });
  };
  const std::vector<Step> before(list.begin(), product);
  std::vector<Step> made, moved;
  for (const Step& step : before) (stays(step) ? made : moved).push_back(step);
  made.push_back(*product);
  made.insert(made.end(), moved.begin(), moved.end());
  std::copy(made.begin(), made.end(), list.begin());
}

/// Whether the stages of the loop run behind each other.
bool Lowering::is_pipelined(const For& loop, const plan::LoopPlan& plan) {
  const bool fetches = std::any_of(loop.body.begin(), loop.body.end(),
                                   [&](const StmtRef& stmt) { return rings_.filled_by_reader(*stmt).has_value(); });
  if (fetches && !counts_up(loop)) return false;
  return overlaps(loop.body) || fetches_ahead(loop, plan);
}

/// Slots of own rings: as the schedule says where iterations overlap, and no fewer than are alive at once; one
/// elsewhere.
void Lowering::deepen_fetches() {
  std::vector<std::int64_t> depths(rings_.all().size(), 1);
  walk(kernel_.body, [&](const Stmt& stmt) {
    const auto* loop = std::get_if<For>(&stmt.node);
    const plan::LoopPlan* plan = loop == nullptr ? nullptr : schedule_.find(names_.at(&stmt));
    if (plan == nullptr) return;
    std::vector<Step> list = steps_of(*loop, *plan);
    auto is_fetch = [&](const Step& step) { return rings_.filled_by_reader(*step.stmt).has_value(); };
    if (!is_pipelined(*loop, *plan)) {
      if (plan->stages() > 1 && std::any_of(list.begin(), list.end(), is_fetch))
        remarks_.push_back(
            {stmt.loc,
             fmt::format("tiles are loaded where they are read, not ahead: {}",
                         counts_up(*loop) ? "statements of the loop that leave something in memory have stages apart"
                                          : "the loop does not count from 0 by 1")});
      return;
    }
    const bool apart = plan->stages() > 1;
    for (std::size_t c = 0; c < list.size(); ++c) {
      auto ring = rings_.filled_by_reader(*list[c].stmt);
      if (!ring) continue;
      std::int64_t& depth = depths[*ring];
      if (apart) depth = std::max(depth, rings_.all()[*ring].depth);
      for (std::size_t r = 0; r < list.size(); ++r) {
        // A product may still read while the copies behind it are issued.
        const bool both = c < r || is_under_way(*list[r].stmt);
        if (rings_.reads(*list[r].stmt, *ring))
          depth = std::max<std::int64_t>(depth, list[r].stage - list[c].stage + (both ? 1 : 0));
      }
    }
  });
  for (std::size_t ring = 0; ring < depths.size(); ++ring) {
    if (!rings_.all()[ring].own) continue;
    rings_.deepen(ring, depths[ring]);
    rings_.need(ring, depths[ring]);
  }
}

}  // namespace plait::pipeline
