#pragma once

#include <fmt/format.h>

#include "machine/load.h"
#include "plan/check.h"
#include "plan/rules.h"
#include "roundtrip.h"

namespace plait::plan::test {

inline ir::Kernel kernel_of(const std::string& text, const lang::Bindings& bindings = {},
                            const std::string& name = {}) {
  auto kernel = plait::test::load(text, bindings, name);
  if (!kernel) throw InternalError(kernel.diagnostics().render());
  return *kernel;
}
inline std::string library_text(const std::string& name) {
  return plait::test::read_file(fmt::format("{}/kernels/{}.tile", PLAIT_SOURCE_DIR, name));
}
inline ir::Kernel library_kernel(const std::string& name, const lang::Bindings& bindings = {}) {
  return kernel_of(library_text(name), bindings);
}
/// A kernel whose loops say nothing, with so many stages in each.
inline ir::Kernel staged_kernel(const std::string& name, int stages, const lang::Bindings& bindings = {}) {
  std::string text = library_text(name);
  for (std::size_t at = text.find("in pipelined("); at != std::string::npos; at = text.find("in pipelined(", at + 1))
    text.insert(text.find("):\n", at), fmt::format(", stages={}", stages));
  return kernel_of(text, bindings);
}
inline const machine::Device& device(const std::string& name = "h200") {
  static std::map<std::string, machine::Device> known;
  if (!known.contains(name)) known.emplace(name, *machine::load_device(name));
  return known.at(name);
}

/// A product with its copies on lines 9 and 10, the gemm on 11; `loop` is the head of the loop on line 8.
inline std::string matmul(const std::string& loop, const std::string& body = {}) {
  return "kernel k(A: in f16[M, K], B: in f16[K, N], C: out f32[M, N]):\n  grid b = 1\n  A_s = shared f16[64, 32]\n"
         "  B_s = shared f16[32, 64]\n  C_l = fragment f32[64, 64]\n  S = shared f32[64, 64]\n  clear(C_l)\n  " +
         loop + ":\n" +
         (body.empty() ? "    copy(A[0, k * 32], A_s)\n    copy(B[k * 32, 0], B_s)\n    gemm(A_s, B_s, C_l)\n" : body) +
         "  copy(C_l, C[0, 0])\n";
}

inline SourceRef source(const std::string& text, const std::string& name = "test.schedule") {
  return std::make_shared<const SourceFile>(name, text);
}

/// `copy@9 0/1, …; A_s 2, …`: stage/order of each statement in program order, and versions.
inline std::string summary(const LoopPlan& plan) {
  std::string out;
  for (const Slot& slot : plan.slots)
    out += fmt::format("{}{} {}/{}", out.empty() ? "" : ", ", graph::text_of(slot.stmt), slot.stage, slot.order);
  for (const Versions& v : plan.versions)
    out += fmt::format("{} {} {}", &v == plan.versions.data() ? ";" : ",", v.buffer, v.count);
  return out;
}

/// The same without lines, of kernels whose lines may change.
inline std::string kinds(const LoopPlan& plan) {
  std::string text = summary(plan), out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '@') i = text.find(' ', i);
    out += text[i];
  }
  return out;
}

}  // namespace plait::plan::test
