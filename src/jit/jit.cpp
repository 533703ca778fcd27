#include "jit/jit.h"

#include <fmt/format.h>

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
#include "verify/verify.h"

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
      key_ = key_of(request_, tile_ ? &*tile_ : nullptr, out_.assumptions);
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
  bool look_up();
  std::optional<store::CodeName> exact_name();
  std::string measured() const;
  bool take(store::CodeFolder::Found found);
  Diagnostics make();
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
  std::string key_;
  std::optional<store::CodeName> name_;
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

/// What was measured for the device, as far as the code depends on it.
std::string Compilation::measured() const {
  std::string path = store::default_path();
  bool planned =
      tile_ && request_.schedule == nullptr && request_.planner != planner::Kind::rules && planner::is_open(*tile_);
  if (!planned || path.empty()) return {};
  auto database = store::Database::open(path, store::Access::read);
  auto all = database ? store::all_measured(*database, request_.device->name) : database.diagnostics();
  return all ? *all : std::string();
}

std::optional<store::CodeName> Compilation::exact_name() {
  auto version = compiler_version(folder_.path());
  if (!version) return std::nullopt;
  return store::CodeName{
      key_, store::digest_of(fmt::format("{}\n{}", *version, measured()), store::CodeName::kVariantDigits)};
}

/// Where nothing may be compiled, or nothing could be, code of another compiler, or planned with other measurements,
/// serves as well.
bool Compilation::look_up() {
  name_ = exact_name();
  bool found = name_ && take(folder_.find(*name_));
  if (!found && (!name_ || (jit_is_forbidden() && !is_free()))) found = take(folder_.find_any(key_));
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

Diagnostics Compilation::make() {
  if (tile_) {
    Diagnostics found = verify::verify(*tile_);
    if (found.has_errors()) return found;
    clock_.lap("verify");
    std::optional<plan::Schedule> schedule;
    if (request_.schedule != nullptr) {
      bool json = request_.schedule->name().ends_with(".json");
      auto read = json ? plan::parse_json(request_.schedule) : plan::parse(request_.schedule);
      if (!read) return read.diagnostics();
      schedule = std::move(*read);
    }
    planner::Options planning{request_.planner, out_.assumptions, request_.dims};
    planning.store = store::default_path();
    auto derived = planner::derive(*tile_, *request_.device, schedule, planning);
    if (!derived) return derived.diagnostics();
    program_ = std::move(derived->program);
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
  if (name_) out_.remarks.append(folder_.put(to_file(*name_, request_, out_)));
}

}  // namespace

Result<Compiled> compile(const Request& request) { return Compilation(request).run(); }

}  // namespace plait::jit
