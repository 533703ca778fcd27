#include <fmt/format.h>

#include "ir/build.h"
#include "layout/role_layout.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

constexpr std::int64_t kMaxStatements = 65536;
/// Nodes of expressions looked at, all replicas together.
constexpr std::int64_t kMaxNodes = 20'000'000;

/// Walks one body for one replica.
class Scan {
 public:
  Scan(const Check& check, const Role* role, const std::function<void(const Met&)>& fn)
      : check_(check), role_(role), fn_(fn) {}

  void builtins(int replica) {
    const Builtins& b = check_.program.builtins;
    ranges_.set(b.replica, Range::of(replica));
    ranges_.set(b.lane, Range::between(0, kWarp - 1));
    ranges_.set(b.cluster_rank, Range::between(0, check_.program.cluster - 1));
    for (const Var& var : {b.block, b.block_x, b.block_y, b.block_z}) ranges_.set(var, Range::between(0, INT32_MAX));
    ranges_.set(b.blocks, Range::between(1, INT32_MAX));
    if (role_ == nullptr) return;
    ranges_.set(b.warp, Range::between(0, role_->warps - 1));
    ranges_.set(b.thread, Range::between(0, replica_threads(*role_) - 1));
  }

  void body(const Body& body) {
    for (const StmtRef& stmt : body) {
      if (stopped_ || check_.diags.full()) return;
      statement(*stmt);
    }
  }

 private:
  void statement(const Stmt& stmt) {
    if (++count_ > kMaxStatements || ranges_.cost() > kMaxNodes) return stop(stmt);
    fn_({stmt, ranges_, role_});
    const Builtins& b = check_.program.builtins;
    std::visit(Overload{[&](const Let& s) { ranges_.set(s.var, ranges_.of(s.value)); },
                        [&](const For& s) { s.unroll == Unroll::full ? unrolled(s) : for_loop(s); },
                        [&](const While& s) { body(s.body); }, [&](const Issue& s) { body(s.body); },
                        [&](const If& s) {
                          Range cond = ranges_.of(s.cond);
                          if (!cond.constant() || cond.least != 0) body(s.then_body);
                          if (!cond.constant() || cond.least == 0) body(s.else_body);
                        },
                        [&](const Elect& s) { one_of({{b.thread, 0}, {b.warp, 0}, {b.lane, 0}}, s.body); },
                        [&](const OneWarp& s) { one_of({{b.warp, s.warp}}, s.body); }, [](const auto&) {}},
               stmt.node);
  }

  /// A body in which some variables have one value.
  void one_of(const std::vector<std::pair<Var, std::int64_t>>& fixed, const Body& inner) {
    std::vector<Range> before;
    for (const auto& [var, value] : fixed) {
      before.push_back(ranges_.of(ir::var_ref(var)));
      ranges_.set(var, Range::of(value));
    }
    body(inner);
    for (std::size_t i = 0; i < fixed.size(); ++i) ranges_.set(fixed[i].first, before[i]);
  }

  void for_loop(const For& loop) {
    Range begin = ranges_.of(loop.begin), end = ranges_.of(loop.end), step = ranges_.of(loop.step);
    if (begin.least >= end.most) return;
    Range var = Range::between(begin.least, end.most == INT64_MIN ? end.most : end.most - 1);
    var.step = std::min(begin.step, step.constant() && step.least > 0 ? step.least & -step.least : std::int64_t{1});
    var.rest = begin.rest & (var.step - 1);
    if (var.least == var.most) var = Range::of(var.least);
    ranges_.set(loop.var, var);
    body(loop.body);
  }

  void unrolled(const For& loop) {
    std::int64_t end = *ir::as_int(loop.end), step = *ir::as_int(loop.step);
    for (std::int64_t i = *ir::as_int(loop.begin); i < end && !stopped_; i += step) {
      if (loop.body.empty() && ++count_ > kMaxStatements) stopped_ = true;
      ranges_.set(loop.var, Range::of(i));
      body(loop.body);
      if (step > end - i) return;
    }
  }

  void stop(const Stmt& stmt) {
    stopped_ = true;
    check_.diags.error(Rule::role_loop, stmt.loc,
                       fmt::format("unrolled loops expand beyond {} statements here", kMaxStatements));
  }

  const Check& check_;
  const Role* role_;
  const std::function<void(const Met&)>& fn_;
  Ranges ranges_;
  std::int64_t count_ = 0;
  bool stopped_ = false;
};

}  // namespace

void scan(const Check& check, const std::function<void(const Met&)>& fn) {
  Scan prologue(check, nullptr, fn);
  prologue.builtins(0);
  prologue.body(check.program.prologue);
  for (const Role& role : check.program.roles) {
    for (int replica = 0; replica < role.replicas; ++replica) {
      Scan walk(check, &role, fn);
      walk.builtins(replica);
      walk.body(role.body);
    }
  }
}

TilePlace place_of(const SmemRef& ref, const Ranges& ranges) {
  TilePlace place;
  std::size_t rank = ref.index.size();
  if (rank >= 1) place.column = ranges.of(ref.index[rank - 1]);
  if (rank >= 2) place.row = ranges.of(ref.index[rank - 2]);
  for (std::size_t dim = 0; dim + 2 < rank; ++dim) place.copies.push_back(ranges.of(ref.index[dim]));
  return place;
}

bool clean(const Check& check, Rule rule, const Loc& loc, const std::string& what,
           const std::optional<std::string>& error, std::string fix) {
  if (!error) return true;
  check.diags.error(rule, loc, fmt::format("{} {}", what, *error), std::move(fix));
  return false;
}

bool inside(const Check& check, const SmemRef& ref, const TilePlace& place, std::int64_t rows, std::int64_t columns) {
  layout::SmemTile tile = layout::smem_tile(*ref.smem);
  std::vector<std::int64_t> shape = ir::static_shape(*ref.smem->buffer);
  auto text = [](const Range& range) { return range.constant() ? std::to_string(range.least) : std::string("…"); };
  for (std::size_t dim = 0; dim < place.copies.size(); ++dim) {
    const Range& index = place.copies[dim];
    if (index.least < shape[dim] && index.most >= 0) continue;
    check.diags.error(
        Rule::tile_bounds, ref.loc,
        fmt::format("index {} of `{}` is {}, and its extent {}", dim, ref.smem->buffer->name, text(index), shape[dim]));
    return false;
  }
  bool fits = place.row.least <= tile.rows - rows && place.column.least <= tile.columns - columns &&
              place.row.most >= 0 && place.column.most >= 0;
  if (fits) return true;
  check.diags.error(
      Rule::tile_bounds, ref.loc,
      fmt::format("{} x {} elements from row {}, column {} on leave `{}`, which has {} x {}", rows, columns,
                  text(place.row), text(place.column), ref.smem->buffer->name, tile.rows, tile.columns));
  return false;
}

const Loc& loc_of(const Loc& part, const Stmt& stmt) { return part.known() ? part : stmt.loc; }

std::string first_line(const Stmt& stmt) {
  std::string text = print(stmt);
  return text.substr(0, text.find('\n'));
}

}  // namespace plait::roles
