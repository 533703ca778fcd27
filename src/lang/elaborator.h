#pragma once

#include <functional>
#include <map>

#include "lang/operations.h"
#include "lang/scope.h"
#include "syntax/tree.h"

namespace plait::lang {

/// What a call takes: parameters that may be given by position or name, the first `required` of them must be; then
/// those by name only.
struct Signature {
  std::string_view name;
  std::vector<std::string> positional;
  std::size_t required = 0;
  std::vector<std::string> named;
};
/// Sorts arguments by the signature: one entry a parameter, positional ones first, null where not given. Reports and
/// returns nullopt when they do not fit.
std::optional<std::vector<const syntax::Arg*>> bind_args(const Signature& signature,
                                                         const std::vector<syntax::Arg>& args, const Loc& loc,
                                                         Diagnostics& diags);

/// The operator of an infix token or of `min`, `max`.
std::optional<ir::BinaryOp> binary_op_from_token(std::string_view token);
/// Names of the functions that every program has.
std::vector<std::string> builtin_functions();

/// Nested statements, expressions and calls together: what plait's own recursion bears.
inline constexpr int kMaxDepth = 600;
/// Nodes that a kernel may grow to while its functions are inlined, and a built expression may have.
inline constexpr std::int64_t kMaxNodes = 1'000'000;
inline constexpr int kMaxStages = 1024;

/// Gives the functions, compile-time parameters and the body of one kernel their meaning. Every member that returns a
/// pointer returns null after an error was reported (or where a part was null).
class Elaborator {
 public:
  Elaborator(const syntax::File& file, Diagnostics& diags);

  // kernel.cpp
  ir::Kernel kernel(const syntax::Kernel& source, const Loc& loc, const std::map<std::string, std::string>& bindings);

 private:
  friend class Expressions;

  // ---- kernel.cpp: the header --------------------------------------------------------------------------------------
  void compile_params(const syntax::Kernel& source, const Loc& loc, const std::map<std::string, std::string>& bindings);
  Entity compile_param(const syntax::CompileParam& param, const std::string* text, const Loc& loc);
  void bind_dims(const syntax::Kernel& source);
  void params(const syntax::Kernel& source);
  void buffer_param(const syntax::Param& param);
  void scalar_param(const syntax::Param& param);
  std::vector<ir::ExprRef> shape_exprs(const std::vector<syntax::ExprRef>& exprs, const syntax::Param& param);

  // ---- expr.cpp
  // ------------------------------------------------------------------------------------------------------
  ir::ExprRef eval(const syntax::ExprRef& e);
  ir::ExprRef eval_name(const syntax::Name& name, const Loc& loc);
  ir::ExprRef eval_int(const syntax::IntLit& lit, const Loc& loc);
  ir::ExprRef eval_unary(const syntax::Unary& unary, const Loc& loc);
  ir::ExprRef eval_binary(const syntax::Binary& binary, const Loc& loc);
  ir::ExprRef eval_index(const syntax::Index& index, const Loc& loc);
  ir::ExprRef eval_call(const syntax::Call& call, const Loc& loc);
  ir::ExprRef eval_cast(ir::DType type, const syntax::Call& call, const Loc& loc);
  ir::ExprRef eval_bitcast(const syntax::Call& call, const Loc& loc);
  ir::ExprRef eval_select(const syntax::Call& call, const Loc& loc);
  ir::ExprRef eval_builtin(const syntax::Call& call, const Loc& loc);
  ir::ExprRef use(const Entity& entity, const std::string& name, const Loc& loc);
  ir::ExprRef to_index(const syntax::ExprRef& e);
  /// The types a comparison like `dtype == f16` compares, when both sides name types.
  std::optional<bool> types_equal(const syntax::Binary& binary);
  std::optional<ir::DType> type_named(const syntax::ExprRef& e) const;
  std::optional<ir::DType> type_of(const std::string& name) const;
  std::optional<ir::DType> dtype(const std::string& name, const Loc& loc);
  void unknown_name(const std::string& name, const Loc& loc);
  void unknown_function(const std::string& name, const Loc& loc);

  // ---- literals and attributes (attributes.cpp)
  // ------------------------------------------------------------------------
  std::optional<std::int64_t> constant_int(const syntax::ExprRef& e, std::string_view what);
  std::optional<std::int64_t> constant_int_in(const syntax::ExprRef& e, std::string_view what, std::int64_t least,
                                              std::int64_t most);
  std::optional<bool> constant_bool(const syntax::ExprRef& e, std::string_view what);
  std::optional<std::vector<int>> int_list(const syntax::ExprRef& e, std::string_view what);
  /// Index of the word `e` names among `words`.
  std::optional<std::size_t> word(const syntax::ExprRef& e, std::string_view what,
                                  const std::vector<std::string>& words);
  std::optional<std::vector<ir::ExprRef>> expr_list(const syntax::ExprRef& e);

  // ---- functions.cpp
  // -----------------------------------------------------------------------------------------------------
  struct Frame {
    const syntax::Function* function;
    std::shared_ptr<const CallSite> call;
  };
  const syntax::Function* find_function(const std::string& name) const;
  void check_functions();
  /// Runs `body` with the function's parameters as the only names in scope; diagnostics get the place of the call as a
  /// note.
  bool call_function(const syntax::Function& fn, const syntax::Call& call, const Loc& loc, bool statement,
                     const std::function<void()>& body);
  std::optional<Scopes> bind_parameters(const syntax::Function& fn, const syntax::Call& call, const Loc& loc,
                                        bool statement);
  Entity argument(const syntax::ExprRef& e);
  Entity by_value(Entity entity, const std::string& name, const Loc& loc);
  bool check_kind(const syntax::CompileParam& param, const Entity& entity, const Loc& loc);
  bool recursive(const syntax::Function& fn, const Loc& loc);
  ir::ExprRef eval_function(const syntax::Function& fn, const syntax::Call& call, const Loc& loc);
  /// The value of the return that ends `block`; `found` tells whether there was one.
  ir::ExprRef eval_block(const syntax::Block& block, bool& found);
  ir::ExprRef eval_static_if(const syntax::If& branch, const Loc& loc, bool& found);
  void eval_let(const syntax::Assign& assign, const Loc& loc);
  void call_statement(const syntax::Function& fn, const syntax::Call& call, const Loc& loc);

  // ---- stmt.cpp
  // ----------------------------------------------------------------------------------------------------------
  void block(const syntax::Block& block);
  /// A block with names of its own.
  ir::Body inner(const syntax::Block& block);
  ir::Body inner(const Loc& loc, const std::function<void()>& statements);
  void stmt(const syntax::Stmt& s);
  void assign(const syntax::Assign& assign, const Loc& loc);
  void let(const std::string& name, const syntax::ExprRef& value, const Loc& loc);
  void store(const syntax::Assign& assign, const syntax::Index& target, const Loc& loc);
  void alloc(const syntax::Alloc& alloc, const Loc& loc);
  bool alloc_clauses(const syntax::Alloc& source, AllocInput& in);
  bool layout_clause(const syntax::ExprRef& value, ir::LayoutHint& layout);
  void if_chain(const syntax::If& source, const Loc& loc);
  void while_loop(const syntax::While& loop, const Loc& loc);
  void assertion(const syntax::Assert& source, const Loc& loc);
  void task(const syntax::Task& source, const Loc& loc);
  void call_stmt(const syntax::CallStmt& source, const Loc& loc);
  void print(const syntax::Call& call, const Loc& loc);
  void grid(const syntax::Grid& source, const Loc& loc);
  void threads(const syntax::Threads& source, const Loc& loc);
  void require(const syntax::Require& source, const Loc& loc);
  void option(const syntax::Option& source, const Loc& loc);
  bool at_top(std::string_view what, const Loc& loc);

  // ---- loops.cpp
  // -----------------------------------------------------------------------------------------------------------
  void for_loop(const syntax::For& source, const Loc& loc);
  bool loop_bounds(const syntax::For& source, const Loc& loc, ir::LoopKind kind,
                   const std::vector<const syntax::Arg*>& args, std::vector<ir::LoopAxis>& axes);
  std::optional<ir::PipelineAttrs> pipeline_attrs(const std::vector<const syntax::Arg*>& args, std::size_t first,
                                                  const Loc& loc);

  // ---- tile_ops.cpp
  // ---------------------------------------------------------------------------------------------------------
  std::optional<ir::RegionSpec> operand(const syntax::ExprRef& e, std::string_view op);
  std::optional<ir::RegionSpec> indexed(const syntax::Index& index, const Loc& loc);
  std::optional<ir::RegionSpec::Dim> region_dim(const syntax::Slice& slice, const ir::ExprRef& whole, const Loc& loc);
  void tile_op(const std::string& name, const syntax::Call& call, const Loc& loc);
  ir::StmtRef copy_op(const syntax::Call& call, const Loc& loc);
  bool copy_rows(const syntax::Arg* rows, const syntax::Arg* side, CopyInput& in);
  ir::StmtRef fill_op(const syntax::Call& call, const Loc& loc, bool clear);
  ir::StmtRef gemm_op(const syntax::Call& call, const Loc& loc);
  ir::StmtRef reduce_op(ir::OpKind kind, const syntax::Call& call, const Loc& loc);
  ir::StmtRef cumsum_op(const syntax::Call& call, const Loc& loc);
  ir::StmtRef transpose_op(const syntax::Call& call, const Loc& loc);
  ir::StmtRef atomic_op(ir::OpKind kind, const syntax::Call& call, const Loc& loc);
  bool names_tile(const syntax::ExprRef& e) const;
  bool names_element(const syntax::ExprRef& e) const;
  /// The buffer and index of a plain `x[i, j]` (or of a parameter given as one).
  std::optional<std::pair<ir::Buffer, std::vector<ir::ExprRef>>> element(const syntax::ExprRef& e);

  // ---- state
  // ------------------------------------------------------------------------------------------------------------------
  void emit(ir::StmtNode node, const Loc& loc) { out_->push_back(ir::make_stmt(std::move(node), loc)); }
  void emit(ir::StmtRef stmt) {
    if (stmt != nullptr) out_->push_back(std::move(stmt));
  }
  /// A place of the text with the calls through which it is reached.
  Loc placed(Loc loc) const {
    if (!frames_.empty()) loc.call = frames_.back().call;
    return loc;
  }
  /// Defines a name unless it hides another one, which is reported.
  bool define(const std::string& name, Entity entity, const Loc& loc);
  /// The name a variable or buffer has in the kernel: its own, or one made unique inside an inlined function.
  std::string ir_name(const std::string& name) { return frames_.empty() ? name : names_.fresh(name); }
  ir::Var make_var(const std::string& name, ir::DType type, ir::VarKind kind, const Loc& loc);
  static Entity variable(const ir::Var& var) { return Scalar{ir::var_ref(var, var->loc), {}}; }

  /// Counts `n` nodes of the result; false when the limit of the expansion is reached, which is reported once.
  bool spend(std::int64_t n, const Loc& loc);
  bool stopped() const { return stopped_; }
  void stop(std::string message, const Loc& loc);
  /// One level of nesting while it lives.
  class Level {
   public:
    Level(Elaborator& owner, const Loc& loc);
    ~Level() { --owner_.level_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    bool ok() const { return !owner_.stopped_; }

   private:
    Elaborator& owner_;
  };
  /// Runs `fn` and tells how large and how deep the expressions it made are.
  Cost measured(const std::function<void()>& fn);
  bool spend(const Cost& cost, const Loc& loc);
  bool reach(int level, const Loc& loc);

  const syntax::File& file_;
  Diagnostics* diags_;
  std::unordered_map<std::string, const syntax::Function*> functions_;
  Scopes scopes_;
  NameTable names_;
  ir::Kernel kernel_;
  ir::Body* out_ = nullptr;
  bool top_level_ = true;
  bool wide_index_ = true;                         ///< indices become i64; else they keep their type
  std::map<std::string, std::string> statements_;  ///< of role programs: what defines a name, and how it is written
  std::vector<Frame> frames_;
  std::int64_t spent_ = 0;
  int level_ = 0;
  int deepest_ = 0;
  int base_ = 0;  ///< level of the innermost statement
  int blocks_ = 0;
  bool stopped_ = false;
  std::size_t outer_errors_ = 0;  ///< errors that wait in the diagnostics of enclosing calls
};

}  // namespace plait::lang
