#include <gtest/gtest.h>

#include "roles/program.h"

namespace plait::roles {
namespace {

StmtNode one_warp(int warp) { return OneWarp{warp, {std::make_shared<const Stmt>(Stmt{{}, {}, SyncWarp{}})}}; }

TEST(Node, CopiesAndMovesKeepWhatTheyHold) {
  StmtNode node = one_warp(3);
  StmtNode copy = node;
  EXPECT_EQ(std::get<OneWarp>(copy).warp, 3);
  EXPECT_EQ(std::get<OneWarp>(copy).body, std::get<OneWarp>(node).body);
  StmtNode moved = std::move(copy);
  EXPECT_EQ(std::get<OneWarp>(moved).body, std::get<OneWarp>(node).body);
  moved = CpWait{2};
  EXPECT_EQ(std::get<CpWait>(moved).pending, 2);
  moved = node;
  EXPECT_EQ(std::get<OneWarp>(moved).warp, 3);
}

TEST(Node, MayBeGivenItself) {
  StmtNode node = one_warp(3);
  StmtNode& same = node;
  node = same;
  node = std::move(same);
  EXPECT_EQ(std::get<OneWarp>(node).body.size(), 1U);
}

TEST(Node, MayBeGivenAPartOfItself) {
  auto inner = std::make_shared<Stmt>(Stmt{{}, {}, CpWait{5}});
  StmtNode node = OneWarp{0, {inner}};
  Stmt* part = inner.get();
  inner.reset();
  node = std::move(part->node);
  EXPECT_EQ(std::get<CpWait>(node).pending, 5);
}

}  // namespace
}  // namespace plait::roles
