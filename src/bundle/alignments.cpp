#include "bundle/alignments.h"

#include <algorithm>
#include <set>

#include "ir/visit.h"
#include "pipeline/assume.h"
#include "planner/memory.h"

namespace plait::bundle {
namespace {

constexpr int kWhole = 16;                  ///< bytes that TMA and the widest accesses take
constexpr int kLeastPiece = 4;              ///< bytes that cp.async takes
constexpr std::size_t kMostTried = 100000;  ///< combinations of dims

/// How finely alignments are told apart.
enum class Fineness { all, without_8_and_2, without_lines, whole_or_not, one_or_all };
constexpr Fineness kFinenesses[] = {Fineness::all, Fineness::without_8_and_2, Fineness::without_lines,
                                    Fineness::whole_or_not, Fineness::one_or_all};

int element_bytes(const ir::BufferDecl& tensor) { return std::max(ir::dtype_bits(tensor.type) / 8, 1); }

/// Dims of which it depends how tensors lie, and that are not known.
std::vector<std::string> open_dims(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  std::set<std::string> found;
  auto collect = [&](const ir::ExprRef& expr) {
    ir::walk(expr, [&](const ir::Expr& e) {
      const auto* ref = std::get_if<ir::VarRef>(&e.node);
      if (ref != nullptr && ref->var->kind == ir::VarKind::dim && !dims.contains(ref->var->name))
        found.insert(ref->var->name);
    });
  };
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    const auto& shape = param.buffer->shape;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      // The first extent is no part of a stride.
      bool counts = d > 0 || shape.size() == 1;
      if (counts) collect(shape[d]);
    }
    for (const ir::ExprRef& stride : param.buffer->strides) collect(stride);
  }
  return {found.begin(), found.end()};
}

/// The largest power of two that decides anything: lines of 128 bytes of the narrowest elements.
std::int64_t widest_step(const ir::Kernel& kernel) {
  constexpr std::int64_t kLineBits = 1024;
  std::int64_t bits = kLineBits;
  for (const ir::Param& param : kernel.params) {
    if (param.buffer != nullptr) bits = std::min<std::int64_t>(bits, ir::dtype_bits(param.buffer->type));
  }
  return kLineBits / bits;
}

place::Assumptions coarser(const ir::Kernel& kernel, place::Assumptions from, Fineness fineness) {
  if (fineness >= Fineness::without_lines) from.straddling.clear();
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr || !from.granules.contains(param.buffer->name)) continue;
    int& granule = from.granules[param.buffer->name];
    int element = element_bytes(*param.buffer);
    if (fineness == Fineness::all) continue;
    bool piece = fineness < Fineness::whole_or_not && granule >= kLeastPiece && element < kLeastPiece;
    granule = piece ? kLeastPiece : std::min(element, granule);
  }
  return from;
}

/// What takes every tensor.
place::Assumptions anywhere(const ir::Kernel& kernel) {
  place::Assumptions all;
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr) continue;
    const std::string& name = param.buffer->name;
    all.unaligned.insert(name);
    all.ragged.insert(name);
    if (element_bytes(*param.buffer) < kWhole) all.granules[name] = element_bytes(*param.buffer);
  }
  return all;
}

/// What a kernel takes, in one number: more than any that takes less of some tensor and not more of another.
int taken(const place::Assumptions& a) {
  int sum = static_cast<int>(a.unaligned.size() + a.ragged.size());
  for (const auto& [name, granule] : a.granules) {
    for (int g = granule; g < kWhole; g *= 2) ++sum;
  }
  return sum;
}

using Found = std::map<std::string, place::Assumptions>;

/// Those of all combinations of dims; nothing where there are too many.
std::optional<Found> of_dims(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  std::vector<std::string> open = open_dims(kernel, dims);
  std::vector<std::int64_t> steps;
  for (std::int64_t step = widest_step(kernel); step > 0; step /= 2) steps.push_back(step);
  std::size_t count = 1;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (count > kMostTried / steps.size()) return std::nullopt;
    count *= steps.size();
  }
  Found found;
  for (std::size_t combination = 0; combination < count; ++combination) {
    std::map<std::string, std::int64_t> values = dims;
    std::size_t rest = combination;
    for (const std::string& dim : open) {
      values[dim] = steps[rest % steps.size()];
      rest /= steps.size();
    }
    place::Assumptions assumed = pipeline::assume(kernel, values);
    found.emplace(planner::text_of(assumed), std::move(assumed));
  }
  return found;
}

}  // namespace

int granule_of(const place::Assumptions& assumptions, const std::string& tensor) {
  auto found = assumptions.granules.find(tensor);
  return found == assumptions.granules.end() ? kWhole : found->second;
}

std::vector<place::Assumptions> alignments(const ir::Kernel& kernel, const std::map<std::string, std::int64_t>& dims) {
  auto of_calls = of_dims(kernel, dims);
  Found found;
  for (Fineness fineness : kFinenesses) {
    found.clear();
    auto add = [&](const place::Assumptions& a) {
      place::Assumptions coarse = coarser(kernel, a, fineness);
      found.emplace(planner::text_of(coarse), coarse);
    };
    add(pipeline::assume(kernel, dims));
    add(anywhere(kernel));
    if (fineness == Fineness::one_or_all) break;
    if (!of_calls) continue;
    for (const auto& [text, assumed] : *of_calls) add(assumed);
    if (found.size() <= kMostAlignments) break;
  }
  std::vector<place::Assumptions> out;
  for (auto& [text, assumed] : found) out.push_back(std::move(assumed));
  std::stable_sort(out.begin(), out.end(), [](const place::Assumptions& a, const place::Assumptions& b) {
    return std::pair(taken(a), a.straddling.size()) < std::pair(taken(b), b.straddling.size());
  });
  return out;
}

}  // namespace plait::bundle
