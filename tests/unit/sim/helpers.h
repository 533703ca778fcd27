#pragma once

#include <gtest/gtest.h>

#include "roles/parse.h"
#include "roles/verify.h"
#include "sim/trial.h"

namespace plait::sim {

using Dims = std::map<std::string, std::int64_t>;

/// The program of a text, which must parse.
inline roles::Program parsed(const std::string& text) {
  auto program = roles::parse(std::make_shared<SourceFile>("t.roles", text));
  if (program) return std::move(*program);
  ADD_FAILURE() << program.diagnostics().render();
  return {};
}

inline Trial trial_of(const roles::Program& program, const Dims& dims, const Options& options, int sms) {
  auto call = draw_call(program, dims);
  if (!call) {
    ADD_FAILURE() << call.diagnostics().render();
    return {};
  }
  auto trial = run_trial(program, *call, sms, options);
  if (trial) return std::move(*trial);
  ADD_FAILURE() << trial.diagnostics().render();
  return {};
}

/// One simulation of a text, nominal times.
inline Trial simulated(const std::string& text, const Dims& dims = {}, const Options& options = {}, int sms = 1) {
  return trial_of(parsed(text), dims, options, sms);
}

/// The elements of tensor number `i` after a trial.
inline std::vector<double> elements(const Trial& trial, std::size_t i) {
  return runtime::to_doubles(trial.tensors.at(i).view());
}

/// Several interleavings run without a finding and give the same bytes.
inline void expect_clean(const std::string& text, const Dims& dims = {}, int sms = 1) {
  roles::Program program = parsed(text);
  std::shared_ptr<const Trial> first;
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    std::shared_ptr<const Trial> trial = std::make_shared<Trial>(trial_of(program, dims, options, sms));
    EXPECT_EQ(trial->outcome.diagnostics.render(), "") << "interleaving " << i;
    if (!first) first = trial;
    EXPECT_EQ(first_difference(*first, *trial), -1) << "interleaving " << i;
  }
}

/// Every interleaving reports `rule` at one of `lines` (one each of two accesses may come first), in words that contain
/// `words`.
inline void expect_found(const std::string& text, Rule rule, const std::vector<int>& lines, const std::string& words,
                         const Dims& dims = {}, int sms = 1) {
  roles::Program program = parsed(text);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    Outcome outcome = trial_of(program, dims, options, sms).outcome;
    bool found = false;
    for (const Diagnostic& d : outcome.diagnostics.list()) {
      bool here = std::find(lines.begin(), lines.end(), d.loc.line) != lines.end();
      bool says = d.message.find(words) != std::string::npos;
      for (const Note& note : d.notes) says = says || note.message.find(words) != std::string::npos;
      found = found || (d.rule == rule && here && says);
    }
    EXPECT_TRUE(found) << "interleaving " << i << ": no " << rule_name(rule) << " with '" << words << "' in:\n"
                       << outcome.diagnostics.render();
  }
}
inline void expect_found(const std::string& text, Rule rule, int line, const std::string& words, const Dims& dims = {},
                         int sms = 1) {
  expect_found(text, rule, std::vector<int>{line}, words, dims, sms);
}

/// Every interleaving reports one of `rules`: which of them depends on what happens first.
inline void expect_caught(const std::string& text, const std::vector<Rule>& rules, const Dims& dims = {}, int sms = 1) {
  roles::Program program = parsed(text);
  for (std::uint64_t i = 0; i < 4; ++i) {
    Options options;
    options.interleaving = i;
    Outcome outcome = trial_of(program, dims, options, sms).outcome;
    bool found = false;
    for (const Diagnostic& d : outcome.diagnostics.list())
      found = found || std::find(rules.begin(), rules.end(), d.rule) != rules.end();
    EXPECT_TRUE(found) << "interleaving " << i << ":\n" << outcome.diagnostics.render();
  }
}

/// `text` with the first occurrence of a line (its text without indentation) removed or replaced; the line stays empty.
inline std::string without(std::string text, const std::string& line, const std::string& instead = "pass") {
  std::size_t at = text.find(line + "\n");
  EXPECT_NE(at, std::string::npos) << line;
  return at == std::string::npos ? text : text.replace(at, line.size(), instead);
}

/// `text` with the first occurrence of a part of a line replaced.
inline std::string replaced(std::string text, const std::string& part, const std::string& instead) {
  std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return at == std::string::npos ? text : text.replace(at, part.size(), instead);
}

}  // namespace plait::sim
