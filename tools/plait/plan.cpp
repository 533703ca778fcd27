#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device_program.h"
#include "explain/table.h"
#include "numbers.h"
#include "pipeline/assume.h"
#include "planner/time.h"

namespace plait::cli {
namespace {

struct PlanFlags {
  ProgramOptions program;
  std::string device = "h200", planner = "auto";
  std::vector<std::string> dims, tiles;
  std::uint64_t top = 10;
};

/// A parameter whose values are tried.
struct Tile {
  std::string name;
  std::vector<std::string> values;
};

/// Multiples of what the matrix instructions work on, up to the widest.
constexpr std::size_t kMostChoices = 4096;
constexpr const char* kUsual[] = {"64", "128", "192", "256"};

const syntax::Kernel* find_kernel(const syntax::File& file, const std::string& name) {
  for (const syntax::Item& item : file.items) {
    const auto* kernel = std::get_if<syntax::Kernel>(&item.node);
    if (kernel != nullptr && kernel->name == name) return kernel;
  }
  return nullptr;
}

/// Those that --tile names, else every parameter `block…` that -D does not bind.
std::vector<Tile> tiles_of(const syntax::Kernel& kernel, const PlanFlags& flags, const lang::Bindings& bound) {
  std::vector<Tile> tiles;
  auto is_parameter = [&](const std::string& name) {
    return std::any_of(kernel.compile_params.begin(), kernel.compile_params.end(),
                       [&](const syntax::CompileParam& p) { return p.name == name; });
  };
  for (const auto& [name, values] : parse_assignments(flags.tiles, "--tile")) {
    if (!is_parameter(name)) throw UsageError{fmt::format("--tile {}: {} has no such parameter", name, kernel.name)};
    tiles.push_back({name, {}});
    for (std::int64_t value : integers(fmt::format("--tile {}", name), values, {1, 1 << 16}))
      tiles.back().values.push_back(std::to_string(value));
  }
  if (!tiles.empty()) return tiles;
  for (const syntax::CompileParam& p : kernel.compile_params) {
    if (p.name.starts_with("block") && !bound.contains(p.name))
      tiles.push_back({p.name, {std::begin(kUsual), std::end(kUsual)}});
  }
  return tiles;
}

/// A choice of tiles and what becomes of it.
struct Shape {
  std::string what, schedule, refused;
  std::optional<double> cycles;
};

/// What was planned of a choice, and the time that it takes.
template <typename Planned, typename Cycles>
void judge(const Result<Planned>& planned, const Cycles& cycles, Shape& shape) {
  if (!planned) {
    shape.refused = planned.diagnostics().list().front().message;
    return;
  }
  if (planned->loops.empty()) {
    shape.refused = planned->candidates.empty() ? "it has no pipelined loop" : planned->candidates.front().refused;
    return;
  }
  shape.schedule = planned->candidates.front().what;
  shape.cycles = cycles(*planned);
  if (!shape.cycles) shape.refused = "no time is predicted: an extent is not known from the dims";
}

Shape look_at(const PlanFlags& flags, const machine::Device& device, const lang::Bindings& bindings,
              const std::map<std::string, std::int64_t>& dims, std::string what) {
  Shape shape;
  shape.what = std::move(what);
  auto session = load_kernel(flags.program.path, flags.program.kernel, bindings);
  if (!session) {
    shape.refused = session.diagnostics().list().front().message;
    return shape;
  }
  const ir::Kernel& kernel = session->kernel;
  planner::Options options{*planner::kind_of(flags.planner), pipeline::assume(kernel, dims), dims, true};
  options.store = store::default_path();
  if (device.target == machine::Target::npu) {
    judge(
        planner::plan_on_npu(kernel, device, options),
        [&](const auto& planned) { return planner::predicted_cycles(device, planned, dims); }, shape);
  } else {
    judge(
        planner::plan(kernel, device, options),
        [&](const auto& planned) { return planner::predicted_cycles(kernel, device, planned, dims); }, shape);
  }
  return shape;
}

/// All combinations, the last parameter first to change.
void each_choice(const std::vector<Tile>& tiles, std::size_t from, lang::Bindings& bindings, const std::string& what,
                 const std::function<void(const std::string&)>& visit) {
  if (from == tiles.size()) return visit(what);
  for (const std::string& value : tiles[from].values) {
    bindings[tiles[from].name] = value;
    each_choice(tiles, from + 1, bindings,
                fmt::format("{}{}{}={}", what, what.empty() ? "" : " ", tiles[from].name, value), visit);
  }
}

Outcome deliver(std::vector<Shape> shapes, const PlanFlags& flags, const machine::Device& device) {
  std::stable_sort(shapes.begin(), shapes.end(),
                   [](const Shape& a, const Shape& b) { return a.cycles.value_or(1e300) < b.cycles.value_or(1e300); });
  auto legal = static_cast<std::size_t>(
      std::count_if(shapes.begin(), shapes.end(), [](const Shape& s) { return s.cycles.has_value(); }));
  Outcome outcome;
  explain::Table table({"tiles", "schedule", "predicted"}, "llr");
  std::map<std::string, std::vector<std::string>> refused;
  std::vector<Report> reports;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const Shape& s = shapes[i];
    Report one;
    one.set("tiles", s.what);
    one.set("schedule", s.schedule);
    if (s.cycles) one.set("microseconds", *s.cycles / device.clock.value);
    one.set("refused", s.refused);
    reports.push_back(std::move(one));
    if (!s.cycles) refused[s.refused].push_back(s.what);
    if (s.cycles && i < flags.top)
      table.add({s.what, s.schedule, fmt::format("{:.1f} us", *s.cycles / device.clock.value)});
  }
  outcome.text = fmt::format("{} of {} choices of tiles can be carried out on {}\n", legal, shapes.size(), device.name);
  if (legal > 0) outcome.text += table.text(2);
  if (!refused.empty()) outcome.text += "refused\n";
  for (const auto& [why, whats] : refused) outcome.text += fmt::format("  {}\n    {}\n", why, fmt::join(whats, "; "));
  outcome.report.set("shapes", reports);
  if (legal == 0)
    outcome.diagnostics.error(Rule::place_operation, {},
                              fmt::format("no choice of tiles can be carried out on {}", device.name),
                              "see why above, and name others with --tile");
  return outcome;
}

/// The program is right with what it says itself, and every dim of the call is known.
Diagnostics check_call(const PlanFlags& flags, const lang::Bindings& bindings,
                       const std::map<std::string, std::int64_t>& dims) {
  auto session = load_kernel(flags.program.path, flags.program.kernel, bindings);
  if (!session) return session.diagnostics();
  check_dims(session->kernel, dims);
  for (const ir::Var& dim : session->kernel.dims) {
    if (!dims.contains(dim->name))
      throw UsageError{
          fmt::format("--dim {}: the time of a call is predicted, of which every extent is needed", dim->name)};
  }
  Diagnostics found;
  if (graph::build(session->kernel).empty())
    found.error(Rule::place_operation, session->kernel.loc, "there is nothing to plan: no loop is pipelined",
                "write `for k in pipelined(n):`");
  return found;
}

Outcome plan_tiles(const PlanFlags& flags) {
  refuse_roles(flags.program, "plan");
  lang::Bindings bindings = parse_assignments(flags.program.bindings, "-D");
  auto program = load_program(flags.program.path);
  if (!program) return failed(program.diagnostics());
  auto name = runtime::choose_kernel(program->file, flags.program.kernel);
  if (!name) return failed(name.diagnostics());
  auto device = machine::load_device(flags.device);
  if (!device) return failed(device.diagnostics());
  if (device->target == machine::Target::cpu) {
    Diagnostics found;
    found.error(Rule::place_device, {},
                fmt::format("tiles are planned for GPUs and NPUs, and {} is neither", device->name),
                "name the model of one, e.g. --device h200");
    return failed(found);
  }
  auto dims = dims_of(flags.dims, "--dim");
  std::vector<Tile> tiles = tiles_of(*find_kernel(program->file, *name), flags, bindings);
  if (Diagnostics found = check_call(flags, bindings, dims); found.has_errors()) return failed(found);
  std::size_t choices = 1;
  for (const Tile& tile : tiles) choices *= std::min(tile.values.size(), kMostChoices + 1);
  if (choices > kMostChoices) throw UsageError{fmt::format("--tile: more than {} choices", kMostChoices)};
  std::vector<Shape> shapes;
  each_choice(tiles, 0, bindings, "", [&](const std::string& what) {
    shapes.push_back(look_at(flags, *device, bindings, dims, what.empty() ? "as it is" : what));
  });
  return deliver(std::move(shapes), flags, *device);
}

}  // namespace

void add_plan(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "plan", "Try tile shapes, plan each, and rank them by predicted time");
  auto flags = std::make_shared<PlanFlags>();
  add_program_options(sub, command, flags->program, true, "tile program");
  add_device(sub, "--device", flags->device, "machine model (default: h200)");
  add_planner_flag(sub, flags->planner);
  add_assignments(sub, "--dim", flags->dims, "value of a dim, e.g. --dim M=4096; all of them are needed");
  add_assignments(
      sub, "--tile", flags->tiles,
      "values of a parameter to try, e.g. --tile block_M=64,128 (default: 64, 128, 192, 256 of each block…)");
  sub.add("--top", flags->top, "shapes to list (default 10)").check(integer_check(1, 10'000));
  sub.chosen([flags, &command] { command.action = [flags] { return plan_tiles(*flags); }; });
}

}  // namespace plait::cli
