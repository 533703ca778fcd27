#pragma once

#include "roles/program.h"
#include "support/result.h"

/// CUDA C++ of a role program, one statement to one instruction or to one unrolled group of them.
namespace plait::emit::cuda {

/// A CUtensorMap, passed by value (`__grid_constant__`).
struct MapArg {
  roles::Map map;
};
/// A device pointer to the first element of a tensor or a workspace.
struct TensorArg {
  ir::Buffer tensor;
};
/// A dim, a scalar argument or a host let, in its type.
struct VarArg {
  ir::Var var;
};
/// One kernel parameter.
using KernelArg = std::variant<MapArg, TensorArg, VarArg>;

struct Module {
  std::string source;                ///< CUDA C++, self-contained
  std::string entry;                 ///< extern "C" name of the kernel
  std::string arch;                  ///< e.g. "sm_90a"
  std::vector<std::string> options;  ///< NVRTC options besides the architecture
  std::vector<KernelArg> args;       ///< the kernel's parameters in order
  std::int64_t smem_bytes = 0;       ///< dynamic shared memory
  int threads = 0;                   ///< a block
  int cluster = 1;                   ///< blocks a cluster, along x
};

/// Precondition: the program is verified. Refuses what the architecture does not have.
Result<Module> emit(const roles::Program& program, std::string_view arch);

}  // namespace plait::emit::cuda
