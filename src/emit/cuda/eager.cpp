#include "emit/cuda/eager.h"

#include "analysis/interval.h"
#include "ir/build.h"
#include "ir/visit.h"
#include "layout/role_layout.h"

namespace plait::emit::cuda {
namespace {

analysis::Domain domain_of(const Emitter& e, const roles::Each& each) {
  analysis::Domain domain;
  auto add = [&](const ir::Var& var, std::int64_t extent) {
    domain.vars.push_back({var, ir::int_literal(0), ir::int_literal(extent), nullptr});
  };
  layout::FragmentMap map = layout::fragment_map(*each.domain, e.threads);
  add(each.vars[0], map.rows());
  if (each.vars.size() > 1) add(each.vars[1], map.columns());
  if (e.role != nullptr) add(e.program.builtins.replica, e.role->replicas);
  return domain;
}

bool inside(const ir::Load& load, analysis::Ranges& ranges) {
  for (std::size_t d = 0; d < load.index.size(); ++d) {
    auto extent = ir::as_int(load.buffer->shape[d]);
    analysis::Ranges::Entry index = ranges.of(load.index[d]);
    if (!extent || index.opaque || index.range.lo < 0 || index.range.hi >= *extent) return false;
  }
  return true;
}

}  // namespace

bool reads_tiles_safely(const Emitter& e, const ir::ExprRef& arm, const roles::Each& each) {
  analysis::Domain domain = domain_of(e, each);
  analysis::Ranges ranges(domain);
  bool reads = false, safe = true;
  ir::walk(arm, [&](const ir::Expr& expr) {
    const auto* load = std::get_if<ir::Load>(&expr.node);
    if (load == nullptr || load->buffer->scope == ir::Scope::fragment) return;
    reads = true;
    safe = safe && load->buffer->scope == ir::Scope::shared && inside(*load, ranges);
  });
  return reads && safe;
}

}  // namespace plait::emit::cuda
