#include "ir/build.h"
#include "pipeline/teams.h"
#include "pipeline/threads.h"

// Reductions and running sums along lines, which lanes and warps share out.
namespace plait::pipeline {

using namespace ir;

namespace {

constexpr int kLaneCount = 32;
/// Elements that a lane reads before it combines them: reads of shared memory take longer than that.
constexpr int kAhead = 4;

bool is_literal_zero(const Value& value) { return as_int(value.expr()) == 0; }

}  // namespace

// ---- Lines and who works on them -----------------------------------------------------------------------------------

Threads::Lines Threads::lines(const TileOp& op, std::size_t dim) {
  Lines made{side(op.operands[0]), dim, 1, team_of(op, l_.placed_.replicas * l_.placed_.warps)};
  made.length = made.src.extents[dim];
  std::erase(made.src.dims, dim);
  return made;
}

/// Number of the warp in the role.
Value Threads::warp() const {
  const roles::Builtins& own = b_.builtins();
  if (l_.placed_.replicas == 1) return own.warp;
  return Value(own.replica) * l_.placed_.warps + Value(own.warp);
}

/// Lanes between those that have neighbouring elements of a line.
std::int64_t Threads::lane_step(const Team& team) { return team.along ? 1 : kLaneCount / team.lanes; }

/// Number of the lane among those of its line.
Value Threads::lane_place(const Team& team) const {
  const Value lane = b_.builtins().lane;
  if (team.lanes == kLaneCount) return lane;
  return team.along ? lane % team.lanes : lane / lane_step(team);
}

/// A destination of other dimensions takes the lines in order.
Values Threads::place_of_line(const Lines& lines, const Side& to, const Values& at) {
  if (to.dims.size() == lines.src.dims.size()) return index_at(to, at);
  Values extents = extents_of(lines.src);
  Value number = at[0];
  for (std::size_t d = 1; d < at.size(); ++d) number = number * extents[d] + at[d];
  number = b_.let(l_.fresh("line"), number);
  Values own(to.dims.size(), Value(0));
  for (std::size_t d = own.size(); d-- > 0;) {
    Value extent = to.extents[to.dims[d]];
    own[d] = d == 0 ? number : number % extent;
    number = number / extent;
  }
  return index_at(to, own);
}

/// Calls `fn` for each line with the threads of a team; outside of `exists` a thread has none, and goes along with its
/// warp.
void Threads::each_line(const Lines& lines, const std::function<void(const Line& line)>& fn) {
  const Team& team = lines.team;
  const Values extents = extents_of(lines.src);
  if (team.threads() == 1) return loop(extents, [&](const Values& at) { fn({at, {}, Value(0)}); });
  Value total = 1;
  for (const Value& extent : extents) total = as_int(total.expr()) == 1 ? extent : total * extent;
  const std::int64_t warps = std::int64_t{l_.placed_.replicas} * l_.placed_.warps;
  auto split = [&](Value rest) {
    Values at(extents.size(), Value(0));
    for (std::size_t d = extents.size(); d-- > 1; rest = rest / extents[d]) at[d] = rest % extents[d];
    at[0] = rest;
    return at;
  };
  // What all warps do stands in the body around, to which a barrier can be added.
  if (team.warps > 1) {
    std::int64_t busy = team.warps;
    for (const Value& extent : extents) busy *= *as_int(extent.expr());
    std::optional<Value> exists;
    if (busy < warps) exists = warp() < busy;
    Value number = busy == team.warps ? Value(0) : b_.let(l_.fresh("line"), warp() / team.warps);
    return fn({split(number), exists, lane_place(team)});
  }
  Lowering::BodyScope scope(l_);
  const std::int64_t each = kLaneCount / team.lanes;
  b_.loop(l_.fresh("line"), {warp() * each, total, warps * each}, [&](const Value& first) {
    Lowering::BodyScope inner(l_);
    if (each == 1) return fn({split(first), {}, lane_place(team)});
    const Value lane = b_.builtins().lane;
    Value number = b_.let(l_.fresh("own"), first + (team.along ? lane / team.lanes : lane % each));
    std::optional<Value> exists;
    if (auto literal = as_int(total.expr()); !literal || *literal % each != 0) exists = number < total;
    fn({split(number), exists, lane_place(team)});
  });
}

Value Threads::line_element(const Lines& lines, const Values& line, const Value& k) {
  Values index = index_at(lines.src, line);
  index[lines.dim] = is_literal_zero(index[lines.dim]) ? k : index[lines.dim] + k;
  return get(lines.src.region->buffer, index);
}

void Threads::where(const std::optional<Value>& cond, const std::function<void()>& body) {
  if (!cond) return body();
  b_.if_(*cond, [&] {
    Lowering::BodyScope scope(l_);
    body();
  });
}

/// By one thread of the team.
void Threads::by_first(const Lines& lines, const Line& line, const std::function<void()>& body) {
  const Team& team = lines.team;
  std::optional<Value> cond = line.exists;
  auto also = [&](const Value& other) { cond = cond ? *cond && other : other; };
  if (team.lanes > 1) also(line.place == 0);
  if (team.warps > 1) also(warp() % team.warps == 0);
  where(cond, body);
}

// ---- What the threads of a team exchange ---------------------------------------------------------------------------

/// Each of `lanes` lanes that stand `step` apart takes in what the others have.
void Threads::exchange(std::int64_t lanes, std::int64_t step, const std::vector<Var>& own, const TakeIn& take_in) {
  for (std::int64_t distance = 1; distance < lanes; distance *= 2) {
    Values others;
    for (const Var& var : own)
      others.push_back(b_.shuffle(l_.fresh("other"), var, bit_xor(b_.builtins().lane, distance * step)));
    take_in(others);
  }
}

/// Leaves what a warp has of its line for the other warps of its team.
void Threads::leave_part(const std::vector<Var>& own) {
  b_.if_(Value(b_.builtins().lane) == 0, [&] {
    for (std::size_t i = 0; i < own.size(); ++i) b_.put(part(own, i, warp()), own[i]);
  });
}

roles::SmemRef Threads::part(const std::vector<Var>& own, std::size_t number, const Value& warp) {
  return roles::build::at(l_.parts_of_lines_.at({number, own[number]->type}), {0, warp});
}

Value Threads::read_part(const std::vector<Var>& own, std::size_t number, const Value& warp) {
  return roles::build::element(l_.parts_of_lines_.at({number, own[number]->type}), {0, warp});
}

/// Every thread of a team has its own part of the line in `own`; here it gets all of it.
void Threads::share(const Lines& lines, const Line& line, const std::vector<Var>& own, const TakeIn& take_in) {
  const Team& team = lines.team;
  exchange(team.lanes, lane_step(team), own, take_in);
  if (team.warps == 1) return;
  where(line.exists, [&] { leave_part(own); });
  where(line.exists, [&] {
    Value lane = b_.builtins().lane;
    Value from = warp() / team.warps * team.warps + lane % team.warps;
    for (std::size_t i = 0; i < own.size(); ++i) b_.set(own[i], read_part(own, i, from));
    exchange(team.warps, 1, own, take_in);
  });
}

// ---- Reductions ----------------------------------------------------------------------------------------------------

void Threads::reduce(const TileOp& op) {
  const auto& attrs = std::get<ReduceAttrs>(op.attrs);
  const Combination how = combination_of(op.kind), plain{how.op, false};
  const Buffer& to = op.operands[1].buffer;
  const DType type = sum_type(to->type), held = held_types(op)[0];
  const Lines all = lines(op, static_cast<std::size_t>(attrs.dim));
  const Side dst = side(op.operands[1]);
  each_line(all, [&](const Line& line) {
    Var sum = b_.var(l_.fresh("sum"), held, converted(held, how.neutral(type)));
    where(line.exists, [&] {
      b_.loop(l_.fresh("k"), {first_of(all, line), all.length, all.team.threads(), kAhead}, [&](const Value& k) {
        Value element = converted(type, line_element(all, line.at, k));
        if (how.absolute) element = roles::build::call(Intrinsic::abs, {element});
        b_.set(sum, plain.combine(sum, converted(held, element)));
      });
    });
    share(all, line, {sum}, [&](const Values& others) { b_.set(sum, plain.combine(sum, others[0])); });
    by_first(all, line, [&] {
      Values index = place_of_line(all, dst, line.at);
      Value result = sum;
      if (!attrs.clear) result = plain.combine(converted(held, converted(type, get(to, index))), result);
      put(to, index, converted(to->type, converted(type, result)));
    });
  });
}

/// The first element of the line that is the thread's.
Value Threads::first_of(const Lines& lines, const Line& line) const {
  if (lines.team.warps == 1) return line.place;
  return warp() % lines.team.warps * kLaneCount + line.place;
}

/// The lowest index of the extreme element; a NaN wins over every number. Lanes beyond the end of a short line begin
/// with its last element, as the lane that has it.
void Threads::arg_reduce(const TileOp& op) {
  const Buffer& to = op.operands[1].buffer;
  const DType held = held_types(op)[0];
  const Lines all = lines(op, static_cast<std::size_t>(std::get<ReduceAttrs>(op.attrs).dim));
  const Side dst = side(op.operands[1]);
  const std::int64_t threads = all.team.threads();
  auto is_nan = [](const Value& v) { return roles::build::call(Intrinsic::isnan, {v}); };
  auto beats = [&](const Value& next, const Value& top) {
    Value more = op.kind == OpKind::reduce_argmax ? next > top : next < top;
    return ir::is_float(held) ? !is_nan(top) && (is_nan(next) || more) : more;
  };
  each_line(all, [&](const Line& line) {
    Var top = b_.var(l_.fresh("top"), held, zero_of(held));
    Var best = b_.var(l_.fresh("best"), DType::i32, 0);
    where(line.exists, [&] {
      auto length = as_int(all.length.expr());
      Value first = first_of(all, line);
      b_.set(best, length && *length >= threads ? first : min(first, all.length - 1));
      b_.set(top, converted(held, line_element(all, line.at, best)));
      b_.loop(l_.fresh("k"), {first + threads, all.length, threads, kAhead}, [&](const Value& k) {
        Lowering::BodyScope scope(l_);
        Value next = b_.let(l_.fresh("next"), converted(held, line_element(all, line.at, k)));
        b_.if_(beats(next, top), [&] {
          b_.set(best, k);
          b_.set(top, next);
        });
      });
    });
    share(all, line, {top, best}, [&](const Values& others) {
      Value wins = beats(others[0], top) || (!beats(top, others[0]) && others[1] < Value(best));
      Value taken = b_.let(l_.fresh("taken"), wins);
      b_.set(top, select(taken, others[0], top));
      b_.set(best, select(taken, others[1], best));
    });
    by_first(all, line, [&] { put(to, place_of_line(all, dst, line.at), converted(to->type, best)); });
  });
}

// ---- Running sums --------------------------------------------------------------------------------------------------

/// Lanes take neighbouring elements, as many at a time as there are lanes; what they add up to is handed on to the next
/// ones. Of a line of several warps each takes a piece, behind the sums of the pieces before it.
void Threads::cumsum(const Stmt& stmt, const TileOp& op) {
  const auto& attrs = std::get<CumsumAttrs>(op.attrs);
  const Buffer& to = op.operands[1].buffer;
  const DType type = sum_type(to->type), held = held_types(op)[0];
  const bool in_place = op.operands[0].buffer == to && is_whole(op.operands[0]) && is_whole(op.operands[1]);
  if (!in_place && !apart(stmt, op)) return;
  const Lines all = lines(op, static_cast<std::size_t>(attrs.dim));
  Side dst = side(op.operands[1]);
  if (dst.extents.size() != all.src.extents.size()) {
    l_.diags_.error(Rule::place_operation, stmt.loc, "cumsum between tiles of different ranks has no placement yet");
    return;
  }
  std::erase(dst.dims, all.dim);
  if (!pairs(stmt, all.src, dst)) return;
  auto index_of = [&](const Value& step) { return attrs.reverse ? all.length - 1 - step : step; };
  auto element = [&](const Line& line, const Value& step) {
    return converted(held, converted(type, line_element(all, line.at, index_of(step))));
  };
  auto write = [&](const Line& line, const Value& step, const Value& sum) {
    Values index = index_at(dst, line.at);
    Value k = index_of(step);
    index[all.dim] = is_literal_zero(index[all.dim]) ? k : index[all.dim] + k;
    put(to, index, converted(to->type, converted(type, sum)));
  };
  each_line(all, [&](const Line& line) {
    Var carry = b_.var(l_.fresh("carry"), held, zero_of(held));
    Value begin = 0, end = all.length;
    if (all.team.warps > 1) {
      Value piece = ceildiv(all.length, all.team.threads()) * kLaneCount;
      begin = b_.let(l_.fresh("begin"), warp() % all.team.warps * piece);
      end = b_.let(l_.fresh("end"), min(begin + piece, all.length));
      sum_before(all, line, begin, end, carry, [&](const Value& k) { return element(line, k); });
    }
    auto scan = [&] {
      b_.loop(l_.fresh("k"), {begin, end, all.team.lanes, kAhead}, [&](const Value& first) {
        Lowering::BodyScope scope(l_);
        scan_step(
            all, line, first, end, carry, [&](const Value& k) { return element(line, k); },
            [&](const Value& k, const Value& sum) { write(line, k, sum); });
      });
    };
    // Whole warps have a line or none where several share one.
    all.team.warps > 1 ? where(line.exists, scan) : scan();
  });
}

/// Puts into `carry` what the warps before this one have of the line.
void Threads::sum_before(const Lines& lines, const Line& line, const Value& begin, const Value& end, const Var& carry,
                         const std::function<Value(const Value& k)>& element) {
  const Team& team = lines.team;
  const std::vector<Var> own = {b_.var(l_.fresh("sum"), carry->type, zero_of(carry->type))};
  where(line.exists, [&] {
    b_.loop(l_.fresh("k"), {begin + line.place, end, team.lanes, kAhead},
            [&](const Value& k) { b_.set(own[0], Value(own[0]) + element(k)); });
  });
  exchange(team.lanes, 1, own, [&](const Values& others) { b_.set(own[0], Value(own[0]) + others[0]); });
  where(line.exists, [&] { leave_part(own); });
  where(line.exists, [&] {
    Value first = warp() / team.warps * team.warps;
    b_.loop(l_.fresh("before"), {first, warp(), 1},
            [&](const Value& before) { b_.set(carry, Value(carry) + read_part(own, 0, before)); });
  });
}

/// One element a lane, from `first` on.
void Threads::scan_step(const Lines& lines, const Line& line, const Value& first, const Value& end, const Var& carry,
                        const std::function<Value(const Value& k)>& element,
                        const std::function<void(const Value& k, const Value& sum)>& write) {
  const Team& team = lines.team;
  const Value lane = b_.builtins().lane;
  if (team.lanes == 1) {
    b_.set(carry, Value(carry) + element(first));
    return write(first, carry);
  }
  const std::int64_t step = lane_step(team);
  Value k = b_.let(l_.fresh("at"), first + line.place);
  std::optional<Value> inside = line.exists;
  const auto length = as_int(lines.length.expr());
  const bool full = team.warps == 1 && length && *length % team.lanes == 0;
  if (!full) inside = inside ? *inside && k < end : k < end;
  Var sum = b_.var(l_.fresh("sum"), carry->type, zero_of(carry->type));
  where(inside, [&] { b_.set(sum, element(k)); });
  for (std::int64_t distance = 1; distance < team.lanes; distance *= 2) {
    Value other = b_.shuffle(l_.fresh("other"), sum, lane - distance * step);
    b_.set(sum, Value(sum) + select(line.place >= distance, other, zero_of(carry->type)));
  }
  b_.set(sum, Value(sum) + Value(carry));
  where(inside, [&] { write(k, sum); });
  const std::int64_t last = (team.lanes - 1) * step;
  Value from = team.lanes == kLaneCount ? Value(last)
               : team.along             ? lane / team.lanes * team.lanes + last
                                        : lane % step + last;
  Value total = b_.shuffle(l_.fresh("total"), sum, from);
  b_.set(carry, total);
}

}  // namespace plait::pipeline
