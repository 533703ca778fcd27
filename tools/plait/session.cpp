#include "session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "roles/parse.h"
#include "runtime/bind.h"
#include "runtime/files.h"

namespace plait::cli {

Result<SourceRef> read_program(const std::string& path) {
  if (path != "-") return runtime::read_source(path);
  static const Result<SourceRef> input = runtime::read_source(path);
  return input;
}

bool holds_roles(const std::string& path) {
  if (roles::is_role_file(path)) return true;
  if (path.ends_with(".tile")) return false;
  auto text = read_program(path);
  return text.ok() && roles::is_role_text((*text)->text());
}

Result<Program> load_program(const std::string& path) {
  auto source = read_program(path);
  if (!source) return source.diagnostics();
  auto file = syntax::parse(*source);
  if (!file) return file.diagnostics();
  return Program{*source, std::move(*file)};
}

Result<Session> load_kernel(const std::string& path, const std::string& kernel, const lang::Bindings& bindings) {
  auto program = load_program(path);
  if (!program) return program.diagnostics();
  auto name = runtime::choose_kernel(program->file, kernel);
  if (!name) return name.diagnostics();
  auto built = runtime::build_kernel(program->file, *name, bindings);
  if (!built) return built.diagnostics();
  return Session{std::move(*program), *name, bindings, std::move(*built)};
}

void check_dims(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : dims) {
    auto is = [&](const ir::Var& var) { return var->name == name; };
    if (std::none_of(kernel.dims.begin(), kernel.dims.end(), is)) unknown.push_back(name);
  }
  if (!unknown.empty()) throw UsageError{"--dim: " + runtime::unknown_dims_text(kernel, unknown)};
}

void refuse_roles(const ProgramOptions& options, const std::string& command) {
  if (holds_roles(options.path))
    throw UsageError{fmt::format("{}: {} is a role program, which has carried its schedule out; name the tile program",
                                 command, options.path)};
}

void add_program_options(const Options& options, Command& command, ProgramOptions& into, bool file_required,
                         const std::string& kinds) {
  options.add("FILE", into.path, kinds + "; - is standard input")
      .required(file_required)
      .each([&command](const std::string& path) { command.program = path; });
  options.add("--kernel", into.kernel, "kernel of the file; needed where it has several");
  add_assignments(options, "-D", into.bindings, "value of a compile-time parameter, e.g. -D dtype=bf16");
}

namespace {

std::string_view mode_of(ir::ParamKind kind) {
  switch (kind) {
    case ir::ParamKind::in:
      return "in ";
    case ir::ParamKind::out:
      return "out ";
    case ir::ParamKind::inout:
      return "inout ";
    case ir::ParamKind::scalar:
      return "";
  }
  return "";
}

}  // namespace

std::string signature(const ir::Kernel& kernel) {
  std::vector<std::string> params;
  for (const ir::Param& p : kernel.params) {
    if (p.kind == ir::ParamKind::scalar) {
      params.push_back(fmt::format("{}: {}", p.scalar->name, ir::dtype_name(p.scalar->type)));
      continue;
    }
    std::vector<std::string> extents;
    for (const ir::ExprRef& e : p.buffer->shape) extents.push_back(ir::print(*e));
    params.push_back(fmt::format("{}: {}{}[{}]", p.buffer->name, mode_of(p.kind), ir::dtype_name(p.buffer->type),
                                 fmt::join(extents, ", ")));
  }
  return fmt::format("{}({})", kernel.name, fmt::join(params, ", "));
}

}  // namespace plait::cli
