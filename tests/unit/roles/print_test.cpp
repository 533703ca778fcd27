#include "text.h"

namespace plait {
namespace {

TEST(RolesPrint, ProgramsRoundTrip) {
  for (const char* name : {"matmul_coop.roles"}) {
    roles::Program first = test::good_roles(test::program_file(name));
    std::string text = roles::print(first);
    roles::Program again = test::good_roles(text);
    EXPECT_EQ(text, roles::print(again)) << name;
    if (getenv("SHOW")) puts(text.c_str());
  }
}

}  // namespace
}  // namespace plait
