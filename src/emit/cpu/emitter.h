#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "emit/cpu/cpu.h"
#include "emit/cpu/fuse.h"
#include "emit/cpu/scratch.h"
#include "emit/cpu/vector_target.h"
#include "ir/visit.h"
#include "llvm/IR/IRBuilder.h"

namespace plait::cpu {

/// How a value depends on the lane. Scalar code has one lane, where everything is uniform.
enum class Form {
  uniform,  ///< the same in every lane, kept as a scalar
  linear,   ///< lane l has v + l * step; v is a scalar, i64 only
  varying,  ///< kept as a vector
};
struct Val {
  llvm::Value* v = nullptr;
  Form form = Form::uniform;
  std::int64_t step = 0;
  // Known of some i64 values that are not vectors:
  int bits = 0;               ///< every active lane lies in [0, 2^bits); 0: unknown
  std::int64_t multiple = 1;  ///< divides v
};

/// The iterations emitted together.
struct Lanes {
  int count = 1;
  llvm::Value* mask = nullptr;  ///< i1 vector of active lanes; null: all are
  bool maybe_empty =
      false;  ///< the mask may have no active lane (inside `select`, `and`, `or`; statements are branched around)
};

/// A buffer as emitted code sees it.
struct BufferInfo {
  const ir::BufferDecl* decl = nullptr;
  llvm::Value* base = nullptr;
  std::vector<llvm::Value*> extents, strides;  ///< i64, in elements
  int interleave = 1;                          ///< copies, one a lane, of a buffer private to an iteration
  bool stream = false;                         ///< whole vectors are aligned and go past the caches
  llvm::MDNode* scope = nullptr;               ///< alias scope list of the buffer
  llvm::MDNode* noalias = nullptr;             ///< scopes of the buffers it shares no byte with

  bool global() const { return decl->scope == ir::Scope::global; }
  bool packed() const { return global() && ir::dtype_bits(decl->type) < 8; }
};

/// Where `break` and `continue` go.
struct LoopTargets {
  llvm::BasicBlock* next = nullptr;
  llvm::BasicBlock* exit = nullptr;
};

/// The next iteration of the pipelined loop around a statement: what copies fetch ahead for.
struct NextIteration {
  const ir::VarDecl* var = nullptr;
  llvm::Value* value = nullptr;  ///< of var, i64
  ir::VarMap lets;               ///< definitions in the loop body, in terms of var and of what is defined outside
};

/// Everything the emission of one kernel's block function has in common. The functions that emit (emit_expr, emit_stmt,
/// the tile operations) take it as their first argument and append at `b`.
struct Emitter {
  Emitter(const ir::Kernel& k, const Options& o, const VectorTarget& t, llvm::Module& m);

  const ir::Kernel& kernel;
  const Options& options;
  const VectorTarget& target;
  llvm::Module& module;
  llvm::LLVMContext& context;
  llvm::IRBuilder<> b;
  bool object = false;  ///< for an object file: no calls into plait

  llvm::Function* fn = nullptr;
  llvm::Value* scratch = nullptr;
  llvm::Value* trap = nullptr;
  llvm::Value* linear_block = nullptr;  ///< number of the block in the grid, first axis fastest
  llvm::Value* blocks = nullptr;        ///< blocks of the grid
  llvm::BasicBlock* trap_exit = nullptr;
  llvm::PHINode* trap_code = nullptr;

  ScratchPlan plan;
  std::unordered_map<const ir::VarDecl*, Val> vars;
  std::unordered_map<const ir::BufferDecl*, BufferInfo> buffers;
  std::vector<LoopTargets> loops;
  Lanes lanes;
  bool in_parallel = false;
  std::optional<NextIteration> next;
  const Place* place = nullptr;  ///< the statement being emitted
  std::vector<std::unique_ptr<Fusion>> fusions;
  std::unordered_map<const ir::Load*, const ir::Region*> fetched;  ///< loads that stand for a copy of that region
  std::set<const ir::Stmt*> streaming;                             ///< stores that go past the caches
  bool streams = false;  ///< a store went past the caches, so that the block must end with a fence

  /// Index checks that analysis has proved needless: (the Load, or the Stmt that stores, dimension).
  std::set<std::pair<const void*, std::size_t>> proved;

  std::vector<TrapInfo> traps;
  std::vector<Note> slow_paths;

  llvm::ConstantInt* i64(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::BasicBlock* block(const llvm::Twine& name) { return llvm::BasicBlock::Create(context, name, fn); }
  /// A stack slot in the entry block.
  llvm::AllocaInst* stack(llvm::Type* type, const llvm::Twine& name);
  void slow(const Loc& loc, std::string reason);
  /// Makes an on-chip buffer known; its memory is assigned where it is defined.
  BufferInfo& declare(const ir::Buffer& buffer);
};

// ---- Constants ------------------------------------------------------------------------------------------------------

std::optional<std::int64_t> const_int(const llvm::Value* value);
bool is_const(const llvm::Value* value, std::int64_t wanted);
/// The smaller and the larger of two i64 values, signed; constants fold.
llvm::Value* least(Emitter& e, llvm::Value* a, llvm::Value* b);
llvm::Value* greatest(Emitter& e, llvm::Value* a, llvm::Value* b);

// ---- Control flow ---------------------------------------------------------------------------------------------------

using IndexBody = llvm::function_ref<void(llvm::Value* index)>;
/// for (i = begin; i < end; i += step) on i64, step > 0. No loop is made where the bounds are constants with at most
/// one iteration.
void emit_loop(Emitter& e, llvm::Value* begin, llvm::Value* end, llvm::Value* step, const llvm::Twine& name,
               IndexBody body, bool breakable = false);
/// `then` where cond (an i1) holds, `otherwise` elsewhere; folds constants.
void emit_if(Emitter& e, llvm::Value* cond, llvm::function_ref<void()> then,
             llvm::function_ref<void()> otherwise = nullptr);
/// Leaves the block function with a new trap where `bad` (an i1) holds. `values` are made in the cold branch.
void trap_if(Emitter& e, llvm::Value* bad, Rule rule, const Loc& loc, std::string message,
             llvm::function_ref<std::vector<llvm::Value*>()> values = nullptr);

// ---- Lanes ----------------------------------------------------------------------------------------------------------

inline Val uniform(llvm::Value* v) { return {v}; }
inline Val varying(llvm::Value* v) { return {v, Form::varying}; }
inline Val linear(llvm::Value* v, std::int64_t step) { return {v, step == 0 ? Form::uniform : Form::linear, step}; }
/// The value with one element a lane (a scalar where there is one lane).
llvm::Value* spread(Emitter& e, const Val& value);
/// 0, 1, … in i64 lanes.
llvm::Constant* iota(Emitter& e);
/// The same in 32-bit lanes.
llvm::Constant* iota32(Emitter& e);
/// Whether an i1, or any lane of an i1 vector, is set.
llvm::Value* any(Emitter& e, llvm::Value* cond);
/// The mask with lanes where `cond` does not hold switched off.
llvm::Value* narrow(Emitter& e, llvm::Value* cond);
/// Runs `body` once for each active lane with the scalar values of that lane, in lane order. Values have types of whole
/// bytes.
void for_each_lane(Emitter& e, llvm::ArrayRef<Val> values, llvm::function_ref<void(llvm::ArrayRef<llvm::Value*>)> body);

}  // namespace plait::cpu
