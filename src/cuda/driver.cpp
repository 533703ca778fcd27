#include "cuda/driver.h"

#include <fmt/format.h>

#include "cuda/errors.h"
#include "cuda/library.h"

namespace plait::cuda {
namespace {

constexpr int kOldestDriver = 12000;

}  // namespace

Result<Driver> load_driver(const std::string& library) {
  Library opened = open_library(library);
  if (opened.handle == nullptr)
    return problem(Rule::gpu_driver, fmt::format("there is no NVIDIA driver here: {} cannot be loaded", library),
                   "the system says: " + opened.error);
  Driver driver;
  std::string missing;
  auto resolve = [&](auto& member, const char* symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(opened.symbol(symbol));
    if (member == nullptr) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", symbol);
  };
#define PLAIT_DRIVER(member, symbol, ...) resolve(driver.member, symbol);
#include "cuda/driver_functions.def"
#undef PLAIT_DRIVER
  if (!missing.empty())
    return problem(Rule::gpu_driver, fmt::format("{} is no NVIDIA driver of version 12 or newer", library),
                   "it has no " + missing);
  if (Status status = driver.init(0); status != Status::ok)
    return check(driver, status, "initialising the NVIDIA driver");
  int version = 0;
  if (Status status = driver.version(&version); status != Status::ok)
    return check(driver, status, "reading the version of the NVIDIA driver");
  if (version < kOldestDriver)
    return problem(Rule::gpu_driver, "the NVIDIA driver is older than version 12",
                   fmt::format("it is of version {}.{}", version / 1000, version % 1000 / 10));
  return driver;
}

Result<const Driver*> driver() {
  // Never destroyed: kernels may outlive the statics of the library.
  static const Result<Driver>& loaded = *new Result<Driver>([] {
    std::string named = environment("PLAIT_LIBCUDA");
    return load_driver(named.empty() ? "libcuda.so.1" : named);
  }());
  if (!loaded) return loaded.diagnostics();
  return &*loaded;
}

}  // namespace plait::cuda
