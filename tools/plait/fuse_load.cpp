#include "fuse_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "pipeline/assume.h"
#include "runtime/frontend.h"

namespace plait::cli {
namespace {

using Texts = std::map<std::string, std::string>;

struct ParsedSide {
  Program program;
  std::string kernel, label;
};

Result<ParsedSide> parse_side(const std::string& path, const std::string& kernel) {
  if (holds_roles(path))
    throw UsageError{
        fmt::format("fuse: {} is a role program, whose blocks are what they are; name the tile program", path)};
  auto program = load_program(path);
  if (!program) return program.diagnostics();
  auto name = runtime::choose_kernel(program->file, kernel);
  if (!name) return name.diagnostics();
  return ParsedSide{std::move(*program), *name, *name};
}

/// Deals NAME=VALUE texts out to the two kernels.
class FuseDealer {
 public:
  /// Whether the kernel, by its place, has something of this name.
  using Has = std::function<bool(std::size_t side, const std::string& name)>;

  explicit FuseDealer(const std::vector<ParsedSide>& sides) : sides_(sides) {}

  std::vector<Texts> deal(const std::string& flag, const std::vector<std::string>& texts, const Has& has) const {
    std::vector<Texts> out(sides_.size());
    for (const auto& [name, value] : parse_assignments(texts, flag)) {
      std::size_t point = name.find('.');
      bool found = false;
      for (std::size_t i = 0; i < sides_.size(); ++i) {
        bool named = point != std::string::npos && name.substr(0, point) == sides_[i].label;
        std::string own = named ? name.substr(point + 1) : name;
        if ((!named && point != std::string::npos) || !has(i, own)) continue;
        found = true;
        // What names the kernel overrules what is said to both.
        if (named) {
          out[i].insert_or_assign(own, value);
        } else {
          out[i].try_emplace(own, value);
        }
      }
      if (!found) unknown(flag, name);
    }
    return out;
  }

 private:
  [[noreturn]] void unknown(const std::string& flag, const std::string& name) const {
    throw UsageError{fmt::format("{} {}: neither {} nor {} has it; write NAME=VALUE, or {}.NAME=VALUE for one of them",
                                 flag, name, sides_[0].label, sides_[1].label, sides_[0].label)};
  }

  const std::vector<ParsedSide>& sides_;
};

bool has_parameter(const ParsedSide& side, const std::string& name) {
  for (const syntax::Item& item : side.program.file.items) {
    const auto* kernel = std::get_if<syntax::Kernel>(&item.node);
    if (kernel == nullptr || kernel->name != side.kernel) continue;
    auto is = [&](const syntax::CompileParam& param) { return param.name == name; };
    if (std::any_of(kernel->compile_params.begin(), kernel->compile_params.end(), is)) return true;
  }
  return false;
}

bool has_dim(const ir::Kernel& kernel, const std::string& name) {
  auto is = [&](const ir::Var& dim) { return dim->name == name; };
  return std::any_of(kernel.dims.begin(), kernel.dims.end(), is);
}

bool has_scalar(const ir::Kernel& kernel, const std::string& name) {
  auto is = [&](const ir::Param& param) { return param.scalar != nullptr && param.scalar->name == name; };
  return std::any_of(kernel.params.begin(), kernel.params.end(), is);
}

std::vector<std::string> texts_of(const Texts& values) {
  std::vector<std::string> out;
  for (const auto& [name, value] : values) out.push_back(name + "=" + value);
  return out;
}

/// How many blocks of the kernel a block of the fused one stands for.
void read_blocks(const FuseFlags& flags, std::vector<FuseSide>& sides) {
  constexpr int kMost = 32;
  for (const auto& [name, text] : parse_assignments(flags.blocks, "--blocks")) {
    auto side = std::find_if(sides.begin(), sides.end(), [&](const FuseSide& s) { return s.label == name; });
    if (side == sides.end())
      throw UsageError{fmt::format("--blocks {}: the kernels are {} and {}", name, sides[0].label, sides[1].label)};
    int count = 0;
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || stop != text.data() + text.size() || count < 1 || count > kMost)
      throw UsageError{fmt::format("--blocks {}: '{}' is no integer from 1 to {}", name, text, kMost)};
    side->subject.blocks = count;
  }
}

Diagnostics read_schedules(const FuseFlags& flags, std::vector<FuseSide>& sides, std::string& device) {
  for (const std::string& path : flags.schedules) {
    auto schedule = read_schedule(path);
    if (!schedule) return schedule.diagnostics();
    auto is = [&](const FuseSide& side) {
      return side.subject.kernel.name == schedule->kernel && !side.subject.schedule;
    };
    auto side = std::find_if(sides.begin(), sides.end(), is);
    if (side == sides.end())
      throw UsageError{fmt::format("--schedule {}: it is for {}, and the kernels are {} and {}, each with one schedule",
                                   path, schedule->kernel, sides[0].label, sides[1].label)};
    if (device.empty()) device = schedule->device;
    side->subject.schedule = std::move(*schedule);
  }
  return {};
}

}  // namespace

Result<FuseInput> load_fuse(const FuseFlags& flags) {
  std::vector<ParsedSide> parsed;
  for (std::size_t i : {0, 1}) {
    auto side = parse_side(flags.paths[i], flags.kernels[i]);
    if (!side) return side.diagnostics();
    parsed.push_back(std::move(*side));
  }
  if (parsed[0].kernel == parsed[1].kernel) {
    parsed[0].label += "_a";
    parsed[1].label += "_b";
  }
  FuseDealer dealer(parsed);
  auto bindings = dealer.deal("-D", flags.bindings,
                              [&](std::size_t i, const std::string& name) { return has_parameter(parsed[i], name); });
  FuseInput input;
  for (std::size_t i : {0, 1}) {
    auto kernel = runtime::build_kernel(parsed[i].program.file, parsed[i].kernel, bindings[i]);
    if (!kernel) return kernel.diagnostics();
    input.sides.push_back({parsed[i].label, parsed[i].program, {std::move(*kernel), {}, {}, {}}, {}, {}});
  }
  auto kernel_of = [&](std::size_t i) -> const ir::Kernel& { return input.sides[i].subject.kernel; };
  auto dims = dealer.deal("--dim", flags.dims,
                          [&](std::size_t i, const std::string& name) { return has_dim(kernel_of(i), name); });
  auto scalars = dealer.deal("--scalar", flags.scalars,
                             [&](std::size_t i, const std::string& name) { return has_scalar(kernel_of(i), name); });
  for (std::size_t i : {0, 1}) {
    FuseSide& side = input.sides[i];
    side.dims = dims_of(texts_of(dims[i]), "--dim");
    side.scalars = scalars[i];
    side.subject.planning = {*planner::kind_of(flags.planner), pipeline::assume(side.subject.kernel, side.dims),
                             side.dims};
    side.subject.planning.store = store::default_path();
  }
  read_blocks(flags, input.sides);
  std::string name = flags.device;
  if (Diagnostics found = read_schedules(flags, input.sides, name); found.has_errors()) return found;
  auto device = machine::load_device(name.empty() ? "h200" : name);
  if (!device) return device.diagnostics();
  input.device = std::move(*device);
  return input;
}

}  // namespace plait::cli
