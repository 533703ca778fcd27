#include "variants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "handles.h"
#include "pipeline/assume.h"

namespace plait::api {

Variants::Variants(TileProgram program, cuda::BuildOptions options, place::Assumptions first)
    : program_(std::move(program)), options_(std::move(options)), first_(std::move(first)) {}
Variants::~Variants() = default;

Result<pipeline::Derived> derive(const TileProgram& program, const place::Assumptions& assumptions) {
  planner::Options options{program.planner, assumptions, program.dims};
  options.store = store::default_path();
  return planner::derive(program.kernel, program.device, program.schedule, options);
}

Result<const plait_roles*> Variants::serving(const runtime::Args& args) {
  runtime::Args call = args;
  // runtime::bind() calls the device that the kernel runs on the host.
  for (auto& [name, tensor] : call.tensors) tensor.device = "host";
  auto bound = runtime::bind(program_.kernel, call);
  if (!bound) return nullptr;
  place::Assumptions found = pipeline::assume(program_.kernel, *bound);
  if (found == first_) return nullptr;
  std::string key = fmt::format("{} | {} | {}", fmt::join(found.unaligned, " "), fmt::join(found.ragged, " "),
                                fmt::join(found.straddling, " "));
  for (const auto& [name, bytes] : found.granules) key += fmt::format(" | {} {}", name, bytes);
  std::lock_guard lock(mutex_);
  std::unique_ptr<plait_roles>& variant = others_[key];
  if (variant != nullptr) return variant.get();
  auto derived = derive(program_, found);
  if (!derived) return derived.diagnostics();
  auto built = cuda::build(std::move(derived->program), options_);
  if (!built) return built.diagnostics();
  std::string report = cuda::report_json(*built);
  variant = std::make_unique<plait_roles>(plait_roles{std::move(*built), std::move(report), nullptr});
  return variant.get();
}

}  // namespace plait::api
