#include "request.h"

#include "roles/parse.h"
#include "roles/signature.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

/// Extents of a command line that the program does not have. What else is wrong with it is told when it is compiled.
void check_request(const jit::Request& request) {
  if (request.dims.empty()) return;
  if (roles::is_role_text(request.source->text())) {
    auto program = roles::parse(request.source, request.bindings);
    if (program) check_dims(roles::call_signature(*program), request.dims);
    return;
  }
  auto file = syntax::parse(request.source);
  auto name = file ? runtime::choose_kernel(*file, request.kernel) : file.diagnostics();
  if (!name) return;
  auto kernel = lang::elaborate(*file, *name, request.bindings);
  if (kernel) check_dims(*kernel, request.dims);
}

/// Nothing for a role program that says nothing right, which is told when it is compiled.
Result<std::optional<machine::Device>> device_for(const jit::Request& request, bool roles, const std::string& name) {
  auto program = roles ? roles::parse(request.source, request.bindings) : Result<roles::Program>(Diagnostics());
  if (roles && !program) return std::optional<machine::Device>();
  auto model = roles ? device_of(*program, name) : machine::load_device(name);
  if (!model) return model.diagnostics();
  return std::optional(std::move(*model));
}

/// Schedule, planner and device of a tile program.
Diagnostics read_target(const DeviceFlags& target, jit::Request& request, std::string& device) {
  request.planner = *planner::kind_of(target.planner);
  if (!target.schedule.empty()) {
    auto text = runtime::read_source(target.schedule);
    if (!text) return text.diagnostics();
    request.schedule = *text;
    auto schedule = read_schedule(target.schedule);
    if (!schedule) return schedule.diagnostics();
    if (device.empty()) device = schedule->device;
  }
  if (device.empty()) device = "h200";
  return {};
}

}  // namespace

Result<std::optional<jit::Request>> read_request(const ProgramOptions& options, const DeviceFlags& target,
                                                 const RolesFlags& flags,
                                                 const std::map<std::string, std::int64_t>& dims) {
  bool roles = holds_roles(options.path);
  if (roles && !options.kernel.empty()) throw UsageError{"--kernel: a .roles file holds one program"};
  if (roles && !target.schedule.empty())
    throw UsageError{"--schedule: a role program carries its schedule out already"};
  auto source = read_program(options.path);
  if (!source) return source.diagnostics();
  jit::Request request;
  request.source = *source;
  request.kernel = options.kernel;
  request.bindings = parse_assignments(options.bindings, "-D");
  request.dims = dims;
  request.build.architecture = flags.architecture;
  request.build.compile.allow_serialized = flags.allow_serialized;
  check_request(request);
  std::string name = target.device;
  Diagnostics found = roles ? Diagnostics() : read_target(target, request, name);
  if (found.has_errors()) return found;
  auto device = device_for(request, roles, name);
  if (!device) return device.diagnostics();
  if (*device && (*device)->target != machine::Target::cuda) return std::optional<jit::Request>();
  request.device = std::move(*device);
  return std::optional(std::move(request));
}

}  // namespace plait::cli
