#include "emit/cuda/emitter.h"

#include <fmt/format.h>

#include <functional>
#include <set>

namespace plait::emit::cuda {
namespace {

int architecture_number(std::string_view arch) {
  int number = 0;
  for (char c : arch)
    if (c >= '0' && c <= '9') number = number * 10 + (c - '0');
  return number;
}

/// The last comma before `limit` that stands outside template arguments and conditions of loops, or the first one
/// behind.
std::size_t break_place(std::string_view text, std::size_t limit) {
  std::size_t best = std::string_view::npos;
  bool in_template = false;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (text[at] == '<' && text[at + 1] != ' ' && text[at + 1] != '=') in_template = true;
    if (text[at] == '>') in_template = false;
    if (in_template || text[at] != ',' || text[at + 1] != ' ') continue;
    if (at > limit && best != std::string_view::npos) break;
    best = at;
  }
  return best;
}

}  // namespace

Emitter::Emitter(const roles::Program& of, std::string_view architecture)
    : program(of), arch(architecture), sm(architecture_number(architecture)), arena(roles::arena(of)) {}

void Emitter::line(std::string_view text) {
  constexpr std::size_t width = 112, deeper = 4;
  std::size_t indent = static_cast<std::size_t>(depth_) * 2;
  bool comment = text.substr(0, 2) == "//";
  // Long statements are broken behind commas.
  while (!comment && indent + text.size() > width) {
    std::size_t comma = break_place(text, width - indent);
    if (comma == std::string_view::npos) break;
    text_.append(indent, ' ').append(text.substr(0, comma + 1)) += '\n';
    text.remove_prefix(comma + 2);
    indent = static_cast<std::size_t>(depth_) * 2 + deeper;
  }
  if (!text.empty()) text_.append(indent, ' ').append(text);
  text_ += '\n';
}

void Emitter::open(std::string_view text) {
  line(text.empty() ? "{" : std::string(text) + " {");
  ++depth_;
}

void Emitter::close() {
  --depth_;
  line("}");
}

std::string Emitter::helper(const std::string& name) {
  if (helper_texts_.count(name) != 0) return name;
  const HelperText& text = fixed_helper(name);
  for (const std::string& need : text.needs) helper(need);
  return helper(name, text.text);
}

std::string Emitter::helper(const std::string& name, const std::string& text) {
  helper_texts_.emplace(name, text);
  return name;
}

/// By name, the fixed ones first, each behind those that it calls: the order of their first use would depend on the
/// order in which a compiler evaluates arguments.
std::string Emitter::helpers_text() const {
  std::string all, made;
  std::set<std::string> written;
  std::function<void(const std::string&)> write = [&](const std::string& name) {
    if (!written.insert(name).second) return;
    for (const std::string& need : fixed_helper(name).needs) write(need);
    all += helper_texts_.at(name);
  };
  for (const auto& [name, text] : helper_texts_) {
    if (is_fixed_helper(name)) {
      write(name);
    } else {
      made += text;
    }
  }
  return all + made;
}

std::string Emitter::use(const ir::Var& var) {
  used_vars.insert(var.get());
  return name(var->name);
}

std::string Emitter::use(const ir::Buffer& tensor) {
  used_tensors.insert(tensor.get());
  return name(tensor->name);
}

std::string Emitter::use(const roles::Map& map) {
  used_maps.insert(map.get());
  return name(map->name);
}

/// Of what C++ built for a tile program, the tile statement or the kernel.
Loc Emitter::told_at(const Loc& loc) const {
  auto has_text = [](const Loc& place) { return place.source != nullptr && !place.source->text().empty(); };
  if (has_text(loc)) return loc;
  if (origin.known()) return origin;
  return has_text(program.loc) ? program.loc : loc;
}

void Emitter::unsupported(const Loc& loc, const std::string& message, const std::string& fix) {
  diags.error(Rule::cuda_unsupported, told_at(loc), message, fix);
}

void Emitter::needs_sm(int least, const Loc& loc, std::string_view what) {
  if (sm >= least) return;
  diags.error(Rule::cuda_arch, told_at(loc), fmt::format("{} needs sm_{}, and the code is for {}", what, least, arch));
}

}  // namespace plait::emit::cuda
