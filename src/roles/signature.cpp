#include "roles/signature.h"

namespace plait::roles {

ir::Kernel call_signature(const Program& program) {
  ir::Kernel kernel;
  kernel.name = program.name;
  kernel.params = program.params;
  kernel.dims = program.dims;
  kernel.requires_ = program.requires_;
  kernel.loc = program.loc;
  return kernel;
}

}  // namespace plait::roles
