#pragma once

#include "plan/problem.h"
#include "random/rng.h"

namespace plait::plan::test {

/// A random loop of up to `most` tasks on one or two roles, a unit that takes turns and one that is shared out.
Problem random_problem(plait::test::Rng& rng, int most, int replicas);

/// The least interval, by trying all times; and the least makespan of one run.
std::int64_t brute_interval(const Problem& problem);
std::int64_t brute_makespan(const Problem& problem);

}  // namespace plait::plan::test
