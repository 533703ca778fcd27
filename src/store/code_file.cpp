#include "store/code_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/digest.h"

namespace plait::store {
namespace {

constexpr std::string_view kMagic = "plait gpu code 1\n";
constexpr std::string_view kSuffix = ".code";
constexpr std::size_t kDigestDigits = 64;
constexpr std::size_t kHead = kMagic.size() + kDigestDigits + 1;  ///< bytes before the JSON

bool is_hexadecimal(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string text_in(const Json& json, std::string_view key) {
  const Json* found = json.find(key);
  const std::string* text = found != nullptr ? found->text() : nullptr;
  return text != nullptr ? *text : std::string();
}

/// All but the parts, whose names and sizes are in `sizes`.
std::variant<CodeFile, Damage> read_summary(std::string_view line,
                                            std::vector<std::pair<std::string, std::size_t>>& sizes) {
  auto parsed = Json::parse(line);
  const Json* json = std::get_if<Json>(&parsed);
  if (json == nullptr || json->object() == nullptr) return Damage{"its summary is no JSON object"};
  CodeFile file;
  file.name = {text_in(*json, "key"), text_in(*json, "variant")};
  file.build = text_in(*json, "build");
  file.kernel = text_in(*json, "kernel");
  if (const Json* summary = json->find("summary")) file.summary = *summary;
  if (code_name(file.name.file()) != file.name) return Damage{"its summary has no key"};
  const Json* parts = json->find("parts");
  const Json::Object* list = parts != nullptr ? parts->object() : nullptr;
  if (list == nullptr) return Damage{"its summary names no parts"};
  for (const Json::Field& field : *list) {
    auto size = field.value.integer();
    if (!size || *size < 0) return Damage{"its summary has a part of no size"};
    sizes.emplace_back(field.key, static_cast<std::size_t>(*size));
  }
  return file;
}

}  // namespace

std::optional<CodeName> code_name(std::string_view file) {
  constexpr std::size_t kLength = CodeName::kKeyDigits + 1 + CodeName::kVariantDigits;
  if (file.size() != kLength + kSuffix.size() || !file.ends_with(kSuffix)) return std::nullopt;
  std::string_view key = file.substr(0, CodeName::kKeyDigits);
  std::string_view variant = file.substr(CodeName::kKeyDigits + 1, CodeName::kVariantDigits);
  if (!is_hexadecimal(key) || file[CodeName::kKeyDigits] != '-' || !is_hexadecimal(variant)) return std::nullopt;
  return CodeName{std::string(key), std::string(variant)};
}

const std::string* CodeFile::part(std::string_view which) const {
  for (const auto& [key, content] : parts) {
    if (key == which) return &content;
  }
  return nullptr;
}

std::string pack(const CodeFile& file) {
  Json json, sizes = Json::Object();
  json["key"] = file.name.key;
  json["variant"] = file.name.variant;
  json["build"] = file.build;
  json["kernel"] = file.kernel;
  json["summary"] = file.summary;
  for (const auto& [name, content] : file.parts) sizes[name] = static_cast<std::int64_t>(content.size());
  json["parts"] = std::move(sizes);
  std::string rest = json.dump() + "\n";
  for (const auto& [name, content] : file.parts) rest += content;
  std::string digest = digest_of(rest, kDigestDigits);
  return std::string(kMagic) + digest + "\n" + rest;
}

std::variant<CodeFile, Damage> unpack(std::string_view bytes) {
  if (!bytes.starts_with(kMagic.substr(0, std::min(kMagic.size(), bytes.size()))))
    return Damage{"it is no file of compiled code, or of another version of plait"};
  if (bytes.size() <= kHead) return Damage{"it is cut off"};
  std::string_view rest = bytes.substr(kHead);
  if (digest_of(rest, kDigestDigits) + "\n" != bytes.substr(kMagic.size(), kDigestDigits + 1))
    return Damage{"its bytes are not those that were written: the digest is another"};
  std::size_t end = rest.find('\n');
  if (end == std::string_view::npos) return Damage{"its summary has no end"};
  std::vector<std::pair<std::string, std::size_t>> sizes;
  auto read = read_summary(rest.substr(0, end), sizes);
  auto* file = std::get_if<CodeFile>(&read);
  if (file == nullptr) return read;
  rest.remove_prefix(end + 1);
  for (const auto& [name, size] : sizes) {
    if (size > rest.size()) return Damage{fmt::format("its part {} is cut off", name)};
    file->parts.emplace_back(name, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (!rest.empty()) return Damage{"it goes on behind its last part"};
  return read;
}

std::variant<std::monostate, CodeFile, Damage> unpack_summary(std::string_view begin) {
  if (!begin.starts_with(kMagic.substr(0, std::min(kMagic.size(), begin.size()))))
    return Damage{"it is no file of compiled code, or of another version of plait"};
  std::size_t end = begin.size() > kHead ? begin.find('\n', kHead) : std::string_view::npos;
  if (end == std::string_view::npos) return std::monostate();
  std::vector<std::pair<std::string, std::size_t>> sizes;
  auto read = read_summary(begin.substr(kHead, end - kHead), sizes);
  if (auto* damage = std::get_if<Damage>(&read)) return *damage;
  return std::get<CodeFile>(std::move(read));
}

}  // namespace plait::store
