// `plait cache add`: kernels compiled ahead, on all cores.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cache.h"
#include "request.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

/// Options that say how FILEs are compiled; a line of a list gives some of them anew.
struct Spec {
  std::vector<std::string> bindings, dims;
  std::string kernel;
  DeviceFlags target;
  RolesFlags roles;
};
struct AddFlags {
  std::vector<std::string> files;
  std::string list, folder;
  Spec spec;
  int jobs = 0;
  bool times = false;
};

/// The requests of all kernels of a file.
class Requests {
 public:
  explicit Requests(std::string folder) : folder_(std::move(folder)) {}

  void add(const std::string& path, const Spec& spec) {
    if (holds_roles(path)) return one(path, spec, spec.bindings, dims_of(spec.dims, "--dim"), spec.kernel);
    auto program = load_program(path);
    if (!program) return found_.append(program.diagnostics());
    std::vector<std::string> kernels = lang::kernel_names(program->file);
    if (!spec.kernel.empty() || kernels.size() < 2)
      return one(path, spec, spec.bindings, dims_of(spec.dims, "--dim"), spec.kernel);
    for (const std::string& kernel : kernels) {
      auto own = runtime::bindings_for(program->file, kernel, parse_assignments(spec.bindings, "-D"));
      if (!own) return found_.append(own.diagnostics());
      std::vector<std::string> bindings;
      for (const auto& [name, value] : *own) bindings.push_back(name + "=" + value);
      one(path, spec, bindings, own_dims(*program, kernel, *own, dims_of(spec.dims, "--dim")), kernel);
    }
  }

  Diagnostics& found() { return found_; }
  const std::vector<jit::Request>& requests() const { return requests_; }
  std::vector<std::string> paths;  ///< of the requests

 private:
  /// Those that the kernel has, of a file with several.
  static std::map<std::string, std::int64_t> own_dims(const Program& program, const std::string& kernel,
                                                      const lang::Bindings& bindings,
                                                      std::map<std::string, std::int64_t> dims) {
    auto elaborated = lang::elaborate(program.file, kernel, bindings);
    if (!elaborated) return {};
    std::erase_if(dims, [&](const auto& dim) {
      return std::none_of(elaborated->dims.begin(), elaborated->dims.end(),
                          [&](const ir::Var& var) { return var->name == dim.first; });
    });
    return dims;
  }
  void one(const std::string& path, const Spec& spec, const std::vector<std::string>& bindings,
           const std::map<std::string, std::int64_t>& dims, const std::string& kernel) {
    auto request = read_request({path, kernel, bindings}, spec.target, spec.roles, dims);
    if (!request) return found_.append(request.diagnostics());
    if (!*request)
      throw UsageError{fmt::format("--device {}: there is no code for it; name a GPU", spec.target.device)};
    (*request)->build.ahead = true;
    (*request)->folder = folder_;
    requests_.push_back(std::move(**request));
    paths.push_back(path);
  }

  std::string folder_;
  std::vector<jit::Request> requests_;
  Diagnostics found_;
};

std::string beside(const std::string& list, const std::string& path) {
  std::filesystem::path own(path);
  return own.is_absolute() ? path : (std::filesystem::path(list).parent_path() / own).string();
}

/// `FILE [--kernel NAME] [-D NAME=VALUE]… [--dim NAME=VALUE]… [--device MODEL] [--arch ARCH] [--schedule FILE]
/// [--planner NAME]`, apart by blanks.
void read_line(const std::string& list, int number, const std::string& line, Spec spec, Requests& into) {
  std::istringstream words(line);
  std::string file, option, value;
  words >> file;
  auto wrong = [&](const std::string& what) { throw UsageError{fmt::format("{}:{}: {}", list, number, what)}; };
  while (words >> option) {
    if (!(words >> value)) wrong(fmt::format("{} has no value", option));
    if (option == "--kernel") {
      spec.kernel = value;
    } else if (option == "-D") {
      spec.bindings.push_back(value);
    } else if (option == "--dim") {
      spec.dims.push_back(value);
    } else if (option == "--device") {
      spec.target.device = value;
    } else if (option == "--arch") {
      spec.roles.architecture = value;
    } else if (option == "--schedule") {
      spec.target.schedule = beside(list, value);
    } else if (option == "--planner") {
      if (!planner::kind_of(value)) wrong(fmt::format("there is no planner '{}'", value));
      spec.target.planner = value;
    } else {
      wrong(fmt::format("there is no option '{}'", option));
    }
  }
  into.add(beside(list, file), spec);
}

Diagnostics read_list(const std::string& path, const Spec& spec, Requests& into) {
  auto source = runtime::read_source(path);
  if (!source) return source.diagnostics();
  std::istringstream lines((*source)->text());
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    line.resize(std::min(line.find('#'), line.size()));
    if (line.find_first_not_of(" \t\r") != std::string::npos) read_line(path, number, line, spec, into);
  }
  return {};
}

double total(const std::vector<cuda::Step>& steps, std::string_view but = "") {
  double ms = 0;
  for (const cuda::Step& step : steps) ms += step.name == but ? 0 : step.ms;
  return ms;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// What became of each request.
class Tally {
 public:
  explicit Tally(bool times) : times_(times) {}

  void add(const std::string& path, const Result<jit::Compiled>& result, Outcome& outcome) {
    if (!result) {
      outcome.diagnostics.append(result.diagnostics());
      ++failed_;
      return;
    }
    const std::vector<cuda::Step>& steps = result->built.steps;
    const cuda::Kernel& kernel = *result->built.kernel;
    outcome.diagnostics.append(kernel.code().warnings);
    outcome.diagnostics.append(result->remarks);
    (result->is_cached ? known_ : own_).push_back(total(steps, "nvrtc"));
    std::string line = fmt::format("{} {} {}: {}", path, kernel.program().name, kernel.module().arch,
                                   result->is_cached ? "there already" : "compiled");
    Report& report = reports_.emplace_back();
    report.set("file", path);
    report.set("kernel", kernel.program().name);
    report.set("architecture", kernel.module().arch);
    report.set("cached", result->is_cached);
    Report ms;
    if (times_) line += fmt::format(", {:.1f} ms:", total(steps));
    for (const cuda::Step& step : steps) {
      if (times_) line += fmt::format(" {} {:.1f}", step.name, step.ms);
      ms.set(step.name, step.ms);
    }
    report.set("ms", ms);
    outcome.text += line + "\n";
  }

  void finish(const std::string& folder, double seconds, Outcome& outcome) {
    outcome.text +=
        fmt::format("{}: {} compiled, {} there already, {} refused", folder, own_.size(), known_.size(), failed_);
    if (times_) outcome.text += fmt::format(", in {:.2f} s", seconds);
    outcome.text += "\n";
    auto share = [&](const char* what, const std::vector<double>& all) {
      if (times_ && !all.empty())
        outcome.text += fmt::format("{}: {:.1f} ms a kernel (median), {:.1f} ms at most\n", what, median(all),
                                    *std::max_element(all.begin(), all.end()));
    };
    share("compiled, all but NVRTC", own_);
    share("there already", known_);
    outcome.report.set("kernels", reports_);
    outcome.report.set("seconds", seconds);
    outcome.report.set("refused", failed_);
  }

 private:
  bool times_;
  std::vector<double> own_, known_;
  std::int64_t failed_ = 0;
  std::vector<Report> reports_;
};

Outcome add(const AddFlags& flags) {
  if (flags.files.empty() && flags.list.empty()) throw UsageError{"cache add: name a FILE, or a --list of them"};
  store::CodeFolder folder = cache_folder(flags.folder);
  Requests requests(folder.path());
  for (const std::string& file : flags.files) requests.add(file, flags.spec);
  if (!flags.list.empty()) requests.found().append(read_list(flags.list, flags.spec, requests));
  Outcome outcome;
  outcome.diagnostics = requests.found();
  if (outcome.diagnostics.has_errors()) return outcome;
  auto start = std::chrono::steady_clock::now();
  auto results = jit::compile_all(requests.requests(), flags.jobs);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Tally tally(flags.times);
  for (std::size_t i = 0; i < results.size(); ++i) tally.add(requests.paths[i], results[i], outcome);
  tally.finish(folder.path(), seconds, outcome);
  return outcome;
}

}  // namespace

void add_cache_add(const CommandGroup& group, Command& command) {
  Options sub = add_command(group, command, "add", "Compile programs, each kernel of each file, and keep their code");
  auto flags = std::make_shared<AddFlags>();
  sub.add("FILE", flags->files, "tile or role programs");
  sub.add("--list", flags->list,
          "file with a program a line, and behind it what is its own: FILE [--kernel NAME] [-D NAME=VALUE] [--dim "
          "NAME=VALUE] [--device MODEL] [--arch ARCH] [--schedule FILE] [--planner NAME]");
  sub.add("--kernel", flags->spec.kernel, "kernel of the files (default: all)");
  add_assignments(sub, "-D", flags->spec.bindings, "value of a compile-time parameter, e.g. -D dtype=bf16");
  add_assignments(sub, "--dim", flags->spec.dims, "value of a dim of the calls that this is for, e.g. --dim M=8191");
  add_device(sub, "--device", flags->spec.target.device,
             "machine model of the GPU (default: h200; a role program: the one it names)");
  add_schedule_flag(sub, flags->spec.target);
  add_roles_flags(sub, flags->spec.roles);
  add_folder_flag(sub, flags->folder);
  sub.add("--jobs", flags->jobs, "kernels to compile at once (default: as many as there are processors)")
      .check(integer_check(1, 1024));
  sub.flag("--times", flags->times, "tell how long each step took");
  sub.chosen([flags, &command] { command.action = [flags] { return add(*flags); }; });
}

}  // namespace plait::cli
