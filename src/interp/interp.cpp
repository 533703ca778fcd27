#include "interp/interp.h"

#include "interp/machine.h"

namespace plait::interp {

Diagnostics interpret(const ir::Kernel& kernel, const ir::BoundArgs& args, const Options& options) {
  return Machine(kernel, args, options).run();
}

}  // namespace plait::interp
