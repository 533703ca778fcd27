#include <fmt/format.h>

#include "lang/elaborator.h"

namespace plait::lang {
namespace {

ir::LoopKind loop_kind(const std::string& name) {
  for (ir::LoopKind kind : {ir::LoopKind::serial, ir::LoopKind::unrolled, ir::LoopKind::vectorized,
                            ir::LoopKind::parallel, ir::LoopKind::pipelined, ir::LoopKind::persistent}) {
    if (ir::loop_kind_name(kind) == name) return kind;
  }
  PLAIT_ASSERT(false, "loop kind " + name + " of the syntax tree has no meaning");
}

/// Loops whose arguments are one extent an axis.
bool takes_extents(ir::LoopKind kind) { return kind == ir::LoopKind::parallel || kind == ir::LoopKind::persistent; }

Signature signature_of(const syntax::For& source, ir::LoopKind kind) {
  Signature signature{source.kind, {}, 1, {}};
  if (takes_extents(kind)) {
    for (std::size_t i = 0; i < source.vars.size(); ++i) signature.positional.push_back(fmt::format("extent {}", i));
    signature.required = source.vars.size();
    return signature;
  }
  // A single bound is the end: range(end), range(begin, end), range(begin, end, step).
  signature.positional = {"begin", "end", "step"};
  if (kind == ir::LoopKind::pipelined) signature.named = {"stages", "num_stages", "order", "stage"};
  return signature;
}

}  // namespace

void Elaborator::for_loop(const syntax::For& source, const Loc& loc) {
  ir::LoopKind kind = loop_kind(source.kind);
  std::size_t positional = 0;
  for (const syntax::Arg& arg : source.args) positional += arg.name.empty() ? 1 : 0;
  std::size_t axes_given = takes_extents(kind) ? positional : 1;
  if (source.vars.size() != axes_given) {
    diags_->error(
        Rule::loop_form, loc,
        fmt::format("{} variable{} for a {} loop over {} ax{}", source.vars.size(), source.vars.size() == 1 ? "" : "s",
                    source.kind, axes_given, axes_given == 1 ? "is" : "es"),
        takes_extents(kind) ? "" : fmt::format("a {} loop has one variable", source.kind));
  }
  ir::For loop{kind, {}, {}, {}};
  bool ok = source.vars.size() == axes_given;
  std::optional<std::vector<const syntax::Arg*>> args;
  if (ok) args = bind_args(signature_of(source, kind), source.args, loc, *diags_);
  ok = args && loop_bounds(source, loc, kind, *args, loop.axes);
  if (args && kind == ir::LoopKind::pipelined) {
    auto attrs = pipeline_attrs(*args, 3, loc);
    ok = ok && attrs.has_value();
    loop.pipeline = attrs.value_or(ir::PipelineAttrs{});
  }
  scopes_.push();
  for (std::size_t i = 0; i < source.vars.size(); ++i) {
    const Loc& at = i < source.var_locs.size() ? source.var_locs[i] : loc;
    ir::Var var = make_var(source.vars[i], ir::DType::i64, ir::VarKind::loop, at);
    define(source.vars[i], variable(var), at);
    if (ok) loop.axes[i].var = var;
  }
  loop.body = inner(source.body);
  scopes_.pop();
  if (ok) emit(std::move(loop), loc);
}

bool Elaborator::loop_bounds(const syntax::For& source, const Loc& loc, ir::LoopKind kind,
                             const std::vector<const syntax::Arg*>& args, std::vector<ir::LoopAxis>& axes) {
  auto number = [&](std::int64_t value) { return ir::typed_int(ir::DType::i64, value, loc); };
  bool ok = true;
  auto bound = [&](std::size_t slot) {
    ir::ExprRef value = to_index(args[slot]->value);
    ok = ok && value != nullptr;
    return value;
  };
  if (takes_extents(kind)) {
    for (std::size_t i = 0; i < source.vars.size(); ++i) axes.push_back({nullptr, number(0), bound(i), number(1)});
    return ok;
  }
  bool only_end = args[1] == nullptr;
  if (only_end && args[2] != nullptr) {
    diags_->error(Rule::call_form, args[2]->loc, fmt::format("{} has a step but no end", source.kind),
                  fmt::format("write {}(begin, end, step)", source.kind));
    return false;
  }
  ir::ExprRef begin = only_end ? number(0) : bound(0);
  ir::ExprRef end = bound(only_end ? 0 : 1);
  ir::ExprRef step = args[2] == nullptr ? number(1) : bound(2);
  axes.push_back({nullptr, std::move(begin), std::move(end), std::move(step)});
  return ok;
}

std::optional<ir::PipelineAttrs> Elaborator::pipeline_attrs(const std::vector<const syntax::Arg*>& args,
                                                            std::size_t first, const Loc& loc) {
  const syntax::Arg *stages = args[first], *num_stages = args[first + 1], *order = args[first + 2],
                    *stage = args[first + 3];
  ir::PipelineAttrs attrs;
  if (stages != nullptr && num_stages != nullptr) {
    diags_->error(Rule::call_form, num_stages->loc, "num_stages is another name of stages, which is given already",
                  "remove one of the two");
    return std::nullopt;
  }
  if (const syntax::Arg* arg = stages != nullptr ? stages : num_stages) {
    auto n = constant_int_in(arg->value, "stages", 0, kMaxStages);
    if (!n) return std::nullopt;
    attrs.stages = static_cast<int>(*n);
  }
  std::optional<std::vector<int>> lists[2] = {std::vector<int>(), std::vector<int>()};
  if (order != nullptr) lists[0] = int_list(order->value, "order");
  if (stage != nullptr) lists[1] = int_list(stage->value, "stage");
  if (!lists[0] || !lists[1]) return std::nullopt;
  attrs.order = std::move(*lists[0]);
  attrs.stage = std::move(*lists[1]);
  return check_pipeline(attrs, loc, *diags_) ? std::optional(std::move(attrs)) : std::nullopt;
}

}  // namespace plait::lang
