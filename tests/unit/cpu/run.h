#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emit/cpu/cpu.h"
#include "ir/tensor.h"
#include "lang/elaborate.h"
#include "random/call.h"

namespace plait::test {

/// The verified kernel of a text; throws where it is refused.
ir::Kernel kernel_of(const std::string& text, const lang::Bindings& bindings = {});
/// Compiled code; throws where the kernel is refused.
cpu::Code code_of(const ir::Kernel& kernel, const cpu::Options& options = {});

/// Runs every block in order. Empty, or what the failed check says with its values filled in and its rule in brackets.
std::string run_blocks(const cpu::Code& code, const ir::BoundArgs& args);

/// Compiles, runs and fails the test when a check fails.
void expect_runs(const ir::Kernel& kernel, Call& call, const cpu::Options& options = {});

/// Numbers a type holds exactly, of both signs where it has them, that repeat with no short period.
std::vector<double> numbers(ir::DType type, std::int64_t count, std::uint64_t seed = 1);

/// Runs a program by the interpreter and compiled, on the same numbers in every tensor it reads, and compares what it
/// writes; `tolerance` is relative to the largest magnitude, 0 means bit for bit.
void expect_as_interpreted(const std::string& text, const Dims& dims = {}, double tolerance = 0,
                           const lang::Bindings& bindings = {});

}  // namespace plait::test
