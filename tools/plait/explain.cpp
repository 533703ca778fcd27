#include "explain/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "explain/example_call.h"
#include "explain/npu.h"
#include "explain/variants.h"
#include "explain_report.h"
#include "explain_timeline.h"
#include "runtime/files.h"
#include "store/runs.h"
#include "timed_call.h"

namespace plait::cli {
namespace {

/// Statements of warps that a prediction may take: some three seconds.
constexpr std::int64_t kMostSteps = 6'000'000;

struct ExplainFlags {
  ProgramOptions program;
  DeviceFlags target;
  std::vector<std::string> dims, scalars;
  std::string timeline;
  std::uint64_t cycles = 12'000;
  bool layouts = false;
  std::string layout_svg, buffer;
};

/// A program, with the machine that it is explained for, and a call's dims.
struct Subject {
  DeviceProgram program;
  std::map<std::string, std::int64_t> dims;
};

Result<Subject> load(const ExplainFlags& flags) {
  std::map<std::string, std::int64_t> dims = dims_of(flags.dims, "--dim");
  auto read = load_device_program(flags.program, flags.target, dims);
  if (!read) return read.diagnostics();
  return Subject{std::move(*read), std::move(dims)};
}

/// Time of a call with the dims that were given; none of them: no prediction.
void predict(const TimedCall& call, explain::Explanation& what, Outcome& outcome) {
  auto run = time_call(call, kMostSteps);
  if (!run) return outcome.diagnostics.append(run.diagnostics());
  const auto& found = run->diagnostics.list();
  if (std::any_of(found.begin(), found.end(), [](const Diagnostic& d) { return d.rule == Rule::step_limit; })) {
    outcome.remarks += fmt::format(
        "plait: no prediction: the simulation of this call takes more than {} statements; `plait sim --time-only` has "
        "no such limit\n",
        kMostSteps);
    return;
  }
  outcome.diagnostics.append(run->diagnostics);
  if (outcome.diagnostics.has_errors()) return;
  double us = static_cast<double>(run->cycles) / what.clock_mhz;
  what.prediction = explain::Prediction{call.dims, std::move(*run), us};
}

/// Writes a picture to the file, which another one of that name goes away for.
void write(const std::string& path, const std::string& content, std::string_view key, Outcome& outcome) {
  auto staged = runtime::StagedFile::stage(path, {content});
  outcome.diagnostics.append(staged.ok() ? staged->commit() : staged.diagnostics());
  outcome.report.set(key, path);
}

void draw_timeline(const TimedCall& call, const ExplainFlags& flags, const explain::Explanation& what,
                   Outcome& outcome) {
  auto timeline = record(call, what.loops, static_cast<std::int64_t>(flags.cycles));
  if (!timeline) return outcome.diagnostics.append(timeline.diagnostics());
  std::string content = render(*timeline, flags.timeline);
  if (flags.timeline != "-") return write(flags.timeline, content, "timeline", outcome);
  outcome.report.set("timeline", content);
  outcome.text += "\n" + content;
}

/// The buffer that a picture is of: the one that was named, else the first.
std::string pictured(const explain::Layouts& layouts, const std::string& name) {
  if (!name.empty()) return name;
  if (!layouts.shared.empty()) return layouts.shared.front().smem->buffer->name;
  return layouts.fragments.empty() ? "" : layouts.fragments.front().fragment->buffer->name;
}

void show_layouts(const roles::Program& program, const ExplainFlags& flags, Outcome& outcome) {
  explain::Layouts layouts = explain::layouts_of(program);
  if (flags.layouts) {
    outcome.text += explain::text(layouts);
    describe(layouts, outcome.report);
  }
  if (flags.layout_svg.empty()) return;
  std::string name = pictured(layouts, flags.buffer);
  auto picture = explain::layout_svg(layouts, name);
  if (!picture) {
    std::vector<std::string> names;
    for (const explain::SharedLayout& s : layouts.shared) names.push_back(s.smem->buffer->name);
    for (const explain::RegisterLayout& f : layouts.fragments) names.push_back(f.fragment->buffer->name);
    throw UsageError{name.empty()
                         ? "--layout-svg: the program has no buffer on the chip"
                         : fmt::format("--buffer {}: there is no such buffer, but {}", name, fmt::join(names, ", "))};
  }
  write(flags.layout_svg, *picture, "layout_svg", outcome);
}

/// What other kernels the program becomes where calls' tensors are aligned otherwise.
void show_variants(const DeviceProgram& read, Outcome& outcome) {
  auto variants =
      explain::alignment_variants(*read.tile, read.assumptions, *read.derived,
                                  [&](const place::Assumptions& other) { return derive_again(read, other); });
  outcome.text += explain::text(variants);
  std::vector<Report> list;
  for (const explain::AlignmentVariant& variant : variants) {
    Report one;
    one.set("tensor", variant.tensor);
    one.set("multiple_of", static_cast<std::int64_t>(variant.granule));
    one.set("refused", variant.refused);
    one.set("notes", variant.notes);
    list.push_back(std::move(one));
  }
  outcome.report.set("variants", list);
}

/// What planned the loops whose author left that open, and what else there was.
void show_planning(const planner::Planning& planned, Outcome& outcome) {
  outcome.text += planner::text(planned);
  std::vector<Report> loops, candidates;
  for (const planner::PlannedLoop& loop : planned.loops) {
    Report one;
    one.set("loop", graph::text_of(loop.loop));
    one.set("planner", loop.planner);
    one.set("ii", loop.ii);
    one.set("resource_bound", loop.bounds.resource);
    one.set("recurrence_bound", loop.bounds.recurrence);
    one.set("critical", loop.bounds.critical);
    one.set("optimal", loop.optimal);
    one.set("costs", loop.costs);
    if (loop.in_program_order) one.set("in_program_order", *loop.in_program_order);
    std::vector<Report> tasks;
    for (const planner::PlannedLoop::Task& task : loop.tasks) {
      Report cost;
      cost.set("task", task.name);
      cost.set("issue", task.cost.issue);
      cost.set("latency", task.cost.latency);
      Report busy;
      for (const auto& [unit, cycles] : task.cost.busy) busy.set(std::string(machine::name_of(unit)), cycles);
      cost.set("busy", busy);
      cost.set("source", task.cost.source);
      tasks.push_back(std::move(cost));
    }
    one.set("tasks", tasks);
    loops.push_back(std::move(one));
  }
  for (const planner::Candidate& candidate : planned.candidates) {
    Report one;
    one.set("schedule", candidate.what);
    if (candidate.predicted) one.set("predicted", *candidate.predicted);
    one.set("refused", candidate.refused);
    candidates.push_back(std::move(one));
  }
  outcome.report.set("planned", loops);
  outcome.report.set("candidates", candidates);
}

/// What `plait run --bench` measured of just this call, beside what is predicted.
void show_measured(const roles::Program& program, const explain::Prediction& prediction, Outcome& outcome) {
  std::string path = store::default_path();
  if (path.empty()) return;
  auto database = store::Database::open(path, store::Access::read);
  auto found = database ? store::find_run(*database, {roles::print(program), prediction.dims}) : database.diagnostics();
  if (!found) {
    outcome.remarks += fmt::format("plait: nothing measured is told: {}\n", found.diagnostics().list().front().message);
    return;
  }
  if (!*found) return;
  const store::Run& run = **found;
  outcome.text += fmt::format("measured {:.1f} us on {} ({}); predicted is {:.2f} of it\n", run.microseconds, run.gpu,
                              run.measured_at, prediction.microseconds / run.microseconds);
  Report measured;
  measured.set("microseconds", run.microseconds);
  measured.set("gpu", run.gpu);
  measured.set("measured_at", run.measured_at);
  outcome.report.set("measured", measured);
}

void check(const ExplainFlags& flags) {
  if (!flags.timeline.empty()) check_timeline_name(flags.timeline);
  if (!flags.buffer.empty() && flags.layout_svg.empty())
    throw UsageError{"--buffer: it names the buffer of --layout-svg FILE, which is not given"};
  if (!flags.layout_svg.empty() && std::filesystem::path(flags.layout_svg).extension() != ".svg")
    throw UsageError{fmt::format("--layout-svg {}: name a file that ends in .svg", flags.layout_svg)};
}

/// The dims of a call that nobody gave, for a picture of how the kernel runs.
std::map<std::string, std::int64_t> example_call(const DeviceProgram& read, Outcome& outcome) {
  if (!read.tile) throw UsageError{"--timeline: give every dim of the call, e.g. --dim M=1024"};
  std::map<std::string, std::int64_t> dims = explain::example_dims(*read.tile);
  std::string text;
  for (const auto& [name, value] : dims) text += fmt::format("{}--dim {}={}", text.empty() ? "" : " ", name, value);
  outcome.remarks +=
      fmt::format("plait: note: the timeline is of an example, {}; give the dims of another call\n", text);
  return dims;
}

Outcome explain_program(const ExplainFlags& flags) {
  check(flags);
  auto subject = load(flags);
  if (!subject) return failed(subject.diagnostics());
  const DeviceProgram& read = subject->program;
  Outcome outcome;
  if (!flags.timeline.empty() && subject->dims.empty() && !read.program.dims.empty())
    subject->dims = example_call(read, outcome);
  explain::Explanation what = explain::explain(read.program, read.device, read.tile ? &*read.tile : nullptr,
                                               read.derived ? &*read.derived : nullptr);
  TimedCall call{read, read.device, subject->dims, flags.scalars};
  if (!subject->dims.empty()) predict(call, what, outcome);
  describe(what, outcome.report);
  outcome.text = explain::text(what);
  if (read.npu) {
    explain::NpuExplanation npu = explain::explain(*read.npu, read.device);
    describe(npu, outcome.report);
    outcome.text = explain::text(npu, what);
  }
  if (what.prediction) show_measured(read.program, *what.prediction, outcome);
  show_planning(read.planned, outcome);
  if (read.derived) show_variants(read, outcome);
  if (!flags.timeline.empty() && !outcome.diagnostics.has_errors()) draw_timeline(call, flags, what, outcome);
  if (flags.layouts || !flags.layout_svg.empty()) show_layouts(read.program, flags, outcome);
  return outcome;
}

}  // namespace

void add_explain(CommandLine& line, Command& command) {
  Options sub = add_command(line, command, "explain", "Tell what a program becomes on a GPU, what bounds it, and why");
  auto flags = std::make_shared<ExplainFlags>();
  add_program_options(sub, command, flags->program);
  add_device(sub, "--device", flags->target.device, "machine model of the GPU (default: the program's own, h200)");
  add_schedule_flag(sub, flags->target);
  add_assignments(sub, "--dim", flags->dims, "value of a dim, e.g. --dim M=4096; with all of them time is predicted");
  add_assignments(sub, "--scalar", flags->scalars, "value of a scalar argument, e.g. --scalar scale=0.5");
  sub.add("--timeline", flags->timeline,
          "picture of what one multiprocessor does when: FILE.svg, FILE.html, FILE.json (Chrome trace events), "
          "or - for the terminal");
  sub.add("--cycles", flags->cycles, "cycles that the timeline shows at most (default 12000)")
      .check(integer_check(1, 100'000'000));
  sub.flag("--layouts", flags->layouts, "also where each buffer lies, and the bank conflicts of each access");
  sub.add("--layout-svg", flags->layout_svg, "picture of a buffer's layout: FILE.svg");
  sub.add("--buffer", flags->buffer, "the buffer of that picture (default: the first tile)");
  sub.chosen([flags, &command] { command.action = [flags] { return explain_program(*flags); }; });
}

}  // namespace plait::cli
