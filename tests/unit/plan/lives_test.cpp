#include "analysis/lives.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "ir/visit.h"

namespace plait::plan::test {
namespace {

using analysis::Life, analysis::Lives;

/// The lives of a kernel's buffers, by name.
class LivesTest : public testing::Test {
 protected:
  void read(const std::string& body) {
    kernel_ = kernel_of("kernel k(A: in f32[64, 64], C: out f32[64, 64]):\n  grid b = 1\n" + body);
    lives_.emplace(kernel_);
  }
  Life of(const std::string& name) const {
    std::optional<Life> found;
    ir::walk(kernel_.body, [&](const ir::Stmt& stmt) {
      const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
      if (alloc != nullptr && alloc->buffer->name == name) found = lives_->of(*alloc->buffer);
    });
    EXPECT_TRUE(found.has_value()) << name;
    return found.value_or(Life());
  }

  ir::Kernel kernel_;
  std::optional<Lives> lives_;
};

TEST_F(LivesTest, OneBehindTheOther) {
  read(R"(  x = shared f32[64, 64]
  y = shared f32[64, 64]
  z = shared f32[64, 64]
  copy(A, x)
  copy(x, y)
  copy(y, z)
  copy(z, C)
)");
  EXPECT_TRUE(of("x").overlaps(of("y")));
  EXPECT_TRUE(of("y").overlaps(of("z")));
  EXPECT_FALSE(of("x").overlaps(of("z")));
}

TEST_F(LivesTest, WhatALoopCarriesLivesThroughIt) {
  read(R"(  x = shared f32[64, 64]
  y = shared f32[64, 64]
  z = shared f32[64, 64]
  for t in range(3):
    copy(A, x)
    for i, j in parallel(64, 64):
      z[i, j] = x[i, j]
    copy(A, y)
    for i, j in parallel(64, 64):
      z[i, j] = z[i, j] + y[i, j]
  copy(z, C)
)");
  EXPECT_FALSE(of("x").overlaps(of("y")));
  EXPECT_TRUE(of("z").overlaps(of("x")));
  EXPECT_TRUE(of("z").overlaps(of("y")));
}

TEST_F(LivesTest, AnIterationThatDoesNotBeginByOverwritingTakesOver) {
  read(R"(  x = shared f32[64, 64]
  y = shared f32[64, 64]
  for t in range(3):
    if t == 0:
      copy(A, x)
    for i, j in parallel(64, 64):
      x[i, j] = x[i, j] * 2.0
    copy(A, y)
    copy(y, C)
)");
  EXPECT_TRUE(of("x").overlaps(of("y")));
}

TEST_F(LivesTest, IterationsOfAPipelinedLoopOverlap) {
  read(R"(  x = shared f32[64, 64]
  y = shared f32[64, 64]
  for t in pipelined(3, stages=2):
    copy(A, x)
    copy(x, C)
    copy(A, y)
    copy(y, C)
)");
  EXPECT_TRUE(of("x").overlaps(of("y")));
}

}  // namespace
}  // namespace plait::plan::test
