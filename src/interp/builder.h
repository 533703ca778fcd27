#pragma once

#include <map>
#include <unordered_map>

#include "interp/handlers.h"

namespace plait::interp {

/// Writes the instructions of a Program. Every value has a register of its own, which nothing overwrites before the
/// code that computed it runs again; so a name given to a value by `x = e` is just another name of its register.
class Builder {
 public:
  explicit Builder(const ir::Kernel& kernel) : kernel_(kernel) {}
  Program build();

 private:
  struct LoopFrame {
    std::vector<std::size_t> breaks, continues;  ///< jumps whose targets are open
  };

  // Registers, places, instructions.
  std::int32_t new_register();
  std::int32_t constant(Value value);
  std::int32_t define(const ir::Var& var);
  std::int32_t site(const Loc& loc);
  std::size_t emit(Instr instr, const Loc& loc);
  void aim(std::size_t instr);  ///< the jump goes to the next instruction to be written
  std::int32_t here() const { return static_cast<std::int32_t>(program_.code.size()); }

  // Expressions: the register that holds the value once the code written so far has run.
  std::int32_t value(const ir::ExprRef& expr);
  std::vector<std::int32_t> values(const std::vector<ir::ExprRef>& exprs);
  std::int32_t literal(const ir::Expr& expr, const ir::IntLit& node);
  std::int32_t lookup(const ir::VarRef& node) const;
  std::int32_t load(const ir::Expr& expr, const ir::Load& node);
  std::int32_t unary(const ir::Expr& expr, const ir::Unary& node);
  std::int32_t binary(const ir::Expr& expr, const ir::Binary& node);
  std::int32_t logical(const ir::Expr& expr, const ir::Binary& node);
  std::int32_t select(const ir::Expr& expr, const ir::Select& node);
  std::int32_t cast(const ir::Expr& expr, const ir::Cast& node);
  std::int32_t bitcast(const ir::Expr& expr, const ir::Bitcast& node);
  std::int32_t call(const ir::Expr& expr, const ir::Call& node);
  std::int32_t add_cast(ir::DType from, ir::DType to, ir::Rounding rounding, bool saturate);

  // Statements.
  void body(const ir::Body& body);
  void statement(const ir::Stmt& stmt);
  void loop(const ir::For& node, const Loc& loc);
  void repeat(const ir::While& node, const Loc& loc);
  void branch(const ir::If& node, const Loc& loc);
  void store(const ir::Store& node, const Loc& loc);
  void atomic(const ir::AtomicElement& node, const Loc& loc);
  void tile(const ir::TileOp& node, const Loc& loc);
  void check(const ir::Assert& node, const Loc& loc);
  void print(const ir::Print& node, const Loc& loc);
  void alloc(const ir::Buffer& buffer, const Loc& loc);
  void leave(std::vector<std::size_t> LoopFrame::* jumps, const Loc& loc);

  // Buffers and the loops around.
  void parameters();
  std::int32_t add_buffer(const ir::Buffer& buffer, std::int32_t param, bool out);
  Reach reach(const ir::Buffer& buffer, const Loc& loc);
  std::int32_t element(const ir::Buffer& buffer, const std::vector<ir::ExprRef>& index, const Loc& loc);
  RegionCode region(const ir::Region& region, const Loc& loc);
  void enter_scope(const ir::Var& var, std::int32_t reg);

  const ir::Kernel& kernel_;
  Program program_;
  std::unordered_map<const ir::VarDecl*, std::int32_t> vars_;
  std::unordered_map<const ir::BufferDecl*, std::int32_t> buffers_;
  std::map<std::int64_t, std::int32_t> constants_;  ///< by bits
  std::vector<LoopFrame> loops_;
  std::int32_t scope_ = -1;
  std::int32_t level_ = 0;  ///< parallel loops around
};

}  // namespace plait::interp
