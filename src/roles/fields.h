#pragma once

#include "roles/program.h"

namespace plait::roles {

// The members of each statement, listed once: `fields(statement, fn)` calls fn with all of them and gives what it
// gives.

template <typename F>
auto fields(const Let& s, F&& fn) {
  return fn(s.value, s.var);
}
template <typename F>
auto fields(const VarDef& s, F&& fn) {
  return fn(s.init, s.var);
}
template <typename F>
auto fields(const Set& s, F&& fn) {
  return fn(s.value, s.var);
}
template <typename F>
auto fields(const For& s, F&& fn) {
  return fn(s.begin, s.end, s.step, s.unroll, s.factor, s.var, s.body);
}
template <typename F>
auto fields(const While& s, F&& fn) {
  return fn(s.cond, s.body);
}
template <typename F>
auto fields(const If& s, F&& fn) {
  return fn(s.cond, s.then_body, s.else_body);
}
template <typename F>
auto fields(const Elect& s, F&& fn) {
  return fn(s.body);
}
template <typename F>
auto fields(const OneWarp& s, F&& fn) {
  return fn(s.warp, s.body);
}
template <typename F>
auto fields(const DefFragment& s, F&& fn) {
  return fn(s.fragment);
}
template <typename F>
auto fields(const MbarInit& s, F&& fn) {
  return fn(s.mbar);
}
template <typename F>
auto fields(const Wait& s, F&& fn) {
  return fn(s.mbar, s.parity);
}
template <typename F>
auto fields(const Arrive& s, F&& fn) {
  return fn(s.mbar, s.rank);
}
template <typename F>
auto fields(const Expect& s, F&& fn) {
  return fn(s.mbar, s.bytes);
}
template <typename F>
auto fields(const Fence& s, F&& fn) {
  return fn(s.kind);
}
template <typename F>
auto fields(const SyncThreads&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const SyncWarp&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const ClusterArrive&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const ClusterWait&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const BarrierSync& s, F&& fn) {
  return fn(s.id, s.threads);
}
template <typename F>
auto fields(const BarrierArrive& s, F&& fn) {
  return fn(s.id, s.threads);
}
template <typename F>
auto fields(const TmaLoad& s, F&& fn) {
  return fn(s.dst, s.map, s.at, s.mbar, s.multicast, s.hint, s.channel);
}
template <typename F>
auto fields(const TmaStore& s, F&& fn) {
  return fn(s.map, s.at, s.src, s.hint);
}
template <typename F>
auto fields(const BulkLoad& s, F&& fn) {
  return fn(s.dst, s.src, s.bytes, s.mbar, s.hint, s.channel);
}
template <typename F>
auto fields(const BulkStore& s, F&& fn) {
  return fn(s.dst, s.src, s.bytes, s.hint);
}
template <typename F>
auto fields(const BulkCommit&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const BulkWait& s, F&& fn) {
  return fn(s.pending, s.read);
}
template <typename F>
auto fields(const Prefetch& s, F&& fn) {
  return fn(s.map);
}
template <typename F>
auto fields(const CpAsync& s, F&& fn) {
  return fn(s.dst, s.src, s.rows, s.columns, s.piece, s.where);
}
template <typename F>
auto fields(const CpCommit&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const CpWait& s, F&& fn) {
  return fn(s.pending);
}
template <typename F>
auto fields(const Wgmma& s, F&& fn) {
  return fn(s.acc, s.a, s.trans_a, s.b, s.trans_b, s.clear);
}
template <typename F>
auto fields(const WgmmaCommit&, F&& fn) {
  return fn();
}
template <typename F>
auto fields(const WgmmaAwait& s, F&& fn) {
  return fn(s.pending);
}
template <typename F>
auto fields(const Mma& s, F&& fn) {
  return fn(s.acc, s.a, s.b);
}
template <typename F>
auto fields(const LdMatrix& s, F&& fn) {
  return fn(s.dst, s.src, s.trans);
}
template <typename F>
auto fields(const StMatrix& s, F&& fn) {
  return fn(s.dst, s.src, s.columns);
}
template <typename F>
auto fields(const ElementStore& s, F&& fn) {
  return fn(s.fragment, s.index, s.value);
}
template <typename F>
auto fields(const Each& s, F&& fn) {
  return fn(s.domain, s.vars, s.stores);
}
template <typename F>
auto fields(const RowReduce& s, F&& fn) {
  return fn(s.op, s.dst, s.src);
}
template <typename F>
auto fields(const LaneReduce& s, F&& fn) {
  return fn(s.op, s.fragment, s.lanes);
}
template <typename F>
auto fields(const Keep& s, F&& fn) {
  return fn(s.fragments);
}
template <typename F>
auto fields(const LoadTensor& s, F&& fn) {
  return fn(s.dst, s.src, s.hint, s.pad);
}
template <typename F>
auto fields(const StoreTensor& s, F&& fn) {
  return fn(s.dst, s.src, s.hint);
}
template <typename F>
auto fields(const LoadShared& s, F&& fn) {
  return fn(s.dst, s.src);
}
template <typename F>
auto fields(const StoreShared& s, F&& fn) {
  return fn(s.dst, s.src);
}
template <typename F>
auto fields(const PutTensor& s, F&& fn) {
  return fn(s.dst, s.value);
}
template <typename F>
auto fields(const PutShared& s, F&& fn) {
  return fn(s.dst, s.value);
}
template <typename F>
auto fields(const PutPiece& s, F&& fn) {
  return fn(s.dst, s.src, s.piece);
}
template <typename F>
auto fields(const Atomic& s, F&& fn) {
  return fn(s.op, s.dst, s.value, s.result);
}
template <typename F>
auto fields(const AtomicShared& s, F&& fn) {
  return fn(s.op, s.dst, s.value, s.result);
}
template <typename F>
auto fields(const Broadcast& s, F&& fn) {
  return fn(s.value, s.result);
}
template <typename F>
auto fields(const Shuffle& s, F&& fn) {
  return fn(s.value, s.lane, s.result);
}
template <typename F>
auto fields(const Clock& s, F&& fn) {
  return fn(s.result, s.global);
}
template <typename F>
auto fields(const Acquire& s, F&& fn) {
  return fn(s.item, s.bytes);
}
template <typename F>
auto fields(const Publish& s, F&& fn) {
  return fn(s.item);
}
template <typename F>
auto fields(const Receive& s, F&& fn) {
  return fn(s.item);
}
template <typename F>
auto fields(const Release& s, F&& fn) {
  return fn(s.item);
}
template <typename F>
auto fields(const Issue& s, F&& fn) {
  return fn(s.unit, s.task, s.latency, s.ii, s.reads, s.writes, s.body);
}

}  // namespace plait::roles
