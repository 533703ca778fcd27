#include "cuda/log.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace plait::cuda {
namespace {

struct Message {
  std::string_view code;
  Rule rule;
  bool is_error;
  std::string_view meaning;
  std::string_view fix;
};

constexpr std::string_view kFewRegisters = "use smaller fragments, or give the role more registers";
constexpr std::string_view kAwait = "await the instructions that write a fragment before it is used";

/// Messages of ptxas about wgmma and setmaxnreg.
constexpr Message kMessages[] = {
    {"C7507", Rule::gpu_registers, false, "setmaxnreg is ignored: it asks for fewer registers than the role needs", ""},
    {"C7508", Rule::gpu_registers, true, "setmaxnreg is ignored: the register count at the kernel's start is not known",
     "emit launch bounds"},
    {"C7510", Rule::gpu_serialized, true,
     "wgmma instructions wait for each other: one stands in a function that is not inlined",
     "expand the function in place"},
    {"C7511", Rule::gpu_serialized, true, "wgmma instructions wait for each other: there are too few registers",
     kFewRegisters},
    {"C7512", Rule::gpu_serialized, true, "wgmma instructions wait for each other: there are too few registers",
     kFewRegisters},
    {"C7513", Rule::gpu_serialized, true,
     "wgmma instructions wait for each other: a register operand is written while an instruction that reads it is "
     "under way",
     kAwait},
    {"C7514", Rule::gpu_serialized, true,
     "wgmma instructions wait for each other: an accumulator is used before the instructions that write it are awaited",
     kAwait},
    {"C7515", Rule::gpu_serialized, true,
     "wgmma instructions wait for each other: an accumulator is used before the instructions that write it are awaited",
     kAwait},
    {"C7516", Rule::gpu_serialized, true, "wgmma instructions wait for each other", kAwait},
    {"C7517", Rule::gpu_serialized, true,
     "an await is missing: the assembler puts one in, but later than what else relies on it", kAwait},
    {"C7518", Rule::gpu_serialized, true, "wgmma instructions wait for each other", kAwait},
    {"C7519", Rule::gpu_serialized, true,
     "a wgmma fence is missing, or the instructions stand under a condition or in a loop that is not unrolled: the "
     "assembler puts "
     "fences in",
     "put `fence wgmma` before the first instruction and unroll the loop over k steps"},
    {"C7520", Rule::gpu_serialized, true,
     "wgmma instructions wait for each other: one stands under a condition that differs between threads",
     "use conditions that are uniform over the warpgroup"},
};

/// The number that stands in front of `behind` in `line`.
int number_before(std::string_view line, std::string_view behind) {
  std::size_t end = line.find(behind);
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  int value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

/// The line of the log that has `code`, without the text that all such lines begin with.
std::string line_with(const std::string& log, std::string_view code) {
  std::size_t at = log.find(fmt::format("({})", code));
  if (at == std::string::npos) return {};
  return log.substr(at, log.find('\n', at) - at);
}

}  // namespace

CodeReport read_report(const std::string& log, const std::string& entry) {
  CodeReport report;
  report.log = log;
  std::istringstream lines(log);
  bool is_ours = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("Compiling entry function") != std::string::npos)
      is_ours = line.find(fmt::format("'{}'", entry)) != std::string::npos;
    if (!is_ours) continue;
    if (line.find(" spill stores") != std::string::npos) {
      report.stack_bytes = number_before(line, " bytes stack frame");
      report.spill_store_bytes = number_before(line, " bytes spill stores");
      report.spill_load_bytes = number_before(line, " bytes spill loads");
    }
    if (line.find("Used ") != std::string::npos) report.registers = number_before(line, " registers");
  }
  return report;
}

namespace {

/// All messages under one rule in one diagnostic: the first that is an error speaks, each is quoted.
void add_messages(Diagnostics& found, const CodeReport& report, Rule rule, bool errors_allowed, const Loc& loc) {
  Diagnostic diagnostic{rule, loc, {}, {}, {}, Severity::warning};
  for (const Message& message : kMessages) {
    std::string line = message.rule == rule ? line_with(report.log, message.code) : std::string();
    if (line.empty()) continue;
    bool is_error = message.is_error && errors_allowed;
    if (diagnostic.message.empty() || (is_error && diagnostic.severity == Severity::warning)) {
      diagnostic.message = message.meaning;
      diagnostic.fix = message.fix;
    }
    if (is_error) diagnostic.severity = Severity::error;
    diagnostic.notes.push_back({{}, fmt::format("{}; the assembler says: {}", message.meaning, line)});
  }
  if (!diagnostic.notes.empty()) found.add(std::move(diagnostic));
}

}  // namespace

Diagnostics judge(const CodeReport& report, bool allow_serialized, const Loc& loc) {
  Diagnostics found;
  add_messages(found, report, Rule::gpu_serialized, !allow_serialized, loc);
  add_messages(found, report, Rule::gpu_registers, true, loc);
  if (report.spill_store_bytes + report.spill_load_bytes > 0) {
    found.add({Rule::gpu_spill,
               loc,
               fmt::format("registers are spilled to memory: {} bytes a thread stored, {} loaded",
                           report.spill_store_bytes, report.spill_load_bytes),
               {},
               {},
               Severity::warning});
  }
  return found;
}

}  // namespace plait::cuda
