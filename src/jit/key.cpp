#include <fmt/format.h>

#include "jit/jit.h"
#include "planner/memory.h"
#include "store/build.h"
#include "store/code_file.h"
#include "store/digest.h"

namespace plait::jit {
namespace {

/// Fields whose contents may be anything: each with its length.
class Fields {
 public:
  void add(std::string_view name, std::string_view content) {
    text_ += fmt::format("{} {}\n", name, content.size());
    text_ += content;
    text_ += '\n';
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string key_of(const Request& request, const ir::Kernel* tile, const place::Assumptions& assumptions,
                   bool planned) {
  Fields fields;
  fields.add("plait", store::build());
  fields.add("program", request.source->text());
  for (const auto& [name, value] : request.bindings) fields.add("binding " + name, value);
  if (request.device) fields.add("device " + request.device->name, request.device->text);
  fields.add("architecture", request.build.architecture);
  fields.add("serialized", request.build.compile.allow_serialized ? "allowed" : "");
  fields.add("cuda", request.build.source);
  if (tile != nullptr) {
    fields.add("kernel", tile->name);
    fields.add("assumptions", planner::text_of(assumptions));
    if (request.schedule != nullptr) fields.add("schedule", request.schedule->text());
  }
  if (planned) {
    fields.add("planner", planner::name_of(request.planner));
    // By rules nothing overlaps, whatever the extents.
    if (request.planner != planner::Kind::rules) {
      for (const auto& [name, value] : request.dims) fields.add("dim " + name, std::to_string(value));
    }
  }
  return store::digest_of(fields.text(), store::CodeName::kKeyDigits);
}

}  // namespace plait::jit
