#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/build.h"
#include "ir/visit.h"
#include "verify/context.h"

namespace plait::verify {
namespace {

using namespace ir;

void check_body(const Body& body, Scope scope, Context& context);

void check_reads(const Stmt& stmt, Context& context) {
  for_each_expr(stmt, [&](const ExprRef& root) {
    walk(root, [&](const Expr& e) {
      if (const auto* load = std::get_if<Load>(&e.node))
        note_read(load->buffer, e.loc.known() ? e.loc : stmt.loc, context);
    });
  });
}

void check_step(const LoopAxis& axis, const Loc& loc, Context& context) {
  std::optional<std::int64_t> step = axis.step ? as_int(axis.step) : std::nullopt;
  if (step && *step <= 0) {
    context.diags.error(Rule::loop_step, loc,
                        fmt::format("the step of loop variable '{}' is {}", axis.var->name, *step));
  }
}

/// How many statements a list may count: `if`s and tasks may be taken apart, lets and allocations may be left out. The
/// planner, which knows what is scheduled, asks for the very number.
struct StatementCount {
  std::size_t least = 0, most = 0;
};
StatementCount count_statements(const Body& body) {
  StatementCount count;
  auto nested = [&](const Body& inner) {
    StatementCount own = count_statements(inner);
    count.most += own.most;
  };
  for (const StmtRef& stmt : body) {
    bool light = std::holds_alternative<Let>(stmt->node) || std::holds_alternative<Alloc>(stmt->node);
    count.least += light ? 0 : 1;
    const auto* branch = std::get_if<If>(&stmt->node);
    const auto* task = std::get_if<Task>(&stmt->node);
    if (branch != nullptr) {
      nested(branch->then_body);
      nested(branch->else_body);
    } else if (task != nullptr) {
      nested(task->body);
    } else {
      ++count.most;
    }
  }
  count.most = std::max(count.most, count.least);
  return count;
}

void check_list(const std::vector<int>& list, std::string_view name, StatementCount statements, const Loc& loc,
                Context& context) {
  if (list.empty()) return;
  if (list.size() < statements.least || list.size() > statements.most) {
    context.diags.error(Rule::pipeline_lists, loc,
                        fmt::format("`{}` has {} entries for {} statements", name, list.size(), statements.most));
  } else if (std::any_of(list.begin(), list.end(), [](int v) { return v < 0; })) {
    context.diags.error(Rule::pipeline_lists, loc, fmt::format("`{}` has a negative entry", name));
  }
}

void check_pipeline(const For& loop, const Loc& loc, Context& context) {
  const PipelineAttrs& attrs = loop.pipeline;
  if (attrs.stages && *attrs.stages < 0) {
    context.diags.error(Rule::pipeline_lists, loc, fmt::format("stages is {}", *attrs.stages));
  }
  StatementCount statements = count_statements(loop.body);
  check_list(attrs.order, "order", statements, loc, context);
  check_list(attrs.stage, "stage", statements, loc, context);
  std::vector<int> sorted = attrs.order;
  std::sort(sorted.begin(), sorted.end());
  auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    context.diags.error(Rule::pipeline_lists, loc, fmt::format("`order` has {} twice", *twice));
  }
  if (attrs.order.empty() != attrs.stage.empty()) {
    context.diags.error(Rule::pipeline_lists, loc, "`order` and `stage` are given together or not at all");
  }
}

void check_loop_place(const For& loop, const Loc& loc, const Scope& scope, Context& context) {
  switch (loop.kind) {
    case LoopKind::parallel:
      if (scope.in_parallel) context.diags.error(Rule::parallel_nested, loc, "a parallel loop inside a parallel loop");
      break;
    case LoopKind::persistent:
      if (scope.in_parallel)
        context.diags.error(Rule::parallel_nested, loc, "a persistent loop inside a parallel loop");
      break;
    case LoopKind::pipelined:
      if (scope.in_pipelined)
        context.diags.error(Rule::pipelined_nested, loc, "a pipelined loop inside a pipelined loop");
      check_pipeline(loop, loc, context);
      break;
    case LoopKind::serial:
    case LoopKind::unrolled:
    case LoopKind::vectorized:
      break;
  }
}

Scope inner_scope(const For& loop, Scope scope) {
  switch (loop.kind) {
    case LoopKind::parallel:
      scope.in_parallel = true;
      scope.can_jump = false;
      break;
    case LoopKind::persistent:
    case LoopKind::vectorized:
      scope.can_jump = false;
      break;
    case LoopKind::pipelined:
      scope.in_pipelined = true;
      scope.can_jump = true;
      break;
    case LoopKind::serial:
    case LoopKind::unrolled:
      scope.can_jump = true;
      break;
  }
  return scope;
}

void check_for(const For& loop, const Loc& loc, const Scope& scope, Context& context) {
  check_loop_place(loop, loc, scope, context);
  for (const LoopAxis& axis : loop.axes) check_step(axis, loc, context);
  Scope inner = inner_scope(loop, scope);
  bool enters_parallel = inner.in_parallel && !scope.in_parallel;
  if (enters_parallel) context.outer_locals = context.locals;
  check_body(loop.body, inner, context);
  if (enters_parallel) context.outer_locals.clear();
}

void check_alloc(const Buffer& buffer, const Loc& loc, const Scope& scope, Context& context) {
  if (scope.in_parallel && buffer->scope != ir::Scope::local) {
    context.diags.error(
        Rule::alloc_in_parallel, loc,
        fmt::format("the {} buffer '{}' is defined inside a parallel loop", scope_name(buffer->scope), buffer->name));
  }
  if (buffer->scope == ir::Scope::local) context.locals.insert(buffer.get());
}

void check_element_write(const Buffer& buffer, const Loc& loc, Context& context) {
  if (context.outer_locals.count(buffer.get()) != 0) {
    context.diags.error(Rule::local_in_parallel, loc,
                        fmt::format("local buffer '{}' is defined outside this parallel loop", buffer->name));
  }
}

bool has_atomics(DType type) {
  switch (type) {
    case DType::i32:
    case DType::i64:
    case DType::u32:
    case DType::u64:
    case DType::f16:
    case DType::bf16:
    case DType::f32:
    case DType::f64:
      return true;
    case DType::bool_:
    case DType::i1:
    case DType::i2:
    case DType::i4:
    case DType::i8:
    case DType::i16:
    case DType::u1:
    case DType::u2:
    case DType::u4:
    case DType::u8:
    case DType::u16:
    case DType::e2m1:
    case DType::e4m3:
    case DType::e5m2:
    case DType::tf32:
      return false;
  }
  return false;
}

void check_atomic_type(const Buffer& buffer, const Loc& loc, Context& context) {
  if (!has_atomics(buffer->type)) {
    context.diags.error(Rule::atomic_type, loc,
                        fmt::format("'{}' has elements of type {}", buffer->name, dtype_name(buffer->type)));
  }
}

void check_tile_stmt(const TileOp& op, const Loc& loc, const Scope& scope, Context& context) {
  const OpInfo& info = op_info(op.kind);
  if (scope.in_parallel) {
    context.diags.error(Rule::tile_in_parallel, loc, fmt::format("{} inside a parallel loop", info.name));
  }
  for (std::size_t i = 0; i < op.operands.size() && i < info.effects.size(); ++i) {
    const Region& region = op.operands[i];
    const Loc& place = region.loc.known() ? region.loc : loc;
    const auto* gemm = std::get_if<GemmAttrs>(&op.attrs);
    const auto* reduce = std::get_if<ReduceAttrs>(&op.attrs);
    bool starts_fresh = (gemm != nullptr && gemm->clear_accum) || (reduce != nullptr && reduce->clear);
    switch (info.effects[i]) {
      case Effect::read:
        note_read(region.buffer, place, context);
        break;
      case Effect::write:
        note_write(region.buffer, place, context);
        break;
      case Effect::update:
        starts_fresh ? note_write(region.buffer, place, context) : note_update(region.buffer, place, context);
        break;
    }
  }
  if (op.kind == OpKind::atomic_add || op.kind == OpKind::atomic_max || op.kind == OpKind::atomic_min) {
    check_atomic_type(op.operands[0].buffer, loc, context);
  }
  check_tile_op(op, loc, context);
}

void check_jump(std::string_view what, const Loc& loc, const Scope& scope, Context& context) {
  if (!scope.can_jump)
    context.diags.error(Rule::jump_target, loc, fmt::format("{} has no loop that it may leave", what));
}

void check_stmt(const Stmt& stmt, const Scope& scope, Context& context) {
  const Loc& loc = stmt.loc;
  check_reads(stmt, context);
  std::visit(Overload{
                 [&](const For& s) { check_for(s, loc, scope, context); },
                 [&](const While& s) {
                   Scope inner = scope;
                   inner.can_jump = true;
                   check_body(s.body, inner, context);
                 },
                 [&](const If& s) {
                   check_body(s.then_body, scope, context);
                   check_body(s.else_body, scope, context);
                 },
                 [&](const Alloc& s) { check_alloc(s.buffer, loc, scope, context); },
                 [&](const Store& s) {
                   note_write(s.buffer, loc, context);
                   check_element_write(s.buffer, loc, context);
                 },
                 [&](const AtomicElement& s) {
                   check_atomic_type(s.buffer, loc, context);
                   note_update(s.buffer, loc, context);
                   check_element_write(s.buffer, loc, context);
                 },
                 [&](const TileOp& s) { check_tile_stmt(s, loc, scope, context); },
                 [&](const Break&) { check_jump("break", loc, scope, context); },
                 [&](const Continue&) { check_jump("continue", loc, scope, context); },
                 [&](const Task& s) { check_body(s.body, scope, context); },
                 [](const Let&) {},
                 [](const Assert&) {},
                 [](const Print&) {},
             },
             stmt.node);
}

void check_body(const Body& body, Scope scope, Context& context) {
  for (const StmtRef& stmt : body) check_stmt(*stmt, scope, context);
}

void check_params(const Kernel& kernel, Context& context) {
  for (const Param& param : kernel.params) {
    if (param.kind == ParamKind::out && !context.uses[param.buffer.get()].written) {
      context.diags.error(Rule::out_not_written, param.buffer->loc,
                          fmt::format("'{}' is never written", param.buffer->name));
    }
  }
}

void check_unwritten(Context& context) {
  std::vector<std::pair<const BufferDecl*, BufferUse>> found;
  for (const auto& [buffer, use] : context.uses) {
    if (context.params.count(buffer) == 0 && use.read && !use.written) found.emplace_back(buffer, use);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tie(a.second.first_read.line, a.second.first_read.column, a.first->name) <
           std::tie(b.second.first_read.line, b.second.first_read.column, b.first->name);
  });
  for (const auto& [buffer, use] : found) {
    Diagnostic& d = context.diags.error(Rule::never_written, use.first_read,
                                        fmt::format("'{}' is read but never written", buffer->name));
    d.notes.push_back({buffer->loc, fmt::format("'{}' is defined here", buffer->name)});
  }
}

}  // namespace

void note_read(const Buffer& buffer, const Loc& loc, Context& context) {
  BufferUse& use = context.uses[buffer.get()];
  if (!use.read) use.first_read = loc;
  use.read = true;
}

void note_write(const Buffer& buffer, const Loc& loc, Context& context) {
  context.uses[buffer.get()].written = true;
  auto param = context.params.find(buffer.get());
  if (param != context.params.end() && param->second == ParamKind::in) {
    context.diags.error(Rule::write_to_in, loc, fmt::format("'{}' is an `in` parameter", buffer->name));
  }
}

void note_update(const Buffer& buffer, const Loc& loc, Context& context) {
  // An update alone does not give a buffer its first contents.
  bool written = context.uses[buffer.get()].written;
  note_read(buffer, loc, context);
  note_write(buffer, loc, context);
  auto param = context.params.find(buffer.get());
  if (param == context.params.end()) {
    context.uses[buffer.get()].written = written;
  } else if (param->second == ParamKind::out) {
    context.diags.error(Rule::update_of_out, loc,
                        fmt::format("'{}' is an `out` parameter, and this adds to its old contents", buffer->name));
  }
}

std::string extents_text(const std::vector<ExprRef>& extents) {
  std::string text;
  for (const ExprRef& extent : extents) {
    std::optional<std::int64_t> value = as_int(extent);
    text += (text.empty() ? "" : "x") + (value ? std::to_string(*value) : std::string("?"));
  }
  return text.empty() ? "scalar" : text;
}

Diagnostics verify(const Kernel& kernel) {
  Diagnostics diags;
  Context context{diags, {}, {}, {}, {}};
  for (const Param& param : kernel.params) {
    if (param.buffer) context.params.emplace(param.buffer.get(), param.kind);
  }
  if (kernel.threads && (*kernel.threads < 1 || *kernel.threads > 1024)) {
    diags.error(Rule::thread_count, kernel.loc, fmt::format("threads is {}", *kernel.threads));
  }
  check_body(kernel.body, {}, context);
  check_params(kernel, context);
  check_unwritten(context);
  // The analysis takes a program that is otherwise sound.
  if (!diags.has_errors()) check_bounds(kernel, diags);
  return diags;
}

}  // namespace plait::verify
