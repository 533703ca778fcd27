#include "jit/entry.h"

#include <fmt/format.h>

#include "roles/head.h"
#include "store/build.h"
#include "store/measured.h"

namespace plait::jit {
namespace {

Json json_of(const Loc& loc, const SourceRef& source) {
  if (loc.source != source || !loc.known()) return Json::List{0, 0, 1};
  return Json::List{loc.line, loc.column, loc.length};
}

Json json_of(const Diagnostics& warnings, const SourceRef& source) {
  Json::List out;
  for (const Diagnostic& d : warnings.list()) {
    Json one;
    Json::List notes;
    for (const Note& note : d.notes)
      notes.push_back(Json::Object{{"at", json_of(note.loc, source)}, {"message", note.message}});
    one["rule"] = rule_name(d.rule);
    one["at"] = json_of(d.loc, source);
    one["message"] = d.message;
    one["fix"] = d.fix;
    one["notes"] = std::move(notes);
    out.push_back(std::move(one));
  }
  return out;
}

Json json_of(const emit::cuda::KernelArg& arg) {
  auto two = [](const char* kind, const std::string& name) { return Json::List{kind, name}; };
  return std::visit(Overload{[&](const emit::cuda::MapArg& a) { return two("map", a.map->name); },
                             [&](const emit::cuda::TensorArg& a) { return two("tensor", a.tensor->name); },
                             [&](const emit::cuda::VarArg& a) { return two("var", a.var->name); }},
                    arg);
}

/// Thrown where a file does not say what to_file writes; from_file catches it.
struct Malformed {};

/// A value of JSON whose form is asked for.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(&json) {}

  Reader at(std::string_view key) const {
    const Json* found = json_->find(key);
    if (found == nullptr) throw Malformed();
    return Reader(*found);
  }
  std::vector<Reader> list() const {
    if (json_->list() == nullptr) throw Malformed();
    std::vector<Reader> out;
    for (const Json& one : *json_->list()) out.emplace_back(one);
    return out;
  }
  std::vector<Reader> list(std::size_t size) const {
    auto all = list();
    if (all.size() != size) throw Malformed();
    return all;
  }
  std::int64_t integer() const { return value(json_->integer()); }
  int number() const { return static_cast<int>(integer()); }
  bool boolean() const { return value(json_->boolean()); }
  const std::string& text() const {
    if (json_->text() == nullptr) throw Malformed();
    return *json_->text();
  }

 private:
  template <typename T>
  static T value(std::optional<T> found) {
    if (!found) throw Malformed();
    return *found;
  }
  const Json* json_;
};

Loc loc_of(const Reader& from, const SourceRef& source) {
  auto three = from.list(3);
  Loc loc{source, three[0].number(), three[1].number(), three[2].number()};
  return loc.line > 0 ? loc : Loc{};
}

Rule rule_of(const std::string& name) {
  for (Rule rule : all_rules()) {
    if (rule_name(rule) == name) return rule;
  }
  throw Malformed();
}

Diagnostics warnings_of(const Reader& from, const SourceRef& source) {
  Diagnostics out;
  for (const Reader& one : from.list()) {
    Diagnostic d{rule_of(one.at("rule").text()),
                 loc_of(one.at("at"), source),
                 one.at("message").text(),
                 one.at("fix").text(),
                 {},
                 Severity::warning};
    for (const Reader& note : one.at("notes").list())
      d.notes.push_back({loc_of(note.at("at"), source), note.at("message").text()});
    out.add(std::move(d));
  }
  return out;
}

/// What the head of a program declares, by name.
class Names {
 public:
  explicit Names(const roles::Program& head) {
    for (const roles::Map& map : head.maps) maps_[map->name] = map;
    for (const ir::Param& param : head.params) {
      if (param.kind == ir::ParamKind::scalar) {
        vars_[param.scalar->name] = param.scalar;
      } else {
        tensors_[param.buffer->name] = param.buffer;
      }
    }
    for (const roles::Workspace& workspace : head.workspaces) tensors_[workspace->buffer->name] = workspace->buffer;
    for (const ir::Var& dim : head.dims) vars_[dim->name] = dim;
    for (const roles::Let& let : head.lets) vars_[let.var->name] = let.var;
    const ir::Var& sms = head.builtins.sms;
    vars_.emplace(sms->name, sms);
  }

  const ir::Buffer& tensor(const std::string& name) const { return find(tensors_, name); }
  emit::cuda::KernelArg argument(const Reader& from) const {
    auto two = from.list(2);
    const std::string &kind = two[0].text(), &name = two[1].text();
    if (kind == "map") return emit::cuda::MapArg{find(maps_, name)};
    if (kind == "tensor") return emit::cuda::TensorArg{tensor(name)};
    if (kind == "var") return emit::cuda::VarArg{find(vars_, name)};
    throw Malformed();
  }

 private:
  template <typename T>
  static const T& find(const std::map<std::string, T>& from, const std::string& name) {
    auto found = from.find(name);
    if (found == from.end()) throw Malformed();
    return found->second;
  }
  std::map<std::string, roles::Map> maps_;
  std::map<std::string, ir::Buffer> tensors_;
  std::map<std::string, ir::Var> vars_;
};

const std::string& part(const store::CodeFile& file, std::string_view name) {
  const std::string* found = file.part(name);
  if (found == nullptr) throw Malformed();
  return *found;
}

Compiled read(const store::CodeFile& file, const SourceRef& source) {
  Reader from(file.summary);
  std::vector<Loc> lines;
  for (const Reader& line : from.at("lines").list()) lines.push_back(loc_of(line, source));
  auto head = roles::parse_head(part(file, "head"), std::move(lines));
  if (!head) throw Malformed();
  Names names(*head);
  emit::cuda::Module module;
  module.source = part(file, "source");
  module.entry = from.at("entry").text();
  module.arch = from.at("arch").text();
  for (const Reader& option : from.at("options").list()) module.options.push_back(option.text());
  for (const Reader& arg : from.at("args").list()) module.args.push_back(names.argument(arg));
  module.smem_bytes = from.at("smem_bytes").integer();
  module.threads = from.at("threads").number();
  module.cluster = from.at("cluster").number();
  cuda::Code code;
  code.cubin = part(file, "cubin");
  code.ptx = part(file, "ptx");
  code.compiler = from.at("compiler").text();
  code.report = {from.at("registers").number(), from.at("stack_bytes").number(), from.at("spill_store_bytes").number(),
                 from.at("spill_load_bytes").number(), part(file, "log")};
  code.warnings = warnings_of(from.at("warnings"), source);
  cuda::CallForm form;
  for (const Reader& piece : from.at("pieces").list()) {
    auto three = piece.list(3);
    form.pieces[names.tensor(three[0].text()).get()] = {three[1].integer(), three[2].boolean()};
  }
  form.head = std::move(*head);
  Compiled compiled;
  compiled.tile_requires = static_cast<std::size_t>(from.at("tile_requires").integer());
  compiled.built.kernel =
      std::make_shared<const cuda::Kernel>(std::move(form), part(file, "roles"), std::move(module), std::move(code));
  compiled.is_cached = true;
  return compiled;
}

Json summary_of(const Request& request, const Compiled& compiled, const roles::HeadText& head) {
  const cuda::Kernel& kernel = *compiled.built.kernel;
  const emit::cuda::Module& module = kernel.module();
  const cuda::CodeReport& report = kernel.code().report;
  Json out;
  out["device"] = kernel.program().device;
  out["arch"] = module.arch;
  Json bindings = Json::Object(), dims = Json::Object();
  for (const auto& [name, value] : request.bindings) bindings[name] = value;
  for (const auto& [name, value] : request.dims) dims[name] = value;
  out["bindings"] = std::move(bindings);
  out["dims"] = std::move(dims);
  out["compiler"] = kernel.code().compiler;
  out["made_at"] = store::now();
  out["entry"] = module.entry;
  out["options"] = module.options;
  out["smem_bytes"] = module.smem_bytes;
  out["threads"] = module.threads;
  out["cluster"] = module.cluster;
  out["registers"] = report.registers;
  out["stack_bytes"] = report.stack_bytes;
  out["spill_store_bytes"] = report.spill_store_bytes;
  out["spill_load_bytes"] = report.spill_load_bytes;
  out["tile_requires"] = static_cast<std::int64_t>(compiled.tile_requires);
  Json::List args, pieces, lines;
  for (const emit::cuda::KernelArg& arg : module.args) args.push_back(json_of(arg));
  for (const auto& [buffer, piece] : kernel.pieces())
    pieces.push_back(Json::List{buffer->name, piece.elements, piece.whole});
  for (const Loc& line : head.lines) lines.push_back(json_of(line, request.source));
  out["args"] = std::move(args);
  out["pieces"] = std::move(pieces);
  out["lines"] = std::move(lines);
  out["warnings"] = json_of(kernel.code().warnings, request.source);
  return out;
}

}  // namespace

store::CodeFile to_file(const store::CodeName& name, const Request& request, const Compiled& compiled) {
  const cuda::Kernel& kernel = *compiled.built.kernel;
  roles::HeadText head = roles::print_head(kernel.program());
  store::CodeFile file;
  file.name = name;
  file.build = store::build();
  file.kernel = kernel.program().name;
  file.summary = summary_of(request, compiled, head);
  file.parts = {{"head", std::move(head.text)}, {"roles", kernel.text()},          {"source", kernel.module().source},
                {"ptx", kernel.code().ptx},     {"log", kernel.code().report.log}, {"cubin", kernel.code().cubin}};
  return file;
}

std::optional<Compiled> from_file(const store::CodeFile& file, const SourceRef& source) {
  try {
    return read(file, source);
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

}  // namespace plait::jit
