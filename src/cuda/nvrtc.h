#pragma once

#include <string>
#include <vector>

#include "cuda/abi.h"
#include "support/result.h"

namespace plait::cuda {

/// The functions of NVIDIA's run-time compiler.
struct Nvrtc {
  std::add_pointer_t<NvrtcStatus(int*, int*)> version = nullptr;
  std::add_pointer_t<const char*(NvrtcStatus)> error_text = nullptr;
  std::add_pointer_t<NvrtcStatus(NvrtcProgram*, const char*, const char*, int, const char* const*, const char* const*)>
      create = nullptr;
  std::add_pointer_t<NvrtcStatus(NvrtcProgram*)> destroy = nullptr;
  std::add_pointer_t<NvrtcStatus(NvrtcProgram, int, const char* const*)> compile = nullptr;
  std::add_pointer_t<NvrtcStatus(NvrtcProgram, std::size_t*)> log_size = nullptr, ptx_size = nullptr,
                                                              cubin_size = nullptr;
  std::add_pointer_t<NvrtcStatus(NvrtcProgram, char*)> log = nullptr, ptx = nullptr, cubin = nullptr;
  std::string library;  ///< the file it came from
  int major = 0, minor = 0;
};

/// Opens the library of that name. It stays open.
Result<Nvrtc> load_nvrtc(const std::string& library);

/// Where NVRTC is looked for, in this order: the system's search path, the toolkit (CUDA_HOME, CUDA_PATH,
/// /usr/local/cuda), Python environments with NVIDIA's packages.
std::vector<std::string> nvrtc_candidates();

/// Text that changes with what nvrtc() would open: the variables that name places, and the files there. For whoever
/// remembers the version of a compiler that is too large to be opened for a look at it.
std::string nvrtc_identity();

/// The compiler of this process: what PLAIT_NVRTC names (a file or its folder), else the first candidate that can be
/// opened; chosen at the first call.
Result<const Nvrtc*> nvrtc();

}  // namespace plait::cuda
