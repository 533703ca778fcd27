#include "roles/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/print_expr.h"
#include "roles/builtin_names.h"

namespace plait::roles {
namespace {

/// Longer headers give each parameter a line of its own.
constexpr std::size_t kMaxLine = 120;

std::string param_text(const ir::Param& param) {
  if (param.kind == ir::ParamKind::scalar) {
    std::string value = param.default_value != nullptr ? " = " + ir::typed_text(param.default_value) : "";
    return fmt::format("{}: {}{}", param.scalar->name, ir::dtype_name(param.scalar->type), value);
  }
  const ir::BufferDecl& b = *param.buffer;
  std::string strides = b.strides.empty() ? "" : fmt::format(" strides [{}]", ir::exprs_text(b.strides));
  return fmt::format("{}: {} {}[{}]{}", b.name, direction_text(param.kind), ir::dtype_name(b.type),
                     ir::exprs_text(b.shape), strides);
}

std::string header_text(const Program& p) {
  std::string begin = fmt::format("roles {}(", p.name), one_line = begin, lines = begin;
  for (std::size_t i = 0; i < p.params.size(); ++i) {
    std::string text = param_text(p.params[i]);
    one_line += (i == 0 ? "" : ", ") + text;
    lines += (i == 0 ? "" : ",\n" + std::string(begin.size(), ' ')) + text;
  }
  std::string end = fmt::format(") device {}{}:\n", p.device, renamed_text(p.builtins));
  return (one_line.size() + end.size() <= kMaxLine ? one_line : lines) + end;
}

std::string head_text(const Program& p) {
  std::string out;
  for (const ir::Require& require : p.requires_) {
    std::string message = require.message.empty() ? "" : ", " + ir::string_text(require.message);
    out += fmt::format("  require {}{}\n", ir::expr_text(require.cond), message);
  }
  for (const Let& let : p.lets) out += print(Stmt{{}, {}, let}, 2);
  out += fmt::format("  launch {}\n", values_text(p.launch));
  if (p.cluster != 1) out += fmt::format("  cluster {}\n", p.cluster);
  if (p.occupancy != 1) out += fmt::format("  occupancy {}\n", p.occupancy);
  return out;
}

std::string declaration(const SmemDecl& smem) {
  std::string at = smem.offset ? fmt::format(" at {}", *smem.offset) : "";
  return fmt::format("  smem {}{}\n", text_of(smem), at);
}

std::string declaration(const ChannelDecl& channel) {
  std::string tiles, clauses;
  for (const Smem& tile : channel.tiles) tiles += (tiles.empty() ? "" : ", ") + tile->buffer->name;
  if (channel.writers) clauses += fmt::format(" writers {}", *channel.writers);
  if (channel.readers) clauses += fmt::format(" readers {}", *channel.readers);
  if (channel.bytes) clauses += fmt::format(" bytes {}", *channel.bytes);
  return fmt::format("  channel {} depth {} of {}{}\n", channel.name, channel.depth, tiles, clauses);
}

std::string role_text(const Role& role) {
  std::string replicas = role.replicas == 1 ? "" : fmt::format(" replicas {}", role.replicas);
  std::string regs = role.regs ? fmt::format(" regs {}", *role.regs) : "";
  return fmt::format("\n  role {}{} warps {}{}:\n{}", role.name, replicas, role.warps, regs, print(role.body, 4));
}

}  // namespace

std::string_view direction_text(ir::ParamKind kind) {
  switch (kind) {
    case ir::ParamKind::in:
      return "in";
    case ir::ParamKind::out:
      return "out";
    case ir::ParamKind::inout:
      return "inout";
    case ir::ParamKind::scalar:
      break;
  }
  return "";
}

std::string renamed_text(const Builtins& builtins) {
  std::string out;
  for (const BuiltinName& builtin : builtin_names()) {
    const std::string& name = (builtins.*builtin.var)->name;
    if (name != builtin.name) out += fmt::format("{} {} as {}", out.empty() ? " with" : ",", builtin.name, name);
  }
  return out;
}

std::string declaration_text(const WorkspaceDecl& workspace) {
  const ir::BufferDecl& b = *workspace.buffer;
  return fmt::format("  workspace {}: {}[{}]{}", b.name, ir::dtype_name(b.type), ir::exprs_text(b.shape),
                     workspace.zero ? " zero" : "");
}

std::string declaration_text(const MapDecl& map) {
  return fmt::format("  map {} = {} box [{}]{}", map.name, map.tensor->name, fmt::join(map.box, ", "),
                     swizzle_text(map.swizzle));
}

std::string_view swizzle_text(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return "";
    case Swizzle::b32:
      return " swizzle 32";
    case Swizzle::b64:
      return " swizzle 64";
    case Swizzle::b128:
      return " swizzle 128";
  }
  return "";
}

std::string text_of(const SmemDecl& decl) {
  const ir::BufferDecl& b = *decl.buffer;
  std::string pad = b.pad == 0 ? "" : fmt::format(" pad {}", b.pad);
  return fmt::format("{}: {}[{}]{}{}", b.name, ir::dtype_name(b.type), ir::exprs_text(b.shape),
                     swizzle_text(decl.swizzle), pad);
}

std::string print(const Program& p) {
  std::string out = header_text(p) + head_text(p);
  for (const Workspace& workspace : p.workspaces) out += declaration_text(*workspace) + "\n";
  for (const Map& map : p.maps) out += declaration_text(*map) + "\n";
  for (const Smem& smem : p.smem) out += declaration(*smem);
  for (const Channel& channel : p.channels) out += declaration(*channel);
  for (const Mbar& mbar : p.mbars) out += fmt::format("  mbar {}[{}] count {}\n", mbar->name, mbar->size, mbar->count);
  if (!p.prologue.empty()) out += "\n  prologue:\n" + print(p.prologue, 4);
  for (const Role& role : p.roles) out += role_text(role);
  return out;
}

}  // namespace plait::roles
