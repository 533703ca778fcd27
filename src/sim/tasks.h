#pragma once

#include "sim/mbarrier.h"

/// Tasks on units of the machine. Their values are computed where they are issued; what they take is time, of the unit
/// and of whoever needs their data.
namespace plait::sim {

/// When the tasks of its replica allow a warp to touch the data; `unit`: of a task that touches them. A cube unit adds
/// to what it has under way itself, so that its products wait for what others do alone.
std::int64_t data_ready(const Warp& w, const Touched& touched, std::optional<Unit> unit = {});

/// An arrival on an mbarrier, now or when the tasks that the replica has issued are done; `delay`: until it is seen.
void arrive_behind_tasks(Machine& m, Warp& w, Block& block, int number, int thread, std::int64_t bytes,
                         const View& given, std::int64_t delay);

}  // namespace plait::sim
