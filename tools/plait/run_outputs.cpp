#include "run_outputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runtime/npy.h"

namespace plait::cli {

Result<std::vector<runtime::StagedFile>> stage_outputs(const RunRequest& request, const RunData& data) {
  std::vector<runtime::StagedFile> files;
  for (std::size_t i = 0; i < data.params.size(); ++i) {
    auto wanted = request.outputs.find(data.params[i]->buffer->name);
    if (wanted == request.outputs.end()) continue;
    const ir::TensorView& view = data.tensors[i].view();
    std::string header = runtime::npy_header(view), elements = runtime::npy_data(view);
    auto staged = runtime::StagedFile::stage(wanted->second, {header, elements});
    if (!staged) return staged.diagnostics();
    files.push_back(std::move(*staged));
  }
  return files;
}

void commit_outputs(std::vector<runtime::StagedFile>& files, Outcome& outcome) {
  // What can still fail comes first, so that a full device leaves the files untouched.
  std::partition(files.begin(), files.end(), [](const runtime::StagedFile& file) { return !file.is_regular(); });
  for (runtime::StagedFile& file : files) {
    outcome.diagnostics.append(file.commit());
    if (outcome.diagnostics.has_errors()) return;
  }
}

namespace {

std::string describe_tensor(const RunRequest& request, const RunData& data, std::size_t i) {
  const ir::BufferDecl& buffer = *data.params[i]->buffer;
  std::string origin;
  if (auto input = request.inputs.find(buffer.name); input != request.inputs.end()) origin = " from " + input->second;
  if (data.drawn[i]) origin = fmt::format(" drawn with seed {}", request.seed);
  if (auto output = request.outputs.find(buffer.name); output != request.outputs.end())
    origin += " to " + output->second;
  return fmt::format("{} {}[{}]{}", buffer.name, ir::dtype_name(buffer.type),
                     fmt::join(data.tensors[i].view().shape, ", "), origin);
}

}  // namespace

void describe(const Session& session, const RunRequest& request, const RunData& data, Outcome& outcome) {
  Report dims;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < session.kernel.dims.size(); ++i) {
    dims.set(session.kernel.dims[i]->name, data.bound.dims[i]);
    parts.push_back(fmt::format("{}={}", session.kernel.dims[i]->name, data.bound.dims[i]));
  }
  outcome.report.set("dims", dims);
  outcome.text += fmt::format("kernel   {} on {}\n", session.kernel_name, request.device);
  if (!parts.empty()) outcome.text += fmt::format("dims     {}\n", fmt::join(parts, " "));
  for (std::size_t i = 0; i < data.params.size(); ++i)
    outcome.text += fmt::format("tensor   {}\n", describe_tensor(request, data, i));
}

void set_defaults(Report& report, const RunRequest& request) {
  report.set("device", request.device);
  report.set("kernel", request.kernel);
  report.set("dims", Report());
  for (const char* key : {"median_ms", "gflops", "gbs", "max_abs_err", "max_rel_err"})
    report.set(key, std::optional<double>());
}

}  // namespace plait::cli
