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

}  // namespace

std::vector<AlignmentVariant> alignment_variants(const ir::Kernel& kernel, const machine::Device& device,
                                                 const pipeline::DeriveOptions& options,
                                                 const pipeline::Derived& derived) {
  std::vector<AlignmentVariant> found;
  std::string as_it_is = roles::print(derived.program);
  for (const ir::Param& param : kernel.params) {
    if (param.buffer == nullptr || options.assumptions.unaligned.contains(param.buffer->name)) continue;
    pipeline::DeriveOptions other = options;
    other.assumptions.unaligned.insert(param.buffer->name);
    other.assumptions.ragged.insert(param.buffer->name);
    other.assumptions.straddling.erase(param.buffer->name);
    auto made = pipeline::derive(kernel, device, other);
    if (!made) {
      const Diagnostic& first = made.diagnostics().list().front();
      found.push_back({param.buffer->name, {}, fmt::format("{}: {}", first.loc.str(), first.message)});
    } else if (roles::print(made->program) != as_it_is) {
      found.push_back({param.buffer->name, added(made->remarks, derived.remarks), ""});
    }
  }
  return found;
}

std::string text(const std::vector<AlignmentVariant>& variants) {
  if (variants.empty()) return "";
  std::string out =
      "\nrows that do not start at multiples of 16 bytes: another kernel, compiled when a call first needs it\n";
  for (const AlignmentVariant& variant : variants) {
    if (!variant.refused.empty()) out += fmt::format("  {}  refused, {}\n", variant.tensor, variant.refused);
    if (variant.refused.empty() && variant.notes.empty())
      out += fmt::format("  {}  with other accesses of the same kind\n", variant.tensor);
    for (const plait::Note& note : variant.notes)
      out += fmt::format("  {}  line {}: {}\n", variant.tensor, note.loc.line, note.message);
  }
  return out;
}

}  // namespace plait::explain
