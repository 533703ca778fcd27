// The C interface to programs on NVIDIA devices.
#include <charconv>

#include "arguments.h"
#include "cuda/architecture.h"
#include "handles.h"
#include "jit/jit.h"
#include "machine/load.h"
#include "plan/schedule.h"
#include "roles/parse.h"

using plait::Diagnostics;
using plait::api::guarded;
using plait::api::read_arguments;
using plait::api::read_bindings;
using plait::api::read_options;
namespace cuda = plait::cuda;
namespace jit = plait::jit;

namespace {

/// Of the device that this thread uses; empty where there is none.
std::string current_architecture() {
  auto current = cuda::current_context();
  return current ? cuda::architecture_of(current->device) : std::string();
}

cuda::BuildOptions build_options(const plait_roles_options& given) {
  cuda::BuildOptions options;
  options.architecture = given.architecture != nullptr ? given.architecture : current_architecture();
  if (given.cuda_source != nullptr) options.source = given.cuda_source;
  options.source_only = given.source_only != 0;
  options.compile.allow_serialized = given.allow_serialized != 0;
  return options;
}

using plait::Result;

/// Nothing where it is none.
std::optional<plait::planner::Kind> planner_of(const plait_roles_options& given) {
  return plait::planner::kind_of(given.planner != nullptr ? given.planner : "auto");
}

/// What is asked for. Precondition: the planner is one.
Result<jit::Request> read_request(const plait::SourceRef& source, const plait::lang::Bindings& bindings,
                                  const plait_roles_options& given, const std::map<std::string, std::int64_t>& dims) {
  jit::Request request;
  request.source = source;
  request.bindings = bindings;
  request.build = build_options(given);
  if (plait::roles::is_role_text(source->text())) return request;
  request.kernel = given.kernel != nullptr ? given.kernel : "";
  request.planner = *planner_of(given);
  request.dims = dims;
  std::string device = given.device != nullptr ? given.device : "";
  if (given.schedule != nullptr) {
    request.schedule = std::make_shared<plait::SourceFile>("<schedule>", given.schedule);
    auto read = plait::plan::parse(request.schedule);
    if (!read) return read.diagnostics();
    if (device.empty()) device = read->device;
  }
  auto model = plait::machine::load_device(device.empty() ? "h200" : device);
  if (!model) return model.diagnostics();
  request.device = std::move(*model);
  return request;
}

Result<plait_roles*> build(const plait::SourceRef& source, const plait::lang::Bindings& bindings,
                           const plait_roles_options& given, const std::map<std::string, std::int64_t>& dims) {
  auto request = read_request(source, bindings, given, dims);
  if (!request) return request.diagnostics();
  auto compiled = jit::compile(*request);
  if (!compiled) return compiled.diagnostics();
  auto roles = plait::api::handle_of(std::move(*compiled));
  // A text that stands for the emitted one is of one kernel.
  if (request->device && given.cuda_source == nullptr)
    roles->variants = std::make_unique<plait::api::Variants>(std::move(*request), *roles);
  return roles.release();
}

/// Nothing where one is no extent: an integer of 64 bits from 0 on.
std::optional<std::map<std::string, std::int64_t>> read_dims(const plait_roles_options& given) {
  auto texts = read_bindings(given.dims, given.dim_count);
  if (!texts) return std::nullopt;
  std::map<std::string, std::int64_t> dims;
  for (const auto& [name, text] : *texts) {
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), dims[name]);
    if (error != std::errc() || stop != text.data() + text.size() || dims[name] < 0) return std::nullopt;
  }
  return dims;
}

/// The context of this thread, or nothing with the reasons in `found`.
std::optional<cuda::Context> context(Diagnostics& found) {
  auto current = cuda::current_context();
  if (current) return std::move(*current);
  found = current.diagnostics();
  return std::nullopt;
}

/// The kernel that serves a call: a variant for the alignment of its tensors, or the one that was compiled first.
Result<const plait_roles*> serving(const plait_roles& roles, const plait::runtime::Args& args) {
  if (roles.variants == nullptr) return &roles;
  auto other = roles.variants->serving(args);
  if (other && *other == nullptr) return &roles;
  return other;
}

/// Hands out a text that lives in the handle.
plait_status give(const plait_roles* roles, const char** text, const std::string& (*get)(const plait_roles&)) {
  if (text != nullptr) *text = nullptr;
  if (roles == nullptr || text == nullptr) return PLAIT_BAD_ARGUMENT;
  *text = get(*roles).c_str();
  return PLAIT_OK;
}

const std::vector<plait::ir::Param>& parameters(const plait_roles& roles) {
  return roles.built.kernel->program().params;
}

}  // namespace

plait_status plait_roles_compile(const char* name, const char* text, size_t length, const plait_binding* bindings,
                                 size_t binding_count, const plait_roles_options* options, plait_roles** compiled,
                                 plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (compiled != nullptr) *compiled = nullptr;
    auto values = read_bindings(bindings, binding_count);
    auto wanted = read_options(options);
    if (compiled == nullptr || (text == nullptr && length > 0) || !values || !wanted) return PLAIT_BAD_ARGUMENT;
    auto dims = read_dims(*wanted);
    if (!dims || !planner_of(*wanted)) return PLAIT_BAD_ARGUMENT;
    std::string copy = length > 0 ? std::string(text, length) : std::string();
    auto source = std::make_shared<plait::SourceFile>(name != nullptr ? name : "<text>", std::move(copy));
    auto built = build(source, *values, *wanted, *dims);
    if (!built) {
      found = built.diagnostics();
      return PLAIT_REJECTED;
    }
    *compiled = *built;
    found = (*built)->built.kernel->code().warnings;
    found.append((*built)->remarks);
    return PLAIT_OK;
  });
}

plait_status plait_roles_destroy(plait_roles* roles) {
  delete roles;
  return PLAIT_OK;
}

plait_status plait_roles_name(const plait_roles* roles, const char** name) {
  return give(roles, name, [](const plait_roles& r) -> const std::string& { return r.built.kernel->program().name; });
}

plait_status plait_roles_source(const plait_roles* roles, const char** source) {
  return give(roles, source,
              [](const plait_roles& r) -> const std::string& { return r.built.kernel->module().source; });
}

plait_status plait_roles_ptx(const plait_roles* roles, const char** ptx) {
  return give(roles, ptx, [](const plait_roles& r) -> const std::string& { return r.built.kernel->code().ptx; });
}

plait_status plait_roles_report(const plait_roles* roles, const char** json) {
  return give(roles, json, [](const plait_roles& r) -> const std::string& { return r.report; });
}

plait_status plait_roles_cubin(const plait_roles* roles, const void** image, size_t* bytes) {
  if (image != nullptr) *image = nullptr;
  if (bytes != nullptr) *bytes = 0;
  if (roles == nullptr || image == nullptr || bytes == nullptr) return PLAIT_BAD_ARGUMENT;
  const std::string& cubin = roles->built.kernel->code().cubin;
  *image = cubin.data();
  *bytes = cubin.size();
  return PLAIT_OK;
}

plait_status plait_roles_parameter_count(const plait_roles* roles, size_t* count) {
  if (count != nullptr) *count = 0;
  if (roles == nullptr || count == nullptr) return PLAIT_BAD_ARGUMENT;
  *count = parameters(*roles).size();
  return PLAIT_OK;
}

plait_status plait_roles_parameter(const plait_roles* roles, size_t index, plait_parameter* parameter) {
  if (parameter != nullptr) *parameter = plait_parameter{};
  if (roles == nullptr || parameter == nullptr || index >= parameters(*roles).size()) return PLAIT_BAD_ARGUMENT;
  return guarded(nullptr, [&](Diagnostics&) {
    *parameter = plait::api::describe(parameters(*roles)[index]);
    return PLAIT_OK;
  });
}

plait_status plait_roles_load(const plait_roles* roles, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (roles == nullptr) return PLAIT_BAD_ARGUMENT;
    auto current = context(found);
    if (!current) return PLAIT_REJECTED;
    auto loaded = roles->built.kernel->load(*current);
    if (loaded) return PLAIT_OK;
    found = loaded.diagnostics();
    return PLAIT_REJECTED;
  });
}

plait_status plait_roles_select(const plait_roles* roles, const plait_argument* arguments, size_t argument_count,
                                const plait_roles** selected, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (selected != nullptr) *selected = nullptr;
    if (roles == nullptr || selected == nullptr) return PLAIT_BAD_ARGUMENT;
    plait::runtime::Args args;
    plait_status status = read_arguments(roles->built.kernel->signature(), arguments, argument_count, args, found);
    if (status != PLAIT_OK) return status;
    auto chosen = serving(*roles, args);
    if (!chosen) {
      found = chosen.diagnostics();
      return PLAIT_REJECTED;
    }
    *selected = *chosen;
    return PLAIT_OK;
  });
}

plait_status plait_launch_prepare(const plait_roles* roles, const plait_argument* arguments, size_t argument_count,
                                  plait_launch** launch, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (launch != nullptr) *launch = nullptr;
    if (roles == nullptr || launch == nullptr) return PLAIT_BAD_ARGUMENT;
    plait::runtime::Args args;
    plait_status status = read_arguments(roles->built.kernel->signature(), arguments, argument_count, args, found);
    if (status != PLAIT_OK) return status;
    auto current = context(found);
    if (!current) return PLAIT_REJECTED;
    auto chosen = serving(*roles, args);
    if (!chosen) {
      found = chosen.diagnostics();
      return PLAIT_REJECTED;
    }
    auto prepared = cuda::prepare(*(*chosen)->built.kernel, *current, args);
    if (!prepared) {
      found = prepared.diagnostics();
      return PLAIT_REJECTED;
    }
    *launch = new plait_launch{std::move(*prepared)};
    return PLAIT_OK;
  });
}

plait_status plait_launch_run(const plait_launch* launch, void* stream, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (launch == nullptr) return PLAIT_BAD_ARGUMENT;
    found = launch->launch->run(static_cast<cuda::StreamHandle>(stream));
    return found.empty() ? PLAIT_OK : PLAIT_REJECTED;
  });
}

plait_status plait_launch_destroy(plait_launch* launch) {
  delete launch;
  return PLAIT_OK;
}
