#include "lang/extent.h"

#include "ir/visit.h"

namespace plait::lang {
namespace {

using ir::ExprRef;

/// Sums of at most this many terms are looked into; longer ones count as one atom.
constexpr std::size_t kMaxTerms = 32;
/// Larger bounds are subtracted as they stand.
constexpr int kMaxExtentNodes = 256;

/// Takes the integer arithmetic of `e` off `budget`; false when it does not suffice.
bool small(const ExprRef& e, int& budget) {
  if (--budget < 0) return false;
  if (const auto* unary = std::get_if<ir::Unary>(&e->node)) return small(unary->a, budget);
  const auto* binary = std::get_if<ir::Binary>(&e->node);
  return binary == nullptr || (small(binary->a, budget) && small(binary->b, budget));
}

struct Term {
  std::uint64_t factor = 0;  ///< modulo 2^64, as i64 arithmetic wraps
  std::vector<ExprRef> atoms;
};
/// A sum of products. Atoms are whatever is neither a sum nor a product of i64.
using Polynomial = std::vector<Term>;

/// Whether two products have the same atoms, in any order.
bool same_atoms(const Term& a, const Term& b) {
  if (a.atoms.size() != b.atoms.size()) return false;
  std::vector<bool> used(b.atoms.size(), false);
  for (const ExprRef& atom : a.atoms) {
    bool found = false;
    for (std::size_t j = 0; j < b.atoms.size() && !found; ++j) {
      if (!used[j] && ir::identical(atom, b.atoms[j])) used[j] = found = true;
    }
    if (!found) return false;
  }
  return true;
}

void add_term(Polynomial& sum, Term term) {
  for (auto it = sum.begin(); it != sum.end(); ++it) {
    if (!same_atoms(*it, term)) continue;
    it->factor += term.factor;
    if (it->factor == 0) sum.erase(it);
    return;
  }
  if (term.factor != 0) sum.push_back(std::move(term));
}

Polynomial combine(Polynomial a, const Polynomial& b, std::uint64_t factor) {
  for (const Term& term : b) add_term(a, {term.factor * factor, term.atoms});
  return a;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial out;
  for (const Term& x : a) {
    for (const Term& y : b) {
      Term product{x.factor * y.factor, x.atoms};
      product.atoms.insert(product.atoms.end(), y.atoms.begin(), y.atoms.end());
      add_term(out, std::move(product));
    }
  }
  return out;
}

Polynomial expand(const ExprRef& e);

Polynomial expand_binary(const ExprRef& e, const ir::Binary& binary) {
  Polynomial atom{{1, {e}}};
  bool sum = binary.op == ir::BinaryOp::add || binary.op == ir::BinaryOp::sub;
  if (!sum && binary.op != ir::BinaryOp::mul) return atom;
  Polynomial a = expand(binary.a), b = expand(binary.b);
  if (sum) {
    if (a.size() + b.size() > kMaxTerms) return atom;
    return combine(std::move(a), b, binary.op == ir::BinaryOp::add ? 1 : ~std::uint64_t{0});
  }
  return a.size() * b.size() > kMaxTerms ? atom : multiply(a, b);
}

Polynomial expand(const ExprRef& e) {
  if (e->type != ir::DType::i64) return {{1, {e}}};
  if (const auto* lit = std::get_if<ir::IntLit>(&e->node)) {
    if (lit->value == 0) return {};
    return {{static_cast<std::uint64_t>(lit->value), {}}};
  }
  if (const auto* binary = std::get_if<ir::Binary>(&e->node)) return expand_binary(e, *binary);
  const auto* unary = std::get_if<ir::Unary>(&e->node);
  if (unary != nullptr && unary->op == ir::UnaryOp::neg) return combine({}, expand(unary->a), ~std::uint64_t{0});
  return {{1, {e}}};
}

/// A product as an expression: the atoms in order, the factor behind them.
ExprRef build_term(const Term& term, Loc loc, Diagnostics& diags) {
  ExprRef factor = ir::typed_int(ir::DType::i64, static_cast<std::int64_t>(term.factor), loc);
  ExprRef out;
  for (const ExprRef& atom : term.atoms) {
    out = out == nullptr ? atom : ir::make_binary(ir::BinaryOp::mul, out, atom, loc, diags);
  }
  if (out == nullptr) return factor;
  return term.factor == 1 ? out : ir::make_binary(ir::BinaryOp::mul, out, factor, loc, diags);
}

}  // namespace

ExprRef range_extent(const ExprRef& begin, const ExprRef& end, Loc loc, Diagnostics& diags) {
  if (begin == nullptr || end == nullptr) return nullptr;
  if (ir::as_int(begin) == 0) return end;
  if (const auto* sum = std::get_if<ir::Binary>(&end->node); sum != nullptr && sum->op == ir::BinaryOp::add) {
    if (ir::identical(sum->a, begin)) return sum->b;
  }
  int budget = kMaxExtentNodes;
  if (!small(begin, budget) || !small(end, budget)) return ir::make_binary(ir::BinaryOp::sub, end, begin, loc, diags);
  Polynomial difference = combine(expand(end), expand(begin), ~std::uint64_t{0});
  if (difference.empty()) return ir::typed_int(ir::DType::i64, 0, loc);
  if (difference.size() == 1) return build_term(difference.front(), loc, diags);
  return ir::make_binary(ir::BinaryOp::sub, end, begin, loc, diags);
}

}  // namespace plait::lang
