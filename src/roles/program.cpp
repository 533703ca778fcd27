#include "roles/program.h"

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

Builtins make_builtins(const Loc& loc) {
  auto make = [&](const char* name) {
    return std::make_shared<const ir::VarDecl>(ir::VarDecl{name, DType::i32, ir::VarKind::grid, loc});
  };
  return {make("block"), make("blocks"),  make("block_x"), make("block_y"), make("block_z"), make("cluster_rank"),
          make("sms"),   make("replica"), make("warp"),    make("lane"),    make("thread")};
}

int thread_count(const Program& program) {
  int threads = 0;
  for (const Role& role : program.roles) threads += role.replicas * role.warps * kWarp;
  return threads;
}

}  // namespace plait::roles
