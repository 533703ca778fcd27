#pragma once

#include <algorithm>
#include <cstring>
#include <optional>

#include "lang/elaborate.h"
#include "plait/plait.h"
#include "runtime/bind.h"

// Structs of the C interface as the library's own.

namespace plait::api {

/// Options as the caller's version of the struct has them, members it lacks zero; nullopt for a size that no version
/// has.
template <typename Options>
std::optional<Options> read_options(const Options* given) {
  Options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(size_t) || given->size > 4096) return std::nullopt;
  std::memcpy(static_cast<void*>(&options), given, std::min(given->size, sizeof(Options)));
  return options;
}

/// Nothing where the array is used wrongly.
std::optional<lang::Bindings> read_bindings(const plait_binding* bindings, size_t count);

const std::string& parameter_name(const ir::Param& param);

/// What the C interface tells of a parameter.
plait_parameter describe(const ir::Param& param);

/// Arguments of a call of `kernel`, by name or by place.
plait_status read_arguments(const ir::Kernel& kernel, const plait_argument* arguments, size_t count,
                            runtime::Args& args, Diagnostics& found);

}  // namespace plait::api
