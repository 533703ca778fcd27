#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "ir/kernel.h"

namespace plait::cpu {

/// Kernel arguments as compiled code reads them: one 8-byte slot an entry, in this order: data pointers of the buffer
/// parameters, then for each of them its extents and its strides (elements), scalars (floats as the bits of a double,
/// integers as i64), dims, grid extents.
union Slot {
  void* pointer;
  std::int64_t integer;
  double floating;
};

/// What a run-time check found first; `code` 0 means nothing.
struct Trap {
  std::int32_t code = 0;        ///< index + 1 into Code::traps
  std::int64_t values[4] = {};  ///< e.g. the index and the extent it left
};

/// What a trap of that number means.
struct TrapInfo {
  Loc loc;
  Rule rule;
  std::string message;  ///< `{}` stand for Trap::values in order; in assertions, which have none, for themselves
};

struct Options {
  bool checks = true;    ///< bounds of element accesses that are not proved, division by zero, asserts (always on)
  std::string cpu;       ///< LLVM processor name; empty: this machine
  std::string features;  ///< LLVM feature string, used when `cpu` is given
};

/// Runs one block: 0, or the code of the trap that ended it. `scratch` has Code::scratch_bytes bytes, 64-byte aligned,
/// private to the call.
using BlockFn = std::int32_t (*)(const Slot* slots, std::int64_t bx, std::int64_t by, std::int64_t bz, void* scratch,
                                 Trap* trap);

/// Machine code of one kernel, kept alive by the handle. Thread-safe to call.
struct Code {
  BlockFn block = nullptr;
  std::int64_t scratch_bytes = 0;
  Note largest_buffer;  ///< of the scratch memory, by name and size
  std::vector<TrapInfo> traps;
  /// Statements that could not be vectorised or fell back to a slower form, with the reason.
  std::vector<Note> slow_paths;
  std::shared_ptr<void> owner;
};

/// Whether LLVM has a processor of that name for Options::cpu.
bool is_processor(const std::string& name);

/// Compiles for this process. Thread-safe.
Result<Code> compile(const ir::Kernel& kernel, const Options& options = {});

enum class EmitKind { llvm, assembly, object };
/// The kernel as text or as an object file that links into a C program without plait: it defines `int NAME(args…)`,
/// running every block on the calling thread, and `int NAME_block(…)`. Needs only libm (and libmvec).
Result<std::string> emit(const ir::Kernel& kernel, EmitKind kind, const Options& options = {});
/// The C header that declares what `emit(object)` defines.
Result<std::string> emit_header(const ir::Kernel& kernel, const Options& options = {});

}  // namespace plait::cpu
