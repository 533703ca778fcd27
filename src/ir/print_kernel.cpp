#include <fmt/format.h>

#include "ir/print_expr.h"

namespace plait::ir {
namespace {

/// Longer headers give each parameter a line of its own.
constexpr std::size_t kMaxLine = 100;

std::string_view direction(ParamKind kind) {
  switch (kind) {
    case ParamKind::in:
      return "in";
    case ParamKind::out:
      return "out";
    case ParamKind::inout:
      return "inout";
    case ParamKind::scalar:
      break;
  }
  return "";
}

std::string param_text(const Param& param) {
  if (param.kind == ParamKind::scalar) {
    std::string value = param.default_value != nullptr ? " = " + typed_text(param.default_value) : "";
    return fmt::format("{}: {}{}", param.scalar->name, dtype_name(param.scalar->type), value);
  }
  const BufferDecl& b = *param.buffer;
  std::string strides = b.strides.empty() ? "" : fmt::format(" strides [{}]", exprs_text(b.strides));
  return fmt::format("{}: {} {}[{}]{}", b.name, direction(param.kind), dtype_name(b.type), exprs_text(b.shape),
                     strides);
}

std::string header_text(const Kernel& kernel) {
  std::string begin = fmt::format("kernel {}(", kernel.name), one_line = begin, lines = begin;
  for (std::size_t i = 0; i < kernel.params.size(); ++i) {
    std::string text = param_text(kernel.params[i]);
    one_line += (i == 0 ? "" : ", ") + text;
    lines += (i == 0 ? "" : ",\n" + std::string(begin.size(), ' ')) + text;
  }
  return (one_line.size() + 2 <= kMaxLine ? one_line : lines) + "):\n";
}

std::string grid_text(const std::vector<GridAxis>& grid) {
  std::string axes;
  for (const GridAxis& axis : grid) {
    axes += fmt::format("{}{} = {}", axes.empty() ? "" : ", ", axis.var->name, expr_text(axis.extent));
  }
  return axes.empty() ? "" : "  grid " + axes + "\n";
}

std::string require_text(const Require& require) {
  std::string message = require.message.empty() ? "" : ", " + string_text(require.message);
  return fmt::format("  require {}{}\n", expr_text(require.cond), message);
}

}  // namespace

std::string print(const Kernel& kernel) {
  std::string out = header_text(kernel) + grid_text(kernel.grid);
  if (kernel.threads) out += fmt::format("  threads {}\n", *kernel.threads);
  if (kernel.options.fast_math) out += "  option fast_math\n";
  for (const Require& require : kernel.requires_) out += require_text(require);
  for (const StmtRef& stmt : kernel.body) out += print(*stmt, 2);
  return out;
}

}  // namespace plait::ir
