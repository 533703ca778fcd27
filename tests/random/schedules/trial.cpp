#include "random/schedules/trial.h"

#include <fmt/format.h>

#include "interp/interp.h"
#include "machine/load.h"
#include "npu/lower/derive.h"
#include "npu/separate.h"
#include "pipeline/assume.h"
#include "pipeline/pieces.h"
#include "planner/npu.h"
#include "roles/arena.h"
#include "roles/parse.h"
#include "runtime/bind.h"
#include "runtime/compare.h"

namespace plait::test {

namespace {

constexpr int kInterleavings = 2;

/// What a diagnostic says, without the names and numbers of the program.
std::string kind_of(const Diagnostics& found) {
  std::string text = found.list().front().message, kind;
  bool quoted = false;
  for (char c : text) {
    if (c == '`' || c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

struct Refused {
  std::string why;
};

/// Of a role program that was refused: whether what it was refused for is a limit that the lowering knows and names.
bool is_named(const Diagnostics& found) {
  const Rule rule = found.list().front().rule;
  return rule == Rule::place_operation || rule == Rule::pipeline_capacity || rule == Rule::place_registers ||
         rule == Rule::pipeline_ring || rule == Rule::place_product;
}

bool is_npu(const machine::Device& device) { return device.target == machine::Target::npu; }

/// What schedules name the statements of.
ir::Kernel planned(const ir::Kernel& kernel, const machine::Device& device) {
  if (!is_npu(device)) return kernel;
  auto separated = npu::separate(kernel);
  return separated ? *separated : kernel;
}

}  // namespace

Result<PlannedProgram> planned_program(const ir::Kernel& kernel, const machine::Device& device, planner::Kind kind,
                                       const std::map<std::string, std::int64_t>& dims) {
  planner::Options options;
  options.kind = kind;
  options.all = true;
  options.dims = dims;
  options.assumptions = pipeline::assume(kernel, dims);
  auto with_told = [](auto& planned, pipeline::Derived derived) {
    planner::Planning& told = planned;
    return PlannedProgram{std::move(derived), std::move(told)};
  };
  if (is_npu(device)) {
    auto planned = planner::plan_on_npu(kernel, device, options);
    if (!planned) return planned.diagnostics();
    return with_told(*planned, std::move(planned->derived.made));
  }
  auto planned = planner::plan(kernel, device, options);
  if (!planned) return planned.diagnostics();
  return with_told(*planned, std::move(planned->derived));
}

const machine::Device& gpu() {
  static const machine::Device device = *machine::load_device("h200");
  return device;
}

const machine::Device& gpu_without_tma() {
  static const machine::Device device = *machine::load_device("a100");
  return device;
}

const machine::Device& npu() {
  static const machine::Device device = *machine::load_device("ascend950");
  return device;
}

const machine::Device& npu_by_way_of_memory() {
  static const machine::Device device = *machine::load_device("ascend910b");
  return device;
}

ScheduledProgram::ScheduledProgram(ir::Kernel kernel, std::map<std::string, std::int64_t> dims, std::uint64_t seed,
                                   const machine::Device& device, Rows rows)
    : kernel_(std::move(kernel)),
      planned_(planned(kernel_, device)),
      graphs_(graph::build(planned_)),
      dims_(std::move(dims)),
      seed_(seed),
      device_(device),
      assumptions_(pipeline::assume(kernel_, dims_)) {
  if (rows == Rows::anywhere) misalign();
}

/// As if rows of some of the tensors started at multiples of 8 or 4 bytes, of a few anywhere.
void ScheduledProgram::misalign() {
  Rng rng(seed_ ^ 0xa119);
  for (const std::string& name : tensor_names()) {
    const auto kind = rng.between(0, 10);
    if (kind < 4) continue;
    assumptions_.unaligned.insert(name);
    assumptions_.ragged.insert(name);
    assumptions_.straddling.erase(name);
    int& granule = assumptions_.granules.try_emplace(name, 16).first->second;
    granule = std::min(granule, kind < 7 ? 8 : kind < 10 ? 4 : 1);
  }
}

Result<pipeline::Derived> ScheduledProgram::derive(const plan::Schedule& schedule,
                                                   const machine::Device& device) const {
  if (is_npu(device)) {
    auto made = npu::derive(kernel_, device, schedule);
    if (!made) return made.diagnostics();
    return std::move(made->made);
  }
  pipeline::DeriveOptions options;
  options.assumptions = assumptions_;
  options.schedule = schedule;
  options.graphs = &graphs_;
  return pipeline::derive(kernel_, device, options);
}

/// The same where a block has less memory than it took, so that buffers share places or rings have fewer slots; as it
/// was where that does not do.
pipeline::Derived ScheduledProgram::with_less_memory(const plan::Schedule& schedule, pipeline::Derived made) const {
  machine::Device small = device_;
  small.limits->smem_per_block.value = static_cast<double>(roles::arena(made.program).bytes) * 7 / 8;
  auto less = derive(schedule, small);
  return less ? std::move(*less) : std::move(made);
}

namespace {

/// A simulation in which nothing was found, or a throw with what was.
sim::Trial clean_trial(const roles::Program& program, const machine::Device& device, const sim::Call& call, int sms,
                       std::uint64_t interleaving) {
  sim::Options options;
  options.costs = sim::costs_of(device);
  options.interleaving = interleaving;
  auto trial = sim::run_trial(program, call, sms, options);
  if (!trial) throw InternalError(trial.diagnostics().render());
  if (trial->outcome.diagnostics.has_errors())
    throw InternalError(fmt::format("interleaving {} on {} multiprocessors:\n{}", interleaving, sms,
                                    trial->outcome.diagnostics.render()));
  return std::move(*trial);
}

}  // namespace

const sim::Trial& ScheduledProgram::serial(int replicas) {
  auto known = serial_.find(replicas);
  if (known != serial_.end()) return known->second;
  auto made = derive(serial_schedule(scheduled(), replicas), device_);
  if (!made && is_named(made.diagnostics())) throw Refused{"serial: " + kind_of(made.diagnostics())};
  if (!made) throw InternalError("the serial schedule:\n" + made.diagnostics().render());
  if (!call_) {
    auto call = sim::draw_call(made->program, dims_, {}, seed_);
    if (!call) throw InternalError(call.diagnostics().render());
    call_.emplace(std::move(*call));
  }
  return serial_.emplace(replicas, clean_trial(made->program, device_, *call_, 2, 0)).first->second;
}

std::vector<std::string> ScheduledProgram::tensor_names() const {
  std::vector<std::string> names;
  for (const ir::Param& param : kernel_.params) {
    if (param.buffer != nullptr) names.push_back(param.buffer->name);
  }
  return names;
}

std::string ScheduledProgram::compare_with_interpreter(const sim::Trial& got) const {
  std::vector<runtime::HostTensor> tensors;
  std::vector<std::string> names = tensor_names();
  runtime::Args args;
  args.dims = dims_;
  for (std::size_t i = 0; i < names.size(); ++i) {
    tensors.push_back(call_->tensors[i].clone());
    args.tensors[names[i]] = tensors.back().arg();
  }
  auto bound = runtime::bind(kernel_, args);
  if (!bound) return bound.diagnostics().render();
  const Diagnostics found = interp::interpret(kernel_, *bound);
  if (!found.empty()) return "the interpreter finds:\n" + found.render();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const ir::TensorView view = got.tensors[i].view();
    const double limit = runtime::default_tolerance(runtime::coarsest_rounding(kernel_, view.type));
    const runtime::Comparison c = runtime::compare(view, runtime::to_doubles(tensors[i].view()), limit);
    if (c.ok()) continue;
    return fmt::format("`{}` is not what the interpreter computes: {} of {} elements, worst {}: {} for {}", names[i],
                       c.failures, c.elements, c.worst, c.worst_got, c.worst_want);
  }
  return {};
}

ScheduledProgram::Finding ScheduledProgram::run_serial() try {
  return {{}, compare_with_interpreter(serial(0))};
} catch (const Refused& refused) {
  return {refused.why, {}};
} catch (const InternalError& error) {
  return {{}, error.what()};
}

ScheduledProgram::Finding ScheduledProgram::run(const plan::Schedule& schedule) try {
  int replicas = 0;
  for (const plan::Role& role : schedule.place.roles) {
    if (role.name == "math") replicas = role.replicas;
  }
  const sim::Trial& whole = serial(replicas);
  auto made = derive(schedule, device_);
  if (!made) {
    if (!is_named(made.diagnostics())) return {{}, made.diagnostics().render()};
    return {kind_of(made.diagnostics()), {}};
  }
  if (seed_ % 2 == 1 && !is_npu(device_)) made = with_less_memory(schedule, std::move(*made));
  if (std::string wrong = text_problem(schedule, made->program); !wrong.empty()) return {{}, wrong};
  // Pieces are summed in another order than the serial loop's, which is the same whatever the interleaving.
  const bool pieces = pipeline::asks_for_pieces(schedule.place.work);
  const int first_sms = 1 + static_cast<int>(seed_ % 2);
  std::optional<sim::Trial> in_pieces;
  if (pieces) in_pieces.emplace(clean_trial(made->program, device_, *call_, first_sms + 2, 0));
  const sim::Trial& want = pieces ? *in_pieces : whole;
  if (std::string wrong = pieces ? compare_with_interpreter(want) : ""; !wrong.empty()) return {{}, wrong};
  for (int n = 1; n <= kInterleavings; ++n) {
    const auto interleaving = seed_ * kInterleavings + static_cast<std::uint64_t>(n);
    const int sms = pieces ? first_sms + 2 : made->program.cluster * (n - 1 + first_sms);
    const sim::Trial got = clean_trial(made->program, device_, *call_, sms, interleaving);
    const int differs = sim::first_difference(want, got);
    if (differs >= 0)
      return {{},
              fmt::format("`{}` has other bytes than after the serial schedule, interleaving {}",
                          tensor_names()[static_cast<std::size_t>(differs)], interleaving)};
  }
  return {};
} catch (const Refused& refused) {
  return {refused.why, {}};
} catch (const InternalError& error) {
  return {{}, error.what()};
}

std::string text_problem(const plan::Schedule& schedule, const roles::Program& program) {
  const std::string text = plan::print(schedule), json = plan::to_json(schedule);
  auto read = plan::parse(std::make_shared<const SourceFile>("drawn.schedule", text));
  if (!read) return "the printed schedule is refused:\n" + read.diagnostics().render();
  if (!(*read == schedule)) return "the printed schedule is another one:\n" + plan::print(*read);
  auto from_json = plan::parse_json(std::make_shared<const SourceFile>("drawn.json", json));
  if (!from_json) return "the schedule as JSON is refused:\n" + from_json.diagnostics().render();
  if (!(*from_json == schedule)) return "the schedule as JSON is another one:\n" + json;
  const std::string roles = roles::print(program);
  auto again = roles::parse(std::make_shared<const SourceFile>("derived.roles", roles));
  if (!again) return "the printed role program is refused:\n" + again.diagnostics().render() + roles;
  if (!roles::equal(program, *again)) return "the printed role program is another one:\n" + roles;
  return {};
}

}  // namespace plait::test
