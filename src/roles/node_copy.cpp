#include "roles/program.h"

namespace plait::roles {

StmtNode::StmtNode(const StmtNode& other) : AnyStmt() {  // NOLINT(bugprone-copy-constructor-init)
  std::visit([this](const auto& node) { put(node); }, other);
}
StmtNode& StmtNode::operator=(const StmtNode& other) { return *this = StmtNode(other); }

}  // namespace plait::roles
