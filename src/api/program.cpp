// The C interface to programs and diagnostics.
#include "handles.h"
#include "runtime/files.h"
#include "runtime/frontend.h"

using plait::Diagnostics;
using plait::api::guarded;

static_assert(std::string_view(PLAIT_VERSION) == PLAIT_PROJECT_VERSION,
              "plait.h and CMakeLists.txt name different versions");

const char* plait_version(void) { return PLAIT_VERSION; }

int32_t plait_abi_version(void) { return PLAIT_ABI_VERSION; }

const char* plait_status_text(plait_status status) {
  switch (status) {
    case PLAIT_OK:
      return "success";
    case PLAIT_REJECTED:
      return "the program or the call is wrong";
    case PLAIT_BAD_ARGUMENT:
      return "the interface was used wrongly";
    case PLAIT_OUT_OF_MEMORY:
      return "out of memory";
    case PLAIT_INTERNAL_ERROR:
      return "a fault of plait";
  }
  return "unknown status";
}

plait_status plait_diagnostics_text(const plait_diagnostics* diagnostics, const char** text) {
  if (text != nullptr) *text = nullptr;
  if (diagnostics == nullptr || text == nullptr) return PLAIT_BAD_ARGUMENT;
  *text = diagnostics->text.c_str();
  return PLAIT_OK;
}

plait_status plait_diagnostics_json(const plait_diagnostics* diagnostics, const char** json) {
  if (json != nullptr) *json = nullptr;
  if (diagnostics == nullptr || json == nullptr) return PLAIT_BAD_ARGUMENT;
  *json = diagnostics->json.c_str();
  return PLAIT_OK;
}

plait_status plait_diagnostics_count(const plait_diagnostics* diagnostics, size_t* count) {
  if (count != nullptr) *count = 0;
  if (diagnostics == nullptr || count == nullptr) return PLAIT_BAD_ARGUMENT;
  *count = diagnostics->count;
  return PLAIT_OK;
}

plait_status plait_diagnostics_destroy(plait_diagnostics* diagnostics) {
  delete diagnostics;
  return PLAIT_OK;
}

namespace {

plait_status parse(const plait::SourceRef& source, plait_program** program, Diagnostics& found) {
  auto file = plait::syntax::parse(source);
  if (!file) {
    found = file.diagnostics();
    return PLAIT_REJECTED;
  }
  std::vector<std::string> kernels = plait::lang::kernel_names(*file);
  *program = new plait_program{std::move(*file), std::move(kernels)};
  return PLAIT_OK;
}

}  // namespace

plait_status plait_program_parse(const char* name, const char* text, size_t length, plait_program** program,
                                 plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (program != nullptr) *program = nullptr;
    if (program == nullptr || (text == nullptr && length > 0)) return PLAIT_BAD_ARGUMENT;
    std::string copy = length > 0 ? std::string(text, length) : std::string();
    return parse(std::make_shared<plait::SourceFile>(name != nullptr ? name : "<text>", std::move(copy)), program,
                 found);
  });
}

plait_status plait_program_parse_file(const char* path, plait_program** program, plait_diagnostics** diagnostics) {
  return guarded(diagnostics, [&](Diagnostics& found) {
    if (program != nullptr) *program = nullptr;
    if (program == nullptr || path == nullptr) return PLAIT_BAD_ARGUMENT;
    auto source = plait::runtime::read_source(path);
    if (source) return parse(*source, program, found);
    found = source.diagnostics();
    return PLAIT_REJECTED;
  });
}

plait_status plait_program_kernel_count(const plait_program* program, size_t* count) {
  if (count != nullptr) *count = 0;
  if (program == nullptr || count == nullptr) return PLAIT_BAD_ARGUMENT;
  *count = program->kernels.size();
  return PLAIT_OK;
}

plait_status plait_program_kernel_name(const plait_program* program, size_t index, const char** name) {
  if (name != nullptr) *name = nullptr;
  if (program == nullptr || name == nullptr || index >= program->kernels.size()) return PLAIT_BAD_ARGUMENT;
  *name = program->kernels[index].c_str();
  return PLAIT_OK;
}

plait_status plait_program_destroy(plait_program* program) {
  delete program;
  return PLAIT_OK;
}
