#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "machine/load.h"
#include "machine/places.h"

namespace plait::machine {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargest = 1 << 20;

/// The file that this code was loaded from: libplait.so, or the program.
fs::path own_file() {
  Dl_info info{};
  bool known = ::dladdr(reinterpret_cast<const void*>(&own_file), &info) != 0 && info.dli_fname != nullptr;
  std::error_code error;
  bool is_library = known && std::string_view(info.dli_fname).find(".so") != std::string_view::npos;
  return fs::canonical(is_library ? info.dli_fname : "/proc/self/exe", error);
}

/// share/plait/machines of the installation that this code runs from; empty where it is not installed.
fs::path installed_folder() {
  fs::path folder = own_file().parent_path();
  std::error_code error;
  // bin/plait, lib/libplait.so, lib/x86_64-linux-gnu/libplait.so
  for (const char* up : {"..", "../.."}) {
    fs::path candidate = folder / up / "share" / "plait" / "machines";
    if (!folder.empty() && fs::is_directory(candidate, error)) return candidate.lexically_normal();
  }
  return {};
}

Diagnostics unreadable(const std::string& path, const std::string& why) {
  Loc loc;
  loc.source = std::make_shared<SourceFile>(path, "");
  Diagnostics diagnostics;
  diagnostics.error(Rule::file_access, loc, why);
  return diagnostics;
}

Result<SourceRef> read_model(const fs::path& path) {
  std::error_code error;
  fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return unreadable(path, "there is no such file");
  if (!fs::is_regular_file(status)) return unreadable(path, "is not a regular file");
  if (fs::file_size(path, error) > kLargest) return unreadable(path, "is larger than 1 MiB, as no machine model is");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf() || fs::file_size(path, error) == 0)) return unreadable(path, "cannot be read");
  return SourceRef(std::make_shared<SourceFile>(path, text.str()));
}

bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

Diagnostics unknown(const std::string& name) {
  Diagnostics diagnostics;
  diagnostics.error(
      Rule::unknown_device, {}, fmt::format("there is no device '{}'", name),
      fmt::format("name one of {}, or the path of a machine model (PATH.json)", fmt::join(device_names(), ", ")));
  return diagnostics;
}

/// Each text is read once a process: models are asked for in many places, and reading one takes as long as finding
/// compiled code.
Result<Device> parse_once(const SourceRef& source) {
  static std::mutex mutex;
  static std::map<std::string, Device> known;
  {
    std::lock_guard lock(mutex);
    if (auto found = known.find(source->text()); found != known.end()) return found->second;
  }
  auto device = parse_device(source);
  if (!device) return device;
  std::lock_guard lock(mutex);
  return known.emplace(source->text(), std::move(*device)).first->second;
}

}  // namespace

std::vector<std::string> device_names() {
  std::set<std::string> names;
  for (const EmbeddedModel& model : embedded_models()) names.emplace(model.name);
  std::error_code error;
  for (fs::directory_iterator entry(installed_folder(), error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == ".json" && is_name(path.stem())) names.insert(path.stem());
  }
  return {names.begin(), names.end()};
}

SourceRef device_source(const std::string& name) {
  if (!is_name(name)) return nullptr;
  fs::path folder = installed_folder();
  if (!folder.empty()) {
    auto source = read_model(folder / (name + ".json"));
    if (source) return *source;
  }
  for (const EmbeddedModel& model : embedded_models()) {
    if (model.name == name)
      return std::make_shared<SourceFile>(fmt::format("machines/{}.json", name), std::string(model.json));
  }
  return nullptr;
}

bool is_model_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".json"); }

Result<Device> load_device(const std::string& name_or_path) {
  if (is_model_path(name_or_path)) {
    auto source = read_model(name_or_path);
    return source ? parse_once(*source) : Result<Device>(source.diagnostics());
  }
  SourceRef source = device_source(name_or_path);
  if (source == nullptr) return unknown(name_or_path);
  auto device = parse_once(source);
  if (!device || device->name == name_or_path) return device;
  Diagnostics found;
  found.error(Rule::model_field, JsonPlaces(source, found, {Rule::model_json, Rule::model_field}).find("name"),
              fmt::format("the name is '{}', and the file is {}.json", device->name, name_or_path),
              "give a known model the name of its file");
  return found;
}

}  // namespace plait::machine
