#include "roles/verify.h"

#include "text.h"

namespace plait {
namespace {

TEST(RolesVerify, ProgramsAreRight) {
  for (const char* name : {"matmul_coop.roles", "matmul_multicast.roles", "matmul_pingpong.roles", "matmul_sm80.roles",
                           "attention_fwd.roles", "copy_bulk.roles", "softmax_rows.roles"}) {
    Diagnostics diags = roles::verify(test::good_roles(test::program_file(name)));
    EXPECT_TRUE(diags.empty()) << diags.render();
  }
}

}  // namespace
}  // namespace plait
