#include "compile_bundle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "bundle/bundle.h"
#include "bundle/folder.h"
#include "roles/parse.h"
#include "roles/signature.h"
#include "runtime/files.h"

namespace plait::cli {
namespace {

constexpr const char* kPreferred = "h200";  ///< of the models of one architecture

/// The name of a model of the architecture; empty where there is none.
std::string model_of(const std::string& architecture) {
  std::string found;
  for (const std::string& name : machine::device_names()) {
    auto device = machine::load_device(name);
    if (!device || device->target != machine::Target::cuda || device->arch != architecture) continue;
    if (found.empty() || name == kPreferred) found = name;
  }
  return found;
}

bool is_architecture(const std::string& text) { return text.starts_with("sm_"); }

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  if (list.empty() || list.back() == ',') out.emplace_back();
  return out;
}

/// The requests of all kernels of all files.
class Requests {
 public:
  explicit Requests(const BundleOptions& options)
      : options_(options), bindings_(parse_assignments(options.bindings, "-D")) {}

  Diagnostics read() {
    for (const std::string& file : options_.files) {
      Diagnostics found = holds_roles(file) ? read_roles(file) : read_tile(file);
      if (found.has_errors()) return found;
    }
    Diagnostics found;
    for (const auto& [name, value] : bindings_) {
      if (!known_.contains(name))
        unknown(found, fmt::format("compile-time parameter {} (-D {}={})", name, name, value));
    }
    for (const auto& [name, value] : options_.dims) {
      if (!known_dims_.contains(name)) unknown(found, fmt::format("dim {} (--dim {}={})", name, name, value));
    }
    return found;
  }
  const std::vector<jit::Request>& list() const { return requests_; }

 private:
  void unknown(Diagnostics& found, const std::string& what) const {
    found.error(Rule::bundle_parameter, runtime::file_loc(options_.files.front()),
                fmt::format("no kernel of {} has a {}", fmt::join(options_.files, ", "), what));
  }
  jit::Request request(const SourceRef& source) const {
    jit::Request request;
    request.source = source;
    request.planner = *planner::kind_of(options_.planner);
    request.build.compile.allow_serialized = options_.allow_serialized;
    return request;
  }
  void take_dims(const std::vector<ir::Var>& dims, jit::Request& request) {
    for (const ir::Var& dim : dims) {
      auto given = options_.dims.find(dim->name);
      if (given == options_.dims.end()) continue;
      request.dims.insert(*given);
      known_dims_.insert(dim->name);
    }
  }
  Diagnostics read_roles(const std::string& path);
  Diagnostics read_tile(const std::string& path);
  Diagnostics read_kernel(const Program& program, const std::string& name);

  const BundleOptions& options_;
  lang::Bindings bindings_;
  std::set<std::string> known_, known_dims_;
  std::vector<jit::Request> requests_;
};

Diagnostics Requests::read_roles(const std::string& path) {
  auto source = read_program(path);
  if (!source) return source.diagnostics();
  jit::Request made = request(*source);
  made.bindings = bindings_;
  auto program = roles::parse(*source, bindings_);
  if (!program) return program.diagnostics();
  for (const auto& [name, value] : bindings_) known_.insert(name);
  take_dims(program->dims, made);
  requests_.push_back(std::move(made));
  return {};
}

Diagnostics Requests::read_kernel(const Program& program, const std::string& name) {
  jit::Request made = request(program.source);
  made.kernel = name;
  for (const auto& [parameter, value] : bindings_) {
    if (!runtime::has_parameter(program.file, name, parameter)) continue;
    made.bindings[parameter] = value;
    known_.insert(parameter);
  }
  if (!options_.schedule.empty()) {
    auto schedule = runtime::read_source(options_.schedule);
    if (!schedule) return schedule.diagnostics();
    made.schedule = *schedule;
  }
  auto kernel = lang::elaborate(program.file, name, made.bindings);
  if (!kernel) return kernel.diagnostics();
  take_dims(kernel->dims, made);
  requests_.push_back(std::move(made));
  return {};
}

Diagnostics Requests::read_tile(const std::string& path) {
  auto program = load_program(path);
  if (!program) return program.diagnostics();
  std::vector<std::string> names = lang::kernel_names(program->file);
  if (!options_.kernel.empty() || names.empty()) {
    auto chosen = runtime::choose_kernel(program->file, options_.kernel);
    if (!chosen) return chosen.diagnostics();
    names = {*chosen};
  }
  for (const std::string& name : names) {
    if (Diagnostics found = read_kernel(*program, name); found.has_errors()) return found;
  }
  return {};
}

/// Those that --device names; a GPU that code is printed for.
Result<std::vector<machine::Device>> load_devices(const std::vector<std::string>& names) {
  std::vector<machine::Device> devices;
  for (const std::string& name : names) {
    auto device = machine::load_device(name);
    if (!device) return device.diagnostics();
    if (device->target != machine::Target::cuda)
      throw UsageError{fmt::format("--device {}: there is no code for it; name a GPU", name)};
    for (const machine::Device& other : devices) {
      if (other.arch == device->arch)
        throw UsageError{fmt::format("--device: {} and {} are both {}; a bundle has code for one of them", other.name,
                                     device->name, device->arch)};
    }
    devices.push_back(std::move(*device));
  }
  return devices;
}

/// Those that the role programs name, and the default one for tile programs. What is wrong with a program is told
/// later.
std::vector<std::string> default_devices(const BundleOptions& options) {
  std::vector<std::string> names;
  for (const std::string& file : options.files) {
    std::string name = kPreferred;
    if (holds_roles(file)) {
      auto source = read_program(file);
      auto program = source ? roles::parse(*source, parse_assignments(options.bindings, "-D")) : source.diagnostics();
      if (program) name = program->device;
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

Outcome told(const bundle::Bundle& made, const bundle::Files& files, const std::string& folder) {
  Outcome outcome;
  outcome.diagnostics = made.warnings;
  std::size_t bytes = files.header.size() + files.source.size();
  for (const bundle::Code& code : made.codes) bytes += code.cubin.size();
  std::vector<Report> kernels;
  for (const bundle::BundledKernel& kernel : made.kernels) {
    for (std::size_t d = 0; d < kernel.devices.size(); ++d) {
      std::set<std::size_t> codes;
      for (const bundle::Variant& variant : kernel.devices[d].variants) codes.insert(variant.code);
      outcome.text += fmt::format("{} {}: {} cubin{} for {} alignment{}\n", kernel.name, made.architectures[d],
                                  codes.size(), codes.size() == 1 ? "" : "s", kernel.devices[d].variants.size(),
                                  kernel.devices[d].variants.size() == 1 ? "" : "s");
      Report& report = kernels.emplace_back();
      report.set("kernel", kernel.name);
      report.set("architecture", made.architectures[d]);
      report.set("cubins", static_cast<std::int64_t>(codes.size()));
      report.set("alignments", static_cast<std::int64_t>(kernel.devices[d].variants.size()));
    }
  }
  outcome.text += fmt::format("{}: {}.h, {}.c and {} cubin{}, {} KiB\n", folder, made.name, made.name,
                              made.codes.size(), made.codes.size() == 1 ? "" : "s", (bytes + 1023) / 1024);
  for (const std::string& remark : made.remarks) outcome.remarks += "note: " + remark + "\n";
  outcome.report.set("emit", "bundle");
  outcome.report.set("output", folder);
  outcome.report.set("bundle", made.name);
  outcome.report.set("bytes", static_cast<std::int64_t>(bytes));
  outcome.report.set("kernels", kernels);
  outcome.report.set("remarks", made.remarks);
  return outcome;
}

}  // namespace

std::vector<std::string> devices_of(const std::string& list) {
  std::vector<std::string> names;
  for (const std::string& word : split(list)) names.push_back(is_architecture(word) ? model_of(word) : word);
  return names;
}

std::string check_devices(const std::string& list) {
  std::vector<std::string> known = machine::device_names();
  for (const std::string& word : split(list)) {
    if (machine::is_model_path(word) || std::find(known.begin(), known.end(), word) != known.end()) continue;
    if (!is_architecture(word))
      return fmt::format("there is no device '{}'; the devices are {}, or PATH.json, a machine model of your own", word,
                         fmt::join(known, ", "));
    if (model_of(word).empty())
      return fmt::format(
          "no device has the architecture '{}'; name a device: {}, or PATH.json, a machine model of your "
          "own",
          word, fmt::join(known, ", "));
  }
  return "";
}

Outcome compile_bundle(const BundleOptions& options) {
  if (options.output.empty() || options.output == "-") throw UsageError{"--emit bundle: name a folder with -o"};
  if (!options.kernel.empty() && options.files.size() > 1) throw UsageError{"--kernel: it is for one FILE"};
  auto devices = load_devices(options.devices.empty() ? default_devices(options) : options.devices);
  if (!devices) return failed(devices.diagnostics());
  auto name = bundle::name_of(options.output);
  if (!name) return failed(name.diagnostics());
  if (Diagnostics found = bundle::check_folder(options.output, *name); found.has_errors()) return failed(found);
  Requests requests(options);
  if (Diagnostics found = requests.read(); found.has_errors()) return failed(found);
  if (!options.schedule.empty() && requests.list().size() > 1)
    throw UsageError{"--schedule: it is for one kernel; name it with --kernel"};
  if (!options.schedule.empty() && devices->size() > 1) throw UsageError{"--schedule: it is for one device"};
  auto made = bundle::compile(*name, requests.list(), *devices, options.jobs);
  if (!made) return failed(made.diagnostics());
  auto files = bundle::print(*made);
  if (!files) return failed(files.diagnostics());
  Diagnostics written = bundle::write(options.output, *made, *files);
  if (written.has_errors()) return failed(written);
  return told(*made, *files, options.output);
}

}  // namespace plait::cli
