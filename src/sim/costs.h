#pragma once

#include <cstdint>

#include "ir/expr.h"
#include "machine/device.h"

namespace plait::sim {

/// Cycles, and bytes or operations a cycle, of one multiprocessor. The defaults are an H200's.
struct Costs {
  double clock_mhz = 1980;
  int sms = 132;

  // Throughput.
  double tensor_fma = 2048;  ///< 16-bit multiply-adds; other types by the bytes of K
  double mma_fma = 1024;     ///< the same through mma
  double smem_bytes = 128;
  double tma_bytes = 64;
  double l2_bytes = 64;          ///< of one multiprocessor
  double l2_total_bytes = 5120;  ///< of all
  double memory_bytes = 2424;    ///< main memory, of all
  double l2_capacity = 50 << 20;
  double cuda_lanes = 128;  ///< f32 operations
  double sfu_lanes = 16;

  // Latency.
  std::int64_t instruction = 4;                  ///< of a warp, before its next one
  std::int64_t tma_load = 330, tma_store = 500;  ///< of what L2 holds, besides the transfer
  std::int64_t memory_latency = 600;             ///< of main memory, besides that
  std::int64_t global_load = 222, global_store = 20, atomic = 700;
  std::int64_t smem_access = 30;
  std::int64_t wgmma = 32, wgmma_issue = 8;
  std::int64_t mma = 33;
  std::int64_t mbar_test = 20;  ///< of a wait that finds its phase complete
  std::int64_t mbar_wait = 20;  ///< from the completion until a waiter goes on
  std::int64_t arrive = 12, remote_arrive = 400;
  std::int64_t named_barrier = 20, cluster_barrier = 200;
  std::int64_t fence_proxy = 30;
  std::int64_t tma_issue = 30;
  std::int64_t shuffle = 24;
  std::int64_t block_start = 1000;

  int vector_cores = 0;  ///< of an NPU, each with units of its own; of others none
};

/// The costs that a machine model states; the others stay as they are.
Costs costs_of(const machine::Device& device);

/// A unit of a multiprocessor whose time the simulation accounts for.
enum class Unit {
  tensor,
  tma,
  cuda,
  sfu,
  smem,
  l2,
  lsu,
  issue,
  vector,
  load,
  store,
  cube,
  mte1,
  mte2,
  fixpipe,
  aiv_mte2,
  mte3,
  scalar,
};
constexpr int kUnits = 18;
constexpr int kOwnUnits = 6;  ///< the first ones, which statements use by themselves; the others run tasks alone

constexpr int kMostVectorCores = 4;  ///< of an NPU, beside a cube core

/// Whether each vector core of an NPU has one.
constexpr bool is_of_vector_core(Unit unit) {
  return unit == Unit::vector || unit == Unit::aiv_mte2 || unit == Unit::mte3;
}

/// Whether the special function unit evaluates the function, in one step or several.
bool uses_special_unit(ir::Intrinsic fn);

/// A thread's instructions for a value that it computes: all, and of the special-function unit. Literals, variables and
/// what is read from memory are operands.
struct ThreadWork {
  int operations = 0, special = 0;
};
ThreadWork thread_work(const ir::ExprRef& value);

}  // namespace plait::sim
