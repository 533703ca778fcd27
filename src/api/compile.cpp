#include "handles.h"
#include "plait/plait.hpp"
#include "verify/verify.h"

namespace plait {

plait_status api::compile(ir::Kernel kernel, const std::string& device, bool checks, plait_kernel** compiled,
                          Diagnostics& found) {
  if (device != "host" && device != "interp") {
    found.error(Rule::unknown_device, {}, "there is no device '" + device + "'", "use \"host\" or \"interp\"");
    return PLAIT_REJECTED;
  }
  auto handle = std::make_unique<plait_kernel>(plait_kernel{std::move(kernel), std::nullopt});
  if (device == "host") {
    cpu::Options target;
    target.checks = checks;
    auto code = cpu::compile(handle->kernel, target);
    if (!code) {
      found = code.diagnostics();
      return PLAIT_REJECTED;
    }
    handle->code = std::move(*code);
  }
  *compiled = handle.release();
  return PLAIT_OK;
}

Function compile(const Kernel& kernel, const CompileOptions& options) {
  plait_kernel* compiled = nullptr;
  plait_diagnostics* diagnostics = nullptr;
  plait_status status = api::guarded(&diagnostics, [&](Diagnostics& found) {
    if (!options.kernel.empty() || !options.bindings.empty()) return PLAIT_BAD_ARGUMENT;
    found = verify::verify(*kernel.ir());
    if (found.has_errors()) return PLAIT_REJECTED;
    return api::compile(*kernel.ir(), options.device, options.checks, &compiled, found);
  });
  detail::check(status, diagnostics);
  return Function(compiled);
}

}  // namespace plait
