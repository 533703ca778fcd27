#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda/build.h"
#include "cuda/launch.h"
#include "emit/cpu/cpu.h"
#include "plait/plait.h"
#include "syntax/tree.h"
#include "variants.h"

// What the opaque handles of the C interface hold. All are unchanged after they are made, so that threads may share
// them.

struct plait_diagnostics {
  std::string text;
  std::string json;
  std::size_t count = 0;
};

struct plait_program {
  plait::syntax::File file;
  std::vector<std::string> kernels;
};

struct plait_kernel {
  plait::ir::Kernel kernel;
  std::optional<plait::cpu::Code> code;  ///< none: interpreted
};

struct plait_roles {
  plait::cuda::Built built;
  std::string report;
  std::unique_ptr<plait::api::Variants> variants;  ///< null: of a role program, which is what it is
  plait::Diagnostics remarks;                      ///< about the folder of compiled code
  plait::place::Assumptions assumptions;           ///< of a tile program: with which it was placed
  std::size_t tile_requires = 0;                   ///< conditions of the signature that are the tile program's
};

struct plait_launch {
  std::unique_ptr<plait::cuda::Launch> launch;
};

namespace plait::api {

plait_dtype to_c(ir::DType type);
/// Nothing for a number outside the enum, which C callers can pass.
std::optional<ir::DType> from_c(std::int32_t type);

/// With its report, without variants.
std::unique_ptr<plait_roles> handle_of(jit::Compiled compiled);

plait_diagnostics* to_c(const Diagnostics& diagnostics);
plait_diagnostics* internal_error(const std::string& what);

/// Compiles a verified kernel for a device; `compiled` is set where the status is PLAIT_OK.
plait_status compile(ir::Kernel kernel, const std::string& device, bool checks, plait_kernel** compiled,
                     Diagnostics& found);

/// Runs `body` so that no exception leaves; `body` returns a status and may fill in `found`, which is handed out where
/// the caller wants it.
template <typename Body>
plait_status guarded(plait_diagnostics** out, const Body& body) noexcept {
  if (out != nullptr) *out = nullptr;
  try {
    try {
      Diagnostics found;
      plait_status status = body(found);
      if (out != nullptr && !found.empty()) *out = to_c(found);
      return status;
    } catch (const std::bad_alloc&) {
      return PLAIT_OUT_OF_MEMORY;
    } catch (const std::exception& e) {
      if (out != nullptr) *out = internal_error(e.what());
      return PLAIT_INTERNAL_ERROR;
    }
  } catch (...) {
    return PLAIT_INTERNAL_ERROR;
  }
}

}  // namespace plait::api
