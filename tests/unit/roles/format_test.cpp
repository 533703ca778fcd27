#include "roles/format.h"

#include "everything.h"
#include "text.h"

namespace plait {
namespace {

std::string formatted(const std::string& text) {
  auto result = roles::format(std::make_shared<const SourceFile>("test.roles", text));
  return result.ok() ? *result : result.diagnostics().render();
}

TEST(RolesFormat, PutsTokensApartAndKeepsComments) {
  EXPECT_EQ(formatted(R"(

# what it is
roles  messy( A:in bf16[M,K] ,
     B :out f32 [ M ];n=4,
        f=-1.0 ) device h200 :   # behind
    require  M>0 , "a"


    launch   ceildiv( i32(M),  -n*(2+1) )
    # before a map
    map A_map=A box[64,64]   swizzle 128
    smem S:bf16[64,64]swizzle 128
    mbar full [1] count 1

    role all warps 4 :


        # first
        x=block+1   # the sum
        wait full[0]parity -x
        if not(x==1):
            wgmma acc[0,0]<-S[0,-x],S[0,0]^T clear x<-1
            # last of the branch
        # last of the role
# the end
)"),
            R"(# what it is
roles messy(A: in bf16[M, K],
            B: out f32[M]; n = 4,
            f = -1.0) device h200:  # behind
  require M > 0, "a"

  launch ceildiv(i32(M), -n * (2 + 1))
  # before a map
  map A_map = A box [64, 64] swizzle 128
  smem S: bf16[64, 64] swizzle 128
  mbar full[1] count 1

  role all warps 4:
    # first
    x = block + 1  # the sum
    wait full[0] parity -x
    if not (x == 1):
      wgmma acc[0, 0] <- S[0, -x], S[0, 0]^T clear x <- 1
      # last of the branch
    # last of the role
# the end
)");
}

TEST(RolesFormat, LeavesCanonicalTextAlone) {
  for (const char* name : {"matmul_coop.roles", "matmul_pingpong.roles", "attention_fwd.roles", "softmax_rows.roles"}) {
    std::string text = test::program_file(name);
    EXPECT_EQ(formatted(text), text) << name;
  }
  EXPECT_EQ(formatted(test::kEverything), test::kEverything);
}

TEST(RolesFormat, RefusesWhatIsNotWellFormed) {
  EXPECT_NE(formatted("roles x() device h200:\n  launch (1\n").find("[bracket]"), std::string::npos);
  EXPECT_NE(formatted("kernel x():\n  grid b = 1\n").find("[roles-file]"), std::string::npos);
}

}  // namespace
}  // namespace plait
