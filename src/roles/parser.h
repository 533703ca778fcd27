#pragma once

#include <functional>
#include <set>

#include "roles/binder.h"
#include "syntax/parser.h"

namespace plait::roles {

/// Largest number that a declaration may name: extents of a box, depths, arrivals.
inline constexpr std::int64_t kMaxCount = 1 << 20;

/// Reads a role program and gives it its meaning line by line. Nodes of lines with errors have null parts; they are
/// thrown away in the end.
class RoleParser : public syntax::Parser {
 public:
  RoleParser(const SourceRef& source, const syntax::Lexed& lexed, syntax::Errors& errors, Diagnostics& diags)
      : Parser(source, lexed, errors), bind_(diags) {}

  Program program(const lang::Bindings& bindings);
  /// What stands before the roles: see head.h.
  Program head();

 private:
  using Tok = syntax::Tok;
  using Token = syntax::Token;
  using Source = syntax::ExprRef;  ///< an expression as written

  // parse.cpp: the head
  void header(const lang::Bindings& bindings);
  void builtins();
  /// The body of the prologue or of a role, which sees the builtins.
  Body thread_body(std::string_view header);
  /// Parts of the head in their order.
  enum class Part { values, launch, cluster, occupancy, declarations, prologue, roles };
  void head_line();
  void part(Part part, const Token& word);
  void host_let();
  void require();
  void launch();
  void cluster();
  void occupancy();
  void workspace();
  void map();
  void smem();
  void mbar();
  void channel();
  void prologue();
  void role();
  void role_clause(Role& role, std::set<std::string>& seen);
  Swizzle swizzle_clause();

  // parse_stmt.cpp: bodies, scalars, control
  /// `':' NEWLINE INDENT lines DEDENT`; `line` reads each.
  void block(std::string_view header, const std::function<void()>& line);
  void indented_block(const std::function<void()>& line);
  Body body(std::string_view header);
  /// What is read for the errors of its form alone.
  void dead(const std::function<void()>& read);
  void end_of_line();
  /// So much is wrong that the rest is not read.
  bool full() const;
  void statement();
  void word_statement(const Loc& loc);
  void unknown_statement();
  void definition(const Loc& loc);
  bool special(const std::string& name, const syntax::Call& call, const Loc& loc);
  void let(const std::string& name, const Source& value, const Loc& loc);
  void var(const Loc& loc);
  void set(const Loc& loc);
  void for_loop(const Loc& loc);
  bool loop_bounds(For& loop, std::string_view kind, const Loc& loc);
  void while_loop(const Loc& loc);
  void if_chain(const Loc& loc);
  void if_rest();
  void elect(const Loc& loc);
  void one_warp(const Loc& loc);
  void fragment(const Loc& loc);
  void fragment_kind(FragmentDecl& decl);

  // parse_channel.cpp: channels and tasks
  ChannelRef item();
  void acquire(const Loc& loc);
  void publish(const Loc& loc);
  void receive(const Loc& loc);
  void release(const Loc& loc);
  void completion(MbarRef& mbar, ChannelRef& channel);
  void issue(const Loc& loc);
  std::vector<TaskOperand> task_operands();

  // parse_ops.cpp: the other statements
  void mbar_init(const Loc& loc);
  void wait(const Loc& loc);
  void arrive(const Loc& loc);
  void expect_bytes(const Loc& loc);
  void fence(const Loc& loc);
  template <typename Node>
  void barrier(const Loc& loc);
  void barrier_sync(const Loc& loc) { barrier<BarrierSync>(loc); }
  void barrier_arrive(const Loc& loc) { barrier<BarrierArrive>(loc); }
  void cp_wait(const Loc& loc);
  void wgmma_await(const Loc& loc);
  /// A statement of one word.
  template <typename Node>
  void plain(const Loc& loc) {
    emit(loc, Node{});
  }
  void tma_load(const Loc& loc);
  void tma_store(const Loc& loc);
  void bulk_load(const Loc& loc);
  void bulk_store(const Loc& loc);
  void bulk_wait(const Loc& loc);
  void prefetch(const Loc& loc);
  void cp_async(const Loc& loc);
  void wgmma(const Loc& loc);
  void mma(const Loc& loc);
  void ldmatrix(const Loc& loc);
  void stmatrix(const Loc& loc);
  void each(const Loc& loc);
  void each_line(Each& each);
  void row_reduce(const Loc& loc);
  void lane_reduce(const Loc& loc);
  void keep(const Loc& loc);
  void load(const Loc& loc);
  void store(const Loc& loc);
  void put(const Loc& loc);
  ReduceOp reduce_op();
  CacheHint hint();
  bool transposed();
  std::int64_t count(std::string_view what, std::int64_t least, std::int64_t most);

  // Pieces
  bool accept_word(std::string_view word);
  bool expect_word(std::string_view word, std::string_view behind);
  bool arrow();
  /// `NAME` or `NAME[indices]`.
  Source operand(std::string_view what);
  template <typename Node>
  void emit(const Loc& loc, Node node) {
    body_->push_back(std::make_shared<const Stmt>(Stmt{loc, {}, std::move(node)}));
  }

  Binder bind_;
  Program program_;
  Body* body_ = nullptr;
  Part reached_ = Part::values;
  bool block_read_ = false;  ///< the statement ended with a block
  int dead_ = 0;             ///< branches of static ifs around that are not taken
};

}  // namespace plait::roles
