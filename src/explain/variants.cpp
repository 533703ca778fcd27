#include "explain/variants.h"

#include <fmt/format.h>

#include <algorithm>

namespace plait::explain {

namespace {

/// Remarks of the one that the other does not have.
std::vector<plait::Note> added(const std::vector<place::Remark>& now, const std::vector<place::Remark>& before) {
  std::vector<plait::Note> notes;
  for (const place::Remark& remark : now) {
    bool known = std::any_of(before.begin(), before.end(), [&](const place::Remark& other) {
      return other.text == remark.text && other.loc.line == remark.loc.line;
    });
    if (!known) notes.push_back({remark.loc, remark.text});
  }
  return notes;
}

/// What holds of calls in which the tensor begins, and its rows and their ends lie, at multiples of so many bytes.
place::Assumptions unaligned(place::Assumptions assumptions, const std::string& tensor, int granule) {
  assumptions.unaligned.insert(tensor);
  assumptions.ragged.insert(tensor);
  assumptions.straddling.erase(tensor);
  assumptions.granules[tensor] = granule;
  return assumptions;
}

/// What cp.async can move, and less.
std::vector<int> granules_of(ir::DType type) {
  constexpr int kLeastPiece = 4;
  const int element = std::max(ir::dtype_bits(type) / 8, 1);
  if (element >= kLeastPiece) return {element};
  return {kLeastPiece, element};
}

}  // namespace

std::vector<AlignmentVariant> alignment_variants(const ir::Kernel& kernel, const place::Assumptions& assumptions,
                                                 const pipeline::Derived& derived, const Derive& derive) {
  std::vector<AlignmentVariant> found;
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr || assumptions.unaligned.contains(param.buffer->name)) continue;
    std::string before = roles::print(derived.program);
    for (int granule : granules_of(param.buffer->type)) {
      auto made = derive(unaligned(assumptions, param.buffer->name, granule));
      std::string program = made ? roles::print(made->program) : "";
      if (program == before) continue;
      before = std::move(program);
      AlignmentVariant variant{param.buffer->name, granule, {}, ""};
      if (made) {
        variant.notes = added(made->remarks, derived.remarks);
      } else {
        const Diagnostic& first = made.diagnostics().list().front();
        variant.refused = fmt::format("{}: {}", first.loc.str(), first.message);
      }
      found.push_back(std::move(variant));
    }
  }
  return found;
}

std::string text(const std::vector<AlignmentVariant>& variants) {
  if (variants.empty()) return "";
  std::string out =
      "\nrows that do not start at multiples of 16 bytes: another kernel, compiled when a call first needs it\n";
  std::string last;
  for (const AlignmentVariant& variant : variants) {
    auto line = [&](const std::string& what) {
      const bool second = variant.tensor == last;
      out += fmt::format(
          "  {}  {}{}\n", variant.tensor,
          second ? fmt::format("at multiples of {} byte{}, ", variant.granule, variant.granule == 1 ? "" : "s") : "",
          what);
    };
    if (!variant.refused.empty()) line("refused, " + variant.refused);
    if (variant.refused.empty() && variant.notes.empty()) line("with other accesses of the same kind");
    for (const plait::Note& note : variant.notes) line(fmt::format("line {}: {}", note.loc.line, note.message));
    last = variant.tensor;
  }
  return out;
}

}  // namespace plait::explain
