#pragma once

#include <unordered_set>

#include "lang/operations.h"
#include "lang/scope.h"
#include "plait/program.hpp"

namespace plait::detail {

/// What a KernelBuilder has built so far, shared by the values and buffers that it hands out.
class BuilderState : public std::enable_shared_from_this<BuilderState> {
 public:
  BuilderState(std::string name, const std::source_location& at);

  // ---- Values (builder_value.cpp)
  // ----------------------------------------------------------------------------------------
  using Maker = std::function<ir::ExprRef(std::vector<ir::ExprRef>, Diagnostics&)>;
  /// The value that `make` gives for the operands' expressions. What it reports waits for the place of the next
  /// statement.
  static Value combine(const std::vector<const Value*>& operands, const Maker& make);
  static Value literal(ir::ExprRef expr) { return Value(nullptr, std::move(expr), 1, 1); }
  Value leaf(ir::ExprRef expr) { return Value(shared_from_this(), std::move(expr), 1, 1); }
  Var variable(const ir::Var& var) { return Var(leaf(ir::var_ref(var, var->loc))); }
  Var poison() { return Var(leaf(nullptr)); }
  static Value load(const Ref& ref);
  static const std::shared_ptr<BuilderState>& state_of(const Ref& ref) { return ref.state_; }

  // ---- Statements (builder_state.cpp)
  // ------------------------------------------------------------------------------------
  /// Begins a statement: its place is also that of everything reported since the last one. Throws after build().
  Loc begin(const std::source_location& at);
  /// The value's expression as a part of the statement at `loc`; null when it is wrong or may not be used here.
  ir::ExprRef use(const Value& value, const Loc& loc);
  std::vector<ir::ExprRef> use_all(const std::vector<Value>& values, const Loc& loc);
  std::vector<ir::ExprRef> use_all(const Extents& extents, const Loc& loc) { return use_all(extents.values_, loc); }
  std::optional<ir::RegionSpec> use(const Tile& tile, const Loc& loc);
  std::optional<std::vector<ir::RegionSpec>> use_tiles(const std::vector<const Tile*>& tiles, const Loc& loc);
  struct LoopBounds {
    ir::ExprRef begin, end, step;
  };
  LoopBounds use(const Bounds& bounds, const Loc& loc);
  void emit(ir::StmtRef stmt);
  void emit(ir::StmtNode node, const Loc& loc) { emit(ir::make_stmt(std::move(node), loc)); }
  void store(const Ref& target, std::optional<ir::BinaryOp> op, const Value& value);
  void atomic(ir::OpKind kind, const Tile& dst, const Source& src, const std::source_location& at);
  /// The statements that `body` makes, in a block of their own; what they define ends with it.
  ir::Body block(const std::function<void()>& body);

  // ---- Names
  // -------------------------------------------------------------------------------------------------------------
  /// The name itself or one made unique from it; reports what is no identifier.
  std::string local_name(const std::string& wanted, const Loc& loc);
  /// The first of the usual names of loop variables that is free.
  std::string loop_name();
  /// A parameter's or dim's name; false after a report.
  bool header_name(const std::string& name, const Loc& loc);
  void show(const void* declaration, const std::string& name);

  // ---- The header (builder_header.cpp)
  // -----------------------------------------------------------------------------------
  Var dim(const std::string& name, const std::source_location& at);
  Buffer tensor(ir::ParamKind kind, const std::string& name, DType type, const Extents& shape,
                const TensorOptions& options, const std::source_location& at);
  Var scalar(const std::string& name, DType type, const std::optional<Value>& default_value,
             const std::source_location& at);
  std::vector<Var> grid(const std::vector<const Axis*>& axes, const std::source_location& at);
  Buffer alloc(ir::Scope scope, DType type, const Extents& shape, const BufferOptions& options,
               const std::source_location& at);
  Var let(const std::string& name, const Value& value, const std::source_location& at);
  std::shared_ptr<const ir::Kernel> build();

  // ---- Loops and branches
  // ----------------------------------------------------------------------------------------------------------
  void loop(ir::LoopKind kind, const std::vector<LoopBounds>& axes, const std::vector<std::string>& names,
            ir::PipelineAttrs attrs, const LoopBody& body, std::size_t arity, const Loc& loc);
  void if_branch(const Value& cond, const std::function<void()>& body, const std::source_location& at);
  void elif_branch(const Value& cond, const std::function<void()>& body, const std::source_location& at);
  void else_branch(const std::function<void()>& body, const std::source_location& at);

  ir::Kernel kernel;
  Diagnostics diags;
  /// Whether no statement has been made yet.
  bool is_empty() const { return blocks_.size() == 1 && blocks_.front().body.empty() && !blocks_.front().chain; }
  /// Whether calls are the kernel's top level; reports where they are not.
  bool top_level(std::string_view what, const Loc& loc);

 private:
  /// An if that an elif or else may still follow.
  struct Chain {
    struct Branch {
      ir::ExprRef cond;  ///< null: else
      ir::Body body;
      Loc loc;
    };
    std::vector<Branch> branches;
    bool decided = false;  ///< a condition was true when the program was built, or the else is there
    bool wrong = false;
  };
  struct Block {
    ir::Body body;
    std::optional<Chain> chain;
    std::vector<std::pair<const void*, std::string>> shown;
  };

  static void report(const std::shared_ptr<BuilderState>& state, const Diagnostics& found);
  Loc loc(const std::source_location& at);
  bool visible(const ir::ExprRef& expr, const Loc& at);
  std::optional<ir::RegionSpec::Dim> dim_of(const Index& index, const ir::ExprRef& whole, const Loc& at);
  static bool is_element(const Tile& tile);
  void branch(Chain& chain, const Value& cond, const std::function<void()>& body, const Loc& at);
  void close_chain();
  void order_dims();

  std::vector<Block> blocks_;
  std::size_t nesting_ = 0;  ///< ifs around, an elif within the if before it
  lang::NameTable names_;
  std::unordered_set<const void*> visible_;
  std::vector<ir::Var> dims_;
  Diagnostics pending_;  ///< of values made since the last statement
  std::unordered_map<std::string, SourceRef> sources_;
  bool built_ = false;
};

/// Throws Error with the diagnostics.
[[noreturn]] void throw_error(const Diagnostics& diags);

}  // namespace plait::detail
