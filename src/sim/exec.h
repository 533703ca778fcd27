#pragma once

#include "sim/machine.h"

namespace plait::sim {

/// Runs one instruction of a warp whose operands are computed; its time moves on.
Step execute(Machine& m, Warp& w, const Instr& instr);
/// Computes registers; false after an error.
bool evaluate(Machine& m, Warp& w, ExprRange range);

inline Value value_of(const Warp& w, Reg reg, int lane) {
  return w.file[static_cast<std::size_t>(reg.at + (reg.per_lane ? lane : 0))];
}
inline bool has(LaneMask mask, int lane) { return (mask >> lane & 1U) != 0; }
/// Keeps the arithmetic units busy with what a warp's lanes compute; its time has moved on with its expressions.
void occupy(Machine& m, const Warp& w, const ThreadWork& work);
/// Lanes of the mask in which the register is not zero.
LaneMask lanes_where(const Warp& w, Reg reg);
/// Reports a statement of whole warps that only some lanes run.
bool whole_warp(Machine& m, const Warp& w);

// One function for each action.
Step run(Machine& m, Warp& w, const act::Assign& a);
Step run(Machine& m, Warp& w, const act::If& a);
Step run(Machine& m, Warp& w, const act::Else& a);
Step run(Machine& m, Warp& w, const act::End& a);
Step run(Machine& m, Warp& w, const act::OnlyThread& a);
Step run(Machine& m, Warp& w, const act::OnlyWarp& a);
Step run(Machine& m, Warp& w, const act::LoopEnter& a);
Step run(Machine& m, Warp& w, const act::LoopTest& a);
Step run(Machine& m, Warp& w, const act::LoopNext& a);
Step run(Machine& m, Warp& w, const act::WhileEnter& a);
Step run(Machine& m, Warp& w, const act::WhileTest& a);
Step run(Machine& m, Warp& w, const act::Jump& a);
Step run(Machine& m, Warp& w, const act::DefFragment& a);
Step run(Machine& m, Warp& w, const act::MbarInit& a);
Step run(Machine& m, Warp& w, const act::Wait& a);
Step run(Machine& m, Warp& w, const act::Arrive& a);
Step run(Machine& m, Warp& w, const act::Expect& a);
Step run(Machine& m, Warp& w, const act::Fence& a);
Step run(Machine& m, Warp& w, const act::SyncThreads& a);
Step run(Machine& m, Warp& w, const act::SyncWarp& a);
Step run(Machine& m, Warp& w, const act::ClusterArrive& a);
Step run(Machine& m, Warp& w, const act::ClusterWait& a);
Step run(Machine& m, Warp& w, const act::Barrier& a);
Step run(Machine& m, Warp& w, const act::TmaLoad& a);
Step run(Machine& m, Warp& w, const act::TmaStore& a);
Step run(Machine& m, Warp& w, const act::BulkLoad& a);
Step run(Machine& m, Warp& w, const act::BulkStore& a);
Step run(Machine& m, Warp& w, const act::BulkCommit& a);
Step run(Machine& m, Warp& w, const act::BulkWait& a);
Step run(Machine& m, Warp& w, const act::Prefetch& a);
Step run(Machine& m, Warp& w, const act::CpAsync& a);
Step run(Machine& m, Warp& w, const act::CpCommit& a);
Step run(Machine& m, Warp& w, const act::CpWait& a);
Step run(Machine& m, Warp& w, const act::Wgmma& a);
Step run(Machine& m, Warp& w, const act::WgmmaCommit& a);
Step run(Machine& m, Warp& w, const act::WgmmaAwait& a);
Step run(Machine& m, Warp& w, const act::Mma& a);
Step run(Machine& m, Warp& w, const act::LdMatrix& a);
Step run(Machine& m, Warp& w, const act::StMatrix& a);
Step run(Machine& m, Warp& w, const act::Each& a);
Step run(Machine& m, Warp& w, const act::RowReduce& a);
Step run(Machine& m, Warp& w, const act::LaneReduce& a);
Step run(Machine& m, Warp& w, const act::Keep& a);
Step run(Machine& m, Warp& w, const act::LoadTensor& a);
Step run(Machine& m, Warp& w, const act::StoreTensor& a);
Step run(Machine& m, Warp& w, const act::LoadShared& a);
Step run(Machine& m, Warp& w, const act::StoreShared& a);
Step run(Machine& m, Warp& w, const act::PutTensor& a);
Step run(Machine& m, Warp& w, const act::PutShared& a);
Step run(Machine& m, Warp& w, const act::PutPiece& a);
Step run(Machine& m, Warp& w, const act::Atomic& a);
Step run(Machine& m, Warp& w, const act::AtomicShared& a);
Step run(Machine& m, Warp& w, const act::Broadcast& a);
Step run(Machine& m, Warp& w, const act::Shuffle& a);
Step run(Machine& m, Warp& w, const act::ReadClock& a);
Step run(Machine& m, Warp& w, const act::TaskBegin& a);
Step run(Machine& m, Warp& w, const act::TaskEnd& a);
Step run(Machine& m, Warp& w, const act::Finish& a);

}  // namespace plait::sim
