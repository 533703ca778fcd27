#include "cuda/nvrtc.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "cuda/errors.h"
#include "cuda/library.h"

namespace plait::cuda {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestNvrtc = 12;
constexpr const char* kSonames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/// The entries of a folder whose names begin with `prefix`, newest version first.
std::vector<fs::path> entries(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().rfind(prefix, 0) == 0) found.push_back(it->path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

void add_folder(std::vector<std::string>& candidates, const fs::path& folder) {
  for (const char* name : kSonames) {
    std::error_code error;
    if (fs::exists(folder / name, error)) candidates.push_back((folder / name).string());
  }
}

void add_toolkits(std::vector<std::string>& candidates) {
  std::vector<fs::path> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (std::string root = environment(variable); !root.empty()) roots.emplace_back(root);
  }
  roots.emplace_back("/usr/local/cuda");
  for (fs::path& versioned : entries("/usr/local", "cuda-")) roots.push_back(std::move(versioned));
  for (const fs::path& root : roots) {
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"}) add_folder(candidates, root / folder);
  }
}

/// NVIDIA's Python packages lay their libraries in site-packages/nvidia/cuda_nvrtc/lib (version 12) and
/// nvidia/cu13/lib.
void add_packages(std::vector<std::string>& candidates) {
  std::vector<fs::path> prefixes;
  for (const char* variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (std::string prefix = environment(variable); !prefix.empty()) prefixes.emplace_back(prefix);
  }
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  if (std::string home = environment("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  for (const fs::path& prefix : prefixes) {
    for (const fs::path& python : entries(prefix / "lib", "python3")) {
      for (const char* site : {"site-packages", "dist-packages"}) {
        for (const char* package : {"cu13", "cu12", "cuda_nvrtc"})
          add_folder(candidates, python / site / "nvidia" / package / "lib");
      }
    }
  }
}

Result<Nvrtc> load_named(const std::string& name) {
  std::error_code error;
  if (!fs::is_directory(name, error)) return load_nvrtc(name);
  std::vector<std::string> candidates;
  add_folder(candidates, name);
  if (candidates.empty())
    return problem(Rule::gpu_nvrtc, fmt::format("NVRTC is not in {}, which PLAIT_NVRTC names", name),
                   fmt::format("looked for {} and {}", kSonames[0], kSonames[1]));
  return load_nvrtc(candidates.front());
}

Result<Nvrtc> find() {
  if (std::string named = environment("PLAIT_NVRTC"); !named.empty()) return load_named(named);
  std::string tried;
  for (const std::string& candidate : nvrtc_candidates()) {
    auto loaded = load_nvrtc(candidate);
    if (loaded) return loaded;
    tried += fmt::format("{}{}", tried.empty() ? "" : ", ", candidate);
  }
  return problem(Rule::gpu_nvrtc, "NVIDIA's run-time compiler NVRTC was not found", "tried " + tried);
}

}  // namespace

Result<Nvrtc> load_nvrtc(const std::string& library) {
  Library opened = open_library(library);
  if (opened.handle == nullptr)
    return problem(Rule::gpu_nvrtc, fmt::format("NVRTC cannot be loaded from {}", library),
                   "the system says: " + opened.error);
  Nvrtc nvrtc;
  nvrtc.library = library;
  std::string missing;
  auto resolve = [&](auto& member, const char* symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(opened.symbol(symbol));
    if (member == nullptr) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", symbol);
  };
  resolve(nvrtc.version, "nvrtcVersion");
  resolve(nvrtc.error_text, "nvrtcGetErrorString");
  resolve(nvrtc.create, "nvrtcCreateProgram");
  resolve(nvrtc.destroy, "nvrtcDestroyProgram");
  resolve(nvrtc.compile, "nvrtcCompileProgram");
  resolve(nvrtc.log_size, "nvrtcGetProgramLogSize");
  resolve(nvrtc.log, "nvrtcGetProgramLog");
  resolve(nvrtc.ptx_size, "nvrtcGetPTXSize");
  resolve(nvrtc.ptx, "nvrtcGetPTX");
  resolve(nvrtc.cubin_size, "nvrtcGetCUBINSize");
  resolve(nvrtc.cubin, "nvrtcGetCUBIN");
  if (!missing.empty()) return problem(Rule::gpu_nvrtc, fmt::format("{} is no NVRTC", library), "it has no " + missing);
  if (nvrtc.version(&nvrtc.major, &nvrtc.minor) != NvrtcStatus::ok || nvrtc.major < kOldestNvrtc)
    return problem(Rule::gpu_nvrtc, fmt::format("NVRTC in {} is older than version {}", library, kOldestNvrtc),
                   fmt::format("it is of version {}.{}", nvrtc.major, nvrtc.minor));
  return nvrtc;
}

std::vector<std::string> nvrtc_candidates() {
  std::vector<std::string> candidates(std::begin(kSonames), std::end(kSonames));
  add_toolkits(candidates);
  add_packages(candidates);
  return candidates;
}

std::string nvrtc_identity() {
  std::string out;
  auto file = [&](const std::string& path) {
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return;
    out += fmt::format("{} {} {}.{}\n", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
  };
  std::string named = environment("PLAIT_NVRTC"), folders = environment("LD_LIBRARY_PATH");
  out += fmt::format("PLAIT_NVRTC={}\nLD_LIBRARY_PATH={}\n", named, folders);
  if (!named.empty()) file(named);
  for (const char* name : kSonames) file(named + "/" + name);
  std::istringstream list(folders);
  for (std::string folder; std::getline(list, folder, ':');) {
    for (const char* name : kSonames) file(folder + "/" + name);
  }
  file("/etc/ld.so.cache");
  for (const std::string& candidate : nvrtc_candidates()) file(candidate);
  return out;
}

Result<const Nvrtc*> nvrtc() {
  static const Result<Nvrtc> loaded = find();
  if (!loaded) return loaded.diagnostics();
  return &*loaded;
}

}  // namespace plait::cuda
