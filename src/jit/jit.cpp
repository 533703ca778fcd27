#include "jit/jit.h"

#include <fmt/format.h>

#include <array>

#include "jit/compiler.h"
#include "jit/entry.h"
#include "machine/load.h"
#include "pipeline/assume.h"
#include "pipeline/derive.h"
#include "plan/schedule.h"
#include "roles/parse.h"
#include "roles/verify.h"
#include "runtime/frontend.h"
#include "store/digest.h"
#include "store/measured.h"
#include "support/jit.h"
#include "syntax/tree.h"

namespace plait::jit {
namespace {

/// Why code of a kernel is looked for in vain, and what to do.
constexpr const char* kBringIt =
    "compile it ahead (`plait cache add`) and bring it with `plait cache export` and `plait cache import`, for the "
    "same "
    "version of plait, or unset PLAIT_JIT";

/// One compilation on its way.
class Compilation {
 public:
  explicit Compilation(const Request& request) : request_(request), folder_(request.folder), clock_(steps_) {}

  Result<Compiled> run() {
    if (Diagnostics found = read(); found.has_errors()) return found;
    // Of other machines' models the way says itself what is wrong with them.
    if (request_.build.architecture.empty() && request_.device->target == machine::Target::cuda)
      request_.build.architecture = request_.device->arch;
    clock_.lap("read");
    bool kept = !request_.build.source_only && !folder_.is_off();
    if (kept) {
      for (bool planned : {false, true})
        keys_[planned] = key_of(request_, tile_ ? &*tile_ : nullptr, out_.assumptions, planned);
      if (look_up()) return finished();
    }
    Diagnostics no = is_free() ? Diagnostics() : check_jit(name(), loc(), kBringIt);
    if (no.has_errors()) return no;
    if (Diagnostics found = make(); found.has_errors()) return found;
    if (kept) {
      keep();
      clock_.lap("keep");
    }
    return finished();
  }

 private:
  const Loc& loc() const { return tile_ ? tile_->loc : program_.loc; }
  const std::string& name() const { return tile_ ? tile_->name : program_.name; }
  /// Nothing is compiled because a call needs it.
  bool is_free() const { return request_.build.ahead || request_.build.source_only; }

  Diagnostics read();
  Diagnostics read_tile();
  Diagnostics read_roles();
  /// Whether a planner is asked. What it left as it was does not depend on it: that is found by the key without
  /// planner.
  bool may_be_planned() const { return tile_ && request_.schedule == nullptr; }
  bool look_up();
  std::optional<store::CodeName> exact_name(bool planned);
  std::string measured() const;
  bool take(store::CodeFolder::Found found);
  Diagnostics make();
  Diagnostics derive(const std::optional<plan::Schedule>& schedule);
  void keep();
  Compiled finished() {
    out_.tile = std::move(tile_);
    out_.built.steps = std::move(steps_);
    return std::move(out_);
  }

  Request request_;
  store::CodeFolder folder_;
  std::vector<cuda::Step> steps_;
  cuda::StepClock clock_;
  std::optional<ir::Kernel> tile_;
  std::optional<plan::Schedule> schedule_;
  roles::Program program_;
  Diagnostics warnings_;
  std::array<std::string, 2> keys_;  ///< of what was not planned, of what was
  bool planned_ = false;
  Compiled out_;
};

Diagnostics Compilation::read() { return roles::is_role_text(request_.source->text()) ? read_roles() : read_tile(); }

Diagnostics Compilation::read_roles() {
  auto program = roles::parse(request_.source, request_.bindings);
  if (!program) return program.diagnostics();
  program_ = std::move(*program);
  if (request_.device) {
    program_.device = request_.device->name;
    return {};
  }
  auto device = machine::load_device(program_.device);
  if (!device) return device.diagnostics();
  request_.device = std::move(*device);
  return {};
}

Diagnostics Compilation::read_tile() {
  PLAIT_ASSERT(request_.device.has_value(), "a tile program without a device");
  auto file = syntax::parse(request_.source);
  if (!file) return file.diagnostics();
  auto chosen = runtime::choose_kernel(*file, request_.kernel);
  if (!chosen) return chosen.diagnostics();
  // Code that is there was made of a program that kept every rule.
  auto kernel = lang::elaborate(*file, *chosen, request_.bindings);
  if (!kernel) return kernel.diagnostics();
  tile_ = std::move(*kernel);
  out_.assumptions = request_.assumptions ? *request_.assumptions : pipeline::assume(*tile_, request_.dims);
  return {};
}

/// What was measured for the device.
std::string Compilation::measured() const {
  std::string path = store::default_path();
  if (request_.planner == planner::Kind::rules || path.empty()) return {};
  auto database = store::Database::open(path, store::Access::read);
  auto all = database ? store::all_measured(*database, request_.device->name) : database.diagnostics();
  return all ? *all : std::string();
}

std::optional<store::CodeName> Compilation::exact_name(bool planned) {
  // Where nothing may be compiled, the compiler is not opened for a look at its version.
  auto version = compiler_version(folder_.path(), is_free() || !jit_is_forbidden());
  if (!version) return std::nullopt;
  std::string variant = fmt::format("{}\n{}", *version, planned ? measured() : std::string());
  return store::CodeName{keys_[planned], store::digest_of(variant, store::CodeName::kVariantDigits)};
}

/// Where nothing may be compiled, or nothing could be, code of another compiler, or planned with other measurements,
/// serves as well.
bool Compilation::look_up() {
  bool exact = true, found = false;
  for (bool planned : {false, true}) {
    if (found || (planned && !may_be_planned())) continue;
    auto name = exact_name(planned);
    exact = exact && name.has_value();
    found = name && take(folder_.find(*name));
  }
  bool any = !exact || (jit_is_forbidden() && !is_free());
  for (bool planned : {false, true}) found = found || (any && take(folder_.find_any(keys_[planned])));
  clock_.lap("cache");
  return found;
}

bool Compilation::take(store::CodeFolder::Found found) {
  out_.remarks.append(found.warnings);
  if (!found.file) return false;
  auto kernel = from_file(*found.file, request_.source);
  if (!kernel) return false;
  kernel->assumptions = std::move(out_.assumptions);
  kernel->remarks = std::move(out_.remarks);
  out_ = std::move(*kernel);
  return true;
}

Diagnostics Compilation::derive(const std::optional<plan::Schedule>& schedule) {
  if (schedule) {
    auto derived = pipeline::derive(*tile_, *request_.device, {out_.assumptions, schedule, nullptr});
    if (!derived) return derived.diagnostics();
    program_ = std::move(derived->program);
    return {};
  }
  planner::Options options{request_.planner, out_.assumptions, request_.dims};
  options.store = store::default_path();
  auto planned = planner::plan(*tile_, *request_.device, options);
  if (!planned) return planned.diagnostics();
  program_ = std::move(planned->derived.program);
  // Where nothing is open nothing is weighed. By rules nothing is weighed either, and what is open does not overlap.
  planned_ = !planned->candidates.empty() || request_.planner == planner::Kind::rules;
  return {};
}

Diagnostics Compilation::make() {
  if (tile_) {
    auto prepared = runtime::prepare_kernel(*tile_);
    if (!prepared) return prepared.diagnostics();
    tile_ = std::move(*prepared);
    clock_.lap("verify");
    std::optional<plan::Schedule> schedule;
    if (request_.schedule != nullptr) {
      bool json = request_.schedule->name().ends_with(".json");
      auto read = json ? plan::parse_json(request_.schedule) : plan::parse(request_.schedule);
      if (!read) return read.diagnostics();
      schedule = std::move(*read);
    }
    Diagnostics found = derive(schedule);
    if (found.has_errors()) return found;
    out_.tile_requires = tile_->requires_.size();
    clock_.lap("derive");
  } else {
    warnings_ = roles::verify(program_, roles::limits_of(*request_.device));
    if (warnings_.has_errors()) return warnings_;
    clock_.lap("verify");
  }
  auto built = cuda::build(std::move(program_), request_.build, std::move(warnings_));
  if (!built) return built.diagnostics();
  steps_.insert(steps_.end(), built->steps.begin(), built->steps.end());
  clock_.restart();
  out_.built = std::move(*built);
  return {};
}

void Compilation::keep() {
  auto name = exact_name(planned_);
  if (name) out_.remarks.append(folder_.put(to_file(*name, request_, out_)));
}

}  // namespace

Result<Compiled> compile(const Request& request) { return Compilation(request).run(); }

}  // namespace plait::jit
