#pragma once

#include <functional>
#include <set>
#include <source_location>

#include "ir/build.h"
#include "roles/program.h"

/// Role programs from C++. What does not fit together (types, ranks) is a fault of the calling code and throws
/// InternalError; what docs/roles.md demands besides is verify()'s to find. Every statement is placed where it was
/// called.
namespace plait::roles::build {

using At = std::source_location;

/// A value of a program that is being built. Numbers of C++ take the type of what they meet, and are i32 (f32) alone.
class Value {
 public:
  Value(ExprRef expr) : expr_(std::move(expr)) {}     // NOLINT(google-explicit-constructor)
  Value(const Var& var) : expr_(ir::var_ref(var)) {}  // NOLINT(google-explicit-constructor)
  Value(int value);                                   // NOLINT(google-explicit-constructor)
  Value(std::int64_t value);                          // NOLINT(google-explicit-constructor)
  Value(double value);                                // NOLINT(google-explicit-constructor)
  Value(bool value);                                  // NOLINT(google-explicit-constructor)

  /// The expression on its own; weak literals get their type.
  operator ExprRef() const;  // NOLINT(google-explicit-constructor)
  /// The expression as it is, for operators.
  const ExprRef& expr() const { return expr_; }
  /// The expression as stored into something of that type.
  ExprRef as(DType type) const;

 private:
  ExprRef expr_;
};
using Values = std::vector<Value>;

Value operator+(const Value& a, const Value& b);
Value operator-(const Value& a, const Value& b);
Value operator*(const Value& a, const Value& b);
Value operator/(const Value& a, const Value& b);
Value operator%(const Value& a, const Value& b);
Value operator==(const Value& a, const Value& b);
Value operator!=(const Value& a, const Value& b);
Value operator<(const Value& a, const Value& b);
Value operator<=(const Value& a, const Value& b);
Value operator>(const Value& a, const Value& b);
Value operator>=(const Value& a, const Value& b);
Value operator&(const Value& a, const Value& b);
Value operator>>(const Value& a, const Value& b);
Value operator&&(const Value& a, const Value& b);  ///< `and`; both sides are built, as always
Value operator||(const Value& a, const Value& b);
Value operator-(const Value& a);
Value operator!(const Value& a);
Value min(const Value& a, const Value& b);
Value max(const Value& a, const Value& b);
Value ceildiv(const Value& a, const Value& b);
Value select(const Value& cond, const Value& a, const Value& b);
Value cast(DType type, const Value& a);
Value call(ir::Intrinsic fn, const Values& args);

SmemRef at(const Smem& smem, const Values& index, const At& at = At::current());
MbarRef at(const Mbar& mbar, const Value& index, const At& at = At::current());
ChannelRef at(const Channel& channel, const Value& index, const At& at = At::current());
FragmentRef at(const Fragment& fragment, const Values& begin, const At& at = At::current());
TensorRef at(const ir::Buffer& tensor, const Values& index, const At& at = At::current());
/// An element of a tensor or tile, or of a fragment within each.
Value element(const ir::Buffer& buffer, const Values& index);
inline Value element(const Smem& smem, const Values& index) { return element(smem->buffer, index); }
inline Value element(const Fragment& fragment, const Values& index) { return element(fragment->buffer, index); }
std::vector<ExprRef> exprs(const Values& values);
/// A line of each: `fragment[index] = value`.
ElementStore assign(const Fragment& fragment, const Values& index, const Value& value);

struct RoleShape {
  int replicas = 1;
  int warps = 4;
  std::optional<int> regs = {};
};
struct SmemOptions {
  Swizzle swizzle = Swizzle::none;
  int pad = 0;
  std::optional<std::int64_t> offset = {};
};
struct FragmentOptions {
  int vec = 1;
  int lanes = 32;
  Fragment of = {};
};

struct ChannelOptions {
  std::optional<std::int64_t> writers = {}, readers = {}, bytes = {};
};

class Builder {
 public:
  using Then = std::function<void()>;

  explicit Builder(std::string name, std::string device = "h200", const At& at = At::current());

  // The head, in the order of docs/roles.md
  Value dim(const std::string& name, const At& at = At::current());
  ir::Buffer tensor(ir::ParamKind kind, const std::string& name, DType type, const Values& shape,
                    const At& at = At::current());
  Value scalar(const std::string& name, DType type, const At& at = At::current());
  void require(const Value& cond, std::string message = {}, const At& at = At::current());
  void launch(const Values& extents);
  void cluster(int blocks) { program_.cluster = blocks; }
  void occupancy(int blocks) { program_.occupancy = blocks; }
  /// Memory of the launch; see WorkspaceDecl.
  ir::Buffer workspace(const std::string& name, DType type, const Values& shape, bool zero = false,
                       const At& at = At::current());
  Map map(std::string name, const ir::Buffer& tensor, std::vector<std::int64_t> box, Swizzle swizzle,
          const At& at = At::current());
  Smem smem(const std::string& name, DType type, const std::vector<std::int64_t>& shape, SmemOptions options = {},
            const At& at = At::current());
  /// The tile at that byte of the arena, in the place of the one that was declared; nothing refers to that one yet.
  Smem put_at(const Smem& smem, std::int64_t offset);
  Mbar mbar(std::string name, std::int64_t size, std::int64_t count, const At& at = At::current());
  Channel channel(std::string name, std::int64_t depth, std::vector<Smem> tiles, ChannelOptions options = {},
                  const At& at = At::current());
  void prologue(const Then& body);
  void role(std::string name, RoleShape shape, const Then& body, const At& at = At::current());
  const Builtins& builtins() const { return program_.builtins; }
  /// Before anything else: parameters have these names, so that builtins of the same get others.
  void taken(const std::set<std::string>& names);

  // Statements of the prologue and of roles; let also in the head
  /// A literal needs no variable and is given back.
  Value let(const std::string& name, const Value& value, const At& at = At::current());
  Var var(const std::string& name, DType type, const Value& init, const At& at = At::current());
  void set(const Var& var, const Value& value, const At& at = At::current());
  using LoopBody = std::function<void(const Value&)>;
  struct Bounds {
    Value begin, end, step = 1;
    int unroll = 1;  ///< by
  };
  void loop(const std::string& name, const Bounds& bounds, const LoopBody& body, const At& at = At::current());
  void unrolled(const std::string& name, std::int64_t end, const LoopBody& body, const At& at = At::current());
  void while_(const Value& cond, const Then& body, const At& at = At::current());
  void if_(const Value& cond, const Then& then, const Then& otherwise = {}, const At& at = At::current());
  void elect(const Then& body, const At& at = At::current());
  void one_warp(int warp, const Then& body, const At& at = At::current());
  Fragment fragment(const std::string& name, DType type, const std::vector<std::int64_t>& shape, FragmentKind kind,
                    FragmentOptions options = {}, const At& at = At::current());
  using EachBody = std::function<std::vector<ElementStore>(const Values&)>;
  void each(const Fragment& domain, const std::vector<std::string>& names, const EachBody& body,
            const At& at = At::current());
  void put(const TensorRef& dst, const Value& value, const At& at = At::current());
  void put(const SmemRef& dst, const Value& value, const At& at = At::current());
  Value broadcast(const std::string& name, const Value& value, const At& at = At::current());
  Value clock(const std::string& name, bool global = false, const At& at = At::current());
  Value atomic_add(const std::string& name, const TensorRef& dst, const Value& value, const At& at = At::current());
  Value atomic(ir::AtomicOp op, const std::string& name, const TensorRef& dst, const Value& value,
               const At& at = At::current());
  Value atomic(ir::AtomicOp op, const std::string& name, const SmemRef& dst, const Value& value,
               const At& at = At::current());
  Value shuffle(const std::string& name, const Value& value, const Value& lane, const At& at = At::current());
  /// A task, whose body is what `body` adds.
  void issue(Issue task, const Then& body, const At& at = At::current());
  /// Any other statement.
  void add(StmtNode node, const At& at = At::current());

  /// The tile statement that the statements from now on come from; where it is known it is their place, too.
  void origin(Loc loc) { origin_ = std::move(loc); }
  Program build() { return std::move(program_); }

 private:
  Loc loc(const At& at);
  Var variable(const std::string& name, DType type, ir::VarKind kind, const At& at);
  Body inner(const Then& body);

  Program program_;
  Body* body_ = nullptr;  ///< null in the head
  Loc origin_;
};

}  // namespace plait::roles::build
