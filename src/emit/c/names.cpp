#include "emit/c/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace plait::emit::c {
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

/// Macros that compilers define without being asked.
constexpr std::array macros = {"NULL", "linux", "unix", "i386"};

}  // namespace

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

std::string c_name(const std::string& name) {
  const std::string_view stem = std::string_view(name).substr(0, name.find_last_not_of('_') + 1);
  return is_c_word(stem) || belongs_to_headers(stem) || belongs_to_headers(name) ? name + "_" : name;
}

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

}  // namespace plait::emit::c
