#include "runtime/frontend.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/unroll.h"
#include "runtime/simplify.h"
#include "verify/verify.h"

namespace plait::runtime {
namespace {

const syntax::Kernel* find_kernel(const syntax::File& file, const std::string& name) {
  for (const syntax::Item& item : file.items) {
    const auto* kernel = std::get_if<syntax::Kernel>(&item.node);
    if (kernel != nullptr && kernel->name == name) return kernel;
  }
  return nullptr;
}

bool names_parameter(const syntax::Kernel& kernel, const std::string& name) {
  return std::any_of(kernel.compile_params.begin(), kernel.compile_params.end(),
                     [&](const syntax::CompileParam& p) { return p.name == name; });
}

Loc start_of(const syntax::File& file) { return {file.source, 0, 0, 1}; }

}  // namespace

const std::vector<Pass>& front_passes() {
  static const std::vector<Pass> passes = {
      {"parse", "the text as written, in canonical form"},
      {"elaborate", "one kernel: parameters bound, functions inlined, every expression typed"},
      {"verify", "the same program, every rule of the language checked"},
      {"unroll", "short inner loops of pipelined loops taken apart; this is what targets get"},
      {"simplify", "for reading: every index, bound and value simplified where it stands"},
  };
  return passes;
}

Result<std::string> choose_kernel(const syntax::File& file, const std::string& name) {
  std::vector<std::string> names = lang::kernel_names(file);
  if (name.empty() && names.size() == 1) return names[0];
  if (!name.empty() && std::find(names.begin(), names.end(), name) != names.end()) return name;
  Diagnostics diags;
  if (names.empty() && name.empty()) {
    diags.error(Rule::unknown_kernel, start_of(file), "the file has no kernel", "write `kernel NAME(...):`");
    return diags;
  }
  std::string has =
      names.empty() ? "the file has no kernel" : fmt::format("the file has the kernels {}", fmt::join(names, ", "));
  std::string asked = name.empty() ? "no kernel is named" : fmt::format("there is no kernel {}", name);
  diags.error(Rule::unknown_kernel, start_of(file), fmt::format("{}; {}", asked, has));
  return diags;
}

Result<ir::Kernel> build_kernel(const syntax::File& file, const std::string& name, const lang::Bindings& bindings,
                                const PassObserver& observer) {
  auto chosen = choose_kernel(file, name);
  if (!chosen) return chosen.diagnostics();
  auto kernel = lang::elaborate(file, *chosen, bindings);
  if (!kernel) return kernel;
  if (observer) observer("elaborate", *kernel);
  return prepare_kernel(*kernel, observer);
}

Result<ir::Kernel> prepare_kernel(const ir::Kernel& kernel, const PassObserver& observer) {
  Diagnostics findings = verify::verify(kernel);
  if (findings.has_errors()) return findings;
  if (observer) observer("verify", kernel);
  // What is wrong is told once, of the loop that its author wrote.
  ir::Kernel prepared = graph::with_inner_loops_unrolled(kernel);
  if (observer) {
    observer("unroll", prepared);
    observer("simplify", simplify_kernel(prepared));
  }
  return prepared;
}

bool has_parameter(const syntax::File& file, const std::string& kernel, const std::string& name) {
  const syntax::Kernel* tree = find_kernel(file, kernel);
  return tree != nullptr && names_parameter(*tree, name);
}

Result<lang::Bindings> bindings_for(const syntax::File& file, const std::string& kernel,
                                    const lang::Bindings& bindings) {
  Diagnostics diags;
  lang::Bindings own;
  const syntax::Kernel* tree = find_kernel(file, kernel);
  std::vector<std::string> unknown;
  for (const auto& [name, value] : bindings) {
    if (tree != nullptr && names_parameter(*tree, name)) own[name] = value;
    std::vector<std::string> names = lang::kernel_names(file);
    bool is_known = std::any_of(names.begin(), names.end(), [&, &key = name](const std::string& k) {
      return names_parameter(*find_kernel(file, k), key);
    });
    if (!is_known) unknown.push_back(name);
  }
  if (unknown.empty()) return own;
  diags.error(Rule::unknown_argument, start_of(file),
              fmt::format("no kernel of the file has a compile-time parameter {}", fmt::join(unknown, ", ")),
              "remove the -D, or correct its name");
  return diags;
}

lang::Bindings effective_bindings(const syntax::File& file, const std::string& kernel, const lang::Bindings& given) {
  lang::Bindings all;
  const syntax::Kernel* tree = find_kernel(file, kernel);
  if (tree == nullptr) return given;
  for (const syntax::CompileParam& param : tree->compile_params) {
    if (param.default_value == nullptr) continue;
    std::visit(Overload{
                   [&](const syntax::IntLit& n) { all[param.name] = n.spelling; },
                   [&](const syntax::FloatLit& n) { all[param.name] = n.spelling; },
                   [&](const syntax::BoolLit& n) { all[param.name] = n.value ? "true" : "false"; },
                   [&](const syntax::Name& n) { all[param.name] = all.count(n.id) > 0 ? all[n.id] : n.id; },
                   [](const auto&) {},
               },
               param.default_value->node);
    if (auto value = given.find(param.name); value != given.end()) all[param.name] = value->second;
  }
  for (const auto& [name, value] : given) all[name] = value;
  return all;
}

}  // namespace plait::runtime
