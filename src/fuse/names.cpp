#include "fuse/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "roles/builtin_names.h"
#include "roles/visit.h"

namespace plait::fuse {

using namespace roles;

ProgramNames names_of(const Program& program) {
  ProgramNames out;
  for (const Var& dim : program.dims) out.head.insert(dim->name);
  for (const ir::Param& param : program.params)
    out.head.insert(param.buffer != nullptr ? param.buffer->name : param.scalar->name);
  for (const Let& let : program.lets) out.head.insert(let.var->name);
  for (const Workspace& workspace : program.workspaces) out.head.insert(workspace->buffer->name);
  for (const Map& map : program.maps) out.head.insert(map->name);
  for (const Smem& smem : program.smem) out.head.insert(smem->buffer->name);
  for (const Mbar& mbar : program.mbars) out.head.insert(mbar->name);
  for (const Channel& channel : program.channels) {
    for (const char* behind : {"", "_full", "_empty"}) out.head.insert(channel->name + behind);
  }
  for (const Role& role : program.roles) out.roles.insert(role.name);
  for_each_body(program, [&](const Body& body) {
    walk(body, [&](const Stmt& stmt) {
      Visitor look;
      look.define = [&](const Var& var) { out.local.insert(var->name); };
      visit(stmt, look);
      if (const auto* def = std::get_if<DefFragment>(&stmt.node)) out.local.insert(def->fragment->buffer->name);
    });
  });
  return out;
}

bool HeadNames::is_free(const std::string& name, bool as_it_was) const {
  if (taken_.contains(name) || other_.head.contains(name) || other_.local.contains(name)) return false;
  return as_it_was || (!own_.head.contains(name) && !own_.local.contains(name));
}

std::string HeadNames::operator()(const std::string& name, const std::vector<std::string>& behind) {
  auto free = [&](const std::string& made, bool as_it_was) {
    return std::all_of(behind.begin(), behind.end(),
                       [&](const std::string& part) { return is_free(made + part, as_it_was); });
  };
  std::string made = name;
  if (!free(made, own_.head.contains(name))) {
    const std::string long_name = fmt::format("{}_{}", prefix_, name);
    made = long_name;
    for (int n = 2; !free(made, false); ++n) made = fmt::format("{}_{}", long_name, n);
  }
  for (const std::string& part : behind) taken_.insert(made + part);
  return made;
}

}  // namespace plait::fuse
