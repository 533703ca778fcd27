#include "bundle/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "analysis/affine.h"
#include "bundle/folder.h"
#include "bundle/support.h"
#include "cuda/architecture.h"
#include "emit/c/names.h"

namespace plait::bundle {

using emit::c::c_name;

namespace {

struct Error {
  std::string_view name, text;
};
constexpr Error kErrors[] = {
#define PLAIT_BUNDLE_ERROR(id, text) {#id, text},
#include "bundle/errors.def"
#undef PLAIT_BUNDLE_ERROR
};

std::string error_enum(const Bundle& bundle) {
  std::string out = "enum {\n  @@_OK = 0,\n";
  int number = 1;
  for (const Error& error : kErrors) out += fmt::format("  @@_{} = {}, /* {} */\n", error.name, number++, error.text);
  return named(out + "};\n", bundle.name);
}

std::string error_cases() {
  std::string out = "    case @@_OK:\n      return \"success\";\n";
  for (const Error& error : kErrors)
    out += fmt::format("    case @@_{}:\n      return \"{}\";\n", error.name, error.text);
  return out;
}

/// FNV-1a of 64 bits, which the C file computes anew.
std::uint64_t digest_of(const std::string& bytes) {
  std::uint64_t digest = 14695981039346656037ULL;
  for (char byte : bytes) digest = (digest ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
  return digest;
}

std::string mode_of(const ir::Param& param) {
  return param.kind == ir::ParamKind::in ? "in" : param.kind == ir::ParamKind::out ? "out" : "inout";
}

std::string member(const ir::Param& param) {
  if (param.kind == ir::ParamKind::scalar) {
    const ir::VarDecl& scalar = *param.scalar;
    std::string standard = param.default_value == nullptr
                               ? ""
                               : fmt::format("; its default in plait is {}", ir::print(*param.default_value));
    return fmt::format("  {} {}; /* {}{} */\n", emit::c::c_scalar(scalar.type), c_name(scalar.name),
                       ir::dtype_name(scalar.type), standard);
  }
  const ir::BufferDecl& buffer = *param.buffer;
  auto list = [](const std::vector<ir::ExprRef>& exprs) {
    std::vector<std::string> texts;
    for (const ir::ExprRef& e : exprs) texts.push_back(ir::print(*e));
    return fmt::format("[{}]", fmt::join(texts, ", "));
  };
  return fmt::format("  {}void *{}; /* {} {}{}{} */\n", param.kind == ir::ParamKind::in ? "const " : "",
                     c_name(buffer.name), mode_of(param), ir::dtype_name(buffer.type), list(buffer.shape),
                     buffer.strides.empty() ? "" : " strides " + list(buffer.strides));
}

constexpr std::string_view kHeaderStart = R"(#ifndef @@_BUNDLE_H
#define @@_BUNDLE_H

/* Kernels for NVIDIA GPUs, compiled ahead of time. @.c checks what a launch is given, loads the code of the device from
 * the folder of these files, and launches; it needs C11, libc and the driver's libcuda.so.1, which it opens when a bundle
 * is made. docs/bundles.md of plait says more. */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* CUstream of cuda.h, cudaStream_t of the CUDA runtime */

/* What every function below returns. */
)";

constexpr std::string_view kHeaderFunctions = R"(
const char *@_error_string(int code);
/* What the last call that failed on this thread found, with its values. */
const char *@_last_error(void);

/* Where a workspace starts: at a multiple of so many bytes. */
enum { @@_WORKSPACE_ALIGNMENT = 256 };

/* Kernels that are loaded where they are used first, in any number of contexts. Threads may share a bundle. */
typedef struct @_bundle @_bundle;

/* `folder`: where the .cubin files are. Opens the driver, and loads nothing yet. */
int @_create(const char *folder, @_bundle **bundle);
/* Loads all code for the device of the current context, which launches do for what they need. */
int @_load(@_bundle *bundle);
/* When no other thread uses it, and nothing that it launched is under way. Unloads what it loaded into the current
 * context. Null is allowed. */
void @_destroy(@_bundle *bundle);

/* Launches put a kernel on `stream` of the thread's current context and return; a stream may be capturing. Tensors are
 * memory that the device can reach, contiguous, the last dimension fastest, unless strides are given. `workspace` may be
 * null where a kernel takes none; its contents are undefined before and after, and the launches of one stream may share
 * it. */
)";

constexpr std::string_view kSourceStart = R"(/* The C file of the bundle @: made by plait, see @.h. */
#include "@.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
)";

std::string header_of(const Bundle& bundle, const std::string& mark) {
  std::string out = mark + named(kHeaderStart, bundle.name) + error_enum(bundle) + named(kHeaderFunctions, bundle.name);
  for (const BundledKernel& kernel : bundle.kernels) out += print_interface(bundle, kernel);
  return out + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

/// The tables of what is loaded.
std::string code_tables(const Bundle& bundle) {
  std::string architectures, codes;
  for (const std::string& name : bundle.architectures) {
    auto known = cuda::parse_architecture(name);
    PLAIT_ASSERT(known.has_value(), "no architecture: " + name);
    architectures += fmt::format("    {{{}, {}}}, /* {} */\n", known->number, known->is_specific ? 1 : 0, name);
  }
  for (const Code& code : bundle.codes) {
    const emit::cuda::Module& module = code.kernel->module();
    codes += fmt::format("    {{{}, {}, {}u, UINT64_C(0x{:016x}), {}, {}, {}, {}}},\n", c_string(code.file),
                         c_string(module.entry), code.cubin.size(), digest_of(code.cubin), module.threads,
                         module.smem_bytes, module.cluster, code.device);
  }
  return fmt::format(
      R"(
enum {{ ARCHITECTURES = {}, CODES = {} }};
#define ARCHITECTURE_NAMES {}

/* Architectures that there is code for; specific code runs on that one alone. */
static const struct {{
  int number, is_specific;
}} architectures[ARCHITECTURES] = {{
{}}};

/* Code in files of the folder; `digest`: FNV-1a of their bytes. */
struct code {{
  const char *file, *entry;
  size_t bytes;
  uint64_t digest;
  unsigned threads, smem_bytes, cluster;
  int architecture;
}};
static const struct code codes[CODES] = {{
{}}};
)",
      bundle.architectures.size(), bundle.codes.size(),
      c_string(fmt::format("{}", fmt::join(bundle.architectures, ", "))), architectures, codes);
}

/// The support without the parts that nothing behind them calls.
std::string used_support(const std::string& kernels) {
  struct Part {
    std::string name, text;  ///< without a name: always there
  };
  std::vector<Part> parts(1);
  for (std::string_view all : {call_support(), alignment_support(), driver_support(), plan_support()}) {
    std::istringstream lines{std::string(all)};
    for (std::string line; std::getline(lines, line);) {
      bool begins = line.starts_with("//? ");
      if (begins || line == "//.") {
        parts.push_back({begins ? line.substr(4) : "", ""});
      } else {
        parts.back().text += line + "\n";
      }
    }
  }
  std::string behind = kernels, out;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!part->name.empty() && behind.find(part->name + "(") == std::string::npos) continue;
    behind += part->text;
    out.insert(0, part->text);
  }
  return out;
}

std::string interface_functions(const Bundle& bundle) {
  std::string out;
  for (const BundledKernel& kernel : bundle.kernels) {
    out += fmt::format(R"(
int {0}_{1}_workspace({0}_bundle *bundle, const {0}_{1}_args *args, size_t *bytes) {{
  return query(bundle, &kernel_{1}, args, bytes);
}}

int {0}_{1}_launch({0}_bundle *bundle, const {0}_{1}_args *args, void *workspace, size_t workspace_bytes,
{2}struct CUstream_st *stream) {{
  return launch(bundle, &kernel_{1}, args, workspace, workspace_bytes, stream);
}}
)",
                       bundle.name, kernel.name, std::string(bundle.name.size() + kernel.name.size() + 13, ' '));
  }
  return out;
}

}  // namespace

std::string print_interface(const Bundle& bundle, const BundledKernel& kernel) {
  const roles::Program& head = head_of(kernel);
  std::string members;
  for (const ir::Param& param : head.params) members += member(param);
  for (const ir::Var& dim : head.dims) members += fmt::format("  int64_t {};\n", c_name(dim->name));
  if (members.empty()) members = "  char nothing;\n";
  std::string conditions;
  for (std::size_t i = 0; i < std::min(kernel.tile_requires, head.requires_.size()); ++i) {
    const ir::Require& r = head.requires_[i];
    conditions += fmt::format(" *   require {}{}\n", ir::print(*r.cond), r.message.empty() ? "" : ": " + r.message);
  }
  bool has_workspace = false;
  for (const DeviceVariants& device : kernel.devices) {
    for (const Variant& variant : device.variants)
      has_workspace = has_workspace || !variant.kernel->program().workspaces.empty();
  }
  // What an author says may end a comment.
  for (std::size_t end = 0; (end = conditions.find("*/")) != std::string::npos;) conditions.replace(end, 2, "* /");
  return fmt::format(R"(
/* {1}{3}{4} */
typedef struct {0}_{1}_args {{
{2}}} {0}_{1}_args;
/* The bytes of the workspace of such a launch on the current context's device. */
int {0}_{1}_workspace({0}_bundle *bundle, const {0}_{1}_args *args, size_t *bytes);
int {0}_{1}_launch({0}_bundle *bundle, const {0}_{1}_args *args, void *workspace, size_t workspace_bytes,
{5}struct CUstream_st *stream);
)",
                     bundle.name, kernel.name, members, has_workspace ? ", with a workspace" : ", without workspace",
                     conditions.empty() ? "" : "\n" + conditions.substr(0, conditions.size() - 1),
                     std::string(bundle.name.size() + kernel.name.size() + 13, ' '));
}

std::string c_string(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {
      out += fmt::format("\\{}", c);
    } else if (byte < ' ' || byte == 0x7f) {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string capitals(const std::string& text) {
  std::string out;
  for (char c : text) out += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

std::string named(std::string_view text, const std::string& name) {
  std::string out, upper = capitals(name);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '@') {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '@') {
      out += upper;
      ++i;
    } else {
      out += name;
    }
  }
  return out;
}

const roles::Program& head_of(const BundledKernel& kernel) {
  return kernel.devices.front().variants.front().kernel->program();
}

bool is_passed(ir::DType type) {
  constexpr int kByte = 8;
  if (ir::is_float(type)) return type == ir::DType::f32 || type == ir::DType::f64;
  return ir::dtype_bits(type) >= kByte;
}

Result<Files> print(const Bundle& bundle) {
  emit::c::HostExprs exprs;
  Limits limits;
  std::string kernels;
  for (const BundledKernel& kernel : bundle.kernels) kernels += print_kernel(bundle, kernel, exprs, limits);
  if (exprs.refused().has_errors()) return exprs.refused();
  std::string launches(launch_support());
  constexpr std::string_view kErrorsHere = "@ERRORS@";
  launches.replace(launches.find(kErrorsHere), kErrorsHere.size(), error_cases());
  Files files;
  std::vector<std::string> names = {bundle.name + ".h", bundle.name + ".c"};
  for (const Code& code : bundle.codes) names.push_back(code.file);
  files.header = header_of(bundle, mark_of(bundle.name, names));
  std::string& out = files.source;
  out = named(kSourceStart, bundle.name) + (exprs.needs_math() ? "#include <math.h>\n" : "");
  out += fmt::format(
      "\nenum {{ MAX_DIMS = {}, MAX_TENSORS = {}, MAX_RANK = {}, MAX_WORKSPACES = {}, MAX_PARAMS = {}, MAX_MAPS = {} "
      "}};\n"
      "/* Of a dim, and of the product of a tensor's extents. */\n#define MOST_ELEMENTS INT64_C({})\n",
      limits.dims, limits.tensors, limits.rank, limits.workspaces, limits.params, limits.maps, analysis::max_dim);
  out += code_tables(bundle) + "\n" + exprs.helpers();
  out += named(used_support(kernels), bundle.name);
  out += kernels + named(launches, bundle.name) + interface_functions(bundle);
  return files;
}

}  // namespace plait::bundle
