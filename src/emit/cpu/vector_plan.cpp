#include "emit/cpu/vector_plan.h"

#include <unordered_map>

#include "ir/build.h"
#include "ir/visit.h"
#include "support/result.h"

namespace plait::cpu {
namespace {

using Step = std::optional<std::int64_t>;  ///< change of a value from one lane to the next; none: not constant

/// Walks the body of a parallel loop as if `axis` were its vector axis: finds what differs between lanes, what cannot
/// be done in lanes, and counts contiguous and scattered accesses.
class Trial {
 public:
  Trial(const ir::LoopAxis& axis, const ir::Body& body) {
    const auto step = ir::as_int(axis.step);
    steps_[axis.var.get()] = step;
    if (!step.has_value()) refuse(axis.var->loc, "the step of the loop is not a literal");
    visit(body, false);
  }

  bool possible() const { return reason_.empty(); }
  int score() const { return score_; }
  const Loc& loc() const { return loc_; }
  const std::string& reason() const { return reason_; }

 private:
  void refuse(const Loc& loc, std::string reason) {
    if (!reason_.empty()) return;
    loc_ = loc;
    reason_ = std::move(reason);
  }

  Step step(const ir::ExprRef& expr) {
    return std::visit(
        Overload{
            [](const ir::IntLit&) -> Step { return 0; },
            [](const ir::FloatLit&) -> Step { return 0; },
            [&](const ir::VarRef& x) -> Step {
              const auto found = steps_.find(x.var.get());
              return found == steps_.end() ? Step(0) : found->second;
            },
            [&](const ir::Load& x) { return load_step(x); },
            [&](const ir::Unary& x) { return same(step(x.a)); },
            [&](const ir::Binary& x) { return binary_step(x); },
            [&](const ir::Select& x) { return same(step(x.cond), same(step(x.if_true), step(x.if_false))); },
            [&](const ir::Cast& x) { return same(step(x.a)); },
            [&](const ir::Bitcast& x) { return same(step(x.a)); },
            [&](const ir::Call& x) {
              Step all = 0;
              for (const auto& arg : x.args) all = same(all, step(arg));
              return all;
            },
        },
        expr->node);
  }

  /// 0 where all parts are equal in every lane.
  static Step same(Step a, Step b = 0) { return a == 0 && b == 0 ? Step(0) : std::nullopt; }

  Step binary_step(const ir::Binary& x) {
    const Step a = step(x.a);
    const Step b = step(x.b);
    if (!a.has_value() || !b.has_value()) return std::nullopt;
    constexpr std::int64_t limit = std::int64_t{1} << 31;
    if (std::abs(*a) > limit || std::abs(*b) > limit) return std::nullopt;
    if (x.op == ir::BinaryOp::add) return *a + *b;
    if (x.op == ir::BinaryOp::sub) return *a - *b;
    if (x.op != ir::BinaryOp::mul || same(a, b) == 0) return same(a, b);
    const auto factor = ir::as_int(*a == 0 ? x.a : x.b);
    const std::int64_t other = *a == 0 ? *b : *a;
    if (!factor.has_value() || std::abs(*factor) > limit) return std::nullopt;
    return other * *factor;
  }

  /// Counts the access and says whether its element differs between lanes.
  Step access(const ir::Buffer& buffer, const std::vector<ir::ExprRef>& index, int weight) {
    Step all = 0;
    bool contiguous = !index.empty();
    for (std::size_t d = 0; d < index.size(); ++d) {
      const Step s = step(index[d]);
      all = same(all, s);
      const bool last = d + 1 == index.size();
      contiguous = contiguous && s == (last ? 1 : 0);
    }
    const bool unit = buffer->strides.empty() || ir::as_int(buffer->strides.back()) == 1;
    if (private_.contains(buffer.get()))
      all = std::nullopt;
    else if (all != 0)
      score_ += contiguous && unit ? weight : -4 * weight;
    return all;
  }

  Step load_step(const ir::Load& x) { return access(x.buffer, x.index, 1); }

  bool uniform(const ir::ExprRef& expr) { return step(expr) == 0; }

  void visit(const ir::Body& body, bool masked) {
    for (const auto& stmt : body) visit(*stmt, masked);
  }

  void visit(const ir::Stmt& stmt, bool masked) {
    std::visit(Overload{
                   [&](const ir::For& x) { loop(stmt, x, masked); },
                   [&](const ir::While& x) {
                     if (!uniform(x.cond)) refuse(stmt.loc, "the condition of `while` differs between iterations");
                     visit(x.body, masked);
                   },
                   [&](const ir::If& x) {
                     const bool mask = masked || !uniform(x.cond);
                     visit(x.then_body, mask);
                     visit(x.else_body, mask);
                   },
                   [&](const ir::Let& x) { steps_[x.var.get()] = step(x.value); },
                   [&](const ir::Alloc& x) { private_[x.buffer.get()] = true; },
                   [&](const ir::Store& x) {
                     access(x.buffer, x.index, 2);
                     step(x.value);
                   },
                   [&](const ir::AtomicElement& x) {
                     access(x.buffer, x.index, 1);
                     step(x.value);
                   },
                   [&](const ir::TileOp&) { refuse(stmt.loc, "a tile operation stands in the loop"); },
                   [&](const ir::Assert& x) { step(x.cond); },
                   [&](const ir::Print&) { refuse(stmt.loc, "`print` writes one iteration after the other"); },
                   [&](const ir::Break&) { jump(stmt, masked); },
                   [&](const ir::Continue&) { jump(stmt, masked); },
                   [&](const ir::Task& x) { visit(x.body, masked); },
               },
               stmt.node);
  }

  void loop(const ir::Stmt& stmt, const ir::For& x, bool masked) {
    for (const auto& axis : x.axes) {
      if (!uniform(axis.begin) || !uniform(axis.end) || !uniform(axis.step))
        refuse(stmt.loc, "the bounds of an inner loop differ between iterations");
      steps_[axis.var.get()] = 0;
    }
    visit(x.body, masked);
  }

  void jump(const ir::Stmt& stmt, bool masked) {
    if (masked) refuse(stmt.loc, "`break` or `continue` is taken by some iterations and not by others");
  }

  std::unordered_map<const ir::VarDecl*, Step> steps_;
  std::unordered_map<const ir::BufferDecl*, bool> private_;
  int score_ = 0;
  Loc loc_;
  std::string reason_;
};

Step trip_count(const ir::LoopAxis& axis) {
  const auto begin = ir::as_int(axis.begin);
  const auto end = ir::as_int(axis.end);
  if (!begin.has_value() || !end.has_value()) return std::nullopt;
  return *end - *begin;
}

}  // namespace

VectorPlan plan_vector(const ir::For& parallel, const Loc& loc) {
  VectorPlan best;
  int best_score = 0;
  for (std::size_t i = parallel.axes.size(); i-- > 0;) {
    const Trial trial(parallel.axes[i], parallel.body);
    if (!trial.possible()) {
      if (best.reason.empty()) {
        best.loc = trial.loc().known() ? trial.loc() : loc;
        best.reason = trial.reason();
      }
      continue;
    }
    const Step trips = trip_count(parallel.axes[i]);
    const int score = trial.score() * 4 - (trips.has_value() && *trips < 4 ? 1000 : 0);
    if (best.axis.has_value() && score <= best_score) continue;
    best.axis = i;
    best_score = score;
  }
  return best;
}

}  // namespace plait::cpu
