#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ir/print_expr.h"

namespace plait::ir {
namespace {

constexpr int kIndent = 2;

/// Positive zero, which `clear` stands for.
bool is_zero(const ExprRef& e) {
  if (const auto* lit = std::get_if<FloatLit>(&e->node)) return lit->value == 0 && !std::signbit(lit->value);
  return is_int(e, 0);
}

std::string ints_text(const std::vector<int>& list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

std::string_view policy_name(WarpPolicy policy) {
  switch (policy) {
    case WarpPolicy::automatic:
      return "automatic";
    case WarpPolicy::rows:
      return "rows";
    case WarpPolicy::columns:
      return "columns";
    case WarpPolicy::square:
      return "square";
  }
  return "";
}

std::string_view atomic_name(AtomicOp op) {
  switch (op) {
    case AtomicOp::add:
      return "atomic_add";
    case AtomicOp::max:
      return "atomic_max";
    case AtomicOp::min:
      return "atomic_min";
  }
  return "";
}

std::string layout_text(const LayoutHint& layout) {
  switch (layout.kind) {
    case LayoutKind::automatic:
      return "";
    case LayoutKind::row_major:
      return " layout row_major";
    case LayoutKind::column_major:
      return " layout column_major";
    case LayoutKind::swizzle:
      return fmt::format(" layout swizzle({})", layout.swizzle_bytes);
    case LayoutKind::strided:
      return fmt::format(" layout strided({})", fmt::join(layout.strides, ", "));
  }
  return "";
}

std::string alloc_text(const BufferDecl& b) {
  std::string pad = b.pad != 0 ? fmt::format(" pad {}", b.pad) : "";
  return fmt::format("{} = {} {}[{}]{}{}", b.name, scope_name(b.scope), dtype_name(b.type), exprs_text(b.shape),
                     layout_text(b.layout), pad);
}

/// Bounds of a loop that states them one axis at a time: `n`, `a, n` or `a, n, 2`.
std::string bounds_text(const LoopAxis& axis) {
  bool unit_step = is_int(axis.step, 1);
  if (unit_step && is_int(axis.begin, 0)) return expr_text(axis.end);
  std::string text = fmt::format("{}, {}", expr_text(axis.begin), expr_text(axis.end));
  return unit_step ? text : fmt::format("{}, {}", text, expr_text(axis.step));
}

std::string pipeline_text(const PipelineAttrs& attrs) {
  std::string out;
  if (attrs.stages) out += fmt::format(", stages={}", *attrs.stages);
  if (!attrs.order.empty()) out += ", order=" + ints_text(attrs.order);
  if (!attrs.stage.empty()) out += ", stage=" + ints_text(attrs.stage);
  return out;
}

std::string for_text(const For& loop) {
  std::string names, bounds;
  for (const LoopAxis& axis : loop.axes) {
    names += (names.empty() ? "" : ", ") + axis.var->name;
    // Of several axes each has its extent alone: they begin at 0.
    bounds += (bounds.empty() ? "" : ", ") + (loop.axes.size() == 1 ? bounds_text(axis) : expr_text(axis.end));
  }
  return fmt::format("for {} in {}({}{}):", names, loop_kind_name(loop.kind), bounds, pipeline_text(loop.pipeline));
}

std::string task_text(const Task& task) {
  std::string args;
  if (task.latency) args += fmt::format("latency={}", *task.latency);
  if (task.ii) args += fmt::format("{}ii={}", args.empty() ? "" : ", ", *task.ii);
  return fmt::format("task({}):", args);
}

/// The side of a copy that a row map applies to unless it is named: the global one, the source where both are.
bool scatters_by_default(const TileOp& op) {
  return op.operands[1].buffer->scope == Scope::global && op.operands[0].buffer->scope != Scope::global;
}

std::string copy_attrs_text(const TileOp& op, const CopyAttrs& attrs) {
  std::string out;
  if (attrs.rows) out += ", rows=" + region_text(*attrs.rows);
  if (attrs.rows && attrs.scatter != scatters_by_default(op)) {
    out += fmt::format(", row_side={}", attrs.scatter ? "dst" : "src");
  }
  if (attrs.valid.size() == 1) out += fmt::format(", valid=[{}]", exprs_text(attrs.valid));
  if (attrs.valid.size() > 1) out += fmt::format(", valid=({})", exprs_text(attrs.valid));
  if (attrs.pad != nullptr) out += ", pad=" + typed_text(attrs.pad);
  if (attrs.cache == CacheHint::evict_first) out += ", cache=evict_first";
  if (attrs.cache == CacheHint::evict_last) out += ", cache=evict_last";
  return out;
}

std::string gemm_attrs_text(const GemmAttrs& attrs) {
  std::string out;
  if (attrs.trans_a) out += ", trans_A=true";
  if (attrs.trans_b) out += ", trans_B=true";
  if (attrs.clear_accum) out += ", clear_accum=true";
  if (attrs.policy != WarpPolicy::automatic) out += fmt::format(", policy={}", policy_name(attrs.policy));
  return out;
}

std::string attrs_text(const TileOp& op) {
  return std::visit(
      Overload{
          [](const NoAttrs&) { return std::string(); },
          [&](const CopyAttrs& a) { return copy_attrs_text(op, a); },
          [](const FillAttrs& a) { return ", " + typed_text(a.value); },
          [](const GemmAttrs& a) { return gemm_attrs_text(a); },
          [](const ReduceAttrs& a) { return fmt::format(", dim={}{}", a.dim, a.clear ? "" : ", clear=false"); },
          [](const CumsumAttrs& a) { return fmt::format(", dim={}{}", a.dim, a.reverse ? ", reverse=true" : ""); },
      },
      op.attrs);
}

std::string tile_op_text(const TileOp& op) {
  const auto* fill = std::get_if<FillAttrs>(&op.attrs);
  if (fill != nullptr && is_zero(fill->value)) return fmt::format("clear({})", region_text(op.operands[0]));
  std::string operands;
  for (const Region& region : op.operands) operands += (operands.empty() ? "" : ", ") + region_text(region);
  return fmt::format("{}({}{})", op_info(op.kind).name, operands, attrs_text(op));
}

std::string print_text(const Print& p) {
  std::string args = exprs_text(p.args);
  return fmt::format("print({}{}{})", string_text(p.format), args.empty() ? "" : ", ", args);
}

class Printer {
 public:
  explicit Printer(std::string& out) : out_(out) {}

  void stmt(const Stmt& s, int indent) {
    std::visit(Overload{
                   [&](const For& n) { block(for_text(n), n.body, indent); },
                   [&](const While& n) { block(fmt::format("while {}:", expr_text(n.cond)), n.body, indent); },
                   [&](const If& n) { branches("if", n, indent); },
                   [&](const Let& n) { line(fmt::format("{} = {}", n.var->name, expr_text(n.value)), indent); },
                   [&](const Alloc& n) { line(alloc_text(*n.buffer), indent); },
                   [&](const Store& n) {
                     line(fmt::format("{}[{}] = {}", n.buffer->name, exprs_text(n.index), typed_text(n.value)), indent);
                   },
                   [&](const AtomicElement& n) {
                     line(fmt::format("{}({}[{}], {})", atomic_name(n.op), n.buffer->name, exprs_text(n.index),
                                      typed_text(n.value)),
                          indent);
                   },
                   [&](const TileOp& n) { line(tile_op_text(n), indent); },
                   [&](const Assert& n) { line("assert " + expr_text(n.cond) + message_text(n.message), indent); },
                   [&](const Print& n) { line(print_text(n), indent); },
                   [&](const Break&) { line("break", indent); },
                   [&](const Continue&) { line("continue", indent); },
                   [&](const Task& n) { block(task_text(n), n.body, indent); },
               },
               s.node);
  }

 private:
  static std::string message_text(const std::string& message) {
    return message.empty() ? "" : ", " + string_text(message);
  }

  void line(std::string_view text, int indent) {
    out_.append(static_cast<std::size_t>(indent), ' ');
    out_ += text;
    out_ += '\n';
  }

  void block(std::string_view head, const Body& body, int indent) {
    line(head, indent);
    if (body.empty()) line("pass", indent + kIndent);
    for (const StmtRef& inner : body) stmt(*inner, indent + kIndent);
  }

  void branches(std::string_view word, const If& n, int indent) {
    block(fmt::format("{} {}:", word, expr_text(n.cond)), n.then_body, indent);
    if (n.else_body.empty()) return;
    const auto* nested = n.else_body.size() == 1 ? std::get_if<If>(&n.else_body[0]->node) : nullptr;
    if (nested != nullptr) return branches("elif", *nested, indent);
    block("else:", n.else_body, indent);
  }

  std::string& out_;
};

}  // namespace

std::string print(const Stmt& stmt, int indent) {
  std::string out;
  Printer(out).stmt(stmt, indent);
  return out;
}

}  // namespace plait::ir
