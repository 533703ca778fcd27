#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "machine/device.h"
#include "roles/print.h"
#include "roles/verify_parts.h"
#include "support/result.h"

namespace plait::roles {
namespace {

using machine::Feature;

/// What a statement takes besides threads, shared memory and named barriers.
std::optional<Feature> feature_of(const StmtNode& node) {
  using Needs = std::optional<Feature>;
  auto fence = [](const Fence& s) -> Needs {
    if (s.kind == FenceKind::wgmma) return Feature::wgmma;
    return s.kind == FenceKind::proxy_async ? Needs(Feature::tma) : Needs();
  };
  auto arrive = [](const Arrive& s) { return s.rank ? Needs(Feature::cluster) : Needs(); };
  return std::visit(Overload{
                        fence,
                        arrive,
                        [](const Wgmma&) -> Needs { return Feature::wgmma; },
                        [](const WgmmaCommit&) -> Needs { return Feature::wgmma; },
                        [](const WgmmaAwait&) -> Needs { return Feature::wgmma; },
                        [](const Mma&) -> Needs { return Feature::mma; },
                        [](const LdMatrix&) -> Needs { return Feature::ldmatrix; },
                        [](const StMatrix&) -> Needs { return Feature::stmatrix; },
                        [](const TmaLoad&) -> Needs { return Feature::tma; },
                        [](const TmaStore&) -> Needs { return Feature::tma; },
                        [](const Prefetch&) -> Needs { return Feature::tma; },
                        [](const BulkLoad&) -> Needs { return Feature::tma; },
                        [](const BulkStore&) -> Needs { return Feature::tma; },
                        [](const BulkCommit&) -> Needs { return Feature::tma; },
                        [](const BulkWait&) -> Needs { return Feature::tma; },
                        [](const CpAsync&) -> Needs { return Feature::cp_async; },
                        [](const CpCommit&) -> Needs { return Feature::cp_async; },
                        [](const CpWait&) -> Needs { return Feature::cp_async; },
                        [](const ClusterArrive&) -> Needs { return Feature::cluster; },
                        [](const ClusterWait&) -> Needs { return Feature::cluster; },
                        // Channels become mbarriers that are waited on in the same way.
                        [](const Wait&) -> Needs { return Feature::mbarrier_bytes; },
                        [](const Expect&) -> Needs { return Feature::mbarrier_bytes; },
                        [](const Acquire&) -> Needs { return Feature::mbarrier_bytes; },
                        [](const Receive&) -> Needs { return Feature::mbarrier_bytes; },
                        [](const auto&) -> Needs { return {}; },
                    },
                    node);
}

/// Reports the first use of each feature that the machine lacks.
class Features {
 public:
  explicit Features(const Check& check) : check_(check) {}

  void use(Feature feature, const Loc& loc, const std::string& what) {
    const auto& have = *check_.limits.features;
    if (std::find(have.begin(), have.end(), feature) != have.end() || !told_.insert(feature).second) return;
    check_.diags.error(Rule::machine_feature, loc,
                       fmt::format("`{}` needs the feature {}, which `{}` does not have", what,
                                   machine::name_of(feature), check_.program.device));
  }

  void use(const Stmt& stmt) {
    auto feature = feature_of(stmt.node);
    if (!feature) return;
    std::string text = print(stmt);
    use(*feature, stmt.loc, text.substr(0, text.find('\n')));
  }

 private:
  const Check& check_;
  std::set<Feature> told_;
};

}  // namespace

void check_features(const Check& check) {
  if (!check.limits.features) return;
  Features features(check);
  const Program& program = check.program;
  if (program.cluster > 1) features.use(Feature::cluster, program.loc, fmt::format("cluster {}", program.cluster));
  for (const Role& role : program.roles) {
    if (role.regs) features.use(Feature::setmaxnreg, role.loc, fmt::format("regs {}", *role.regs));
  }
  for_each_body(program, [&](const Body& body) { walk(body, [&](const Stmt& stmt) { features.use(stmt); }); });
}

}  // namespace plait::roles
