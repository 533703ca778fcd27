#pragma once

#include <string>

#include "cuda/abi.h"
#include "support/result.h"

namespace plait::cuda {

/// The functions of the NVIDIA driver, listed once in driver_functions.def.
struct Driver {
#define PLAIT_DRIVER(member, symbol, ...) std::add_pointer_t<__VA_ARGS__> member = nullptr;
#include "cuda/driver_functions.def"
#undef PLAIT_DRIVER
};

/// Opens the library of that name and initialises the driver. The library stays open.
Result<Driver> load_driver(const std::string& library);

/// The driver of this process: libcuda.so.1, or what PLAIT_LIBCUDA names, loaded at the first call.
Result<const Driver*> driver();

}  // namespace plait::cuda
