#include "ir/stmt.h"

#include "ir/build.h"
#include "support/result.h"

namespace plait::ir {
namespace {

std::vector<Effect> parse_effects(std::string_view letters) {
  std::vector<Effect> effects;
  for (char c : letters) effects.push_back(c == 'r' ? Effect::read : c == 'w' ? Effect::write : Effect::update);
  return effects;
}

const std::vector<OpInfo>& op_table() {
  static const std::vector<OpInfo> table = {
#define PLAIT_TILE_OP(id, name, attrs, effects, unit) OpInfo{OpKind::id, name, parse_effects(effects), Unit::unit},
#include "ir/ops.def"
#undef PLAIT_TILE_OP
  };
  return table;
}

}  // namespace

std::string_view scope_name(Scope scope) {
  switch (scope) {
    case Scope::global:
      return "global";
    case Scope::shared:
      return "shared";
    case Scope::fragment:
      return "fragment";
    case Scope::local:
      return "local";
  }
  return "";
}

std::vector<std::int64_t> static_shape(const BufferDecl& buffer) {
  std::vector<std::int64_t> shape;
  for (const ExprRef& extent : buffer.shape) {
    const auto* literal = std::get_if<IntLit>(&extent->node);
    PLAIT_ASSERT(literal != nullptr, "on-chip buffer " + buffer.name + " has an extent that is no literal");
    shape.push_back(literal->value);
  }
  return shape;
}

bool is_whole(const Region& region) {
  if (region.buffer->scope == Scope::global) return false;
  const std::vector<std::int64_t> shape = static_shape(*region.buffer);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (as_int(region.ranges[d].begin) != 0 || as_int(region.ranges[d].extent) != shape[d]) return false;
  }
  return true;
}

const OpInfo& op_info(OpKind kind) { return op_table()[static_cast<std::size_t>(kind)]; }

std::optional<OpKind> op_from_name(std::string_view name) {
  for (const OpInfo& info : op_table()) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

std::string_view loop_kind_name(LoopKind kind) {
  switch (kind) {
    case LoopKind::serial:
      return "range";
    case LoopKind::unrolled:
      return "unrolled";
    case LoopKind::vectorized:
      return "vectorized";
    case LoopKind::parallel:
      return "parallel";
    case LoopKind::pipelined:
      return "pipelined";
    case LoopKind::persistent:
      return "persistent";
  }
  return "";
}

}  // namespace plait::ir
