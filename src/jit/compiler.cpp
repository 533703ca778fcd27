#include "jit/compiler.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <mutex>

#include "cuda/nvrtc.h"
#include "store/code_folder.h"
#include "store/digest.h"

namespace plait::jit {
namespace {

constexpr std::size_t kDigits = 32;
constexpr std::int64_t kMostBytes = 64;

/// `DIGEST VERSION` of the note, where it is of this identity.
std::optional<std::string> noted(const std::string& path, const std::string& identity) {
  auto text = store::CodeFolder::read(path, kMostBytes);
  if (!text || !text->starts_with(identity + " ") || !text->ends_with("\n")) return std::nullopt;
  return text->substr(identity.size() + 1, text->size() - identity.size() - 2);
}

}  // namespace

std::optional<std::string> compiler_version(const std::string& folder, bool open) {
  static std::mutex mutex;
  static std::map<std::string, std::optional<std::string>> known;
  std::string identity = store::digest_of(cuda::nvrtc_identity(), kDigits);
  std::lock_guard lock(mutex);
  if (auto found = known.find(identity); found != known.end()) return found->second;
  std::string path = folder.empty() ? std::string() : (std::filesystem::path(folder) / "compiler").string();
  std::optional<std::string> version = path.empty() ? std::nullopt : noted(path, identity);
  if (!version && !open) return std::nullopt;
  if (!version) {
    auto opened = cuda::nvrtc();
    if (opened) version = fmt::format("{}.{}", (*opened)->major, (*opened)->minor);
    if (version && !path.empty()) store::write_whole(path, fmt::format("{} {}\n", identity, *version));
  }
  known[identity] = version;
  return version;
}

}  // namespace plait::jit
