#include "place/nest.h"

#include <fmt/format.h>

#include "ir/build.h"
#include "ir/visit.h"

namespace plait::place {

using namespace ir;

namespace {

/// Takes a nest apart in program order.
class Lines {
 public:
  NestLines run(const Body& body) {
    walk(body, nullptr);
    return std::move(out_);
  }

 private:
  void refuse(std::string reason) {
    if (out_.reason.empty()) out_.reason = std::move(reason);
  }
  void walk(const Body& body, const ExprRef& cond);
  void branch(const If& node, const ExprRef& cond);
  void store(const Store& node, const ExprRef& cond, const Loc& loc);
  ExprRef put_in(const ExprRef& expr);
  static ExprRef both(const ExprRef& a, const ExprRef& b);

  NestLines out_;
  VarMap lets_;
  std::unordered_map<const VarDecl*, std::vector<const BufferDecl*>> reads_;  ///< of each let, transitively
  std::unordered_map<const VarDecl*, bool> stale_;                            ///< a buffer it reads was written since
};

ExprRef Lines::both(const ExprRef& a, const ExprRef& b) {
  if (a == nullptr) return b;
  Diagnostics diags;
  return make_binary(BinaryOp::logical_and, a, b, {}, diags);
}

/// The expression with its lets put in; a let that would read something else by now cannot be.
ExprRef Lines::put_in(const ExprRef& expr) {
  ir::walk(expr, [&](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    if (ref == nullptr) return;
    auto it = stale_.find(ref->var.get());
    if (it != stale_.end() && it->second)
      refuse(fmt::format("`{}` is used behind a store to what it was computed from", ref->var->name));
  });
  return substitute(expr, lets_);
}

void Lines::store(const Store& node, const ExprRef& cond, const Loc& loc) {
  NestLine line{node.buffer, {}, put_in(node.value)};
  for (const ExprRef& index : node.index) line.index.push_back(put_in(index));
  if (cond != nullptr) {
    Diagnostics diags;
    ExprRef old = make_load(line.buffer, line.index, loc, diags);
    line.value = make_select(cond, line.value, old, loc, diags);
  }
  for (auto& [var, buffers] : reads_) {
    if (std::find(buffers.begin(), buffers.end(), node.buffer.get()) != buffers.end()) stale_[var] = true;
  }
  out_.lines.push_back(std::move(line));
}

void Lines::branch(const If& node, const ExprRef& cond) {
  ExprRef holds = put_in(node.cond);
  Diagnostics diags;
  walk(node.then_body, both(cond, holds));
  if (!node.else_body.empty())
    walk(node.else_body, both(cond, make_unary(UnaryOp::logical_not, holds, holds->loc, diags)));
}

void Lines::walk(const Body& body, const ExprRef& cond) {
  for (const StmtRef& stmt : body) {
    std::visit(
        Overload{[&](const Let& let) {
                   ExprRef value = put_in(let.value);
                   lets_[let.var.get()] = value;
                   auto& buffers = reads_[let.var.get()];
                   ir::walk(value, [&](const Expr& e) {
                     if (const auto* load = std::get_if<Load>(&e.node)) buffers.push_back(load->buffer.get());
                   });
                 },
                 [&](const Store& node) { store(node, cond, stmt->loc); }, [&](const If& node) { branch(node, cond); },
                 [&](const auto&) { refuse("it holds more than lets, stores and conditions"); }},
        stmt->node);
  }
}

}  // namespace

NestLines lines_of(const For& nest) { return Lines().run(nest.body); }

bool indexed_by(const std::vector<ExprRef>& index, const std::vector<LoopAxis>& axes, std::size_t count) {
  if (index.size() != count || axes.size() < count) return false;
  for (std::size_t d = 0; d < count; ++d) {
    const auto* ref = std::get_if<VarRef>(&index[d]->node);
    if (ref == nullptr || ref->var != axes[d].var) return false;
  }
  return true;
}

}  // namespace plait::place
