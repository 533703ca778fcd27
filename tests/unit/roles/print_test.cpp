#include "roles/print.h"
#include "text.h"

namespace plait {
namespace {

void expect_round_trip(const roles::Program& first) {
  std::string text = roles::print(first);
  roles::Program again = test::good_roles(text);
  EXPECT_TRUE(roles::equal(first, again)) << text << "again:\n" << roles::print(again);
  EXPECT_EQ(text, roles::print(again));
}

TEST(RolesPrint, ProgramsRoundTrip) {
  for (const char* name : {"matmul_coop.roles", "matmul_multicast.roles", "matmul_pingpong.roles", "matmul_sm80.roles",
                           "attention_fwd.roles", "copy_bulk.roles", "softmax_rows.roles"}) {
    SCOPED_TRACE(name);
    expect_round_trip(test::good_roles(test::program_file(name)));
  }
}

}  // namespace
}  // namespace plait
