#include "roles/program.h"

namespace plait::roles {

StmtNode::StmtNode(const StmtNode& other) : AnyStmt() {  // NOLINT(bugprone-copy-constructor-init)
  std::visit([this](const auto& node) { put(node); }, other);
}
StmtNode::StmtNode(StmtNode&& other) noexcept : AnyStmt() { *this = std::move(other); }
StmtNode& StmtNode::operator=(const StmtNode& other) { return *this = StmtNode(other); }
StmtNode& StmtNode::operator=(StmtNode&& other) noexcept {
  if (this != &other) std::visit([this](auto& node) { put(std::move(node)); }, other);
  return *this;
}
StmtNode::~StmtNode() = default;

}  // namespace plait::roles
