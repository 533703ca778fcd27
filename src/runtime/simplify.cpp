#include "runtime/simplify.h"

#include "analysis/affine.h"
#include "ir/build.h"

namespace plait::runtime {
namespace {

/// Rebuilds statements; `domain_` is what is known where it stands.
class Simplifier {
 public:
  explicit Simplifier(const ir::Kernel& kernel) : domain_(analysis::kernel_domain(kernel)) {}

  ir::Body body(const ir::Body& body) {
    std::size_t lets = domain_.lets.size();
    ir::Body result;
    for (const ir::StmtRef& stmt : body) {
      ir::StmtNode node = std::visit([&](const auto& n) { return ir::StmtNode(statement(n)); }, stmt->node);
      result.push_back(ir::make_stmt(std::move(node), stmt->loc));
    }
    domain_.lets.resize(lets);
    return result;
  }

 private:
  ir::ExprRef simple(const ir::ExprRef& e) const { return e == nullptr ? e : analysis::simplify(e, domain_); }
  std::vector<ir::ExprRef> simple(const std::vector<ir::ExprRef>& list) const {
    std::vector<ir::ExprRef> result;
    for (const ir::ExprRef& e : list) result.push_back(simple(e));
    return result;
  }
  ir::Region simple(const ir::Region& region) const {
    ir::Region result = region;
    for (ir::Range& range : result.ranges) range = {simple(range.begin), simple(range.extent)};
    return result;
  }
  /// A body that runs only where `cond` holds, or does not.
  ir::Body body_under(const ir::ExprRef& cond, bool holds, const ir::Body& inner) {
    analysis::Domain outer = domain_;
    domain_.assume(cond, holds);
    ir::Body result = body(inner);
    domain_ = std::move(outer);
    return result;
  }

  ir::For statement(const ir::For& n) {
    ir::For result = n;
    for (ir::LoopAxis& axis : result.axes) axis = {axis.var, simple(axis.begin), simple(axis.end), simple(axis.step)};
    analysis::Domain outer = domain_;
    domain_.add_loop(n);
    result.body = body(n.body);
    domain_ = std::move(outer);
    return result;
  }
  // The condition of a loop is evaluated in states that its body makes, of which the domain around it knows nothing
  // new.
  ir::While statement(const ir::While& n) { return {n.cond, body(n.body)}; }
  ir::If statement(const ir::If& n) {
    return {simple(n.cond), body_under(n.cond, true, n.then_body), body_under(n.cond, false, n.else_body)};
  }
  ir::Let statement(const ir::Let& n) {
    ir::Let result{n.var, simple(n.value)};
    domain_.add_let(n);
    return result;
  }
  ir::Store statement(const ir::Store& n) const { return {n.buffer, simple(n.index), simple(n.value)}; }
  ir::AtomicElement statement(const ir::AtomicElement& n) const {
    return {n.op, n.buffer, simple(n.index), simple(n.value)};
  }
  ir::TileOp statement(const ir::TileOp& n) const {
    ir::TileOp result = n;
    for (ir::Region& region : result.operands) region = simple(region);
    if (auto* copy = std::get_if<ir::CopyAttrs>(&result.attrs)) {
      if (copy->rows) copy->rows = simple(*copy->rows);
      copy->valid = simple(copy->valid);
      copy->pad = simple(copy->pad);
    }
    if (auto* fill = std::get_if<ir::FillAttrs>(&result.attrs)) fill->value = simple(fill->value);
    return result;
  }
  ir::Assert statement(const ir::Assert& n) const { return {simple(n.cond), n.message}; }
  ir::Print statement(const ir::Print& n) const { return {n.format, simple(n.args)}; }
  ir::Task statement(const ir::Task& n) { return {n.latency, n.ii, body(n.body)}; }
  ir::Alloc statement(const ir::Alloc& n) const { return n; }
  ir::Break statement(const ir::Break& n) const { return n; }
  ir::Continue statement(const ir::Continue& n) const { return n; }

  analysis::Domain domain_;
};

}  // namespace

ir::Kernel simplify_kernel(const ir::Kernel& kernel) {
  ir::Kernel result = kernel;
  result.body = Simplifier(kernel).body(kernel.body);
  return result;
}

}  // namespace plait::runtime
