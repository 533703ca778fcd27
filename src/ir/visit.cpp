#include "ir/visit.h"

#include "support/result.h"

namespace plait::ir {
namespace {

using ExprFn = std::function<void(const ExprRef&)>;

void visit_optional(const ExprRef& e, const ExprFn& fn) {
  if (e != nullptr) fn(e);
}

void visit_all(const std::vector<ExprRef>& list, const ExprFn& fn) {
  for (const ExprRef& e : list) fn(e);
}

void visit_region(const Region& region, const ExprFn& fn) {
  for (const Range& range : region.ranges) {
    fn(range.begin);
    fn(range.extent);
  }
}

void visit_attrs(const OpAttrs& attrs, const ExprFn& fn) {
  std::visit(Overload{
                 [&](const CopyAttrs& a) {
                   if (a.rows) visit_region(*a.rows, fn);
                   visit_all(a.valid, fn);
                   visit_optional(a.pad, fn);
                 },
                 [&](const FillAttrs& a) { fn(a.value); },
                 [](const NoAttrs&) {},
                 [](const GemmAttrs&) {},
                 [](const ReduceAttrs&) {},
                 [](const CumsumAttrs&) {},
             },
             attrs);
}

void visit_loop(const For& loop, const ExprFn& fn) {
  for (const LoopAxis& axis : loop.axes) {
    fn(axis.begin);
    fn(axis.end);
    fn(axis.step);
  }
}

/// Statement lists directly below a statement.
void for_each_body(const Stmt& stmt, const std::function<void(const Body&)>& fn) {
  std::visit(Overload{
                 [&](const For& s) { fn(s.body); },
                 [&](const While& s) { fn(s.body); },
                 [&](const If& s) {
                   fn(s.then_body);
                   fn(s.else_body);
                 },
                 [&](const Task& s) { fn(s.body); },
                 [](const auto&) {},
             },
             stmt.node);
}

class Rewriter {
 public:
  explicit Rewriter(const std::function<ExprRef(const ExprRef&)>& fn) : fn_(fn) {}

  ExprRef operator()(const ExprRef& e) {
    auto found = done_.find(e.get());
    if (found != done_.end()) return found->second;
    ExprRef rebuilt = with_operands(e);
    ExprRef replaced = fn_(rebuilt);
    return done_[e.get()] = replaced != nullptr ? replaced : rebuilt;
  }

 private:
  bool change(ExprRef& operand) {
    ExprRef after = (*this)(operand);
    bool changed = after != operand;
    operand = std::move(after);
    return changed;
  }
  bool change(std::vector<ExprRef>& operands) {
    bool changed = false;
    for (ExprRef& operand : operands) changed = change(operand) || changed;
    return changed;
  }
  template <typename... Operands>
  bool change(Operands&... operands) {
    return (static_cast<int>(change(operands)) | ...) != 0;
  }

  bool change_node(ExprNode& node) {
    return std::visit(Overload{
                          [](IntLit&) { return false; },
                          [](FloatLit&) { return false; },
                          [](VarRef&) { return false; },
                          [&](Load& n) { return change(n.index); },
                          [&](Unary& n) { return change(n.a); },
                          [&](Binary& n) { return change(n.a, n.b); },
                          [&](Select& n) { return change(n.cond, n.if_true, n.if_false); },
                          [&](Cast& n) { return change(n.a); },
                          [&](Bitcast& n) { return change(n.a); },
                          [&](Call& n) { return change(n.args); },
                      },
                      node);
  }

  ExprRef with_operands(const ExprRef& e) {
    ExprNode node = e->node;
    if (!change_node(node)) return e;
    return std::make_shared<const Expr>(Expr{e->type, e->loc, std::move(node), e->weak});
  }

  const std::function<ExprRef(const ExprRef&)>& fn_;
  /// Keys stay alive: they belong to the expression being rewritten.
  std::unordered_map<const Expr*, ExprRef> done_;
};

}  // namespace

void for_each_operand(const Expr& expr, const ExprFn& fn) {
  std::visit(Overload{
                 [](const IntLit&) {},
                 [](const FloatLit&) {},
                 [](const VarRef&) {},
                 [&](const Load& n) { visit_all(n.index, fn); },
                 [&](const Unary& n) { fn(n.a); },
                 [&](const Binary& n) {
                   fn(n.a);
                   fn(n.b);
                 },
                 [&](const Select& n) {
                   fn(n.cond);
                   fn(n.if_true);
                   fn(n.if_false);
                 },
                 [&](const Cast& n) { fn(n.a); },
                 [&](const Bitcast& n) { fn(n.a); },
                 [&](const Call& n) { visit_all(n.args, fn); },
             },
             expr.node);
}

void walk(const ExprRef& expr, const std::function<void(const Expr&)>& fn) {
  if (expr == nullptr) return;
  fn(*expr);
  for_each_operand(*expr, [&](const ExprRef& operand) { walk(operand, fn); });
}

void walk(const Body& body, const std::function<void(const Stmt&)>& fn) {
  for (const StmtRef& stmt : body) {
    fn(*stmt);
    for_each_body(*stmt, [&](const Body& inner) { walk(inner, fn); });
  }
}

void for_each_expr(const Stmt& stmt, const ExprFn& fn) {
  auto element = [&](const std::vector<ExprRef>& index, const ExprRef& value) {
    visit_all(index, fn);
    fn(value);
  };
  std::visit(Overload{
                 [&](const For& s) { visit_loop(s, fn); },
                 [&](const While& s) { fn(s.cond); },
                 [&](const If& s) { fn(s.cond); },
                 [&](const Let& s) { fn(s.value); },
                 [](const Alloc&) {},
                 [&](const Store& s) { element(s.index, s.value); },
                 [&](const AtomicElement& s) { element(s.index, s.value); },
                 [&](const TileOp& s) {
                   for (const Region& region : s.operands) visit_region(region, fn);
                   visit_attrs(s.attrs, fn);
                 },
                 [&](const Assert& s) { fn(s.cond); },
                 [&](const Print& s) { visit_all(s.args, fn); },
                 [](const Break&) {},
                 [](const Continue&) {},
                 [](const Task&) {},
             },
             stmt.node);
}

ExprRef rewrite(const ExprRef& expr, const std::function<ExprRef(const ExprRef&)>& fn) {
  return expr == nullptr ? nullptr : Rewriter(fn)(expr);
}

ExprRef substitute(const ExprRef& expr, const VarMap& map) {
  return rewrite(expr, [&](const ExprRef& e) -> ExprRef {
    const auto* ref = std::get_if<VarRef>(&e->node);
    auto found = ref == nullptr ? map.end() : map.find(ref->var.get());
    return found == map.end() ? nullptr : found->second;
  });
}

}  // namespace plait::ir
