#include "roles/program.h"

// How a StmtNode gets its value: std::variant makes some thousand functions of that, which copies share.
namespace plait::roles {

template <typename Node>
  requires std::is_constructible_v<AnyStmt, std::in_place_type_t<Node>, Node>
StmtNode::StmtNode(Node node) : AnyStmt(std::in_place_type<Node>, std::move(node)) {}

template <typename Node>
void StmtNode::put(Node node) {
  emplace<Node>(std::move(node));
}

#define PLAIT_NODE(Node)             \
  template StmtNode::StmtNode(Node); \
  template void StmtNode::put(Node);
PLAIT_NODE(Let)
PLAIT_NODE(VarDef)
PLAIT_NODE(Set)
PLAIT_NODE(For)
PLAIT_NODE(While)
PLAIT_NODE(If)
PLAIT_NODE(Elect)
PLAIT_NODE(OneWarp)
PLAIT_NODE(DefFragment)
PLAIT_NODE(MbarInit)
PLAIT_NODE(Wait)
PLAIT_NODE(Arrive)
PLAIT_NODE(Expect)
PLAIT_NODE(Fence)
PLAIT_NODE(SyncThreads)
PLAIT_NODE(SyncWarp)
PLAIT_NODE(ClusterArrive)
PLAIT_NODE(ClusterWait)
PLAIT_NODE(BarrierSync)
PLAIT_NODE(BarrierArrive)
PLAIT_NODE(TmaLoad)
PLAIT_NODE(TmaStore)
PLAIT_NODE(BulkLoad)
PLAIT_NODE(BulkStore)
PLAIT_NODE(BulkCommit)
PLAIT_NODE(BulkWait)
PLAIT_NODE(Prefetch)
PLAIT_NODE(CpAsync)
PLAIT_NODE(CpCommit)
PLAIT_NODE(CpWait)
PLAIT_NODE(Wgmma)
PLAIT_NODE(WgmmaCommit)
PLAIT_NODE(WgmmaAwait)
PLAIT_NODE(Mma)
PLAIT_NODE(LdMatrix)
PLAIT_NODE(StMatrix)
PLAIT_NODE(Each)
PLAIT_NODE(RowReduce)
PLAIT_NODE(LaneReduce)
PLAIT_NODE(LoadTensor)
PLAIT_NODE(StoreTensor)
PLAIT_NODE(LoadShared)
PLAIT_NODE(StoreShared)
PLAIT_NODE(PutTensor)
PLAIT_NODE(PutShared)
PLAIT_NODE(AtomicAdd)
PLAIT_NODE(Broadcast)
PLAIT_NODE(Clock)
PLAIT_NODE(Acquire)
PLAIT_NODE(Publish)
PLAIT_NODE(Receive)
PLAIT_NODE(Release)
PLAIT_NODE(Issue)
#undef PLAIT_NODE

}  // namespace plait::roles
