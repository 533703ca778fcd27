#include "roles/program.h"

namespace plait::roles {

template <typename Node>
void StmtNode::put(Node node) {
  emplace<Node>(std::move(node));
}

#define PLAIT_NODE(Node) template void StmtNode::put(Node);
#include "roles/nodes.def"
#undef PLAIT_NODE

}  // namespace plait::roles
