#include "lang/elaborate.h"

#include <fmt/format.h>

#include "lang/elaborator.h"
#include "lang/suggest.h"

namespace plait::lang {
namespace {

const syntax::Item* find_kernel(const syntax::File& file, const std::string& name) {
  for (const syntax::Item& item : file.items) {
    const auto* kernel = std::get_if<syntax::Kernel>(&item.node);
    if (kernel != nullptr && kernel->name == name) return &item;
  }
  return nullptr;
}

/// The kernel that is meant, or null after a report.
const syntax::Item* choose_kernel(const syntax::File& file, const std::string& name, Diagnostics& diags) {
  std::vector<std::string> names = kernel_names(file);
  Loc loc{file.source, 0, 0, 1};
  if (names.empty()) {
    diags.error(Rule::unknown_kernel, loc, "the file has no kernel", "write `kernel NAME(...):`");
    return nullptr;
  }
  if (name.empty() && names.size() > 1) {
    diags.error(Rule::unknown_kernel, loc, fmt::format("the file has several kernels: {}", quoted_list(names)),
                "say which one is meant by its name");
    return nullptr;
  }
  const syntax::Item* item = find_kernel(file, name.empty() ? names.front() : name);
  if (item == nullptr) {
    diags.error(Rule::unknown_kernel, loc, fmt::format("the file has no kernel `{}`", name),
                did_you_mean(name, names, "its kernels are " + quoted_list(names)));
  }
  return item;
}

}  // namespace

std::vector<std::string> kernel_names(const syntax::File& file) {
  std::vector<std::string> out;
  for (const syntax::Item& item : file.items) {
    if (const auto* kernel = std::get_if<syntax::Kernel>(&item.node)) out.push_back(kernel->name);
  }
  return out;
}

Result<ir::Kernel> elaborate(const syntax::File& file, const std::string& kernel, const Bindings& bindings) {
  Diagnostics diags;
  const syntax::Item* item = choose_kernel(file, kernel, diags);
  if (item == nullptr) return diags;
  Elaborator elaborator(file, diags);
  ir::Kernel result = elaborator.kernel(std::get<syntax::Kernel>(item->node), item->loc, bindings);
  if (diags.has_errors()) return diags;
  return result;
}

}  // namespace plait::lang
