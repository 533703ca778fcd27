#include "run_verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "interp/interp.h"
#include "runtime/compare.h"
#include "runtime/cost.h"

namespace plait::cli {
namespace {

using runtime::HostTensor;
using runtime::Poison;

/// Elements that a message names.
constexpr std::size_t kShownElements = 4;

std::string rough(double seconds) {
  return seconds < 10 ? fmt::format("{:.2g}", seconds) : fmt::format("{:.0f}", seconds);
}

bool is_written(const ir::Param& param) {
  return param.kind == ir::ParamKind::out || param.kind == ir::ParamKind::inout;
}

class Verifier {
 public:
  Verifier(const Session& session, const RunRequest& request, const RunData& data, const Before& before,
           const Runner& runner)
      : session_(session), request_(request), data_(data), before_(before), runner_(runner) {}

  Verification run() {
    check_written();
    // A role program says nothing to the interpreter.
    if (request_.device != "interp" && !session_.kernel.body.empty()) compare_with_interpreter();
    compare_with_reference();
    if (result_.comparisons.empty() && result_.diagnostics.empty()) nothing_to_compare();
    return std::move(result_);
  }

 private:
  std::vector<HostTensor> fresh(Poison kind) const;
  ir::BoundArgs call_on(const std::vector<HostTensor>& outputs) const;
  void check_written();
  void compare_with_interpreter();
  void interpret_all();
  void interpret_some(double seconds);
  void compare_with_reference();
  void nothing_to_compare();
  void compare_outputs(const std::string& with, const std::function<std::vector<double>(std::size_t)>& want,
                       const std::function<std::vector<bool>(std::size_t)>& skip,
                       const std::map<std::string, double>& limits);
  void report(const ir::BufferDecl& buffer, const std::string& with, const runtime::Comparison& c);

  const Session& session_;
  const RunRequest& request_;
  const RunData& data_;
  const Before& before_;
  const Runner& runner_;
  Verification result_;
  double seconds_ = 0;  ///< that the interpreter would take
  interp::Options options_;
};

/// The tensors that a run writes, as they were before it; those that it only reads stay empty.
std::vector<HostTensor> Verifier::fresh(Poison kind) const {
  std::vector<HostTensor> tensors(data_.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (data_.params[i]->kind == ir::ParamKind::inout) tensors[i] = before_.tensors[i].clone();
    if (data_.params[i]->kind != ir::ParamKind::out) continue;
    const ir::TensorView& view = data_.tensors[i].view();
    tensors[i] = HostTensor(view.type, {view.shape, view.strides});
    runtime::poison(tensors[i], kind);
  }
  return tensors;
}

ir::BoundArgs Verifier::call_on(const std::vector<HostTensor>& outputs) const {
  ir::BoundArgs call = data_.bound;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data() != nullptr) call.tensors[i].data = outputs[i].data();
  }
  return call;
}

std::string element_name(const ir::BufferDecl& buffer, std::int64_t number, const std::vector<std::int64_t>& shape) {
  return fmt::format("{}[{}]", buffer.name, fmt::join(runtime::index_of(number, shape), ", "));
}

void Verifier::check_written() {
  std::vector<HostTensor> second;
  for (std::size_t i = 0; i < data_.params.size(); ++i) {
    if (data_.params[i]->kind != ir::ParamKind::out) continue;
    const ir::BufferDecl& buffer = *data_.params[i]->buffer;
    std::vector<std::int64_t> left = runtime::poisoned_elements(data_.tensors[i]);
    if (left.empty()) continue;
    if (second.empty()) {
      second = fresh(Poison::second);
      Diagnostics failure = runner_(call_on(second));
      if (failure.has_errors()) return result_.diagnostics.append(failure);
    }
    std::vector<std::int64_t> again = runtime::poisoned_elements(second[i], Poison::second), unwritten;
    std::set_intersection(left.begin(), left.end(), again.begin(), again.end(), std::back_inserter(unwritten));
    if (unwritten.empty()) continue;
    std::vector<std::string> names;
    for (std::size_t k = 0; k < std::min(unwritten.size(), kShownElements); ++k)
      names.push_back(element_name(buffer, unwritten[k], data_.tensors[i].view().shape));
    result_.diagnostics.error(Rule::output_unwritten, buffer.loc,
                              fmt::format("{} elements of {} were not written: {}{}", unwritten.size(), buffer.name,
                                          fmt::join(names, ", "), unwritten.size() > names.size() ? ", …" : ""));
  }
}

void Verifier::report(const ir::BufferDecl& buffer, const std::string& with, const runtime::Comparison& c) {
  Report entry;
  entry.set("tensor", buffer.name);
  entry.set("with", with);
  entry.set("ok", c.ok());
  entry.set("elements", c.elements);
  entry.set("max_abs_err", c.max_abs_err);
  entry.set("max_rel_err", c.max_rel_err);
  entry.set("limit", c.limit);
  entry.set("failures", c.failures);
  result_.comparisons.push_back(std::move(entry));
  result_.text += fmt::format("verify   {} with {}: max error {:.3g} absolute, {:.3g} relative (limit {:.3g}) {}\n",
                              buffer.name, with, c.max_abs_err, c.max_rel_err, c.limit, c.ok() ? "ok" : "FAILED");
  result_.max_abs_err = std::max(result_.max_abs_err.value_or(0), c.max_abs_err);
  result_.max_rel_err = std::max(result_.max_rel_err.value_or(0), c.max_rel_err);
}

void Verifier::compare_outputs(const std::string& with, const std::function<std::vector<double>(std::size_t)>& want,
                               const std::function<std::vector<bool>(std::size_t)>& skip,
                               const std::map<std::string, double>& limits) {
  for (std::size_t i = 0; i < data_.params.size(); ++i) {
    if (!is_written(*data_.params[i])) continue;
    const ir::BufferDecl& buffer = *data_.params[i]->buffer;
    const ir::TensorView& view = data_.tensors[i].view();
    double limit = runtime::default_tolerance(runtime::coarsest_rounding(session_.kernel, buffer.type));
    if (auto own = limits.find(std::string(ir::dtype_name(buffer.type))); own != limits.end()) limit = own->second;
    runtime::Comparison c = runtime::compare(view, want(i), limit, skip ? skip(i) : std::vector<bool>());
    report(buffer, with, c);
    if (c.ok()) continue;
    result_.diagnostics.error(
        Rule::result_mismatch, buffer.loc,
        fmt::format(
            "{} is {:.9g} on {}, {:.9g} by {}; {} of {} elements are off by more than {:.3g}, the worst by {:.3g}",
            element_name(buffer, c.worst, view.shape), c.worst_got, request_.device, c.worst_want, with, c.failures,
            c.elements, c.limit, c.max_rel_err));
  }
}

void Verifier::compare_with_interpreter() {
  const runtime::Cost cost = runtime::estimate_cost(session_.kernel, data_.bound);
  seconds_ = runtime::interpreter_seconds(cost);
  if (!cost.exact) options_.max_seconds = std::max(request_.interpreter_seconds, 1e-9);
  constexpr double kLong = 3;
  if (seconds_ <= request_.interpreter_seconds) {
    if (seconds_ > kLong)
      request_.announce(fmt::format("verify   the interpreter takes about {} s\n", rough(seconds_)));
    return interpret_all();
  }
  if (runtime::blocks_are_separable(session_.kernel)) return interpret_some(seconds_);
  result_.text += fmt::format("verify   not with the interpreter: it would take about {} s\n", rough(seconds_));
}

void Verifier::interpret_all() {
  std::vector<HostTensor> outputs = fresh(Poison::first);
  Diagnostics failure = interp::interpret(session_.kernel, call_on(outputs), options_);
  if (failure.has_errors()) return result_.diagnostics.append(failure);
  compare_outputs("interpreter", [&](std::size_t i) { return runtime::to_doubles(outputs[i].view()); }, {}, {});
}

/// Runs as many of the first blocks as there is time for, and compares what they wrote.
void Verifier::interpret_some(double seconds) {
  std::vector<HostTensor> outputs = fresh(Poison::first);
  ir::BoundArgs call = call_on(outputs);
  double blocks = 1, all = 1;
  for (std::int64_t extent : call.grid) all *= static_cast<double>(extent);
  double allowed = all * request_.interpreter_seconds / seconds;
  for (std::int64_t& extent : call.grid) {
    extent = std::clamp<std::int64_t>(static_cast<std::int64_t>(allowed / blocks), 1, extent);
    blocks *= static_cast<double>(extent);
  }
  if (seconds * blocks / all > 2 * request_.interpreter_seconds) {
    result_.text +=
        fmt::format("verify   not with the interpreter: one block would take about {} s\n", rough(seconds / all));
    return;
  }
  request_.announce(
      fmt::format("verify   all blocks would take the interpreter about {} s: comparing the first {:.0f} of {:.0f}\n",
                  rough(seconds), blocks, all));
  Diagnostics failure = interp::interpret(session_.kernel, call, options_);
  if (failure.has_errors()) return result_.diagnostics.append(failure);
  auto skip = [&](std::size_t i) {
    std::vector<bool> untouched(runtime::to_doubles(outputs[i].view()).size(), false);
    for (std::int64_t number : runtime::poisoned_elements(outputs[i]))
      untouched[static_cast<std::size_t>(number)] = true;
    return untouched;
  };
  compare_outputs(fmt::format("interpreter ({:.0f} of {:.0f} blocks)", blocks, all),
                  [&](std::size_t i) { return runtime::to_doubles(outputs[i].view()); }, skip, {});
}

void Verifier::compare_with_reference() {
  const reference::Reference* reference = matching_reference(session_);
  if (reference == nullptr) {
    result_.text +=
        fmt::format("verify   no reference is known for kernel {} with these parameters\n", session_.kernel_name);
    return;
  }
  std::map<std::string, std::vector<double>> tensors;
  reference->run(reference_call(session_, data_, before_, tensors, true));
  compare_outputs(
      "reference", [&](std::size_t i) { return tensors.at(data_.params[i]->buffer->name); }, {}, reference->tolerance);
}

void Verifier::nothing_to_compare() {
  if (request_.device == "interp") {
    result_.text += "verify   the interpreter found no fault; there is nothing else to compare with\n";
    return;
  }
  if (session_.kernel.body.empty()) {
    result_.diagnostics.error(Rule::verify_too_large, session_.kernel.loc,
                              fmt::format("{} has no reference with these parameters", session_.kernel.name),
                              "name one with --reference, or run without --verify");
    return;
  }
  result_.diagnostics.error(Rule::verify_too_large, session_.kernel.loc,
                            fmt::format("kernel {} has no reference, and the interpreter would take about {} s",
                                        session_.kernel_name, rough(seconds_)));
}

}  // namespace

Verification verify_run(const Session& session, const RunRequest& request, const RunData& data, const Before& before,
                        const Runner& runner) {
  return Verifier(session, request, data, before, runner).run();
}

}  // namespace plait::cli
