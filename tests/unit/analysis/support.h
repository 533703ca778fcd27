#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "analysis/access.h"
#include "analysis/affine.h"
#include "analysis/expr_util.h"
#include "ir/visit.h"

namespace plait::analysis::test {

using namespace ir;

/// An expression that C++ operators build; integer literals take the other operand's type.
struct E {
  ExprRef ref;
  E(ExprRef e) : ref(std::move(e)) {}                          // NOLINT(google-explicit-constructor)
  E(std::int64_t value) : ref(int_expr(DType::i64, value)) {}  // NOLINT(google-explicit-constructor)
  E(int value) : E(static_cast<std::int64_t>(value)) {}        // NOLINT(google-explicit-constructor)
  E(const Var& var) : ref(var_expr(var)) {}                    // NOLINT(google-explicit-constructor)
  operator const ExprRef&() const { return ref; }              // NOLINT(google-explicit-constructor)
};

inline E op(BinaryOp o, const E& a, const E& b) {
  ExprRef x = a.ref, y = b.ref;
  if (x->type != y->type) {
    if (auto* lit = std::get_if<IntLit>(&x->node)) x = int_expr(y->type, lit->value);
    if (auto* lit = std::get_if<IntLit>(&y->node)) y = int_expr(x->type, lit->value);
  }
  return binary_expr(o, x, y);
}
inline E operator+(const E& a, const E& b) { return op(BinaryOp::add, a, b); }
inline E operator-(const E& a, const E& b) { return op(BinaryOp::sub, a, b); }
inline E operator*(const E& a, const E& b) { return op(BinaryOp::mul, a, b); }
inline E operator/(const E& a, const E& b) { return op(BinaryOp::div, a, b); }
inline E operator%(const E& a, const E& b) { return op(BinaryOp::mod, a, b); }
inline E operator<(const E& a, const E& b) { return op(BinaryOp::lt, a, b); }
inline E operator<=(const E& a, const E& b) { return op(BinaryOp::le, a, b); }
inline E operator>(const E& a, const E& b) { return op(BinaryOp::gt, a, b); }
inline E operator>=(const E& a, const E& b) { return op(BinaryOp::ge, a, b); }
inline E eq(const E& a, const E& b) { return op(BinaryOp::eq, a, b); }
inline E ne(const E& a, const E& b) { return op(BinaryOp::ne, a, b); }
inline E both(const E& a, const E& b) { return op(BinaryOp::logical_and, a, b); }
inline E either(const E& a, const E& b) { return op(BinaryOp::logical_or, a, b); }
inline E ceildiv(const E& a, const E& b) { return op(BinaryOp::ceil_div, a, b); }
inline E min(const E& a, const E& b) { return op(BinaryOp::min, a, b); }
inline E max(const E& a, const E& b) { return op(BinaryOp::max, a, b); }
inline E negate(const E& a) { return not_expr(a.ref); }
inline E minus(const E& a) { return make_expr(a.ref->type, Unary{UnaryOp::neg, a.ref}); }
inline E select(const E& c, const E& a, const E& b) { return make_expr(a.ref->type, Select{c.ref, a.ref, b.ref}); }
inline E cast(DType type, const E& a) { return make_expr(type, Cast{a.ref, Rounding::toward_zero, false}); }
inline E load(const Buffer& buffer, std::vector<E> index) {
  Load node{buffer, {}};
  for (auto& e : index) node.index.push_back(e.ref);
  return make_expr(buffer->type, std::move(node));
}

inline Var make_var(std::string name, VarKind kind = VarKind::loop, DType type = DType::i64) {
  return std::make_shared<const VarDecl>(VarDecl{std::move(name), type, kind, {}});
}
inline Buffer make_buffer(std::string name, std::vector<E> shape, Scope scope = Scope::shared,
                          DType type = DType::i64) {
  BufferDecl decl;
  decl.name = std::move(name);
  decl.type = type;
  decl.scope = scope;
  for (auto& e : shape) decl.shape.push_back(e.ref);
  return std::make_shared<const BufferDecl>(std::move(decl));
}
inline StmtRef stmt(StmtNode node) { return std::make_shared<const Stmt>(Stmt{{}, std::move(node)}); }
inline LoopAxis axis(const Var& var, const E& begin, const E& end, const E& step = 1) {
  return {var, begin.ref, end.ref, step.ref};
}
inline For loop(LoopKind kind, std::vector<LoopAxis> axes, Body body) {
  return {kind, std::move(axes), {}, std::move(body)};
}
inline StmtRef store(const Buffer& buffer, std::vector<E> index, const E& value) {
  Store node{buffer, {}, value.ref};
  for (auto& e : index) node.index.push_back(e.ref);
  return stmt(std::move(node));
}
inline Region region(const Buffer& buffer, std::vector<std::pair<E, E>> ranges) {
  Region r{buffer, {}, {}};
  for (auto& [begin, extent] : ranges) r.ranges.push_back({begin.ref, extent.ref});
  return r;
}
inline DomainVar in(const Var& var, const E& begin, const E& end, const E& step = 1) {
  return {var, begin.ref, end.ref, step.ref};
}

/// What an expression is worth: a number, or nothing where it is an error of the program.
using Value = std::optional<std::int64_t>;
struct State {
  std::map<const VarDecl*, std::int64_t> vars;
  std::map<const BufferDecl*, std::vector<std::int64_t>> contents;  ///< 1-D
  bool zero_outside = false;                                        ///< loads outside a buffer give 0 and are no errors
};
Value evaluate(const ExprRef& expr, const State& state);

/// Calls `fn` at every point of the domain; dims and scalars run over `free_values`.
void for_each_point(const Domain& domain, const State& state, const std::vector<std::int64_t>& free_values,
                    const std::function<void(const State&)>& fn);

/// Random expressions over given variables and arrays.
class Generator {
 public:
  enum Shape { affine, quasi_affine, any };
  Generator(std::uint64_t seed, std::vector<Var> vars, std::vector<Buffer> arrays = {})
      : random_(seed), vars_(std::move(vars)), arrays_(std::move(arrays)) {}

  std::int64_t number(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  bool chance(int percent) { return number(1, 100) <= percent; }
  E integer(Shape shape, int depth);
  E boolean(Shape shape, int depth);

 private:
  E leaf();
  std::mt19937_64 random_;
  std::vector<Var> vars_;
  std::vector<Buffer> arrays_;
};

/// A domain of two loops (bounds over outer variables, sometimes empty, with steps) and a dim of at most 4, with
/// conditions now and then.
struct RandomDomain {
  Domain domain;
  std::vector<Var> vars;
};
RandomDomain random_domain(std::uint64_t seed, Generator::Shape shape);

/// Seeds 1 to `count`; the environment variable PLAIT_SOAK multiplies the count.
std::uint64_t seeds(std::uint64_t count);

std::string text(const ExprRef& expr);
std::string text(const Domain& domain);

}  // namespace plait::analysis::test
