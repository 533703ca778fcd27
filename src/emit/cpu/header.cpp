#include <algorithm>
#include <array>
#include <cctype>

#include "emit/cpu/entry.h"
#include "emit/cpu/vector_math.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace plait::cpu {
namespace {

constexpr std::array c_words = {
    "alignas",      "alignof",       "and",         "and_eq",   "asm",       "auto",
    "bitand",       "bitor",         "bool",        "break",    "case",      "catch",
    "char",         "class",         "compl",       "concept",  "const",     "consteval",
    "constexpr",    "constinit",     "const_cast",  "continue", "co_await",  "co_return",
    "co_yield",     "decltype",      "default",     "delete",   "do",        "double",
    "dynamic_cast", "else",          "enum",        "explicit", "export",    "extern",
    "false",        "float",         "for",         "friend",   "goto",      "if",
    "inline",       "int",           "long",        "mutable",  "namespace", "new",
    "noexcept",     "not",           "not_eq",      "nullptr",  "operator",  "or",
    "or_eq",        "private",       "protected",   "public",   "register",  "reinterpret_cast",
    "requires",     "restrict",      "return",      "short",    "signed",    "sizeof",
    "static",       "static_assert", "static_cast", "struct",   "switch",    "template",
    "this",         "thread_local",  "throw",       "true",     "try",       "typedef",
    "typeid",       "typename",      "typeof",      "union",    "unsigned",  "using",
    "virtual",      "void",          "volatile",    "wchar_t",  "while",     "xor",
    "xor_eq"};
/// Functions of the C library that the object itself calls.
constexpr std::array called = {"aligned_alloc", "free", "main", "memcpy", "memmove", "memset", "printf"};

/// Macros that compilers define without being asked.
constexpr std::array macros = {"NULL", "linux", "unix", "i386"};

/// What <stdint.h> defines, as INT64_MAX and int64_t, and names that belong to the compiler.
bool belongs_to_headers(std::string_view name) {
  const bool compilers =
      name.size() > 1 && name[0] == '_' && (name[1] == '_' || std::isupper(static_cast<unsigned char>(name[1])) != 0);
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  const auto ends = [&](std::string_view suffix) { return name.ends_with(suffix); };
  const bool limit = (begins("INT") || begins("UINT") || begins("PTRDIFF_") || begins("SIZE_") || begins("WCHAR_") ||
                      begins("WINT_") || begins("SIG_ATOMIC_")) &&
                     (ends("_MAX") || ends("_MIN") || ends("_C") || ends("_WIDTH"));
  const bool type = (begins("int") || begins("uint")) && ends("_t");
  return compilers || limit || type || std::find(macros.begin(), macros.end(), name) != macros.end();
}

bool is_c_word(std::string_view name) { return std::find(c_words.begin(), c_words.end(), name) != c_words.end(); }

/// A parameter's name in C. Different names stay different: of `int` comes `int_`, and of `int_` therefore `int__`.
std::string c_name(const std::string& name) {
  const std::string_view stem = std::string_view(name).substr(0, name.find_last_not_of('_') + 1);
  return is_c_word(stem) || belongs_to_headers(stem) || belongs_to_headers(name) ? name + "_" : name;
}

/// The C type of an element; floats that C does not have, and elements narrower than a byte, are their bits.
std::string c_element(ir::DType type) {
  if (type == ir::DType::f64) return "double";
  if (type == ir::DType::f32 || type == ir::DType::tf32) return "float";
  const int bits = std::max(8, ir::dtype_bits(type));
  const bool is_signed = ir::is_signed_integer(type) && ir::dtype_bits(type) >= 8;
  return fmt::format("{}int{}_t", is_signed ? "" : "u", bits);
}

std::string c_scalar(ir::DType type) {
  if (type == ir::DType::f64) return "double";
  if (ir::is_float(type)) return "float";
  return fmt::format("{}int{}_t", ir::is_signed_integer(type) ? "" : "u", std::max(8, ir::dtype_bits(type)));
}

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
