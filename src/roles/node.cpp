#include "roles/program.h"

// How a StmtNode is made: std::variant makes some thousand functions of that, which are compiled here once. How one is
// given another value stands in node_put.cpp, how one is copied and moved in node_copy.cpp and node_move.cpp.
namespace plait::roles {

template <typename Node>
  requires std::is_constructible_v<AnyStmt, std::in_place_type_t<Node>, Node>
StmtNode::StmtNode(Node node) : AnyStmt(std::in_place_type<Node>, std::move(node)) {}

#define PLAIT_NODE(Node) template StmtNode::StmtNode(Node);
#include "roles/nodes.def"
#undef PLAIT_NODE

}  // namespace plait::roles
