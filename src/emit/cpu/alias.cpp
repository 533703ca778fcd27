#include "emit/cpu/alias.h"

#include "ir/visit.h"
#include "llvm/IR/MDBuilder.h"

namespace plait::cpu {
namespace {

struct Entry {
  BufferInfo* info;
  ScratchPlan::Room room;  ///< no bytes: memory of its own
  llvm::MDNode* scope = nullptr;
};

/// Buffers in the order of the program, so that equal programs give equal code.
std::vector<Entry> entries(Emitter& e) {
  std::vector<Entry> list;
  for (const auto& param : e.kernel.params) {
    if (param.kind != ir::ParamKind::scalar) list.push_back({&e.buffers.at(param.buffer.get()), {}});
  }
  ir::walk(e.kernel.body, [&](const ir::Stmt& stmt) {
    const auto* alloc = std::get_if<ir::Alloc>(&stmt.node);
    if (alloc == nullptr) return;
    const auto room = e.plan.rooms.find(&stmt);
    list.push_back(
        {&e.buffers.at(alloc->buffer.get()), room == e.plan.rooms.end() ? ScratchPlan::Room{} : room->second});
  });
  return list;
}

}  // namespace

void assign_alias_scopes(Emitter& e) {
  constexpr std::size_t limit = 64;  // the lists grow with the square of the number of buffers
  std::vector<Entry> list = entries(e);
  if (list.size() > limit) return;
  llvm::MDBuilder metadata(e.context);
  llvm::MDNode* domain = metadata.createAnonymousAliasScopeDomain();
  for (Entry& entry : list) entry.scope = metadata.createAnonymousAliasScope(domain, entry.info->decl->name);
  for (const Entry& entry : list) {
    std::vector<llvm::Metadata*> others;
    for (const Entry& other : list) {
      if (other.info != entry.info && !other.room.overlaps(entry.room)) others.push_back(other.scope);
    }
    entry.info->scope = llvm::MDNode::get(e.context, {entry.scope});
    entry.info->noalias = llvm::MDNode::get(e.context, others);
  }
}

}  // namespace plait::cpu
