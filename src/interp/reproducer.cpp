#include "interp/reproducer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

namespace plait::interp {

namespace {

/// The word as a shell reads it back.
std::string quoted(const std::string& word) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string command(const FailedRun& run, const std::string& path) {
  std::string line = "plait run " + quoted(path);
  for (const std::string& word : run.options) line += " " + quoted(word);
  for (const auto& [name, value] : run.dims) line += fmt::format(" --dim {}={}", name, value);
  return fmt::format("{} --seed {}", line, run.seed);
}

/// Each line of `text` behind "# "; other control characters, which no comment may hold, as spaces.
std::string commented(const std::string& text) {
  std::istringstream lines(text);
  std::string out, line;
  while (std::getline(lines, line)) {
    for (char& c : line) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    }
    out += line.empty() ? "#\n" : "# " + line + "\n";
  }
  return out;
}

}  // namespace

std::string reproducer_text(const ir::Kernel& kernel, const FailedRun& run, const std::string& path) {
  return commented(run.problem) + commented("Repeat with: " + command(run, path)) + ir::print(kernel);
}

Diagnostics write_reproducer(const ir::Kernel& kernel, const FailedRun& run, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << reproducer_text(kernel, run, path);
  file.close();
  Diagnostics found;
  if (!file) {
    found.error(Rule::file_access, {}, fmt::format("cannot write {}: {}", path, std::strerror(errno)));
  }
  return found;
}

}  // namespace plait::interp
