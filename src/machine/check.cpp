#include "machine/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace plait::machine {
namespace {

class Checker {
 public:
  Checker(const Device& device, const JsonPlaces& places, Diagnostics& diagnostics)
      : device_(device), places_(places), diagnostics_(diagnostics) {}

  void run() {
    names();
    if (device_.target == Target::cuda) cuda();
    if (device_.target == Target::cpu) cpu();
    if (device_.target == Target::npu) npu();
    features();
  }

 private:
  void wrong(Rule rule, const std::string& path, const std::string& message) {
    diagnostics_.error(rule, places_.find(path), message);
  }

  void names() {
    const std::string& name = device_.name;
    bool plain = std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '_' || c == '-';
    });
    if (!plain || name.size() > 64 || std::islower(static_cast<unsigned char>(name.front())) == 0) {
      wrong(Rule::model_field, "name",
            fmt::format("the name '{}' is not a lower-case letter with letters, digits, _ and - behind it", name));
    }
  }

  /// Reports those of the kinds that the model has not, at the object that would hold them.
  template <typename Kind, typename Items>
  void require(const char* where, const Items& items, const std::vector<Kind>& kinds, std::string_view who) {
    std::vector<std::string_view> missing;
    for (Kind kind : kinds) {
      bool found = std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.kind == kind; });
      if (!found) missing.push_back(name_of(kind));
    }
    if (!missing.empty()) {
      wrong(Rule::model_field, where, fmt::format("{} lacks {}, which {} needs", where, fmt::join(missing, ", "), who));
    }
  }
  void memories(const std::vector<MemoryKind>& kinds, std::string_view who) {
    require("memories", device_.memories, kinds, who);
  }
  void units(const std::vector<UnitKind>& kinds, std::string_view who) { require("units", device_.units, kinds, who); }

  void cuda() {
    std::string_view arch = device_.arch;
    bool digits = arch.size() >= 5 && std::isdigit(static_cast<unsigned char>(arch[3])) != 0 &&
                  std::isdigit(static_cast<unsigned char>(arch[4])) != 0;
    if (!arch.starts_with("sm_") || !digits || arch.size() > 8)
      wrong(Rule::model_field, "arch", fmt::format("the architecture '{}' of a cuda device is not like sm_90a", arch));
    memories({MemoryKind::global, MemoryKind::l2, MemoryKind::shared}, "a cuda device");
    units({UnitKind::cuda, UnitKind::sfu, UnitKind::smem, UnitKind::issue}, "a cuda device");
    if (!device_.limits) {
      wrong(Rule::model_field, "", "the model lacks the field 'limits', which a cuda device has");
    } else if (device_.memory(MemoryKind::shared) != nullptr) {
      limits(*device_.limits, *device_.memory(MemoryKind::shared));
    }
  }

  void cpu() {
    memories({MemoryKind::global}, "a cpu");
    units({UnitKind::vector}, "a cpu");
    if (device_.limits) wrong(Rule::model_field, "limits", "limits are those of GPUs; a cpu has none");
  }

  void npu() {
    using enum MemoryKind;
    memories({global, l1, l0a, l0b, l0c, ub}, "an npu");
    units({UnitKind::cube, UnitKind::mte1, UnitKind::mte2, UnitKind::fixpipe, UnitKind::aiv_mte2, UnitKind::mte3,
           UnitKind::vector, UnitKind::scalar},
          "an npu");
    if (device_.limits) wrong(Rule::model_field, "limits", "limits are those of GPUs; an npu has none");
    if (!device_.features.empty())
      wrong(Rule::model_field, "features", "features are those of GPUs; the list of an npu is empty");
    std::vector<std::string> missing;
    for (auto [from, to] : {std::pair{global, l1}, {l1, l0a}, {l1, l0b}, {l0c, global}, {global, ub}, {ub, global}}) {
      if (device_.transfer(from, to) == nullptr) missing.push_back(fmt::format("{} to {}", name_of(from), name_of(to)));
    }
    if (!missing.empty())
      wrong(Rule::model_field, "transfers",
            fmt::format("transfers lacks {}, which an npu needs", fmt::join(missing, ", ")));
    for (std::size_t i = 0; i < device_.transfers.size(); ++i) {
      const Transfer& transfer = device_.transfers[i];
      auto lacks = [&](auto kind, const auto& items, const char* field, const char* what) {
        if (std::any_of(items.begin(), items.end(), [&](const auto& item) { return item.kind == kind; })) return;
        wrong(Rule::model_field, fmt::format("transfers[{}].{}", i, field),
              fmt::format("the model has no {} '{}'", what, name_of(kind)));
      };
      lacks(transfer.from, device_.memories, "from", "memory");
      lacks(transfer.to, device_.memories, "to", "memory");
      lacks(transfer.unit, device_.units, "unit", "unit");
    }
  }

  void at_most(const char* small, const Figure& a, const char* large, const Figure& b) {
    if (a.value > b.value)
      wrong(Rule::model_value, fmt::format("limits.{}.value", small),
            fmt::format("limits.{} is {}, more than limits.{}, which is {}", small, a.value, large, b.value));
  }

  void limits(const Limits& limits, const Memory& shared) {
    at_most("threads_per_warp", limits.threads_per_warp, "threads_per_block", limits.threads_per_block);
    at_most("threads_per_block", limits.threads_per_block, "threads_per_unit", limits.threads_per_unit);
    at_most("registers_per_thread", limits.registers_per_thread, "registers_per_unit", limits.registers_per_unit);
    at_most("smem_per_block", limits.smem_per_block, "smem_per_unit", limits.smem_per_unit);
    if (limits.smem_per_block.value + limits.smem_reserved.value > limits.smem_per_unit.value) {
      wrong(
          Rule::model_value, "limits.smem_reserved.value",
          fmt::format("limits.smem_per_block and limits.smem_reserved are {} together, more than limits.smem_per_unit, "
                      "which is {}",
                      limits.smem_per_block.value + limits.smem_reserved.value, limits.smem_per_unit.value));
    }
    if (shared.capacity.value != limits.smem_per_unit.value) {
      wrong(Rule::model_value, "memories.shared.capacity.value",
            fmt::format("memories.shared.capacity is {}, and limits.smem_per_unit is {}", shared.capacity.value,
                        limits.smem_per_unit.value));
    }
    for (auto [path, figure] : {std::pair{"limits.threads_per_warp.value", &limits.threads_per_warp},
                                {"limits.blocks_per_unit.value", &limits.blocks_per_unit},
                                {"limits.registers_per_thread.value", &limits.registers_per_thread},
                                {"limits.blocks_per_cluster.value", &limits.blocks_per_cluster},
                                {"limits.named_barriers.value", &limits.named_barriers}}) {
      if (figure->value < 1) wrong(Rule::model_value, path, fmt::format("{} is 0; it is at least 1", path));
    }
  }

  void features() {
    if (device_.has(Feature::tma)) units({UnitKind::tma}, "the feature tma");
    for (Feature feature : {Feature::mma, Feature::wgmma}) {
      if (device_.has(feature)) units({UnitKind::tensor}, fmt::format("the feature {}", name_of(feature)));
    }
    if (device_.has(Feature::wgmma) && !device_.arch.ends_with("a"))
      wrong(Rule::model_field, "arch",
            fmt::format("the feature wgmma needs an architecture such as sm_90a, not '{}'", device_.arch));
  }

  const Device& device_;
  const JsonPlaces& places_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_device(const Device& device, const JsonPlaces& places, Diagnostics& diagnostics) {
  Checker(device, places, diagnostics).run();
}

}  // namespace plait::machine
