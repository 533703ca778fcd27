#include "roles/program.h"

#include "roles/builtin_names.h"

namespace plait::roles {

int swizzle_span(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::b32:
      return 32;
    case Swizzle::b64:
      return 64;
    case Swizzle::b128:
      return 128;
  }
  return 0;
}

std::string_view atomic_word(ir::AtomicOp op) {
  switch (op) {
    case ir::AtomicOp::add:
      return "atomic_add";
    case ir::AtomicOp::max:
      return "atomic_max";
    case ir::AtomicOp::min:
      return "atomic_min";
  }
  return {};
}

Builtins make_builtins(const Loc& loc) {
  Builtins made;
  for (const BuiltinName& builtin : builtin_names())
    made.*builtin.var =
        std::make_shared<const ir::VarDecl>(ir::VarDecl{std::string(builtin.name), DType::i32, ir::VarKind::grid, loc});
  return made;
}

int thread_count(const Program& program) {
  int threads = 0;
  for (const Role& role : program.roles) threads += role.replicas * role.warps * kWarp;
  return threads;
}

}  // namespace plait::roles
