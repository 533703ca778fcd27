#pragma once

#include <map>
#include <unordered_map>

#include "sim/code.h"
#include "sim/launch.h"
#include "sim/varying.h"

namespace plait::sim {

/// What the roles of one program share while they are translated.
struct Shared {
  const roles::Program& program;
  const Launch& launch;
  Code& code;
  std::unordered_map<const roles::Stmt*, std::int32_t> sites{};
};

/// Translates one role with the prologue before it.
class Compiler {
 public:
  Compiler(Shared& shared, const roles::Role& role, int first_thread);
  RoleCode build();

 private:
  // Registers. Temporaries are given back behind each statement.
  Reg allocate(bool per_lane);
  Reg temporary(bool per_lane);
  void free_temporaries();
  Reg constant(Value value);
  Reg variable(const ir::Var& var);  ///< its register, made at first sight
  void builtin(const ir::Var& var, Reg& reg, bool per_lane);

  // Expressions.
  Reg value(const ir::ExprRef& expr);
  std::vector<Reg> values(const std::vector<ir::ExprRef>& exprs);
  Reg lower(const ir::Expr& expr);
  Reg lower(const ir::Expr& expr, const ir::IntLit& node);
  Reg lower(const ir::Expr& expr, const ir::FloatLit& node);
  Reg lower(const ir::Expr& expr, const ir::VarRef& node);
  Reg lower(const ir::Expr& expr, const ir::Load& node);
  Reg lower(const ir::Expr& expr, const ir::Unary& node);
  Reg lower(const ir::Expr& expr, const ir::Binary& node);
  Reg lower(const ir::Expr& expr, const ir::Select& node);
  Reg lower(const ir::Expr& expr, const ir::Cast& node);
  Reg lower(const ir::Expr& expr, const ir::Bitcast& node);
  Reg lower(const ir::Expr& expr, const ir::Call& node);
  Reg logical(const ir::Expr& expr, const ir::Binary& node);
  Reg fragment_load(const ir::Load& node);
  /// dst = operator of up to three operands, in all lanes where one of them differs.
  Reg emit(ExprHandler run, ir::DType type, std::initializer_list<Reg> operands, std::int32_t extra = 0);
  /// The value of `expr` computed in the lanes where `cond` holds (or does not), where computing it can fail.
  Reg guarded(const ir::ExprRef& expr, Reg cond, bool holds);
  Reg scaled(ir::Intrinsic fn, Reg a, double before, double behind);

  // Statements.
  void body(const roles::Body& body);
  void statement(const roles::Stmt& stmt);
  std::int32_t site(const roles::Stmt& stmt);
  std::int32_t push(Action action);
  std::int32_t here() const { return static_cast<std::int32_t>(out_.instrs.size()); }
  void loop(const roles::For& node);
  void unrolled(const roles::For& node);
  void repeat(const roles::While& node);
  void branch(const roles::If& node);
  void only(Action action, const roles::Body& inner);
  void assign(const roles::Stmt& stmt, const ir::Var& var, const ir::ExprRef& expr);

  // compile_task.cpp: tasks, and what waits for them
  void find_tasks();
  int data_number(const ir::BufferDecl* buffer);
  void touch(const roles::Stmt& stmt);
  Reg kept(const ir::ExprRef& expr);
  Touched data_of(const roles::Stmt& stmt, const roles::Issue& node);
  void task(const roles::Stmt& stmt, const roles::Issue& node);

  // Statements that become one action.
  Action action(const roles::DefFragment& n);
  Action action(const roles::MbarInit& n);
  Action action(const roles::Wait& n);
  Action action(const roles::Arrive& n);
  Action action(const roles::Expect& n);
  Action action(const roles::Fence& n);
  Action action(const roles::SyncThreads& n);
  Action action(const roles::SyncWarp& n);
  Action action(const roles::ClusterArrive& n);
  Action action(const roles::ClusterWait& n);
  Action action(const roles::BarrierSync& n);
  Action action(const roles::BarrierArrive& n);
  Action action(const roles::TmaLoad& n);
  Action action(const roles::TmaStore& n);
  Action action(const roles::BulkLoad& n);
  Action action(const roles::BulkStore& n);
  Action action(const roles::BulkCommit& n);
  Action action(const roles::BulkWait& n);
  Action action(const roles::Prefetch& n);
  Action action(const roles::CpAsync& n);
  Action action(const roles::CpCommit& n);
  Action action(const roles::CpWait& n);
  Action action(const roles::Wgmma& n);
  Action action(const roles::WgmmaCommit& n);
  Action action(const roles::WgmmaAwait& n);
  Action action(const roles::Mma& n);
  Action action(const roles::LdMatrix& n);
  Action action(const roles::StMatrix& n);
  Action action(const roles::Each& n);
  Action action(const roles::RowReduce& n);
  Action action(const roles::LaneReduce& n);
  Action action(const roles::Keep& n);
  Action action(const roles::LoadTensor& n);
  Action action(const roles::StoreTensor& n);
  Action action(const roles::LoadShared& n);
  Action action(const roles::StoreShared& n);
  Action action(const roles::PutTensor& n);
  Action action(const roles::PutShared& n);
  Action action(const roles::PutPiece& n);
  Action action(const roles::Atomic& n);
  Action action(const roles::AtomicShared& n);
  Action action(const roles::Broadcast& n);
  Action action(const roles::Shuffle& n);
  Action action(const roles::Clock& n);

  // Operands.
  SmemPlace place(const roles::SmemRef& ref);
  TensorPlace place(const roles::TensorRef& ref);
  MbarPlace place(const roles::MbarRef& ref);
  FragmentPlace place(const roles::FragmentRef& ref);
  int map_number(const roles::Map& map) const;
  int tensor_number(const ir::BufferDecl* buffer) const;
  int smem_number(const ir::BufferDecl* buffer) const;
  int mbar_number(const roles::Mbar& mbar) const;

  // Fragments.
  int fragment(const roles::Fragment& decl);
  int fragment_number(const ir::BufferDecl* buffer) const;
  /// `other` as seen from the elements of `domain`.
  int fragment_use(int domain, int other);

  Shared& shared_;
  const roles::Role& role_;
  RoleCode out_;
  runtime::Env literals_;  ///< values of the launch and of unrolled loop variables
  VarSet varying_;
  std::unordered_map<const ir::VarDecl*, Reg> vars_;
  std::map<std::int64_t, Reg> constants_;
  std::vector<Reg> free_[2], used_;  ///< temporaries, one value and one a lane
  std::unordered_map<const ir::BufferDecl*, int> fragments_;
  int domain_ = -1;  ///< of the `each` around
  bool in_prologue_ = false;
  bool has_tasks_ = false, in_task_ = false;
  std::unordered_map<const ir::BufferDecl*, int> data_;  ///< numbers of buffers
  std::int32_t expr_begin_ = 0;
  std::int32_t site_ = 0;
  int operations_ = 0, special_ = 0;
};

/// The statement's first word in the text form.
std::string statement_word(const roles::Stmt& stmt);

/// The registers of a fragment and where its elements lie.
FragmentCode fragment_code(const roles::Fragment& decl, std::int64_t threads);

}  // namespace plait::sim
