#include "analysis/radix.h"

#include <algorithm>

namespace plait::analysis {

using namespace ir;

namespace {

constexpr std::size_t max_known = 64;
constexpr std::size_t max_divisors = 4;

class Digits {
 public:
  explicit Digits(Ranges& ranges) : ranges_(ranges) {}

  std::vector<ExprPair> close(const std::vector<ExprPair>& equal) {
    for (const auto& [x, y] : equal) add(x, y);
    // Grows while it is read.
    for (std::size_t i = 0; i < known_.size() && known_.size() < max_known; ++i) join(ExprPair(known_[i]));
    return std::move(implied_);
  }

 private:
  ExprRef resolved(ExprRef expr) const {
    for (int level = 0; level < 8; ++level) {
      const auto* ref = std::get_if<VarRef>(&expr->node);
      ExprRef value = ref != nullptr ? ranges_.definition(ref->var.get()) : nullptr;
      if (!value) break;
      expr = std::move(value);
    }
    return expr;
  }

  /// Both sides as operations of kind `op` by the same divisor.
  bool same_operation(const ExprPair& pair, BinaryOp op) const {
    const auto* x = std::get_if<Binary>(&pair.first->node);
    const auto* y = std::get_if<Binary>(&pair.second->node);
    return x != nullptr && y != nullptr && x->op == op && y->op == op && is_integer(x->a->type) &&
           same_expr(x->b, y->b) && ranges_.stable(x->b);
  }

  void add(const ExprRef& x, const ExprRef& y) {
    ExprPair pair{resolved(x), resolved(y)};
    known_.push_back(pair);
    if (!same_operation(pair, BinaryOp::div)) return;
    const auto& left = std::get<Binary>(pair.first->node);
    const auto& right = std::get<Binary>(pair.second->node);
    std::vector<ExprRef> divisors = factors(left.b);
    // x / (b·c) is x / b / c where the product does not wrap.
    if (divisors.size() < 2 || divisors.size() > max_divisors || ranges_.of(left.b).opaque) return;
    split(left.a, right.a, divisors);
  }

  void split(const ExprRef& x, const ExprRef& y, const std::vector<ExprRef>& divisors) {
    if (divisors.empty()) {
      known_.emplace_back(x, y);
      return;
    }
    for (const ExprRef& divisor : divisors) {
      ExprRef a = binary_expr(BinaryOp::div, x, divisor), b = binary_expr(BinaryOp::div, y, divisor);
      split(a, b, *without(divisors, {divisor}));
    }
  }

  /// Looks for the quotients that belong to remainders, or the other way round.
  void join(const ExprPair& pair) {
    bool is_mod = same_operation(pair, BinaryOp::mod);
    if (!is_mod && !same_operation(pair, BinaryOp::div)) return;
    const auto& x = std::get<Binary>(pair.first->node);
    const auto& y = std::get<Binary>(pair.second->node);
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const ExprPair& other = known_[i];
      if (!same_operation(other, is_mod ? BinaryOp::div : BinaryOp::mod)) continue;
      const auto& u = std::get<Binary>(other.first->node);
      const auto& v = std::get<Binary>(other.second->node);
      if (!same_expr(x.b, u.b) || !same_expr(x.a, u.a) || !same_expr(y.a, v.a)) continue;
      if (has(x.a, y.a)) return;
      implied_.emplace_back(x.a, y.a);
      return add(ExprRef(x.a), ExprRef(y.a));
    }
  }

  bool has(const ExprRef& x, const ExprRef& y) const {
    return std::any_of(implied_.begin(), implied_.end(),
                       [&](const ExprPair& p) { return same_expr(p.first, x) && same_expr(p.second, y); });
  }

  Ranges& ranges_;
  std::vector<ExprPair> known_, implied_;
};

}  // namespace

std::vector<ExprPair> implied_equalities(const std::vector<ExprPair>& equal, Ranges& ranges) {
  return Digits(ranges).close(equal);
}

}  // namespace plait::analysis
