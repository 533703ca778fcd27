#pragma once

#include "run_inputs.h"
#include "runtime/files.h"

namespace plait::cli {

/// The keys that every report of a run has, null where nothing was measured.
void set_defaults(Report& report, const RunRequest& request);

/// What is run, on which dims and tensors.
void describe(const Session& session, const RunRequest& request, const RunData& data, Outcome& outcome);

/// Writes all outputs beside their places, so that they appear together once everything else has succeeded.
Result<std::vector<runtime::StagedFile>> stage_outputs(const RunRequest& request, const RunData& data);
void commit_outputs(std::vector<runtime::StagedFile>& files, Outcome& outcome);

}  // namespace plait::cli
