#include "variants.h"

#include <algorithm>

#include "handles.h"
#include "pipeline/assume.h"
#include "planner/memory.h"

namespace plait::api {

std::unique_ptr<plait_roles> handle_of(jit::Compiled compiled) {
  auto made = std::make_unique<plait_roles>();
  made->report = cuda::report_json(compiled.built);
  made->built = std::move(compiled.built);
  made->remarks = std::move(compiled.remarks);
  made->assumptions = std::move(compiled.assumptions);
  made->tile_requires = compiled.tile_requires;
  return made;
}

Variants::Variants(jit::Request request, const plait_roles& first)
    : request_(std::move(request)), signature_(first.built.kernel->signature()), first_(first.assumptions) {
  // Of what the role program asks for besides, the kernel that serves a call speaks.
  auto& all = signature_.requires_;
  all.erase(all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), first.tile_requires)), all.end());
}
Variants::~Variants() = default;

Result<const plait_roles*> Variants::serving(const runtime::Args& args) {
  runtime::Args call = args;
  // runtime::bind() calls the device that the kernel runs on the host.
  for (auto& [name, tensor] : call.tensors) tensor.device = "host";
  auto bound = runtime::bind(signature_, call);
  if (!bound) return nullptr;
  place::Assumptions found = pipeline::assume(signature_, *bound);
  if (found == first_) return nullptr;
  std::lock_guard lock(mutex_);
  std::unique_ptr<plait_roles>& variant = others_[planner::text_of(found)];
  if (variant != nullptr) return variant.get();
  jit::Request request = request_;
  request.assumptions = std::move(found);
  auto compiled = jit::compile(request);
  if (!compiled) return compiled.diagnostics();
  variant = handle_of(std::move(*compiled));
  return variant.get();
}

}  // namespace plait::api
