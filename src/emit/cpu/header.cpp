#include <algorithm>
#include <array>

#include "emit/c/names.h"
#include "emit/cpu/entry.h"
#include "emit/cpu/vector_math.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace plait::cpu {

using emit::c::belongs_to_headers;
using emit::c::c_element;
using emit::c::c_name;
using emit::c::c_scalar;
using emit::c::is_c_word;

namespace {

/// Functions of the C library that the object itself calls.
constexpr std::array called = {"aligned_alloc", "free", "main", "memcpy", "memmove", "memset", "printf"};

std::string parameter(const ir::Param& param) {
  if (param.kind == ir::ParamKind::scalar) return c_scalar(param.scalar->type) + " " + c_name(param.scalar->name);
  const bool read_only = param.kind == ir::ParamKind::in;
  return fmt::format("{}{} *{}", read_only ? "const " : "", c_element(param.buffer->type), c_name(param.buffer->name));
}

std::string describe(const ir::Param& param) {
  if (param.kind == ir::ParamKind::scalar)
    return fmt::format(" *   {}: {}\n", param.scalar->name, ir::dtype_name(param.scalar->type));
  const auto list = [](const std::vector<ir::ExprRef>& exprs) {
    std::vector<std::string> texts;
    for (const auto& expr : exprs) texts.push_back(ir::print(*expr));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  const auto& buffer = *param.buffer;
  const std::string strides = buffer.strides.empty() ? "" : " strides " + list(buffer.strides);
  const char* kind = param.kind == ir::ParamKind::in ? "in" : param.kind == ir::ParamKind::out ? "out" : "inout";
  return fmt::format(" *   {}: {} {}{}{}\n", buffer.name, kind, ir::dtype_name(buffer.type), list(buffer.shape),
                     strides);
}

std::string signature(const ir::Kernel& kernel) {
  std::vector<std::string> list;
  for (const auto& param : kernel.params) list.push_back(parameter(param));
  for (const auto& dim : kernel.dims) list.push_back("int64_t " + c_name(dim->name));
  return list.empty() ? "void" : fmt::format("{}", fmt::join(list, ", "));
}

std::string slot_order(const ir::Kernel& kernel) {
  std::string text;
  const SlotLayout layout = slot_layout(kernel);
  std::size_t tensor = 0;
  for (const auto& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) continue;
    const std::size_t rank = param.buffer->shape.size();
    const std::size_t at = layout.shape_of[tensor];
    text += fmt::format(" *   [{}] address of {}; its extents from [{}], its strides from [{}]\n", tensor,
                        param.buffer->name, at, at + rank);
    ++tensor;
  }
  std::size_t slot = layout.scalars;
  for (const auto& param : kernel.params) {
    if (param.kind == ir::ParamKind::scalar) text += fmt::format(" *   [{}] {}\n", slot++, param.scalar->name);
  }
  slot = layout.dims;
  for (const auto& dim : kernel.dims) text += fmt::format(" *   [{}] {}\n", slot++, dim->name);
  slot = layout.grid;
  for (const auto& axis : kernel.grid)
    text += fmt::format(" *   [{}] blocks along {}: {}\n", slot++, axis.var->name, ir::print(*axis.extent));
  return text;
}

}  // namespace

Diagnostics check_c_name(const ir::Kernel& kernel) {
  Diagnostics diagnostics;
  const bool taken =
      std::find(called.begin(), called.end(), kernel.name) != called.end() || math_symbol(kernel.name) != nullptr;
  const bool headers = belongs_to_headers(kernel.name);
  if (taken || headers || is_c_word(kernel.name)) {
    const char* what = taken     ? "a function of the C library"
                       : headers ? "a name that C compilers and their headers define"
                                 : "a keyword of C or C++";
    diagnostics.error(Rule::c_name, kernel.loc, fmt::format("'{}' is {}", kernel.name, what));
  }
  return diagnostics;
}

std::string c_header(const ir::Kernel& kernel, const BlockFacts& facts) {
  std::string params;
  for (const auto& param : kernel.params) params += describe(param);
  return fmt::format(
      R"(/* Kernel {0}, compiled by plait.
{1} */
#ifndef PLAIT_KERNEL_{0}_H
#define PLAIT_KERNEL_{0}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Runs the kernel on the calling thread. Tensors are contiguous, the last dimension fastest, unless strides are given
 * above; memory that is written overlaps no other argument; NULL stands for a tensor without elements only. Returns 0,
 * the number of the check that failed (see {0}_error), or -1 where memory is short. */
int {0}({2});

/* The text of a result of {0}. */
const char *{0}_error(int code);

/* Bytes of scratch memory that one block needs, aligned to 64. */
#define {0}_SCRATCH_BYTES {3}

/* Runs one block, for callers with threads of their own. `slots` are 8-byte words, scalars of float type as double:
{4} * `trap` receives what a failed check found. */
struct {0}_trap {{
  int32_t code;
  int64_t values[4];
}};
int32_t {0}_block(const void *slots, int64_t x, int64_t y, int64_t z, void *scratch, struct {0}_trap *trap);

#ifdef __cplusplus
}}
#endif

#endif
)",
      kernel.name, params, signature(kernel), facts.scratch_bytes, slot_order(kernel));
}

}  // namespace plait::cpu
