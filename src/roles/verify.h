#pragma once

#include "roles/program.h"

namespace plait::machine {
struct Device;
enum class Feature;
}  // namespace plait::machine

namespace plait::roles {

/// What the machine gives; that of an H200 unless said otherwise.
struct Limits {
  std::int64_t smem_block = 232448;  ///< bytes of shared memory a block
  std::int64_t smem_sm = 233472;     ///< bytes a multiprocessor
  std::int64_t registers = 65536;    ///< of a multiprocessor
  int thread_registers = 255;
  int threads = 1024;                 ///< of a block
  std::int64_t smem_reserved = 1024;  ///< bytes that each block takes besides what it asks for
  int cluster = 8;                    ///< blocks
  /// Units of each multiprocessor or core; absent: those of any machine.
  std::optional<std::vector<machine::UnitKind>> units = {};
  /// Of a GPU; absent: those of any.
  std::optional<std::vector<machine::Feature>> features = {};
};
/// Those of a machine model; of a processor those of an H200.
Limits limits_of(const machine::Device& device);

/// Everything that docs/roles.md demands of a program and that can be told without running it. Checks what parse()
/// gives and what C++ builds alike.
Diagnostics verify(const Program& program, const Limits& limits = {});

}  // namespace plait::roles
