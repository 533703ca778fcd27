#include "cuda/compile.h"

#include <fmt/format.h>

#include <memory>
#include <sstream>

#include "cuda/log.h"

namespace plait::cuda {
namespace {

/// Lines of a log that a message quotes.
constexpr int kLogLines = 40;

class Program {
 public:
  Program(const Nvrtc& nvrtc, const emit::cuda::Module& module) : nvrtc_(nvrtc) {
    std::string name = module.entry + ".cu";
    status_ = nvrtc_.create(&program_, module.source.c_str(), name.c_str(), 0, nullptr, nullptr);
  }
  ~Program() {
    if (program_ != nullptr) nvrtc_.destroy(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  NvrtcStatus status() const { return status_; }
  NvrtcStatus compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return nvrtc_.compile(program_, static_cast<int>(texts.size()), texts.data());
  }
  std::string log() const { return read(nvrtc_.log_size, nvrtc_.log, true); }
  std::string ptx() const { return read(nvrtc_.ptx_size, nvrtc_.ptx, true); }
  std::string cubin() const { return read(nvrtc_.cubin_size, nvrtc_.cubin, false); }

 private:
  /// Texts are counted with the zero at their end.
  template <typename Size, typename Get>
  std::string read(Size size_of, Get get, bool is_text) const {
    std::size_t size = 0;
    if (size_of(program_, &size) != NvrtcStatus::ok || size == 0) return {};
    std::string data(size, '\0');
    if (get(program_, data.data()) != NvrtcStatus::ok) return {};
    if (is_text) data.resize(data.find_last_not_of('\0') + 1);
    return data;
  }

  const Nvrtc& nvrtc_;
  NvrtcProgram program_ = nullptr;
  NvrtcStatus status_ = NvrtcStatus::ok;
};

std::vector<std::string> option_list(const emit::cuda::Module& module) {
  std::vector<std::string> options = {"--gpu-architecture=" + module.arch, "--ptxas-options=-v"};
  options.insert(options.end(), module.options.begin(), module.options.end());
  return options;
}

std::string compiler_text(const Nvrtc& nvrtc) {
  return fmt::format("NVRTC {}.{} ({})", nvrtc.major, nvrtc.minor, nvrtc.library);
}

Diagnostics failure(const Nvrtc& nvrtc, NvrtcStatus status, const emit::cuda::Module& module, const std::string& log,
                    const Loc& loc) {
  Diagnostics found;
  Rule rule = status == NvrtcStatus::out_of_memory ? Rule::out_of_memory : Rule::gpu_compile;
  Diagnostic& error =
      found.error(rule, loc, fmt::format("NVRTC does not compile {} for {}", module.entry, module.arch));
  error.notes.push_back({{}, fmt::format("{} says: {}", compiler_text(nvrtc), nvrtc.error_text(status))});
  std::istringstream lines(log);
  std::string line;
  for (int i = 0; i < kLogLines && std::getline(lines, line); ++i) {
    if (!line.empty()) error.notes.push_back({{}, line});
  }
  return found;
}

}  // namespace

Result<Code> compile(const Nvrtc& nvrtc, const emit::cuda::Module& module, const CompileOptions& options,
                     const Loc& loc) {
  auto program = std::make_unique<Program>(nvrtc, module);
  if (program->status() != NvrtcStatus::ok) return failure(nvrtc, program->status(), module, {}, loc);
  std::vector<std::string> texts = option_list(module);
  texts.emplace_back("--no-cache");
  NvrtcStatus status = program->compile(texts);
  if (status == NvrtcStatus::invalid_option) {
    // Releases without the option have no such cache.
    texts.pop_back();
    program = std::make_unique<Program>(nvrtc, module);
    status = program->status() == NvrtcStatus::ok ? program->compile(texts) : program->status();
  }
  std::string log = program->log();
  if (status != NvrtcStatus::ok) return failure(nvrtc, status, module, log, loc);
  Code code;
  code.cubin = program->cubin();
  code.ptx = program->ptx();
  if (code.cubin.empty())
    return failure(nvrtc, status, module, "no code was made: is the architecture a real one?", loc);
  code.compiler = compiler_text(nvrtc);
  code.report = read_report(log, module.entry);
  code.warnings = judge(code.report, options.allow_serialized, loc);
  if (code.warnings.has_errors()) return code.warnings;
  return code;
}

}  // namespace plait::cuda
