#include "play.h"

#include <algorithm>
#include <numeric>

#include "analysis/expr_util.h"
#include "ir/visit.h"

namespace plait::plan::test {

using namespace ir;
using analysis::binary_expr;
using analysis::int_expr;
using analysis::make_expr;

namespace {

ExprRef number(std::int64_t value) { return int_expr(DType::i64, value); }
ExprRef sub(ExprRef a, ExprRef b) { return binary_expr(BinaryOp::sub, std::move(a), std::move(b)); }
ExprRef add(ExprRef a, ExprRef b) { return binary_expr(BinaryOp::add, std::move(a), std::move(b)); }
ExprRef both(ExprRef a, ExprRef b) { return binary_expr(BinaryOp::logical_and, std::move(a), std::move(b)); }
StmtRef made(StmtNode node, const Loc& loc = {}) { return std::make_shared<const Stmt>(Stmt{loc, std::move(node)}); }

/// Other buffers and expressions in place of some buffers and variables.
struct Mapping {
  std::unordered_map<const VarDecl*, ExprRef> vars;
  std::unordered_map<const BufferDecl*, Buffer> buffers;

  Buffer of(const Buffer& buffer) const {
    auto it = buffers.find(buffer.get());
    return it == buffers.end() ? buffer : it->second;
  }
  ExprRef of(const ExprRef& expr) const {
    if (expr == nullptr) return expr;
    return rewrite(expr, [&](const ExprRef& e) -> ExprRef {
      if (const auto* ref = std::get_if<VarRef>(&e->node)) {
        auto it = vars.find(ref->var.get());
        return it == vars.end() ? nullptr : it->second;
      }
      const auto* load = std::get_if<Load>(&e->node);
      if (load == nullptr || of(load->buffer) == load->buffer) return nullptr;
      return make_expr(e->type, Load{of(load->buffer), load->index}, e->loc);
    });
  }
  std::vector<ExprRef> of(std::vector<ExprRef> list) const {
    for (ExprRef& e : list) e = of(e);
    return list;
  }
  Region of(Region region) const {
    region.buffer = of(region.buffer);
    for (Range& range : region.ranges) range = {of(range.begin), of(range.extent)};
    return region;
  }
  Body of(const Body& body) const {
    Body out;
    for (const StmtRef& stmt : body) out.push_back(of(stmt));
    return out;
  }
  OpAttrs of(OpAttrs attrs) const {
    if (auto* copy = std::get_if<CopyAttrs>(&attrs)) {
      if (copy->rows) copy->rows = of(*copy->rows);
      copy->valid = of(copy->valid);
      copy->pad = of(copy->pad);
    }
    if (auto* fill = std::get_if<FillAttrs>(&attrs)) fill->value = of(fill->value);
    return attrs;
  }
  StmtNode node(const For& n) const {
    For out = n;
    for (LoopAxis& axis : out.axes) axis = {axis.var, of(axis.begin), of(axis.end), of(axis.step)};
    out.body = of(n.body);
    return out;
  }
  StmtNode node(const While& n) const { return While{of(n.cond), of(n.body)}; }
  StmtNode node(const If& n) const { return If{of(n.cond), of(n.then_body), of(n.else_body)}; }
  StmtNode node(const Let& n) const { return Let{n.var, of(n.value)}; }
  StmtNode node(const Alloc& n) const { return n; }
  StmtNode node(const Store& n) const { return Store{of(n.buffer), of(n.index), of(n.value)}; }
  StmtNode node(const AtomicElement& n) const { return AtomicElement{n.op, of(n.buffer), of(n.index), of(n.value)}; }
  StmtNode node(const TileOp& n) const {
    TileOp out{n.kind, {}, of(n.attrs)};
    for (const Region& operand : n.operands) out.operands.push_back(of(operand));
    return out;
  }
  StmtNode node(const Assert& n) const { return Assert{of(n.cond), n.message}; }
  StmtNode node(const Print& n) const { return Print{n.format, of(n.args)}; }
  StmtNode node(const Break& n) const { return n; }
  StmtNode node(const Continue& n) const { return n; }
  StmtNode node(const Task& n) const { return Task{n.latency, n.ii, of(n.body)}; }
  StmtRef of(const StmtRef& stmt) const {
    return made(std::visit([&](const auto& n) { return node(n); }, stmt->node), stmt->loc);
  }
};

Region whole(const Buffer& buffer) {
  Region region{buffer, {}, {}};
  for (const ExprRef& extent : buffer->shape) region.ranges.push_back({number(0), extent});
  return region;
}
StmtRef copy(const Buffer& from, const Buffer& to) {
  return made(TileOp{OpKind::copy, {whole(from), whole(to)}, CopyAttrs{}});
}
ExprRef zero(DType type) { return is_float(type) ? make_expr(type, FloatLit{0}) : make_expr(type, IntLit{0}); }

/// An allocation whose elements are all written, so that it may be copied.
void allocate(const Buffer& buffer, Body& into) {
  into.push_back(made(Alloc{buffer}));
  into.push_back(made(TileOp{OpKind::fill, {whole(buffer)}, FillAttrs{zero(buffer->type)}}));
}

class Player {
 public:
  Player(const For& loop, const graph::TaskGraph& graph, const LoopPlan& plan)
      : loop_(loop), graph_(graph), plan_(plan) {}

  Body run() {
    trip_count();
    allocate_all();
    enter();
    turns();
    leave();
    return std::move(out_);
  }

 private:
  void trip_count() {
    const LoopAxis& axis = loop_.axes.front();
    ExprRef span = sub(axis.end, axis.begin);
    ExprRef count = binary_expr(BinaryOp::max, binary_expr(BinaryOp::ceil_div, span, axis.step), number(0));
    begin_ = let("begin", axis.begin);
    step_ = let("step", axis.step);
    trips_ = let("trips", count);
  }
  ExprRef let(const char* name, const ExprRef& value) {
    auto var = std::make_shared<const VarDecl>(VarDecl{name, DType::i64, VarKind::let, {}});
    out_.push_back(made(Let{var, value}));
    return analysis::var_expr(var);
  }

  void allocate_all() {
    for (const StmtRef& stmt : graph_.replayed) {
      if (const auto* alloc = std::get_if<Alloc>(&stmt->node)) allocate(alloc->buffer, out_);
    }
    for (const Buffer& buffer : graph_.written) {
      int copies = plan_.copies(buffer->name);
      if (copies == 1) continue;
      period_ = std::lcm(period_, copies);
      std::vector<Buffer>& all = copies_[buffer.get()];
      all.push_back(buffer);
      while (static_cast<int>(all.size()) < copies) {
        all.push_back(std::make_shared<const BufferDecl>(*buffer));
        allocate(all.back(), out_);
      }
    }
    for (const graph::Node& node : graph_.nodes) {
      const auto* scheduled = std::get_if<Let>(&node.stmt->node);
      if (scheduled == nullptr) continue;
      BufferDecl decl;
      decl.name = scheduled->var->name;
      decl.type = scheduled->var->type;
      decl.scope = Scope::local;
      decl.shape = {number(1)};
      auto cell = std::make_shared<const BufferDecl>(std::move(decl));
      out_.push_back(made(Alloc{cell}));
      cells_.emplace(scheduled->var.get(), cell);
    }
  }

  void enter() {
    for (const Buffer& buffer : graph_.written) {
      auto it = copies_.find(buffer.get());
      for (std::size_t v = 1; it != copies_.end() && v < it->second.size(); ++v)
        out_.push_back(copy(buffer, it->second[v]));
    }
  }

  /// A reader behind the loop takes what the last iteration left.
  void leave() {
    for (const Buffer& buffer : graph_.written) {
      auto it = copies_.find(buffer.get());
      for (std::size_t v = 1; it != copies_.end() && v < it->second.size(); ++v) {
        auto slots = static_cast<std::int64_t>(it->second.size());
        ExprRef last = binary_expr(BinaryOp::mod, sub(trips_, number(1)), number(slots));
        ExprRef here = binary_expr(BinaryOp::eq, last, number(static_cast<std::int64_t>(v)));
        ExprRef any = binary_expr(BinaryOp::gt, trips_, number(0));
        out_.push_back(made(If{both(any, here), {copy(it->second[v], buffer)}, {}}));
      }
    }
  }

  void turns() {
    auto turn = std::make_shared<const VarDecl>(VarDecl{"turn", DType::i64, VarKind::loop, {}});
    ExprRef turns = add(trips_, number(plan_.stages() - 1));
    For loop{LoopKind::serial, {{turn, number(0), turns, number(1)}}, {}, {}};
    std::vector<std::size_t> order(graph_.nodes.size());
    std::iota(order.begin(), order.end(), 0);
    auto slot = [&](std::size_t node) -> const Slot& { return *plan_.find(graph_.nodes[node].name); };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return slot(a).order < slot(b).order; });
    for (std::size_t node : order) {
      ExprRef iteration = sub(analysis::var_expr(turn), number(slot(node).stage));
      ExprRef runs =
          both(binary_expr(BinaryOp::ge, iteration, number(0)), binary_expr(BinaryOp::lt, iteration, trips_));
      loop.body.push_back(made(If{runs, instances(node, iteration), {}}));
    }
    out_.push_back(made(std::move(loop)));
  }

  /// One for each way in which the slots of the buffers can meet.
  Body instances(std::size_t node, const ExprRef& iteration) const {
    Body out;
    for (int phase = 0; phase < period_; ++phase) {
      Mapping map;
      ExprRef value = add(begin_, binary_expr(BinaryOp::mul, iteration, step_));
      map.vars[loop_.axes.front().var.get()] = value;
      for (const auto& [var, cell] : cells_) map.vars[var] = make_expr(cell->type, Load{cell, {number(0)}});
      for (const auto& [buffer, all] : copies_) map.buffers[buffer] = all[static_cast<std::size_t>(phase) % all.size()];
      StmtRef stmt = map.of(graph_.nodes[node].replay);
      if (const auto* scheduled = std::get_if<Let>(&graph_.nodes[node].stmt->node)) {
        // The value is kept where the let stood, inside what stands around it.
        stmt = store_in_place(stmt, scheduled->var);
      }
      if (period_ == 1) return {stmt};
      ExprRef here = binary_expr(BinaryOp::eq, binary_expr(BinaryOp::mod, iteration, number(period_)), number(phase));
      out.push_back(made(If{here, {stmt}, {}}));
    }
    return out;
  }

  StmtRef store_in_place(const StmtRef& stmt, const Var& var) const {
    auto inside = [&](const Body& body) {
      Body out;
      for (const StmtRef& inner : body) out.push_back(store_in_place(inner, var));
      return out;
    };
    if (const auto* found = std::get_if<Let>(&stmt->node); found != nullptr && found->var == var)
      return made(Store{cells_.at(var.get()), {number(0)}, found->value}, stmt->loc);
    if (const auto* n = std::get_if<If>(&stmt->node))
      return made(If{n->cond, inside(n->then_body), inside(n->else_body)}, stmt->loc);
    if (const auto* n = std::get_if<Task>(&stmt->node))
      return made(Task{n->latency, n->ii, inside(n->body)}, stmt->loc);
    return stmt;
  }

  const For& loop_;
  const graph::TaskGraph& graph_;
  const LoopPlan& plan_;
  Body out_;
  ExprRef begin_, step_, trips_;
  int period_ = 1;
  std::unordered_map<const BufferDecl*, std::vector<Buffer>> copies_;
  std::unordered_map<const VarDecl*, Buffer> cells_;
};

class Rewriter {
 public:
  Rewriter(const std::vector<graph::TaskGraph>& graphs, const std::vector<LoopPlan>& plans)
      : graphs_(graphs), plans_(plans) {}

  Body body(const Body& statements) const {
    Body out;
    for (const StmtRef& stmt : statements) add(stmt, out);
    return out;
  }

 private:
  void add(const StmtRef& stmt, Body& out) const {
    for (std::size_t i = 0; i < graphs_.size(); ++i) {
      if (graphs_[i].stmt != stmt || graphs_[i].jump != nullptr) continue;
      Body played = Player(std::get<For>(stmt->node), graphs_[i], plans_[i]).run();
      out.insert(out.end(), played.begin(), played.end());
      return;
    }
    // What may be copied as a whole is written as a whole.
    const auto* alloc = std::get_if<Alloc>(&stmt->node);
    if (alloc != nullptr && alloc->buffer->scope != Scope::local) return allocate(alloc->buffer, out);
    out.push_back(inside(stmt));
  }

  StmtRef inside(const StmtRef& stmt) const {
    if (const auto* n = std::get_if<For>(&stmt->node)) {
      if (n->kind == LoopKind::parallel) return stmt;
      For loop = *n;
      loop.body = body(n->body);
      return made(std::move(loop), stmt->loc);
    }
    if (const auto* n = std::get_if<While>(&stmt->node)) return made(While{n->cond, body(n->body)}, stmt->loc);
    if (const auto* n = std::get_if<If>(&stmt->node))
      return made(If{n->cond, body(n->then_body), body(n->else_body)}, stmt->loc);
    if (const auto* n = std::get_if<Task>(&stmt->node)) return made(Task{n->latency, n->ii, body(n->body)}, stmt->loc);
    return stmt;
  }

  const std::vector<graph::TaskGraph>& graphs_;
  const std::vector<LoopPlan>& plans_;
};

}  // namespace

Kernel play(const Kernel& kernel, const std::vector<graph::TaskGraph>& graphs, const std::vector<LoopPlan>& plans) {
  Kernel played = kernel;
  played.body = Rewriter(graphs, plans).body(kernel.body);
  return played;
}

}  // namespace plait::plan::test
