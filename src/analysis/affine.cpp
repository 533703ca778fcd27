#include "analysis/affine.h"

#include <algorithm>

#include "analysis/expr_util.h"

namespace plait::analysis {

using namespace ir;

std::int64_t Affine::coefficient(const VarDecl* var) const {
  for (const auto& [v, c] : terms) {
    if (v.get() == var) return c;
  }
  return 0;
}

namespace {

/// result += factor * form; false on overflow.
bool add_scaled(Affine& result, const Affine& form, std::int64_t factor) {
  auto accumulate = [&](std::int64_t& to, std::int64_t value) {
    std::int64_t product = 0;
    return !__builtin_mul_overflow(value, factor, &product) && !__builtin_add_overflow(to, product, &to);
  };
  if (!accumulate(result.constant, form.constant)) return false;
  for (const auto& [var, coefficient] : form.terms) {
    auto it = std::find_if(result.terms.begin(), result.terms.end(), [&v = var](auto& t) { return t.first == v; });
    if (it == result.terms.end()) it = result.terms.insert(it, {var, 0});
    if (!accumulate(it->second, coefficient)) return false;
  }
  return true;
}

/// Values are multiplied into a shared subtree as often as it occurs; the budget ends that.
class Builder {
 public:
  std::optional<Affine> build(const ExprRef& expr) {
    if (--fuel_ < 0) return std::nullopt;
    if (auto value = small_literal(expr)) return Affine{*value, {}};
    if (const auto* ref = std::get_if<VarRef>(&expr->node)) {
      return is_integer(expr->type) && expr->type != DType::u64 ? std::optional(Affine{0, {{ref->var, 1}}})
                                                                : std::nullopt;
    }
    if (const auto* cast = std::get_if<Cast>(&expr->node)) return build_cast(expr, *cast);
    if (expr->type != DType::i64) return std::nullopt;
    if (const auto* e = std::get_if<Unary>(&expr->node); e && e->op == UnaryOp::neg) {
      return combine(Affine{}, build(e->a), -1);
    }
    if (const auto* e = std::get_if<Binary>(&expr->node)) return build_binary(*e);
    return std::nullopt;
  }

 private:
  static std::optional<Affine> combine(Affine base, const std::optional<Affine>& form, std::int64_t factor) {
    if (!form || !add_scaled(base, *form, factor)) return std::nullopt;
    std::erase_if(base.terms, [](const auto& term) { return term.second == 0; });
    return base;
  }

  std::optional<Affine> build_cast(const ExprRef& expr, const Cast& cast) {
    bool leaf = std::holds_alternative<VarRef>(cast.a->node) || std::holds_alternative<IntLit>(cast.a->node);
    if (expr->type != DType::i64 || !is_integer(cast.a->type) || cast.a->type == DType::u64) return std::nullopt;
    return leaf || cast.a->type == DType::i64 ? build(cast.a) : std::nullopt;
  }

  std::optional<Affine> build_binary(const Binary& e) {
    bool sum = e.op == BinaryOp::add || e.op == BinaryOp::sub;
    if (!sum && e.op != BinaryOp::mul) return std::nullopt;
    auto a = build(e.a), b = build(e.b);
    if (!a || !b) return std::nullopt;
    if (sum) return combine(std::move(*a), b, e.op == BinaryOp::add ? 1 : -1);
    if (b->terms.empty()) return combine(Affine{}, a, b->constant);
    if (a->terms.empty()) return combine(Affine{}, b, a->constant);
    return std::nullopt;
  }

  int fuel_ = 5000;
};

}  // namespace

std::optional<Affine> affine(const ExprRef& expr) { return Builder().build(expr); }

}  // namespace plait::analysis
