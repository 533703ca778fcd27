#include "pipeline/pieces.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/expr_util.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "pipeline/rings.h"
#include "roles/builder.h"

namespace plait::pipeline {

using namespace ir;

namespace {

const For* pipelined(const Stmt& stmt) {
  const auto* loop = std::get_if<For>(&stmt.node);
  return loop != nullptr && loop->kind == LoopKind::pipelined ? loop : nullptr;
}

/// Looks for what stands in the way of a loop in pieces.
class Splitter {
 public:
  explicit Splitter(const Kernel& kernel) : kernel_(kernel) {}

  /// The number of the loop in the kernel's body.
  std::optional<std::size_t> loop() {
    std::optional<std::size_t> found;
    int loops = 0;
    walk(kernel_.body, [&](const Stmt& stmt) { loops += pipelined(stmt) != nullptr ? 1 : 0; });
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (pipelined(*kernel_.body[i]) != nullptr) found = i;
    }
    if (loops == 1 && found) return found;
    why = loops == 0   ? "it has no pipelined loop"
          : loops == 1 ? "its pipelined loop stands inside of another statement"
                       : "it has several pipelined loops";
    at = kernel_.loc;
    return {};
  }

  bool fits(std::size_t number) {
    const For& loop = *pipelined(*kernel_.body[number]);
    const LoopAxis& axis = loop.axes.front();
    at = kernel_.body[number]->loc;
    if (as_int(axis.begin) != 0 || as_int(axis.step) != 1) {
      why = "the loop does not count from 0 by 1";
    } else if (!is_of_the_call(axis.end, lets_of(kernel_))) {
      why = "the loop does not take as many iterations in all tiles";
    } else {
      collect(loop.body);
      if (why.empty()) outlasts(loop.body, number);
      if (why.empty()) before(number);
      if (why.empty()) prelude(number);
      if (why.empty() && sums.empty()) why = "the loop holds no product";
    }
    return why.empty();
  }

  std::string why;
  Loc at;
  std::vector<Buffer> sums;

 private:
  void blame(const Stmt& stmt, std::string what) {
    if (!why.empty()) return;
    at = stmt.loc;
    why = std::move(what);
  }

  /// Conditions could tell the first iteration from the others.
  void collect(const Body& body) {
    for (const StmtRef& stmt : body) {
      if (const auto* op = std::get_if<TileOp>(&stmt->node)) {
        if (const auto* gemm = std::get_if<GemmAttrs>(&op->attrs)) product(*stmt, *op, *gemm);
      } else if (const auto* task = std::get_if<Task>(&stmt->node)) {
        collect(task->body);
      } else if (const auto* nest = std::get_if<For>(&stmt->node);
                 nest != nullptr && nest->kind != LoopKind::parallel) {
        blame(*stmt, "another loop stands in the loop");
      } else if (std::holds_alternative<If>(stmt->node) || std::holds_alternative<While>(stmt->node)) {
        blame(*stmt, "a condition stands in the loop");
      }
    }
  }

  void product(const Stmt& stmt, const TileOp& op, const GemmAttrs& gemm) {
    const Buffer& sum = op.operands[2].buffer;
    if (gemm.clear_accum) return blame(stmt, fmt::format("the product drops what `{}` held", sum->name));
    if (sum->scope != Scope::fragment) return blame(stmt, fmt::format("`{}` is no fragment", sum->name));
    if (std::find(sums.begin(), sums.end(), sum) == sums.end()) sums.push_back(sum);
  }

  /// Nothing but the sums leaves an iteration: what the loop writes is used nowhere else.
  void outlasts(const Body& body, std::size_t number) {
    auto is_sum = [&](const Buffer& buffer) { return std::find(sums.begin(), sums.end(), buffer) != sums.end(); };
    for (const StmtRef& stmt : body) {
      if (const auto* task = std::get_if<Task>(&stmt->node)) {
        outlasts(task->body, number);
        continue;
      }
      const auto* op = std::get_if<TileOp>(&stmt->node);
      bool product = op != nullptr && std::holds_alternative<GemmAttrs>(op->attrs);
      Touched use = touched(*stmt);
      for (const Buffer& buffer : use.writes) {
        if (is_sum(buffer) ? !product : buffer->scope == Scope::global)
          blame(*stmt, fmt::format("`{}` is written in the loop{}", buffer->name,
                                   is_sum(buffer) ? " by other than products" : ""));
        if (!is_sum(buffer) && is_used_outside(buffer, number))
          blame(*stmt, fmt::format("`{}` is written in the loop and used outside of it", buffer->name));
      }
      for (const Buffer& buffer : use.reads) {
        if (is_sum(buffer) && !product) blame(*stmt, fmt::format("`{}` is read in the loop", buffer->name));
      }
    }
  }

  bool is_used_outside(const Buffer& buffer, std::size_t number) const {
    for (std::size_t i = 0; i < kernel_.body.size(); ++i) {
      if (i == number || std::holds_alternative<Alloc>(kernel_.body[i]->node)) continue;
      Touched use = touched(*kernel_.body[i]);
      if (use.reads.contains(buffer) || use.writes.contains(buffer)) return true;
    }
    return false;
  }

  /// What blocks do before the loop they all do: it writes no tensors, and shares out no loop among blocks.
  void prelude(std::size_t number) {
    for (std::size_t i = 0; i < number; ++i) {
      for (const Buffer& buffer : touched(*kernel_.body[i]).writes) {
        if (buffer->scope == Scope::global)
          blame(*kernel_.body[i], fmt::format("`{}` is written before the loop", buffer->name));
      }
    }
    walk(kernel_.body, [&](const Stmt& stmt) {
      const auto* loop = std::get_if<For>(&stmt.node);
      if (loop != nullptr && loop->kind == LoopKind::persistent) blame(stmt, "it has a persistent loop");
    });
  }

  /// Each sum starts from zero: the last that touches it before the loop is a fill.
  void before(std::size_t number) {
    for (const Buffer& sum : sums) {
      bool cleared = false;
      for (std::size_t i = 0; i < number; ++i) {
        if (!touched(*kernel_.body[i]).writes.contains(sum)) continue;
        const auto* op = std::get_if<TileOp>(&kernel_.body[i]->node);
        const auto* fill = op == nullptr ? nullptr : std::get_if<FillAttrs>(&op->attrs);
        cleared = fill != nullptr && place::is_zero(fill->value);
      }
      if (!cleared) blame(*kernel_.body[number], fmt::format("`{}` does not start from 0", sum->name));
    }
  }

  const Kernel& kernel_;
};

}  // namespace

VarMap lets_of(const Kernel& kernel) {
  VarMap lets;
  for (const StmtRef& stmt : kernel.body) {
    const auto* let = std::get_if<Let>(&stmt->node);
    if (let != nullptr) lets[let->var.get()] = substitute(let->value, lets);
  }
  return lets;
}

bool is_of_the_call(const ExprRef& expr, const VarMap& lets) {
  return !analysis::any_of_tree(substitute(expr, lets), [](const Expr& e) {
    const auto* ref = std::get_if<VarRef>(&e.node);
    bool local = ref != nullptr && ref->var->kind != VarKind::dim && ref->var->kind != VarKind::scalar;
    return local || std::holds_alternative<Load>(e.node);
  });
}

bool Pieces::is(const Stmt& stmt) const {
  const For* loop = pipelined(stmt);
  if (loop == nullptr) return false;
  const auto* ref = std::get_if<VarRef>(&loop->axes.front().begin->node);
  return ref != nullptr && ref->var == begin;
}

bool asks_for_pieces(const plan::Work& work) { return work.split_k > 1 || work.kind == plan::WorkKind::stream_k; }

Result<Pieces> split_in_pieces(Kernel& kernel, const plan::Work& work) {
  Splitter splitter(kernel);
  std::optional<std::size_t> number = splitter.loop();
  if (!number || !splitter.fits(*number)) {
    Diagnostics diags;
    std::string asked = work.split_k > 1 ? fmt::format("split_k {}", work.split_k) : "work stream_k";
    diags
        .error(Rule::place_operation, work.at.loc.known() ? work.at.loc : kernel.loc,
               fmt::format("no {}: {}", asked, splitter.why), "leave it out of the schedule")
        .notes.push_back({splitter.at, "here"});
    return diags;
  }
  const StmtRef stmt = kernel.body[*number];
  const Loc& loc = stmt->loc;
  For loop = std::get<For>(stmt->node);
  LoopAxis& axis = loop.axes.front();
  auto variable = [&](const char* behind) {
    return std::make_shared<const VarDecl>(VarDecl{axis.var->name + behind, DType::i64, VarKind::grid, loc});
  };
  ExprRef trips = substitute(axis.end, lets_of(kernel));
  Pieces pieces{variable("_begin"), variable("_end"), trips, kernel.grid.size(), std::move(splitter.sums)};
  ExprRef extent = (roles::build::Value(trips) + 1).as(DType::i64);
  axis.begin = var_ref(pieces.begin);
  axis.end = var_ref(pieces.end);
  kernel.grid.push_back({pieces.begin, extent});
  kernel.grid.push_back({pieces.end, extent});
  kernel.body[*number] = std::make_shared<const Stmt>(Stmt{loc, std::move(loop)});
  return pieces;
}

}  // namespace plait::pipeline
