#include "support/diagnostic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/result.h"

namespace plait {
namespace {

using testing::HasSubstr;

SourceRef source(std::string text) { return std::make_shared<const SourceFile>("a.tile", std::move(text)); }

std::string rendered(const Loc& loc, const std::string& message = "wrong", const std::string& fix = "mend it") {
  Diagnostics diags;
  diags.error(Rule::syntax, loc, message, fix);
  return diags.render();
}

TEST(Source, LinesWithoutTheirEnds) {
  SourceFile file("f", "one\r\ntwo\n\nlast");
  EXPECT_EQ(file.line(1), "one");
  EXPECT_EQ(file.line(2), "two");
  EXPECT_EQ(file.line(3), "");
  EXPECT_EQ(file.line(4), "last");
  EXPECT_EQ(file.line(0), "");
  EXPECT_EQ(file.line(5), "");
  EXPECT_EQ(SourceFile("f", "").line(1), "");
}

TEST(Source, PlacesAsText) {
  EXPECT_EQ(Loc{}.str(), "<unknown>");
  EXPECT_EQ((Loc{source(""), 0, 0, 1}).str(), "a.tile");
  EXPECT_EQ((Loc{source(""), 3, 7, 1}).str(), "a.tile:3:7");
}

TEST(Render, NamesPlaceRuleAndFixUnderTheLine) {
  EXPECT_EQ(rendered({source("a\nx = y + z\n"), 2, 5, 5}),
            "a.tile:2:5: error: wrong [syntax]\n"
            "    2 | x = y + z\n"
            "      |     ^~~~~\n"
            "  fix: mend it\n");
}

TEST(Render, TheRulesOwnFixWhereNoneIsGiven) {
  EXPECT_THAT(rendered({}, "wrong", ""), HasSubstr("  fix: " + std::string(rule_fix(Rule::syntax))));
  EXPECT_THAT(rendered({}), HasSubstr("error: wrong [syntax]\n  fix: mend it\n"));
}

TEST(Render, TheCaretStaysInsideTheLine) {
  EXPECT_THAT(rendered({source("abc"), 1, 2, 100}), HasSubstr("    1 | abc\n      |  ^~\n"));
  EXPECT_THAT(rendered({source("abc"), 1, 4, 1}), HasSubstr("    1 | abc\n      |    ^\n"));
  EXPECT_THAT(rendered({source("abc"), 1, 0, 0}), HasSubstr("      | ^\n"));
  // A place beyond its line shows no line.
  EXPECT_EQ(rendered({source("abc"), 1, 9, 1}), "a.tile:1:9: error: wrong [syntax]\n  fix: mend it\n");
  EXPECT_EQ(rendered({source("abc"), 7, 1, 1}), "a.tile:7:1: error: wrong [syntax]\n  fix: mend it\n");
}

TEST(Render, LongLinesAreCutAroundTheCaret) {
  std::string line = std::string(1000, 'a') + "X" + std::string(1000, 'b');
  std::string text = rendered({source(line), 1, 1001, 1});
  EXPECT_THAT(text, HasSubstr(std::string(80, 'a') + "X" + std::string(79, 'b') + "\n"));
  EXPECT_THAT(text, HasSubstr("\n      | " + std::string(80, ' ') + "^\n"));
  EXPECT_LT(text.size(), 600U);
}

TEST(Render, ControlBytesDoNotReachTheTerminal) {
  std::string text = rendered({source("a\tb\x1b[31mc"), 1, 3, 1}, "bad \x1b[0m text\n", "not \x07 this");
  EXPECT_THAT(text, HasSubstr("    1 | a b?[31mc\n      |   ^\n"));
  EXPECT_THAT(text, HasSubstr("error: bad ?[0m text? [syntax]"));
  EXPECT_THAT(text, HasSubstr("fix: not ? this\n"));
}

TEST(Render, TheCaretCountsCharactersNotBytes) {
  // Column 8 is byte 8: behind two characters of two bytes each.
  EXPECT_THAT(rendered({source("# \xc3\xa9\xc3\xa9 xyz"), 1, 8, 3}), HasSubstr("\n      |      ^~~\n"));
}

TEST(Render, NotesFollowTheFix) {
  SourceRef file = source("first\nsecond");
  Diagnostics diags;
  diags.error(Rule::duplicate_name, {file, 2, 1, 6}, "again").notes.push_back({{file, 1, 1, 5}, "first here"});
  EXPECT_THAT(diags.render(), HasSubstr("a.tile:1:1: note: first here\n    1 | first\n      | ^~~~~\n"));
}

TEST(Diagnostics, OneRuleIsToldOnceAtAPlace) {
  SourceRef file = source("abc");
  Diagnostics diags;
  diags.error(Rule::syntax, {file, 1, 1, 1}, "first");
  diags.error(Rule::unknown_name, {file, 1, 1, 1}, "other rule");
  Diagnostic& kept = diags.error(Rule::syntax, {file, 1, 1, 1}, "second");
  EXPECT_EQ(kept.message, "first");
  EXPECT_EQ(diags.list().size(), 2U);
  diags.error(Rule::syntax, {file, 1, 2, 1}, "other place");
  diags.error(Rule::syntax, {}, "no place");
  diags.error(Rule::syntax, {}, "no place either");
  EXPECT_EQ(diags.list().size(), 5U);
}

TEST(Diagnostics, WarningsAreNoErrors) {
  Diagnostics diags;
  diags.add({Rule::syntax, {}, "careful", "", {}, Severity::warning});
  EXPECT_FALSE(diags.has_errors());
  EXPECT_THAT(diags.render(), HasSubstr("warning: careful [syntax]"));
  Diagnostics more;
  more.error(Rule::syntax, {}, "wrong");
  diags.append(more);
  EXPECT_TRUE(diags.has_errors());
  EXPECT_FALSE(diags.empty());
}

TEST(Diagnostics, JsonHoldsTheSame) {
  SourceRef file = source("abc");
  Diagnostics diags;
  diags.error(Rule::syntax, {file, 1, 2, 1}, "bad byte \xff").notes.push_back({{file, 1, 1, 1}, "here"});
  auto j = nlohmann::json::parse(diags.to_json());
  ASSERT_EQ(j.size(), 1U);
  EXPECT_EQ(j[0]["file"], "a.tile");
  EXPECT_EQ(j[0]["line"], 1);
  EXPECT_EQ(j[0]["column"], 2);
  EXPECT_EQ(j[0]["severity"], "error");
  EXPECT_EQ(j[0]["rule"], "syntax");
  EXPECT_EQ(j[0]["message"], "bad byte \xef\xbf\xbd");
  EXPECT_EQ(j[0]["fix"], rule_fix(Rule::syntax));
  EXPECT_EQ(j[0]["notes"][0]["message"], "here");
  EXPECT_EQ(Diagnostics().to_json(), "[]");
}

TEST(Rules, EveryRuleHasANameASentenceAndAnAdvice) {
  std::set<std::string_view> names;
  for (Rule rule : all_rules()) {
    EXPECT_TRUE(names.insert(rule_name(rule)).second) << rule_name(rule);
    EXPECT_EQ(rule_name(rule).find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string_view::npos);
    EXPECT_EQ(rule_summary(rule).back(), '.') << rule_name(rule);
    EXPECT_FALSE(rule_fix(rule).empty()) << rule_name(rule);
  }
  EXPECT_GT(names.size(), 10U);
}

TEST(Assertion, SaysWhereTheInvariantBroke) {
  try {
    PLAIT_ASSERT(1 == 2, std::string("numbers differ"));
    FAIL();
  } catch (const InternalError& e) {
    EXPECT_THAT(e.what(), testing::MatchesRegex(".*diagnostic_test.cpp:[0-9]+: numbers differ"));
  }
}

TEST(ResultType, HoldsAValueOrTheReasonsWhyNot) {
  Result<int> good = 3;
  EXPECT_TRUE(good.ok());
  EXPECT_EQ(*good, 3);
  Diagnostics diags;
  diags.error(Rule::syntax, {}, "wrong");
  Result<int> bad = diags;
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.diagnostics().list().size(), 1U);
}

}  // namespace
}  // namespace plait
