#include "roles/program.h"

namespace plait::roles {

StmtNode::StmtNode(StmtNode&& other) noexcept : AnyStmt() { *this = std::move(other); }
StmtNode& StmtNode::operator=(StmtNode&& other) noexcept {
  if (this != &other) std::visit([this](auto& node) { put(std::move(node)); }, other);
  return *this;
}
StmtNode::~StmtNode() = default;

}  // namespace plait::roles
