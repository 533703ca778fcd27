#pragma once

#include <functional>

#include "lang/elaborate.h"

namespace plait::runtime {

/// The way from a text to a kernel that may be run, and what can be looked at on it.
struct Pass {
  std::string_view name;
  std::string_view summary;
};
const std::vector<Pass>& front_passes();

/// Receives the kernel as it is after each pass behind `parse`; null: nobody looks.
using PassObserver = std::function<void(std::string_view pass, const ir::Kernel& kernel)>;

/// Elaborates and verifies one kernel of a parsed file; `name` empty: the file's only kernel. Thread-safe.
Result<ir::Kernel> build_kernel(const syntax::File& file, const std::string& name, const lang::Bindings& bindings,
                                const PassObserver& observer = {});

/// The part of build_kernel() behind `elaborate`: every rule is checked, and the kernel becomes what targets get. For
/// those who look at an elaborated kernel before they know whether it is to be compiled.
Result<ir::Kernel> prepare_kernel(const ir::Kernel& elaborated, const PassObserver& observer = {});

/// `name` where the file has that kernel, or the file's only one where `name` is empty.
Result<std::string> choose_kernel(const syntax::File& file, const std::string& name);

/// Whether a kernel of the file has a compile-time parameter of that name.
bool has_parameter(const syntax::File& file, const std::string& kernel, const std::string& name);

/// The bindings that `kernel` has parameters for; those that no kernel of the file has are reported.
Result<lang::Bindings> bindings_for(const syntax::File& file, const std::string& kernel,
                                    const lang::Bindings& bindings);

/// Values of the compile-time parameters: those given, else defaults that are a literal, a type or an earlier
/// parameter.
lang::Bindings effective_bindings(const syntax::File& file, const std::string& kernel, const lang::Bindings& given);

}  // namespace plait::runtime
