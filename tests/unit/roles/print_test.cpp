#include "roles/print.h"

#include <random>

#include "everything.h"
#include "matmul.h"
#include "roles/verify.h"
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
  expect_round_trip(test::good_roles(test::kMatmul));
}

TEST(RolesPrint, EveryStatementIsPrintedAsItIsWritten) {
  roles::Program program = test::good_roles(test::kEverything);
  // Parameters go on lines of their own where they are too long for one; nothing else changes.
  std::string text = roles::print(program);
  std::string written = test::kEverything;
  EXPECT_EQ(text.substr(text.find("  require")), written.substr(written.find("  require")));
  expect_round_trip(program);
}

TEST(RolesPrint, OneStatement) {
  roles::Program program = test::good_roles(test::kMatmul);
  EXPECT_EQ(roles::print(*program.prologue[0], 2),
            "  elect:\n    mbar_init full\n    mbar_init empty\n    fence mbar_init\n");
}

TEST(RolesEqual, SeesEveryDifference) {
  roles::Program first = test::good_roles(test::kEverything);
  std::string text = test::kEverything;
  // Every integer literal of the body counts, and so does every line without a body of its own.
  std::size_t from = text.find("  prologue:"), changed = 0;
  for (std::size_t at = text.find('\n', from); at != std::string::npos; at = text.find('\n', at + 1)) {
    std::size_t end = text.find('\n', at + 1);
    if (end == std::string::npos) break;
    std::string line = text.substr(at + 1, end - at - 1);
    if (line.find_first_not_of(' ') == std::string::npos || line.ends_with(":") || line.ends_with("pass")) continue;
    std::string without = text;
    without.replace(at + 1, line.size(), line.substr(0, line.find_first_not_of(' ')) + "pass");
    auto other = test::read_roles(without);
    if (!other.ok()) continue;  // the line defined a name
    EXPECT_FALSE(roles::equal(first, *other)) << line;
    ++changed;
  }
  EXPECT_GT(changed, 45u);
}

/// Bytes changed, lines dropped, doubled and swapped: nothing crashes or hangs, and what is refused is told.
TEST(RolesParse, DamagedTextsAreSafe) {
  std::mt19937 random(7);
  auto below = [&](std::size_t n) { return random() % n; };
  const std::string bases[] = {test::kEverything, test::kMatmul};
  const std::string pieces = "()[]:,=<-^+*/%0123456789 \n  abkrnST#\"$\x80";
  for (int round = 0; round < 1500; ++round) {
    std::string text = bases[below(2)];
    for (std::size_t change = 0; change < 1 + below(4); ++change) {
      std::size_t at = below(text.size());
      std::size_t length = std::min<std::size_t>(below(3) == 0 ? below(60) : below(3), text.size() - at);
      std::string piece = below(3) == 0 ? text.substr(below(text.size()), below(40)) : "";
      while (below(3) != 0) piece += pieces[below(pieces.size())];
      text.replace(at, length, piece);
      if (text.empty()) text = "x";
    }
    auto program = test::read_roles(text);
    if (!program.ok()) {
      EXPECT_FALSE(program.diagnostics().empty());
      continue;
    }
    roles::verify(*program).render();
    auto again = test::read_roles(roles::print(*program));
    ASSERT_TRUE(again.ok()) << text << "\nprinted:\n" << roles::print(*program) << again.diagnostics().render();
    EXPECT_TRUE(roles::equal(*program, *again)) << text << "\nprinted:\n" << roles::print(*program);
  }
}

TEST(RolesParse, DepthIsLimited) {
  auto nested = [](const std::string& opening, int depth, bool body) {
    std::string text = "roles deep(x: i32) device h200:\n  launch 1\n  role all warps 4:\n";
    for (int i = 0; i < depth; ++i) text += std::string(static_cast<std::size_t>(4 + 2 * i), ' ') + opening + "\n";
    if (body) text += std::string(static_cast<std::size_t>(4 + 2 * depth), ' ') + "pass\n";
    return text;
  };
  EXPECT_NE(test::read_roles(nested("if x == 1:", 500, true)).diagnostics().render().find("[nesting-limit]"),
            std::string::npos);
  std::string chain = "roles deep(x: i32) device h200:\n  launch 1\n  role all warps 4:\n    if x == 0:\n      pass\n";
  for (int i = 0; i < 20000; ++i) chain += "    elif x == 1:\n      pass\n";
  EXPECT_NE(test::read_roles(chain).diagnostics().render().find("[nesting-limit]"), std::string::npos);
  std::string sum = "roles deep(x: i32) device h200:\n  launch 1\n  role all warps 4:\n    y = x";
  for (int i = 0; i < 5000; ++i) sum += " + x";
  EXPECT_NE(test::read_roles(sum + "\n").diagnostics().render().find("[nesting-limit]"), std::string::npos);
}

TEST(RolesParse, ManyErrorsAreCutShort) {
  auto repeated = [](const std::string& line) {
    std::string text = "roles many(; off = false) device h200:\n  launch 1\n  role all warps 4:\n    if off:\n";
    for (int i = 0; i < 300; ++i) text += "      wait nothing[0] parity 0\n";
    for (int i = 0; i < 20000; ++i) text += "    " + line + "\n";
    return test::read_roles(text);
  };
  EXPECT_EQ(repeated("wait nothing[0] parity 0").diagnostics().list().size(), 50u);
  EXPECT_EQ(repeated("wait").diagnostics().list().size(), 20u);
  auto program = repeated("bulk_wait 0");
  ASSERT_TRUE(program.ok()) << program.diagnostics().render();
  EXPECT_EQ(program->roles[0].body.size(), 20000u);
  EXPECT_EQ(roles::verify(*program).list().size(), 50u);
}

TEST(RolesParse, StaticIfKeepsTheChosenBranch) {
  const char* text = R"(roles chosen(; fast = true, n = 3) device h200:
  launch 1
  role all warps 4:
    if fast and n > 2:
      x = block + n
    elif unknown[0]:
      y = nothing
    else:
      x = block
    if not fast:
      broken = a + b + c
    elif n == 3:
      z = x
    put_here = z
)";
  std::string printed = roles::print(test::good_roles(text));
  EXPECT_NE(printed.find("    x = block + 3\n    z = x\n    put_here = z\n"), std::string::npos) << printed;
  auto slow = test::read_roles(text, {{"fast", "false"}});
  EXPECT_NE(slow.diagnostics().render().find("unknown name `unknown`"), std::string::npos);
  auto wrong = test::read_roles(text, {{"fats", "false"}});
  EXPECT_NE(wrong.diagnostics().render().find("no compile-time parameter `fats`"), std::string::npos);
}

TEST(RolesParse, SeveralErrorsAtOnce) {
  auto result = test::read_roles(
      "roles many() device h200:\n  launch 1\n  role all warps 4:\n    wait\n    set x = 1\n    fence all\n    x = "
      "(1\n");
  ASSERT_FALSE(result.ok());
  std::vector<int> lines;
  for (const Diagnostic& d : result.diagnostics().list()) lines.push_back(d.loc.line);
  EXPECT_EQ(lines, (std::vector<int>{4, 6, 7}));
}

}  // namespace
}  // namespace plait
